//! Calls by the million over real sockets, through a proxy that kills, delays and corrupts, from
//! callers that walk away: afterwards nothing is missing, nothing is held, and memory is what it was.
//!
//! ```text
//! CHAOS_CALLS=10000000 cargo run --release -p evenkeel-tests --example chaos
//!
//!   callers ──► kit ──► proxy ──► server         three proxies, three servers
//!    walk away   │       kills, delays, corrupts
//!                └ everything is on: retries, breakers, throttle, hedging, waiting, health
//! ```
//!
//! What a corrupted byte makes of an answer is nobody's promise: gRPC has no checksum. What is
//! promised is that each call ends, and what it took comes back.

mod callers;
mod memory;
mod proxy;
mod server;

use core::error::Error;
use core::net::SocketAddr;
use core::time::Duration;
use std::env;
use std::sync::Arc;

use evenkeel_core::{Backoff, BreakerPolicy, Clock, Jitter, RetryPolicy, ThrottlePolicy};
use evenkeel_tests::pb::METHODS;
use evenkeel_tokio::TokioClock;
use evenkeel_tonic::connect::DialPolicy;
use evenkeel_tonic::health::HealthMode;
use evenkeel_tonic::pool::ChannelOptions;
use evenkeel_tonic::{HedgePolicy, Kit, Pool, Resilient};
use tokio::runtime::{Builder, Runtime};
use tokio::time::sleep;

use callers::{LIMIT, Tally};
use memory::{Watch, flat, given_back};
use proxy::Faults;

type Failure = Box<dyn Error + Send + Sync>;

/// Unless told; the last lines say how many there were each second, and so how long more take.
const CALLS: u64 = 1_000_000;
/// Among so many each kind of fault has had its chance.
const MANY: u64 = 200_000;
/// At a time.
const CALLERS: u32 = 64;
/// What a call may end after its deadline, beyond what a timer on the same threads is late.
const GRACE: Duration = Duration::from_secs(1);
/// How often it is looked at what there is.
const TURN: Duration = Duration::from_millis(100);

fn main() -> Result<(), Failure> {
    let calls = match env::var("CHAOS_CALLS") {
        Ok(text) => text.parse()?,
        Err(_) => CALLS,
    };
    let (servers, clients) = (runtime()?, runtime()?);
    let faults = Arc::default();
    let proxies = servers.block_on(proxies(&faults))?;
    let before = memory::now();
    clients.block_on(storm(&proxies, calls, &faults))?;
    let left = || clients.metrics().num_alive_tasks();
    // Connections say goodbye before they are gone.
    for _ in 0..50 {
        if left() > 0 {
            clients.block_on(async { sleep(Duration::from_millis(100)).await });
        }
    }
    println!("left: {} tasks of the clients", left());
    ensure(left() == 0, || format!("{} tasks of the clients are left", left()))?;
    // So do those of the proxies.
    servers.block_on(async { sleep(Duration::from_secs(1)).await });
    given_back(before)?;
    Ok(())
}

fn runtime() -> std::io::Result<Runtime> {
    Builder::new_multi_thread().worker_threads(2).enable_all().build()
}

async fn proxies(faults: &Arc<Faults>) -> Result<Vec<SocketAddr>, Failure> {
    let mut proxies = Vec::new();
    for seed in 0..3 {
        proxies.push(proxy::before(server::start().await?, seed, Arc::clone(faults)).await?);
    }
    Ok(proxies)
}

