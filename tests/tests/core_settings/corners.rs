//! This file knows the corners that no scenario visits: the last value of a counter, the one seed
//! of its kind, the end of time.

use core::time::Duration;

use evenkeel_core::{
    Action, AnyOf, Backoff, BreakerPolicy, BreakerState, BreakerTable, Call, CallPolicy,
    CircuitBreaker, Code, CodeSet, Consecutive, Deadline, Growth, Instant, Keyed, LastN, Micros,
    Outcome, Pushback, Random, Reconnect, ReconnectAction, ReconnectPolicy, Refusal, Report,
    RetryPolicy, Sent, SmallRng, StopReason, Target, TimeWindow, Transition, Tried, Trip, Upstream,
    Verdict, Weight, presets::Dhcp6,
};

const NOW: Instant = Instant::from_micros(1_000);

fn report(code: Code, weight: Weight) -> Report {
    Report { outcome: Outcome::new(code), took: Micros::ZERO, weight }
}

#[test]
fn a_failure_can_be_slow_too() {
    let policy = BreakerPolicy::DEFAULT.with_slow_after(Duration::from_secs(1)).unwrap();
    let failed = |millis| Report {
        took: Micros::from_millis(millis),
        ..report(Code::Unavailable, Weight::Counts)
    };
    assert_eq!(policy.verdict(&failed(1_000)), Verdict::Failure);
    assert_eq!(policy.verdict(&failed(1_001)), Verdict::SlowFailure);
}

/// Attempts are numbered in 16 bits: a call that may have all of them, and repeats that are not
/// counted besides, ends with the last number and not at zero.
#[test]
fn a_call_has_no_more_attempts_than_there_are_numbers() {
    let at_once = Backoff::new(Duration::ZERO, Duration::ZERO).unwrap();
    let retry = RetryPolicy::DEFAULT.with_max_attempts(u16::MAX).unwrap().with_backoff(at_once);
    let policy = CallPolicy::DEFAULT.unbounded().with_retry(retry);
    let mut upstream = evenkeel_core::Single::new(&policy);
    let mut call = Call::new(Deadline::NONE, 7);
    let outcome = Outcome::unavailable().with_sent(Sent::Never);
    let (mut now, mut attempts) = (NOW, 0u32);
    let why = loop {
        match call.poll(now, &mut upstream) {
            Action::Attempt(attempt) => {
                attempts += 1;
                call.complete(now, &mut upstream, attempt, outcome);
            }
            Action::WaitUntil(at) => now = at,
            Action::Finish(why) => break why,
        }
        assert!(attempts <= u32::from(u16::MAX), "it goes on for ever");
    };
    assert_eq!((why, attempts), (StopReason::AttemptsUsedUp, u32::from(u16::MAX)));
    assert_eq!(call.attempts(), u16::MAX - 3, "three repeats were not counted");
}

#[test]
fn a_keyed_upstream_tells_what_changed() {
    let policy = CallPolicy::DEFAULT;
    let breaker = BreakerPolicy::new(Consecutive::new(1).unwrap());
    let mut table = BreakerTable::<u8, 2>::new();
    let mut keyed = Keyed::new(1, &policy, &mut table, &breaker);
    let (target, permit) = keyed.admit(NOW, Deadline::NONE, Tried::NONE).unwrap();
    assert_eq!((target, keyed.changed()), (Target::ONLY, None));
    keyed.record(NOW, target, permit, &report(Code::Unavailable, Weight::Counts));
    assert_eq!(keyed.changed(), Some(Transition::Opened));
    let later = NOW.after(breaker.open_for());
    let (_, trial) = keyed.admit(later, Deadline::NONE, Tried::NONE).unwrap();
    assert_eq!(keyed.changed(), Some(Transition::HalfOpened));
    let still = later.after(Micros::from_millis(1_000));
    keyed.renew(still, target, &trial);
    let refused = keyed.admit(still, Deadline::NONE, Tried::NONE).unwrap_err();
    assert_eq!(refused, Refusal::CircuitOpen { retry_at: still.after(breaker.open_for()) });
    // Nobody is known by this key, so there is nothing to prolong and nothing is made.
    table.renew(later, 9, &trial, &breaker);
    assert_eq!(table.len(), 1);
}

#[test]
fn a_wait_of_nothing_grows_to_nothing() {
    let backoff = Backoff::new(Duration::ZERO, Duration::from_secs(1)).unwrap();
    let backoff = backoff.with_multiplier(1_500).unwrap();
    let (mut growth, mut rng) = (Growth::START, SmallRng::seeded(1));
    for _ in 0..5 {
        assert_eq!(backoff.next_delay(&mut growth, &mut rng), Micros::ZERO);
    }
}

