//! A sensor on a flaky bus, read every 50 ms on bare metal: no executor, no heap, no interrupt but
//! the tick, and a `loop` that polls a call and sleeps.
//!
//! The bus works, stutters, dies and comes back. The exit status is the number of surprises.
#![no_std]
#![no_main]

use core::time::Duration;

use board::host::exit;
use board::systick;
use defmt_semihosting as _;
use evenkeel_core::rng::seed_from;
use evenkeel_core::{
    Action, Backoff, BreakerPolicy, BreakerTable, Call, CallPolicy, Clock, Consecutive, Deadline,
    Instant, Jitter, Keyed, Micros, Outcome, Random, RetryPolicy, SmallRng, StopReason, Transition,
    checked,
};
use superloop::SysTickClock;

/// A read has 20 ms, three attempts in it, and a millisecond or so between them.
static READ: CallPolicy = checked!(CallPolicy::DEFAULT.with_timeout(Duration::from_millis(20)))
    .with_retry(RetryPolicy::DEFAULT.with_backoff(BACKOFF));
const BACKOFF: Backoff = checked!(
    checked!(Backoff::new(Duration::from_millis(1), Duration::from_millis(4)))
        .with_jitter(Jitter::Full)
);

/// Six failures in a row leave a sensor alone for 200 ms: a dead bus costs 20 ms of every 50.
static BREAKER: BreakerPolicy = checked!(
    BreakerPolicy::new(checked!(Consecutive::new(6))).with_open_for(Duration::from_millis(200))
);

const SENSOR: u8 = 0x48;
const PERIOD: Micros = Micros::from_millis(50);
const READS: u32 = 40;

#[cortex_m_rt::entry]
fn main() -> ! {
    systick::start(16_000_000);
    let mut table = BreakerTable::<u8, 4>::new();
    let mut seeds = SmallRng::seeded(seed_from(b"chip id"));
    let mut bus = Bus::default();
    let mut due = SysTickClock.now();
    let mut tally = Tally::default();
    for number in 0..READS {
        sleep_until(due);
        due = due + PERIOD;
        bus.age(number);
        let reason = read(&mut table, &mut bus, seeds.next_u32());
        tally.count(reason);
        defmt::info!("read {}: {}, {} transfers so far", number, reason, bus.transfers);
    }
    defmt::info!("{}", tally);
    exit(tally.surprises(&bus))
}

/// One read: the loop of three arms, on a core with nothing else.
fn read(table: &mut BreakerTable<u8, 4>, bus: &mut Bus, seed: u32) -> StopReason {
    let clock = SysTickClock;
    let mut call = Call::new(READ.deadline(clock.now(), Deadline::NONE), seed);
    loop {
        let mut lent = sensor(table);
        let action = call.poll(clock.now(), &mut lent);
        // Before it is carried out: a wait would make it old news, and after a finish nobody asks.
        tell(lent.changed());
        match action {
            Action::Attempt(attempt) => {
                let outcome = bus.transfer();
                let mut lent = sensor(table);
                let _ = call.complete(clock.now(), &mut lent, attempt, outcome);
                tell(lent.changed());
            }
            Action::WaitUntil(at) => sleep_until(at),
            Action::Finish(reason) => return reason,
        }
    }
}

/// What is lent to a call for one step: made anew for each, it says what that one changed.
const fn sensor(table: &mut BreakerTable<u8, 4>) -> Keyed<'_, u8, 4> {
    Keyed::new(SENSOR, &READ, table, &BREAKER)
}

fn tell(changed: Option<Transition>) {
    if let Some(changed) = changed {
        defmt::warn!("circuit of {=u8:#x}: {}", SENSOR, changed);
    }
}

/// Sleeps between ticks until `at`, never less.
fn sleep_until(at: Instant) {
    while SysTickClock.now() < at {
        cortex_m::asm::wfi();
    }
}

/// A bus whose health is a matter of time.
#[derive(Default)]
struct Bus {
    transfers: u32,
    dead: bool,
}

impl Bus {
    /// Dead from this read on, for 0.75 s.
    const DIES: u32 = 10;
    const COMES_BACK: u32 = 25;

    fn age(&mut self, number: u32) {
        let dead = (Self::DIES..Self::COMES_BACK).contains(&number);
        if dead != self.dead {
            defmt::warn!("the bus is {=str}", if dead { "dead" } else { "back" });
        }
        self.dead = dead;
    }

    fn transfer(&mut self) -> Outcome {
        self.transfers += 1;
        // It stutters now and then: every fifth transfer is not acknowledged.
        if self.dead || self.transfers.is_multiple_of(5) {
            Outcome::unavailable()
        } else {
            Outcome::success()
        }
    }
}

/// How the reads ended.
#[derive(Default, defmt::Format)]
struct Tally {
    read: u32,
    failed: u32,
    refused: u32,
}

impl Tally {
    const fn count(&mut self, reason: StopReason) {
        match reason {
            StopReason::Succeeded => self.read += 1,
            StopReason::CircuitOpen { .. } => self.refused += 1,
            _ => self.failed += 1,
        }
    }

    /// While the bus is alive every read succeeds, whatever stutters; while it is dead most are
    /// refused without a transfer; and it is found again.
    fn surprises(&self, bus: &Bus) -> i32 {
        let dead = Bus::COMES_BACK - Bus::DIES;
        let late = self.read + self.failed + self.refused != READS;
        let lost = self.read + 4 < READS - dead;
        let stubborn = self.refused < dead / 2 || self.failed > 4;
        let busy = bus.transfers > 3 * (READS - dead);
        i32::from(late) + i32::from(lost) + i32::from(stubborn) + i32::from(busy)
    }
}

#[cortex_m_rt::exception]
fn SysTick() {
    systick::on_tick();
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    superloop::panicked(info)
}
