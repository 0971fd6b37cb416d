//! Drives a call and a link of the embassy adapter with inputs that the compiler cannot foresee. It is
//! never run: what counts is which of Rust's panics are in the image. The only one is that of a future
//! which is polled again after its end; the compiler writes it into every `async fn`, and an executor
//! never does so. The core has its own proof, without any, in `tests/probe`.
//!
//! Of what the adapter stands on, embassy-time's `Timer::at` and embassy-sync's blocking mutex are
//! in the proof. What a user adds is not: embassy-net panics when there are too few sockets.
#![no_std]
#![no_main]

use core::hint::black_box;
use core::pin::{Pin, pin};
use core::task::{Context, Waker};

use board as _;
use defmt as _;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_time_driver::{Driver, time_driver_impl};
use evenkeel_embassy::core::{
    BreakerPolicy, CallPolicy, Clock, Deadline, Escalation, Instant, Micros, Outcome,
    ReconnectPolicy, Rung, ThrottlePolicy, checked,
};
use evenkeel_embassy::{
    AttemptInfo, EmbassyClock, Exchange, Link, OnTime, Peers, Seeds, Tokens, call_with,
    feed_while_on_time, micros_of, supervise, ticks_of,
};

static CALL: CallPolicy = CallPolicy::DEFAULT;
static BREAKER: BreakerPolicy = BreakerPolicy::DEFAULT;
static LINK: ReconnectPolicy = checked!(ReconnectPolicy::DEFAULT.with_ladder(LADDER));
const LADDER: &[Rung] = &[Rung::reset_peripheral(3), Rung::reboot(5)];

static PEERS: Peers<CriticalSectionRawMutex, u16, 8> = Peers::new();
static TOKENS: Tokens<CriticalSectionRawMutex> = Tokens::full(&ThrottlePolicy::SUCCESS_REFILLED);
static SEEDS: Seeds<CriticalSectionRawMutex> = Seeds::new(0);
static ON_TIME: OnTime<CriticalSectionRawMutex, 4> = OnTime::new();

#[cortex_m_rt::entry]
fn main() -> ! {
    loop {
        SEEDS.of_device(&black_box([0; 6]));
        let deadline = Deadline::at(Instant::from_micros(black_box(7)));
        let promise = ON_TIME.promise(deadline);
        black_box(ON_TIME.holds(EmbassyClock.now()));
        let peer = PEERS.view(black_box(3), &CALL, &BREAKER).with_throttle(&TOKENS);
        let mut anything = Anything;
        poll(pin!(call_with(SEEDS.next(), peer, deadline, &mut anything)));
        drop(promise);
        let mut anything = Anything;
        poll(pin!(supervise(&mut anything, &LINK, SEEDS.next())));
        let (period, grace) =
            (Micros::from_micros(black_box(1)), Micros::from_micros(black_box(2)));
        poll(pin!(feed_while_on_time(&ON_TIME, period, grace, || {
            black_box(());
        })));
        black_box(PEERS.snapshot(black_box(3)));
        black_box(PEERS.untracked());
        black_box(TOKENS.millitokens());
        black_box(micros_of(black_box(1), black_box(32_768)));
        black_box(ticks_of(black_box(1), black_box(32_768)));
        #[cfg(feature = "control")]
        black_box([1, 2, 3][black_box(1usize)]);
    }
}

/// Polls a future for as long as it is not ready, or is given up.
fn poll<F: Future>(mut future: Pin<&mut F>) {
    let mut context = Context::from_waker(Waker::noop());
    while black_box(true) && future.as_mut().poll(&mut context).is_pending() {}
}

/// Does anything.
struct Anything;

impl Exchange for Anything {
    type Reply = u32;
    type Error = u32;

    async fn attempt(&mut self, attempt: AttemptInfo) -> Result<u32, u32> {
        black_box(attempt);
        black_box(Err(1))
    }

    fn classify(&self, _reply: &Result<u32, u32>) -> Outcome {
        black_box(Outcome::unavailable())
    }
}

impl Link for Anything {
    async fn dial(&mut self) -> Result<(), Option<Micros>> {
        black_box(Ok(()))
    }

    async fn session(&mut self) -> Option<Micros> {
        black_box(None)
    }

    async fn escalate(&mut self, step: Escalation) {
        black_box(step);
    }
}

/// A clock that shows anything.
struct AnyTime;

impl Driver for AnyTime {
    fn now(&self) -> u64 {
        black_box(0)
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        black_box((at, waker));
    }
}

time_driver_impl!(static DRIVER: AnyTime = AnyTime);

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    // So that what leads here, and why, stays in the image.
    black_box(info);
    loop {
        black_box(());
    }
}
