//! This file knows the two callers, from their first call to the moment when nothing is left of
//! them.

use core::time::Duration;

use evenkeel_core::BreakerState;
use evenkeel_tonic::Kit;
use evenkeel_tonic::target::TargetName;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tonic::Status;

use crate::book::{Book, Event};
use crate::caller::{client, make};
use crate::dice::Dice;
use crate::method::Method;
use crate::plan::{FAULTS_END, SETTLED};
use crate::socket::{Dialer, PORT};

/// A caller and its kit.
pub(crate) struct Host {
    pub(crate) name: &'static str,
    pub(crate) kit: Kit,
    pub(crate) dialer: Dialer,
    pub(crate) book: Book,
    /// What its kit gives each call.
    pub(crate) timeout: Duration,
    /// Who must have answered in the end.
    pub(crate) servers: Vec<&'static str>,
}

impl Host {
    pub(crate) async fn live(
        self,
        mut dice: Dice,
        members: Vec<(Duration, Vec<&'static str>)>,
    ) -> turmoil::Result {
        let mut calls = JoinSet::new();
        let calling = async {
            while now() < FAULTS_END {
                calls.spawn(self.impatient(&mut dice));
                sleep(dice.millis(2, 90)).await;
            }
            while now() < SETTLED {
                calls.spawn(self.patient(dice.pick(&Method::ALL)));
                sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::join!(calling, self.change_members(members));
        while calls.join_next().await.is_some() {}
        self.prove().await?;
        self.finish().await
    }

    async fn change_members(&self, lists: Vec<(Duration, Vec<&'static str>)>) {
        for (at, members) in lists {
            sleep(at.saturating_sub(now())).await;
            let names = members.iter().map(|name| format!("{name}:{PORT}").parse::<TargetName>());
            self.kit.pool().set_targets(names.flatten());
            self.book.note(Event::Members { host: self.name, members });
        }
    }

    /// A call whose caller gives it little time, or goes away, or both.
    fn impatient(&self, dice: &mut Dice) -> impl Future<Output = ()> + Send + 'static {
        let method = dice.pick(&Method::ALL);
        let wish = match dice.between(0, 4) {
            0 => Some(dice.millis(1, 50)),
            1 => Some(dice.millis(50, 600)),
            2 => Some(dice.millis(600, 6_000)),
            _ => None,
        };
        let patience = if dice.one_in(3) { dice.millis(0, 700) } else { Duration::MAX };
        let call = self.call(method, wish);
        async move {
            _ = timeout(patience, call).await;
        }
    }

    fn patient(&self, method: Method) -> impl Future<Output = ()> + Send + 'static {
        let call = self.call(method, None);
        async move {
            _ = call.await;
        }
    }

    /// Its number, and its end.
    fn call(
        &self,
        method: Method,
        wish: Option<Duration>,
    ) -> impl Future<Output = (u32, Result<(), Status>)> + Send + 'static {
        let timeout = wish.map_or(self.timeout, |wish| wish.min(self.timeout));
        let (book, name, client) = (self.book.clone(), self.name, client(&self.kit));
        async move {
            let open = book.begin(name, method, timeout, None);
            (open.call, make(client, method, wish, open).await)
        }
    }

    /// All is well again: each method is answered, until everybody has answered it, and then no
    /// circuit protects anybody any more.
    async fn prove(&self) -> turmoil::Result {
        self.book.note(Event::Noted(format!("{}: all must be well", self.name)));
        for method in Method::ALL {
            let mut calls = JoinSet::new();
            for _ in 0..self.servers.len() * 12 {
                calls.spawn(self.call(method, None));
                sleep(Duration::from_millis(5)).await;
            }
            while let Some(ended) = calls.join_next().await {
                let (number, Err(status)) = ended? else { continue };
                let what = format!("{method:?} failed on a network in order: {status}");
                self.book.wrong(format!("call {number}: {what}"));
            }
        }
        for (target, methods) in self.kit.circuit_breaker_states() {
            for (method, shown) in methods {
                if shown.state != BreakerState::Closed {
                    self.book.wrong(format!("{}: {target}{method} is {shown:?}", self.name));
                }
            }
        }
        Ok(())
    }

    /// Nothing is held while nobody calls, and nothing is left once the kit is gone.
    async fn finish(self) -> turmoil::Result {
        let Self { name, kit, dialer, book, servers, .. } = self;
        // What losers of a race still had is cancelled by then.
        sleep(Duration::from_millis(500)).await;
        let trials = kit.circuit_breaker_states().into_values().flatten();
        let trials: u32 = trials.map(|(_, shown)| u32::from(shown.trials)).sum();
        expect(&book, name, "attempts in flight", kit.pool().in_flight(), 0);
        expect(&book, name, "trials out", trials as usize, 0);
        // One for calls, one for health checks.
        let most = servers.len() * if kit.health().is_some() { 2 } else { 1 };
        let connections = dialer.connections();
        if connections > most {
            book.wrong(format!("{name}: {connections} connections, not {most}"));
        }
        if !kit.close(Duration::from_millis(100)).await {
            book.wrong(format!("{name}: closing waited for calls, of which there are none"));
        }
        drop(kit);
        sleep(Duration::from_millis(1_500)).await;
        expect(&book, name, "tasks", Handle::current().metrics().num_alive_tasks(), 0);
        expect(&book, name, "connections", dialer.connections(), 0);
        Ok(())
    }
}

fn expect(book: &Book, host: &str, what: &str, seen: usize, right: usize) {
    if seen != right {
        book.wrong(format!("{host}: {seen} {what} at the end, not {right}"));
    }
}

fn now() -> Duration {
    turmoil::sim_elapsed().unwrap_or_default()
}
