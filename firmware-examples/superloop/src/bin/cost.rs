//! Counts the instructions that the steps of the core take on a Cortex-M0.
//!
//! Under `-icount shift=0` one instruction is one nanosecond of QEMU's time, so a thousand steps
//! take as many microseconds as one takes instructions. What the empty loop takes is taken off.
#![no_std]
#![no_main]

use core::hint::black_box;
use core::time::Duration;

use board::host::exit;
use board::systick;
use defmt_semihosting as _;
use evenkeel_core::{
    Action, Backoff, BreakerPolicy, BreakerTable, Call, CallPolicy, Deadline, Growth, Instant,
    Jitter, Outcome, Reconnect, ReconnectPolicy, Single, SmallRng, Verdict, checked,
};

static CALL: CallPolicy = CallPolicy::DEFAULT;
static BREAKER: BreakerPolicy = BreakerPolicy::DEFAULT;
static LINK: ReconnectPolicy = ReconnectPolicy::DEFAULT;
static SPREAD: Backoff = checked!(
    checked!(Backoff::new(Duration::from_secs(1), Duration::from_secs(120)))
        .with_jitter(Jitter::Full)
);

/// How often each step is taken.
const TIMES: u32 = 1_000;
const NOW: Instant = Instant::from_micros(5_000_000);

#[cortex_m_rt::entry]
fn main() -> ! {
    systick::start(16_000_000);
    let empty = time(|step| {
        black_box(step);
    });
    let report = |name: &str, took: u64| {
        defmt::println!("{=str} {=u64}", name, took.saturating_sub(empty));
    };
    calls(&report);
    tables(&report);
    let (mut growth, mut rng) = (Growth::START, SmallRng::seeded(7));
    report(
        "backoff",
        time(|_| {
            black_box(black_box(&SPREAD).next_delay(&mut growth, &mut rng));
        }),
    );
    let mut link = Reconnect::new(7);
    let _ = link.poll(NOW, &LINK);
    report(
        "link-poll",
        time(|_| {
            let _ = black_box(link.poll(black_box(NOW), &LINK));
        }),
    );
    exit(0)
}

/// The two steps of a call that is retried once.
fn calls(report: &impl Fn(&str, u64)) {
    let mut upstream = Single::new(black_box(&CALL));
    let deadline = Deadline::at(Instant::from_micros(15_000_000));
    let call = Call::new(deadline, 7);
    let poll = time(|_| {
        let mut call = call.clone();
        let _ = black_box(call.poll(black_box(NOW), &mut upstream));
    });
    let copy = time(|_| {
        black_box(call.clone());
    });
    report("poll", poll - copy);
    let both = time(|_| {
        let mut call = call.clone();
        if let Action::Attempt(attempt) = call.poll(black_box(NOW), &mut upstream) {
            let failed = black_box(Outcome::unavailable());
            let _ = black_box(call.complete(black_box(NOW), &mut upstream, attempt, failed));
        }
    });
    report("complete", both - poll);
}

/// The two steps of a breaker in a table of eight, all of them in use, for the last of them.
fn tables(report: &impl Fn(&str, u64)) {
    let mut table = BreakerTable::<u16, 8>::new();
    let lease = Deadline::at(Instant::from_micros(6_000_000));
    for key in 0..8 {
        let _ = table.admit(NOW, key, lease, &BREAKER);
    }
    let admit = time(|_| {
        let _ = black_box(table.admit(black_box(NOW), 7, lease, &BREAKER));
    });
    report("admit", admit);
    let both = time(|_| {
        if let Ok(permit) = table.admit(black_box(NOW), 7, lease, &BREAKER) {
            let verdict = black_box(Verdict::Success);
            let _ = black_box(table.record(black_box(NOW), 7, permit, verdict, &BREAKER));
        }
    });
    report("record", both - admit);
}

/// Microseconds that the step takes a thousand times, which is instructions for once.
fn time(mut step: impl FnMut(u32)) -> u64 {
    let began = systick::micros();
    for number in 0..TIMES {
        step(number);
    }
    systick::micros() - began
}

#[cortex_m_rt::exception]
fn SysTick() {
    systick::on_tick();
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    superloop::panicked(info)
}
