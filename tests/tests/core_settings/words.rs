//! This file knows what the core's values say of themselves, and that a borrowed machine is the
//! machine.

use core::time::Duration;

use evenkeel_core::{
    Action, BreakerPolicy, BreakerState, BreakerTable, BudgetExhausted, Call, CallPolicy,
    CircuitBreaker, Code, CodeSet, Consecutive, Deadline, Event, HealthChange, Instant, Keyed,
    Micros, Next, Outcome, OutlierChange, Refusal, Rejected, Report, RunningQuantile, Setback,
    Single, StopReason, Throttle, ThrottlePolicy, Transition, Tried, Upstream, Weight,
};

const NOW: Instant = Instant::from_micros(1_000);

#[test]
fn sets_of_codes() {
    let set = CodeSet::of(&[Code::Unavailable, Code::Aborted]);
    assert_eq!(format!("{set:?}"), "{ABORTED, UNAVAILABLE}");
    assert_eq!(format!("{:?}", CodeSet::EMPTY), "{}");
    assert!(CodeSet::EMPTY.is_empty() && !set.is_empty());
    assert_eq!(set.with(Code::Aborted), set, "a set has each once");
    assert_eq!(set.iter().collect::<CodeSet>(), set);
    assert_eq!(Code::ALL.into_iter().collect::<CodeSet>().iter().count(), 17);
    for code in Code::ALL {
        assert_eq!(Code::from_number(code.number()), code);
        assert_eq!(Code::from_name(&code.to_string()), Some(code));
    }
    for number in [-1, 17, 99, i32::MIN, i32::MAX] {
        assert_eq!(Code::from_number(number), Code::Unknown, "{number}");
    }
}

/// Two decimals of a second, or what is left of them where there would be none.
#[test]
fn spans_are_shown_as_a_person_reads_them() {
    for (micros, shown) in [
        (0, "0.00s"),
        (1, "1us"),
        (999, "999us"),
        (1_000, "1.0ms"),
        (9_999, "9.9ms"),
        (10_000, "0.01s"),
        (1_234_567, "1.23s"),
    ] {
        assert_eq!(Micros::from_micros(micros).to_string(), shown);
    }
}

/// What a `main` prints that returns it.
#[test]
fn a_refused_setting_is_shown_as_it_is_displayed() {
    let refused = Consecutive::new(0).unwrap_err();
    assert_eq!(format!("{refused:?}"), refused.to_string());
    assert!(refused.to_string().contains("fail_threshold"), "{refused}");
}

/// The variants listed, which are all there are: the compiler does not let one be missing.
macro_rules! every {
    ($type:ident: $($variant:ident $({ $field:ident: $value:expr })?),* $(,)?) => {{
        const _: fn(&$type) = |listed| match listed {
            $($type::$variant { .. } => (),)*
        };
        [$($type::$variant $({ $field: $value })?),*]
    }};
}

#[test]
fn reasons_to_stop() {
    let reasons = every!(
        StopReason: AttemptsUsedUp, Cancelled, CircuitOpen { retry_at: NOW }, DeadlinePassed,
        DeadlineWouldPass, HintTooLong { hint: Micros::from_millis(90_000) }, NoTarget,
        NotIdempotent, NotReplayable, NotRetryable, PushedBack, Succeeded, Throttled,
    );
    let mut words: Vec<String> = reasons.iter().map(ToString::to_string).collect();
    assert_eq!(words[5], "the peer asked for a wait of 90.00s, longer than max_hint");
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), reasons.len(), "two reasons say the same");
}

#[test]
fn refusals() {
    let retry_at = Instant::from_micros(5_250_000);
    let rejected = Rejected { retry_at };
    assert_eq!(rejected.to_string(), "circuit breaker is open, next try at 5.25s on its clock");
    assert_eq!(Refusal::from(rejected), Refusal::CircuitOpen { retry_at });
    let open = "every eligible target's circuit breaker is open";
    let words = Refusal::CircuitOpen { retry_at }.to_string();
    assert_eq!(words, format!("{open}, next try at 5.25s on its clock"));
    let words = Refusal::CircuitOpen { retry_at: Instant::MAX }.to_string();
    assert_eq!(words, format!("{open}, forced by hand"));
    assert_eq!(Refusal::NoTarget.to_string(), "no target is eligible");
}

#[test]
fn every_event_is_what_happened() {
    let setback = Setback { failures: 1, dial_at: NOW };
    let spent = BudgetExhausted { elapsed: Micros::ZERO, total: Micros::ZERO };
    let rejected = Rejected { retry_at: NOW };
    let events = [
        (Event::from(Transition::Opened), Event::Breaker(Transition::Opened)),
        (spent.into(), Event::Budget(spent)),
        (Next::StillTrying.into(), Event::Ended(Next::StillTrying)),
        (HealthChange::Healthy.into(), Event::Health(HealthChange::Healthy)),
        (OutlierChange::Ejected.into(), Event::Outlier(OutlierChange::Ejected)),
        (setback.into(), Event::Link(setback)),
        (rejected.into(), Event::Rejected(rejected)),
        (StopReason::Throttled.into(), Event::Stopped(StopReason::Throttled)),
    ];
    for (got, expected) in events {
        assert_eq!(got, expected);
    }
}

