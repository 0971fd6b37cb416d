//! What lies in a static: places, seeds, tables and errors, and how they are printed.

use std::fmt;
use std::time::Duration;

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use evenkeel_core::rng::Always;
use evenkeel_core::{
    BreakerPolicy, CallPolicy, Code, Consecutive, Deadline, Instant, Micros, Outcome, Permit,
    Refusal, Report, StopReason, Target, ThrottlePolicy, Tried, Upstream, Weight, checked,
};
use evenkeel_embassy::{Error, OnTime, Peers, Seeds, Tokens};

static CALLS: CallPolicy = CallPolicy::DEFAULT;
static BREAKER: BreakerPolicy = checked!(
    BreakerPolicy::new(checked!(Consecutive::new(1))).with_open_for(Duration::from_secs(5))
);
static TOKENS: ThrottlePolicy = ThrottlePolicy::SUCCESS_REFILLED;

const fn at(millis: u64) -> Instant {
    Instant::from_micros(millis * 1_000)
}

const fn due(millis: u64) -> Deadline {
    Deadline::at(at(millis))
}

#[test]
fn a_promise_beyond_the_last_place_is_not_kept_and_a_place_is_used_again() {
    let on_time = OnTime::<NoopRawMutex, 2>::default();
    let (first, second) = (on_time.promise(due(10)), on_time.promise(due(20)));
    let (beyond, endless) = (on_time.promise(due(5)), on_time.promise(Deadline::NONE));
    assert!(on_time.holds(at(9)) && !on_time.holds(at(10)));
    // Whoever has no place frees none.
    drop((beyond, endless));
    assert!(!on_time.holds(at(10)));
    drop(first);
    assert!(on_time.holds(at(19)) && !on_time.holds(at(20)));
    let again = on_time.promise(due(15));
    assert!(on_time.holds(at(14)) && !on_time.holds(at(15)));
    drop(second);
    assert!(!on_time.holds(at(15)));
    drop(again);
    assert!(on_time.holds(Instant::MAX));
}

#[test]
fn seeds_start_over_where_they_are_told_to() {
    let known = Seeds::<NoopRawMutex>::new(77);
    let drawn = Seeds::<NoopRawMutex>::new(1);
    drawn.next();
    drawn.drawn_from(&mut Always(77));
    let of = |seeds: &Seeds<NoopRawMutex>| (0..10).map(|_| seeds.next()).collect::<Vec<_>>();
    let first = of(&drawn);
    assert_eq!(first, of(&known));
    drawn.of_device(b"one device");
    let device = of(&drawn);
    drawn.of_device(b"another one");
    assert!(device != first && device != of(&drawn));
}

/// A table whose only peer has a trial out since the tenth second.
fn on_trial(peers: &Peers<NoopRawMutex, u16, 2>) -> Permit {
    let mut view = peers.view(1, &CALLS, &BREAKER);
    let (_, permit) = view.admit(at(5_000), Deadline::NONE, Tried::NONE).unwrap();
    view.record(at(5_000), Target::ONLY, permit, &failed());
    view.admit(at(10_000), Deadline::NONE, Tried::NONE).unwrap().1
}

fn failed() -> Report {
    let outcome = Outcome::new(Code::Unavailable);
    Report { outcome, took: Micros::ZERO, weight: Weight::Counts }
}

#[test]
fn a_trial_that_is_renewed_keeps_others_out_for_longer() {
    let asks = |peers: &Peers<NoopRawMutex, u16, 2>| {
        peers.view(1, &CALLS, &BREAKER).admit(at(16_000), Deadline::NONE, Tried::NONE)
    };
    let lost = Peers::default();
    let _permit = on_trial(&lost);
    assert!(asks(&lost).is_ok(), "its lease was over at the fifteenth second");
    let renewed = Peers::default();
    let permit = on_trial(&renewed);
    renewed.view(1, &CALLS, &BREAKER).renew(at(14_000), Target::ONLY, &permit);
    assert!(
        matches!(asks(&renewed), Err(Refusal::CircuitOpen { retry_at }) if retry_at == at(19_000))
    );
}

#[derive(Debug)]
struct Lost;

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("connection lost")
    }
}

impl std::error::Error for Lost {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&fmt::Error)
    }
}

/// The peer's last word is the error, or behind it.
#[test]
fn an_error_says_its_end_and_has_the_peer_s_last_word_behind_it() {
    use std::error::Error as _;

    let open = |last| Error::CircuitOpen {
        retry_at: at(3),
        retry_after: Micros::from_millis(3_000),
        last,
    };
    let said = fmt::Error.to_string();
    let lost = Lost.to_string();
    for (error, text, behind) in [
        (open(None), "circuit breaker is open, next try in 3.00s", None),
        (open(Some(Lost)), "circuit breaker is open, next try in 3.00s", Some(&lost)),
        (Error::DeadlineExceeded { last: None }, "deadline exceeded", None),
        (Error::DeadlineExceeded { last: Some(Lost) }, "deadline exceeded", Some(&lost)),
        (Error::NoTarget, "no target is eligible", None),
        (
            Error::Peer { error: Lost, reason: StopReason::NotRetryable },
            "connection lost",
            Some(&said),
        ),
    ] {
        assert_eq!(error.to_string(), text);
        assert_eq!(error.source().map(ToString::to_string).as_ref(), behind, "{error:?}");
    }
}

/// What is behind a lock is not waited for, only to be printed.
#[test]
fn everything_can_be_printed() {
    let on_time = OnTime::<NoopRawMutex, 1>::new();
    let (kept, not) = (on_time.promise(due(1)), on_time.promise(due(1)));
    let peers = Peers::<NoopRawMutex, u16, 2>::new();
    let tokens = Tokens::<NoopRawMutex>::full(&TOKENS);
    for (shown, begins) in [
        (format!("{on_time:?}"), "OnTime { .. }"),
        (format!("{kept:?}"), "Promise { slot: Some(0), .. }"),
        (format!("{not:?}"), "Promise { slot: None, .. }"),
        (format!("{:?}", Seeds::<NoopRawMutex>::new(7)), "Seeds { .. }"),
        (format!("{peers:?}"), "Peers { .. }"),
        (format!("{tokens:?}"), "Tokens { policy: ThrottlePolicy {"),
        (format!("{:?}", peers.view(1, &CALLS, &BREAKER)), "View { policy: CallPolicy {"),
    ] {
        assert!(shown.starts_with(begins) && shown.ends_with(".. }"), "{shown}");
    }
}
