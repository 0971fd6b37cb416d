//! Incidents of clocks and timers: F106, F109, F110 and F112. What happened is in `docs/incidents.md`.

use core::time::Duration;

use evenkeel_core::{
    Action, Backoff, BreakerPolicy, Call, Code, Deadline, Growth, Instant, Jitter, LastN, Micros,
    Next, Reconnect, ReconnectAction, ReconnectPolicy, Single, SmallRng, StopReason, TimeWindow,
};

use crate::circuit::Circuit;
use crate::driver::{OK, U};
use crate::policies::{calls, millis, ms, opens_after};

const YEAR: u64 = 365 * 86_400_000;

#[test]
fn f106_a_deadline_that_never_comes_is_never_reached() {
    let policy = calls(3, 100).unbounded();
    let mut upstream = Single::new(&policy);
    let mut now = Instant::from_micros(5);
    let mut call = Call::new(policy.deadline(now, Deadline::NONE), 1);
    let Action::Attempt(attempt) = call.poll(now, &mut upstream) else { panic!("nothing sent") };
    now = now + ms(31 * YEAR);
    assert_eq!(call.poll(now, &mut upstream), Action::WaitUntil(Instant::MAX));
    call.cancel(now, &mut upstream);
    assert_eq!(call.poll(now, &mut upstream), Action::Finish(StopReason::Cancelled));
    let next = call.complete(now, &mut upstream, attempt, OK);
    assert_eq!(next, Next::Stop(StopReason::Cancelled));
}

/// The instant to wake at is absolute and 64 bits wide; a driver whose timer is shorter sets it
/// again. So the growth only has to stay what it was, up to the longest cap.
#[test]
fn f109_a_wait_beyond_a_platforms_timer_never_becomes_a_short_one() {
    let longest = Duration::from_micros((1 << 48) - 1);
    let uncapped = Backoff::new(millis(100), longest).unwrap().with_jitter(Jitter::None).unwrap();
    let (mut growth, mut rng) = (Growth::START, SmallRng::seeded(1));
    let waits: Vec<Micros> = (0..60).map(|_| uncapped.next_delay(&mut growth, &mut rng)).collect();
    assert!(waits.is_sorted());
    assert_eq!(waits[59].as_duration(), longest);
    assert_eq!(Backoff::DEFAULT.max(), ms(10_000), "there is a cap where nobody sets one");
}

/// The readings 100, 99, 100, 50, 101 in every state of a breaker.
#[test]
fn f110_a_clock_that_steps_back_harms_no_breaker() {
    let wobble = |start: Instant| {
        [100u64, 99, 100, 50, 101].map(|tick| Instant::from_micros(start.as_micros() + tick))
    };
    let mut circuit = Circuit::new(opens_after(50));
    for now in wobble(circuit.now) {
        circuit.now = now;
        circuit.attempt(Code::Internal);
    }
    assert_eq!(circuit.shown().1, 5, "every failure counts once");

    let mut circuit = Circuit::new(opens_after(1));
    circuit.attempt(Code::Internal);
    let retry_at = circuit.breaker.snapshot().retry_at.unwrap();
    for now in wobble(circuit.now) {
        circuit.now = now;
        assert_eq!(circuit.admit().unwrap_err().retry_at, retry_at, "not a tick longer");
    }
    circuit.now = retry_at;
    let trial = circuit.admit().unwrap();
    circuit.now = Instant::ZERO;
    assert!(circuit.admit().is_err());
    circuit.end(trial, Code::Ok);
    assert!(circuit.admit().is_ok());
}

#[test]
fn f110_a_clock_that_steps_back_empties_no_window() {
    let window = BreakerPolicy::new(TimeWindow::<10>::new(millis(10_000), 4, 50).unwrap());
    let mut circuit = Circuit::new(window);
    for (reading, expected) in [(20_000, 1), (8_000, 2), (20_000, 3)] {
        circuit.now = Instant::from_micros(reading * 1_000);
        circuit.attempt(Code::Internal);
        assert_eq!(circuit.shown().1, expected);
    }
    circuit.attempt(Code::Internal);
    assert!(circuit.breaker.is_protecting());

    // A window over calls has no clock at all.
    let mut circuit = Circuit::new(BreakerPolicy::new(LastN::<4>::new(4, 4, 100).unwrap()));
    for reading in [100, 99, 100, 50] {
        circuit.now = Instant::from_micros(reading);
        circuit.attempt(Code::Internal);
    }
    assert!(circuit.breaker.is_protecting());
}

#[test]
fn f110_a_clock_that_steps_back_stands_still_for_a_call() {
    let policy = calls(3, 100);
    let mut upstream = Single::new(&policy);
    let now = Instant::from_micros(1_000_000);
    let mut call = Call::new(policy.deadline(now, Deadline::NONE), 1);
    let Action::Attempt(first) = call.poll(now, &mut upstream) else { panic!("nothing sent") };
    let earlier = Instant::from_micros(500_000);
    let next = call.complete(earlier, &mut upstream, first, U);
    let retry_at = now + ms(100);
    assert!(matches!(next, Next::Retry { at, .. } if at == retry_at));
    assert_eq!(call.poll(earlier, &mut upstream), Action::WaitUntil(retry_at));
    assert!(matches!(call.poll(retry_at, &mut upstream), Action::Attempt(_)));
}

/// A clock that counts the time asleep jumps; what was due meanwhile happens once.
#[test]
fn f112_an_hour_asleep_is_made_up_for_by_nothing() {
    let policy = calls(10, 100).unbounded();
    let mut upstream = Single::new(&policy);
    let mut now = Instant::from_micros(1_000_000);
    let mut call = Call::new(policy.deadline(now, Deadline::NONE), 1);
    let Action::Attempt(first) = call.poll(now, &mut upstream) else { panic!("nothing sent") };
    call.complete(now, &mut upstream, first, U);
    now = now + ms(3_600_000);
    let Action::Attempt(second) = call.poll(now, &mut upstream) else { panic!("nothing sent") };
    call.complete(now, &mut upstream, second, U);
    assert_eq!(call.poll(now, &mut upstream), Action::WaitUntil(now + ms(200)), "and no burst");

    let link = ReconnectPolicy::DEFAULT;
    let mut reconnect = Reconnect::new(1);
    let ReconnectAction::WaitUntil(splay) = reconnect.poll(now, &link) else { panic!("no splay") };
    let awake = splay + ms(3_600_000);
    let ReconnectAction::Dial(dial) = reconnect.poll(awake, &link) else { panic!("no dial") };
    reconnect.failed(awake, dial, None, &link);
    assert!(matches!(reconnect.poll(awake, &link), ReconnectAction::WaitUntil(at) if at > awake));
}