#[test]
fn a_transition_leads_to_the_state_of_its_name() {
    let all = every!(Transition: Closed, ForcedClosed, ForcedOpen, HalfOpened, Opened);
    let states = every!(BreakerState: Closed, ForcedClosed, ForcedOpen, HalfOpen, Open);
    for (transition, state) in all.into_iter().zip(states) {
        assert_eq!(transition.state(), state);
        assert_eq!(state.to_string(), state.name());
    }
}

/// What a policy links in says nothing in print, and a quantile nothing of its bins.
#[test]
fn debug_output_is_for_people() {
    assert!(format!("{:?}", CallPolicy::DEFAULT).contains(".."));
    let printed = format!("{:?}", RunningQuantile::new(950).unwrap());
    assert!(printed.contains("value: None") && printed.len() < 60, "{printed}");
}

/// A call that fails, waits and succeeds; answers how it went and at what time.
fn lived(upstream: &mut (impl Upstream + ?Sized)) -> (StopReason, Instant, Micros, bool) {
    let mut now = NOW;
    let mut call = Call::new(upstream.policy().deadline(now, Deadline::NONE), 7);
    let mut codes = [Code::Unavailable, Code::Ok].into_iter();
    loop {
        match call.poll(now, &mut *upstream) {
            Action::Attempt(attempt) => {
                now = now.after(Micros::from_millis(5));
                let outcome = Outcome::new(codes.next().unwrap_or(Code::Ok));
                call.complete(now, &mut *upstream, attempt, outcome);
            }
            Action::WaitUntil(at) => now = at,
            Action::Finish(why) => {
                let (target, permit) = upstream.admit(now, Deadline::NONE, Tried::NONE).unwrap();
                upstream.renew(now, target, &permit);
                let outcome = Outcome::success();
                let report = Report { outcome, took: Micros::ZERO, weight: Weight::Counts };
                upstream.record(now, target, permit, &report);
                return (why, now, upstream.hedge_after(), upstream.retry_allowed(now));
            }
        }
    }
}

#[test]
fn a_borrowed_upstream_is_the_upstream() {
    let policy = CallPolicy::DEFAULT.with_hedge_after(Duration::from_secs(9)).unwrap();
    let plain = lived(&mut Single::new(&policy));
    assert_eq!((plain.0, plain.2), (StopReason::Succeeded, Micros::from_millis(9_000)));
    let mut single = Single::new(&policy);
    assert_eq!(lived(&mut &mut single), plain);
    let mut table = BreakerTable::<u8, 2>::new();
    let mut keyed = Keyed::new(5, &policy, &mut table, &BreakerPolicy::DEFAULT);
    let borrowed: &mut dyn Upstream = &mut keyed;
    assert_eq!(lived(borrowed), plain);
    assert_eq!((keyed.changed(), table.len()), (None, 1));
}

/// Every question goes through the loan: what is booked, what is prolonged, and what is allowed.
#[test]
fn a_borrowed_upstream_books_renews_and_allows() {
    let (policy, second) = (CallPolicy::DEFAULT, Micros::from_millis(1_000));
    let opens = BreakerPolicy::new(Consecutive::new(1).unwrap());
    let opens = opens.with_open_for(second.as_duration()).unwrap();
    let tokens = ThrottlePolicy::grpc(2, 100).unwrap();
    let (mut breaker, mut throttle) = (CircuitBreaker::new(), Throttle::full(&tokens));
    let mut single = Single::new(&policy)
        .with_breaker(&mut breaker, &opens)
        .with_throttle(&mut throttle, &tokens);
    let failed =
        Report { outcome: Outcome::unavailable(), took: Micros::ZERO, weight: Weight::Counts };

    assert!(lent(&mut single).retry_allowed(NOW));
    let (target, permit) = single.admit(NOW, Deadline::NONE, Tried::NONE).unwrap();
    assert_eq!(single.changed(), None);
    lent(&mut single).record(NOW, target, permit, &failed);
    assert_eq!(single.changed(), Some(Transition::Opened));
    assert!(!lent(&mut single).retry_allowed(NOW), "one of two tokens is half");

    let half_open = NOW.after(second);
    let (target, trial) = single.admit(half_open, Deadline::NONE, Tried::NONE).unwrap();
    assert_eq!(single.changed(), Some(Transition::HalfOpened));
    let later = half_open.after(Micros::from_millis(500));
    lent(&mut single).renew(later, target, &trial);
    let refused = single.admit(later, Deadline::NONE, Tried::NONE).unwrap_err();
    assert_eq!(refused, Refusal::CircuitOpen { retry_at: later.after(second) });
}

/// A loan as an upstream of its own; called on the loan itself, a method would be the lender's.
fn lent<'a, U: Upstream>(upstream: &'a mut U) -> impl Upstream + use<'a, U> {
    upstream
}