/// What a throttle charges: failures of the codes that are tried again, and a peer's "no".
#[test]
fn a_success_charges_nothing_whatever_it_carries() {
    let no = |code| Report {
        outcome: Outcome::new(code).with_pushback(Pushback::Stop),
        ..report(code, Weight::CutShort)
    };
    assert!(!no(Code::Ok).charges(CodeSet::RETRYABLE.with(Code::Ok)));
    assert!(no(Code::NotFound).charges(CodeSet::RETRYABLE));
    assert!(!report(Code::NotFound, Weight::CutShort).charges(CodeSet::RETRYABLE));
    assert!(!report(Code::Unavailable, Weight::Cancelled).charges(CodeSet::RETRYABLE));
}

#[test]
fn the_seed_that_mixes_to_zero_still_gives_numbers() {
    let mut rng = SmallRng::seeded(0u32.wrapping_sub(0x9e37_79b9));
    let drawn = [rng.next_u32(), rng.next_u32(), rng.next_u32()];
    assert!(drawn.iter().all(|number| *number != 0) && drawn[0] != drawn[1], "{drawn:?}");
}

#[test]
fn two_rules_are_quiet_together() {
    type Both = AnyOf<Consecutive, LastN>;
    let rule = Both { first: Consecutive::new(2).unwrap(), second: LastN::new(4, 4, 50).unwrap() };
    let mut memory = <Both as Trip>::EMPTY;
    assert!(!Both::is_quiet(&memory), "a window must hear of successes");
    assert!(!rule.count(&mut memory, NOW, Verdict::Failure));
    assert_eq!(Both::bad(&memory), 1);
    assert!(rule.count(&mut memory, NOW, Verdict::Failure));
    let plain = AnyOf { first: rule.first, second: rule.first };
    let mut memory = AnyOf::<Consecutive, Consecutive>::EMPTY;
    assert!(AnyOf::<Consecutive, Consecutive>::is_quiet(&memory));
    assert!(!plain.count(&mut memory, NOW, Verdict::Failure));
    assert!(!AnyOf::<Consecutive, Consecutive>::is_quiet(&memory));
}

#[test]
fn a_window_holds_at_the_end_of_time() {
    let policy = BreakerPolicy::new(TimeWindow::<3>::new(Duration::from_secs(3), 2, 50).unwrap());
    let mut breaker = CircuitBreaker::closed();
    for now in [NOW, Instant::from_micros(u64::MAX - 1), Instant::MAX, Instant::MAX] {
        let permit = breaker.admit(now, Deadline::NONE, &policy).unwrap();
        breaker.record(now, permit, Verdict::Failure, &policy);
    }
    assert_eq!(breaker.state(), BreakerState::Open);
}

#[test]
fn a_refused_call_stops_for_the_refusal() {
    let open = Refusal::CircuitOpen { retry_at: NOW };
    assert_eq!(StopReason::from(open), StopReason::CircuitOpen { retry_at: NOW });
    assert_eq!(StopReason::from(Refusal::NoTarget), StopReason::NoTarget);
    assert_eq!(Duration::from(Micros::from_millis(5)), Duration::from_millis(5));
}

/// Section 15 of RFC 8415: what is not given has no cap.
#[test]
fn a_release_doubles_without_a_cap() {
    let (mut growth, mut rng) = (Growth::START, SmallRng::seeded(3));
    let mut delays = [Micros::ZERO; 8];
    delays.fill_with(|| Dhcp6::RELEASE.next_delay(&mut growth, &mut rng));
    for pair in delays.windows(2) {
        let [before, after] = [pair[0].as_micros(), pair[1].as_micros()];
        assert!((19 * before..=21 * before).contains(&(10 * after)), "{delays:?}");
    }
}