async fn storm(proxies: &[SocketAddr], calls: u64, faults: &Faults) -> Result<(), Failure> {
    let kit = kit(proxies)?;
    let tally = Arc::new(Tally::of(calls));
    let began = TokioClock.now();
    let callers: Vec<_> = (0..CALLERS)
        .map(|seed| tokio::spawn(callers::call(kit.channel(), seed, Arc::clone(&tally))))
        .collect();
    let watched = tokio::spawn(watch(Arc::clone(&tally), calls));
    for caller in callers {
        caller.await?;
    }
    let (marks, late) = watched.await?;
    let span = TokioClock.now().since(began).as_duration();
    let rate = calls as f64 / span.as_secs_f64();
    println!("{calls} calls in {} s: {rate:.0} each second", span.as_secs());
    println!("ended: {tally}");
    println!("connections: {faults}");
    let never = faults.all().into_iter().find(|(_, count)| *count == 0 && calls >= MANY);
    ensure(never.is_none(), || format!("what never happened proves nothing: {never:?}"))?;
    ensure(tally.ended() == calls, || format!("{} calls ended", tally.ended()))?;
    let overdue = tally.overdue();
    println!("late: a call by {} ms, a timer by {} ms", overdue.as_millis(), late.as_millis());
    ensure(overdue <= late + GRACE, || format!("a call ended {overdue:?} after its deadline"))?;
    flat(&marks)?;
    nothing_is_held(&kit).await
}

/// Prints how far it is every ten seconds; answers how much memory there was at 25, 50, 75 and
/// 100 %, and by how much a timer was late at most.
async fn watch(tally: Arc<Tally>, calls: u64) -> (Vec<Watch>, Duration) {
    let (mut marks, mut late, mut turn) = (Vec::new(), Duration::ZERO, 0_u32);
    for percent in [25, 50, 75, 100] {
        while tally.ended() < calls / 100 * percent {
            let began = TokioClock.now();
            sleep(TURN).await;
            late = late.max(TokioClock.now().since(began).as_duration().saturating_sub(TURN));
            turn += 1;
            if turn.is_multiple_of(100) {
                println!("{} of {calls} calls, {}", tally.ended(), memory::now());
            }
        }
        println!("at {percent} %: {}", memory::now());
        marks.push(memory::now());
    }
    (marks, late)
}

async fn nothing_is_held(kit: &Kit) -> Result<(), Failure> {
    // Losers of a race end a moment later.
    sleep(Duration::from_secs(1)).await;
    let in_flight = kit.pool().in_flight();
    let shown = kit.circuit_breaker_states().into_values().flatten();
    let trials: u32 = shown.map(|(_, shown)| u32::from(shown.trials)).sum();
    println!("left: {in_flight} attempts in flight, {trials} trials");
    ensure(in_flight == 0, || format!("{in_flight} attempts are in flight"))?;
    ensure(trials == 0, || format!("{trials} trials are out: {:?}", kit.circuit_breaker_states()))?;
    ensure(kit.close(Duration::from_secs(5)).await, || "closing waited".to_owned())
}

fn kit(proxies: &[SocketAddr]) -> Result<Kit, Failure> {
    let backoff = Backoff::new(Duration::from_millis(1), Duration::from_millis(50))?;
    let hedge = HedgePolicy::after(Duration::from_millis(20))?.with_max_attempts(2)?;
    let calls = Resilient::builder()
        .methods(&METHODS)
        .timeout(LIMIT)?
        .retry(RetryPolicy::DEFAULT.with_backoff(backoff.with_jitter(Jitter::Full)?))
        .retry_streaming()
        .method_hedge("/lab.v1.Lab/Put", Some(hedge))?
        .method_wait_for_ready("/lab.v1.Lab/Charge", Some(true))?
        .breaker(BreakerPolicy::DEFAULT.with_open_for(Duration::from_millis(100))?)
        .throttle(ThrottlePolicy::SUCCESS_REFILLED);
    let dial = DialPolicy::new(Duration::from_millis(10), Duration::from_millis(100))?
        .with_connect_timeout(Duration::from_secs(1))?;
    let options = ChannelOptions::DEFAULT.with_dial(dial);
    let pool = Pool::builder().targets(proxies.iter().map(SocketAddr::to_string))?;
    let kit = Kit::builder("chaos").pool(pool.insecure().options(options)).calls(calls);
    Ok(kit.health(|checker| checker.mode(HealthMode::Watch)).build()?)
}

fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(what().into()) }
}
