//! Readings round down, timers round up, and the far end is never.

use std::pin::pin;

use embassy_futures::select::{Either, select};
use evenkeel_core::{Clock, Deadline, Instant, Micros};
use evenkeel_embassy::{EmbassyClock, micros_of, sleep_until, ticks_of, until};

/// Tick rates of real drivers: RTCs, the usual 1 MHz, core clocks that no power of two divides.
const RATES: [u64; 9] =
    [1, 1_000, 32_768, 131_072, 1_000_000, 10_000_000, 16_000_000, 25_000_000, 1_000_000_000];
const TIMES: [u64; 12] = [
    0,
    1,
    30,
    31,
    999_999,
    1_000_000,
    (1 << 32) - 1,
    1 << 32,
    1 << 48,
    u64::MAX / 15_625,
    u64::MAX - 1,
    u64::MAX,
];

#[test]
fn readings_round_down_and_timers_up_at_every_rate() {
    for hz in RATES {
        for time in TIMES {
            let exact = u128::from(time) * 1_000_000 / u128::from(hz);
            let due = u64::try_from(exact).unwrap_or(u64::MAX);
            assert_eq!(micros_of(time, hz), due, "{time} ticks at {hz}");
            let exact = (u128::from(time) * u128::from(hz)).div_ceil(1_000_000);
            let due = u64::try_from(exact).unwrap_or(u64::MAX);
            assert_eq!(ticks_of(time, hz), due, "{time} µs at {hz}");
        }
    }
}

#[test]
fn a_timer_is_never_early_and_less_than_a_tick_late() {
    for hz in RATES {
        let tick = 1_000_000u64.div_ceil(hz);
        for at in (0..200_000u64).step_by(37).chain(1_000_000..1_000_200) {
            // What the clock reads when the timer for `at` fires.
            let read = micros_of(ticks_of(at, hz), hz);
            assert!(read >= at || tick == 1, "at {hz} Hz the driver would spin: {at}, read {read}");
            assert!(read <= at + tick, "{at} at {hz} Hz: read {read}");
        }
    }
}

/// embassy #6141: adding the longest span to now overflowed the tick counter.
#[test]
fn f104_the_far_end_is_never_and_can_be_given_up() {
    let seen = simulated::run_from(5, async {
        let never = pin!(sleep_until(Instant::MAX));
        let nearly = pin!(sleep_until(Instant::from_micros(u64::MAX - 1)));
        let both = select(never, nearly);
        match select(both, sleep_until(Instant::from_micros(1_000))).await {
            Either::First(_) => panic!("never came"),
            Either::Second(()) => EmbassyClock.now(),
        }
    });
    assert_eq!(seen, (Instant::from_micros(1_000), 1_000));
    let endless = Deadline::after(Instant::from_micros(5), core::time::Duration::MAX);
    assert!(endless.is_none());
}

/// embassy #438: "no alarm" was a number, and was added to an instant.
#[test]
fn f105_no_deadline_arms_no_timer() {
    let (output, end) = simulated::run_from(5, until(Deadline::NONE, async { 7 }));
    assert_eq!((output, end), (Some(7), 5));
}

/// rpc-perf #180: 40 h were more than the counter holds, and fired after 3.6 h.
#[test]
fn f108_forty_hours_are_forty_hours() {
    let forty_hours = Micros::from_millis(40 * 3_600_000);
    assert_eq!(ticks_of(forty_hours.as_micros(), 32_768), 40 * 3_600 * 32_768);
    let (_, end) = simulated::run_from(0, sleep_until(Instant::ZERO + forty_hours));
    assert_eq!(end, forty_hours.as_micros());
}

#[test]
fn a_future_that_is_ready_at_its_deadline_is_asked_first() {
    let at = Instant::from_micros(100);
    let ready = async {
        sleep_until(at).await;
        "there"
    };
    assert_eq!(simulated::run(until(Deadline::at(at), ready)), Some("there"));
    assert_eq!(simulated::run(until(Deadline::at(Instant::ZERO), async { 1 })), Some(1));
    let never = std::future::pending::<()>();
    assert_eq!(simulated::run_from(7, until(Deadline::at(at), never)), (None, 100));
}