fn dial(link: &mut Reconnect, now: &mut Instant, policy: &ReconnectPolicy) -> evenkeel_core::Dial {
    loop {
        match link.poll(*now, policy) {
            ReconnectAction::Dial(dial) => return dial,
            ReconnectAction::WaitUntil(at) => *now = at,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_dial_that_is_over_is_no_dial() {
    let policy = ReconnectPolicy::DEFAULT;
    let (mut link, mut now) = (Reconnect::new(1), NOW);
    let old = dial(&mut link, &mut now, &policy);
    assert_eq!((old.number(), old.deadline()), (1, Deadline::at(now.after(policy.dial_timeout()))));
    now = old.deadline().instant();
    let _ = link.poll(now, &policy);
    assert_eq!(link.failed(now, old, None, &policy), None, "it had failed by itself");
    assert_eq!((link.failures(), link.is_connected()), (1, false));
}

/// What came back came back for everybody: a dial that is due is drawn anew, and nobody dials now.
#[test]
fn a_cable_that_comes_back_is_no_starting_gun() {
    let policy = ReconnectPolicy::DEFAULT.with_splay(Duration::ZERO).unwrap();
    let mut firsts = Vec::new();
    for seed in 0..20 {
        let (mut link, mut now) = (Reconnect::new(seed), NOW);
        let first = dial(&mut link, &mut now, &policy);
        let setback = link.failed(now, first, None, &policy).unwrap();
        let back = setback.dial_at.after(Micros::from_millis(50));
        link.carrier_back(back, &policy);
        now = back;
        let _ = dial(&mut link, &mut now, &policy);
        firsts.push(now.since(back));
        // With a session there is nothing to draw.
        let connected = dial_and_connect(seed, &policy);
        assert!(connected.is_connected());
    }
    firsts.sort_unstable();
    firsts.dedup();
    assert!(firsts.len() > 15, "they come together: {firsts:?}");
}

fn dial_and_connect(seed: u32, policy: &ReconnectPolicy) -> Reconnect {
    let (mut link, mut now) = (Reconnect::new(seed), NOW);
    let first = dial(&mut link, &mut now, policy);
    assert!(link.connected(now, first, policy));
    link.carrier_back(now, policy);
    link
}

/// The window closes during a wait: the end comes when the wait does, and stays.
#[test]
fn a_link_gives_up_once_and_for_all() {
    let policy = ReconnectPolicy::DEFAULT.with_give_up_after(Duration::from_secs(5)).unwrap();
    let (mut link, mut now) = (Reconnect::new(1), NOW);
    let first = dial(&mut link, &mut now, &policy);
    let hint = Some(Micros::from_millis(60_000));
    let setback = link.failed(now, first, hint, &policy).unwrap();
    let mut acts = Vec::new();
    for _ in 0..3 {
        let act = link.poll(now, &policy);
        if let ReconnectAction::WaitUntil(at) = act {
            now = at;
        }
        acts.push(act);
    }
    assert_eq!(acts[2], ReconnectAction::GiveUp, "{setback:?}: {acts:?}");
    assert_eq!(link.poll(Instant::MAX, &policy), ReconnectAction::GiveUp);
}

/// A device that slept through the end of its window does not dial once more.
#[test]
fn a_link_that_slept_through_its_end_gives_up() {
    let policy = ReconnectPolicy::DEFAULT.with_give_up_after(Duration::from_secs(500)).unwrap();
    let (mut link, mut now) = (Reconnect::new(1), NOW);
    let first = dial(&mut link, &mut now, &policy);
    let setback = link.failed(now, first, None, &policy).unwrap();
    assert!(setback.dial_at < Instant::MAX, "there was time for another dial");
    let end = now.after(policy.give_up_after());
    assert_eq!(link.poll(end, &policy), ReconnectAction::GiveUp);
}

/// Growth never stands still for rounding, but nothing grows to nothing.
#[test]
fn a_breaker_that_is_never_open_for_long_stays_so() {
    let policy = BreakerPolicy::new(Consecutive::new(1).unwrap()).with_open_for(Duration::ZERO);
    let policy = policy.unwrap().with_growth(1_500, Duration::from_secs(1)).unwrap();
    let mut breaker = CircuitBreaker::closed();
    for _ in 0..4 {
        let permit = breaker.admit(NOW, Deadline::NONE, &policy).unwrap();
        breaker.record(NOW, permit, Verdict::Failure, &policy);
        assert_eq!(breaker.state(), BreakerState::Open);
    }
}

/// Another rule keeps what the old one had: how the open time grows, and how it is spread.
#[test]
fn another_rule_opens_for_as_long() {
    let second = Duration::from_secs(1);
    let plain = BreakerPolicy::new(Consecutive::new(1).unwrap()).with_open_for(second).unwrap();
    let every = LastN::<4>::new(1, 1, 1).unwrap();
    let grown = plain.with_growth(2_000, 60 * second).unwrap();
    assert_eq!(open_times(&grown.with_trip(every)), [1_000_000, 2_000_000, 4_000_000]);
    assert_eq!(open_times(&plain.with_trip(every)), [1_000_000; 3]);
    // What neither grows nor varies may still have an end, whichever was set first.
    let capped = plain.with_growth(1_000, second / 2).unwrap();
    assert_eq!(open_times(&capped.with_trip(every)), [500_000; 3]);
    let longer = capped.with_trip(every).with_open_for(60 * second).unwrap();
    assert_eq!(open_times(&longer), [500_000; 3]);

    // A seed of zero is as good as any other.
    for seed in [0, 7] {
        let spread = plain.with_open_jitter(500, seed).unwrap();
        let times = open_times(&spread.with_trip(every));
        assert_eq!(times, open_times(&spread));
        assert!(times[0] != times[1] && times[1] != times[2], "seed {seed}: {times:?}");
    }
}

/// How long a breaker is open the first three times in a row, in microseconds.
fn open_times<T: Trip>(policy: &BreakerPolicy<T>) -> [u64; 3] {
    let (mut breaker, mut now) = (CircuitBreaker::closed(), NOW);
    [(); 3].map(|()| {
        let permit = breaker.admit(now, Deadline::NONE, policy).unwrap();
        breaker.record(now, permit, Verdict::Failure, policy);
        let retry_at = breaker.snapshot().retry_at.unwrap();
        let open = retry_at.since(now).as_micros();
        now = retry_at;
        open
    })
}
