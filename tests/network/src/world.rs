//! This file knows one run, from its seed to what was wrong with it.

use core::cell::Cell;
use core::time::Duration;
use std::panic;
use std::rc::Rc;

use mad_turmoil::rand::set_rng;
use mad_turmoil::time::SimClocksGuard;
use rand::SeedableRng;
use rand::rngs::StdRng;

use crate::audit::{Counts, audit};
use crate::backend::{Backend, Nature};
use crate::book::{Book, Entry, Event};
use crate::dice::Dice;
use crate::gateway::Gateway;
use crate::hosts::Host;
use crate::kits::{APP_TIMEOUT, Taste, WEB_TIMEOUT};
use crate::plan::{APP, BACKENDS, GATEWAY, LATENCY, LONGEST, Plan, TICK, WEB};
use crate::socket::Dialer;

/// What came of a run.
pub(crate) struct Run {
    pub(crate) entries: Vec<Entry>,
    pub(crate) wrong: Vec<String>,
    pub(crate) counts: Counts,
}

/// The run of `seed`. Only once in a process: it also decides what std and tokio take for random,
/// which they remember in statics.
pub(crate) fn run(seed: u32) -> Run {
    set_rng(StdRng::seed_from_u64(seed.into()));
    let _clocks = SimClocksGuard::init();
    let book = Book::default();
    write_down_panics(&book);
    let (plan, nature) = (Plan::of(seed), Nature::of(&[&BACKENDS[..], &[GATEWAY]].concat()));
    book.note(Event::Noted(format!("{:?}", Taste::of(seed))));
    let mut world = world(seed, &book, &nature, plan.members);
    let mut changes = plan.changes.into_iter().peekable();
    loop {
        while let Some((_, change)) = changes.next_if(|(at, _)| *at <= world.elapsed()) {
            book.set_time(world.elapsed());
            book.note(Event::Fault(change));
            change.make(&mut world, &nature);
        }
        match world.step() {
            Ok(false) => {}
            Ok(true) => break,
            Err(error) => {
                book.wrong(format!("the world ended: {error}"));
                break;
            }
        }
    }
    drop(world);
    let entries = book.close();
    let (wrong, counts) = audit(&entries);
    Run { entries, wrong, counts }
}

fn world(
    seed: u32,
    book: &Book,
    nature: &Nature,
    members: Vec<(Duration, Vec<&'static str>)>,
) -> turmoil::Sim<'static> {
    let mut world = turmoil::Builder::new()
        .rng_seed(seed.into())
        .tick_duration(TICK)
        .simulation_duration(LONGEST)
        .min_message_latency(TICK)
        .max_message_latency(LATENCY)
        .tcp_capacity(4_096)
        .build();
    let taste = Taste::of(seed);
    for host in BACKENDS {
        let (book, nature, life) = (book.clone(), nature.clone(), lives());
        world.host(host, move || {
            let (book, nature) = (book.clone(), nature.clone());
            Backend { host, life: life(), book, nature }.serve()
        });
    }
    let (pages, life) = (book.clone(), lives());
    let natural = nature.clone();
    world.host(GATEWAY, move || Gateway::serve(taste, life(), pages.clone(), natural.clone()));

    let pages = book.clone();
    let dialer = Dialer::of(APP, book.clone(), nature.clone());
    world.client(APP, async move {
        let servers = BACKENDS.to_vec();
        let kit = taste.app(dialer.clone())?;
        let host = Host { name: APP, kit, dialer, book: pages, timeout: APP_TIMEOUT, servers };
        host.live(Dice::of(seed, APP), members).await
    });
    let pages = book.clone();
    let dialer = Dialer::of(WEB, book.clone(), nature.clone());
    world.client(WEB, async move {
        let servers = vec![GATEWAY];
        let kit = taste.web(dialer.clone())?;
        let host = Host { name: WEB, kit, dialer, book: pages, timeout: WEB_TIMEOUT, servers };
        host.live(Dice::of(seed, WEB), Vec::new()).await
    });
    world
}

/// Counts the lives of a host.
fn lives() -> impl Fn() -> u32 {
    let lives = Rc::new(Cell::new(0));
    move || lives.replace(lives.get() + 1)
}

/// A panic in a task ends that task alone: nobody else would hear of it.
fn write_down_panics(book: &Book) {
    let book = book.clone();
    panic::set_hook(Box::new(move |panic| book.wrong(format!("{panic}"))));
}
