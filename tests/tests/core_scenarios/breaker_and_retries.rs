//! A breaker below the retries counts attempts, not calls: C44 to C50, G45, G73 and G76.

use evenkeel_core::{
    Action, Bad, BreakerPolicy, BreakerState, Call, CircuitBreaker, Code, Deadline, Instant, LastN,
    Micros, Next, Outcome, Single, StopReason,
};

use crate::driver::{Client, HANG, OK, U, after, at_once, drive};
use crate::policies::{calls, calls_within, code, millis, ms, opens_after};
use crate::pool::Pool;

fn is_rejection(reason: StopReason) -> bool {
    matches!(reason, StopReason::CircuitOpen { .. })
}

#[test]
fn c44_and_g73_a_threshold_below_the_attempts_opens_under_one_call() {
    let mut client = Client::new(calls(3, 100)).with_breaker(opens_after(2));
    let run = client.call(&[at_once(U)]);
    assert!(is_rejection(run.reason));
    assert_eq!((run.sent(), run.waits()), (2, vec![100, 200]));
    let shown = client.breaker().snapshot();
    assert_eq!((shown.state, shown.failures), (BreakerState::Open, 2));
}

#[test]
fn c45_a_threshold_equal_to_the_attempts_opens_behind_the_call() {
    let mut client = Client::new(calls(3, 100)).with_breaker(opens_after(3));
    let run = client.call(&[at_once(U)]);
    assert_eq!((run.reason, run.sent()), (StopReason::AttemptsUsedUp, 3));
    let shown = client.breaker().snapshot();
    assert_eq!((shown.state, shown.failures), (BreakerState::Open, 3));
}

#[test]
fn c46_the_defaults_open_in_the_second_failing_call() {
    let mut client = Client::new(calls(3, 100)).with_breaker(opens_after(5));
    let runs: Vec<(bool, usize)> = (0..4)
        .map(|_| client.call(&[at_once(U)]))
        .map(|run| (is_rejection(run.reason), run.sent()))
        .collect();
    assert_eq!(runs, [(false, 3), (true, 2), (true, 0), (true, 0)]);
}

#[test]
fn c47_a_threshold_of_one_leaves_no_retry() {
    let mut client = Client::new(calls(3, 100)).with_breaker(opens_after(1));
    let run = client.call(&[at_once(U)]);
    assert!(is_rejection(run.reason));
    assert_eq!(run.sent(), 1);
}

/// G45: what was delivered before stays the caller's; no further request goes out.
#[test]
fn g45_a_repetition_the_breaker_refuses_goes_no_further() {
    let mut client = Client::new(calls(3, 100)).with_breaker(opens_after(1));
    let run = client.call(&[after(30, U)]);
    assert_eq!((run.sent(), run.last), (1, Some(Code::Unavailable)));
    assert_eq!(run.waits(), [100], "it learnt of the refusal when its turn came");
}

#[test]
fn c48_the_calls_own_deadline_counts() {
    let mut client = Client::new(calls_within(200, 3, 100)).with_breaker(opens_after(1));
    client.call(&[HANG]);
    assert_eq!(client.breaker().state(), BreakerState::Open);
}

/// An attempt of which nobody says how it ended was no longer under way than it may be.
#[test]
fn a_lost_completion_is_slow_only_where_an_attempt_may_be() {
    for (limit, slow) in [(999, true), (1_000, false), (5_000, false)] {
        let policy = calls(1, 100).with_attempt_timeout(millis(1_000)).unwrap();
        let rule = LastN::<8>::new(8, 1, 1).unwrap().counting(Bad::SlowCalls);
        let breaker = BreakerPolicy::new(rule).with_slow_after(millis(limit)).unwrap();
        let mut circuit = CircuitBreaker::closed();
        let mut upstream = Single::new(&policy).with_breaker(&mut circuit, &breaker);
        let mut call = Call::new(Deadline::NONE, 1);
        assert!(matches!(call.poll(Instant::ZERO, &mut upstream), Action::Attempt(_)));
        let over = Instant::ZERO + ms(1_000);
        assert!(matches!(call.poll(over, &mut upstream), Action::Finish(_)));
        assert_eq!(circuit.is_protecting(), slow, "limit {limit} ms");
    }
}

/// Unless the slice was too short to judge a peer by.
#[test]
fn a_slice_cut_short_says_nothing_about_the_peer() {
    let mut client = Client::new(calls(3, 100)).with_breaker(opens_after(1));
    let soon = Deadline::at(client.now + ms(99));
    let run = client.call_until(soon, &[HANG]);
    assert_eq!(run.last, Some(Code::DeadlineExceeded));
    assert!(client.breaker().is_clean());
    // A DEADLINE_EXCEEDED that the peer sent is its own word.
    let soon = Deadline::at(client.now + ms(99));
    client.call_until(soon, &[at_once(code(Code::DeadlineExceeded))]);
    assert!(client.breaker().is_protecting());
}

/// Nor does one whose answer was there, and was not fetched before its deadline.
#[test]
fn an_excused_attempt_says_nothing_about_the_peer() {
    let (policy, opens) = (calls_within(1_000, 1, 100), opens_after(1));
    let excused = |after: u64, outcome: Option<Outcome>| {
        let mut breaker = CircuitBreaker::new();
        let mut upstream = Single::new(&policy).with_breaker(&mut breaker, &opens);
        let deadline = policy.deadline(Instant::ZERO, Deadline::NONE);
        let mut call = Call::<2>::with_room(deadline, 1);
        let sent = call.poll(Instant::ZERO, &mut upstream);
        let Action::Attempt(attempt) = sent else { panic!("{sent:?}") };
        call.excuse(&attempt);
        let now = Instant::ZERO + ms(after);
        let end = match outcome {
            Some(outcome) => call.complete(now, &mut upstream, attempt, outcome),
            None => match call.poll(now, &mut upstream) {
                Action::Finish(reason) => Next::Stop(reason),
                other => panic!("{other:?}"),
            },
        };
        assert!(matches!(end, Next::Stop(_)), "{end:?}");
        breaker.state()
    };
    for late in [Some(Outcome::success()), Some(Outcome::unavailable()), None] {
        assert_eq!(excused(1_000, late), BreakerState::Closed, "{late:?}");
    }
    assert_eq!(excused(999, Some(Outcome::unavailable())), BreakerState::Open, "in time it counts");
}

/// What is normal is the method's own timeout, where that is shorter still.
#[test]
fn a_method_with_little_time_is_judged_by_that() {
    let whole_call = calls_within(50, 3, 100);
    let each_attempt = calls(1, 100).with_attempt_timeout(millis(50)).unwrap();
    for policy in [whole_call, each_attempt] {
        let mut client = Client::new(policy).with_breaker(opens_after(1));
        client.call(&[HANG]);
        assert_eq!(client.breaker().state(), BreakerState::Open);
    }
}

/// A driver may read its clock for the deadline, and again for the attempt.
#[test]
fn a_method_with_little_time_is_judged_by_it_however_often_its_clock_is_read() {
    let (policy, opens) = (calls_within(50, 1, 100), opens_after(1));
    let hangs = |read_again: u64| {
        let mut breaker = CircuitBreaker::new();
        let mut upstream = Single::new(&policy).with_breaker(&mut breaker, &opens);
        let begun = Instant::from_micros(7);
        let mut call = Call::new(policy.deadline(begun, Deadline::NONE), 1);
        let sent = call.poll(begun + Micros::from_micros(read_again), &mut upstream);
        assert!(matches!(sent, Action::Attempt(_)));
        let end = call.poll(begun + ms(50), &mut upstream);
        assert!(matches!(end, Action::Finish(StopReason::NotRetryable)), "{end:?}");
        breaker.state()
    };
    for read_again in [0, 1, 100, 781] {
        assert_eq!(hangs(read_again), BreakerState::Open, "{read_again} µs later");
    }
    assert_eq!(hangs(782), BreakerState::Closed, "that was more than another reading");
}

#[test]
fn c49_targets_with_breakers_of_their_own_do_not_meet() {
    let mut failing = Client::new(calls(3, 100)).with_breaker(opens_after(1));
    let mut healthy = Client::new(calls(3, 100)).with_breaker(opens_after(1));
    failing.call(&[at_once(U)]);
    assert!(is_rejection(failing.call(&[at_once(OK)]).reason));
    assert_eq!(healthy.call(&[at_once(OK)]).reason, StopReason::Succeeded);
}

#[test]
fn c50_targets_that_share_a_breaker_are_refused_together() {
    let (policy, breaker) = (calls(1, 100), opens_after(1));
    let mut shared = CircuitBreaker::new();
    let mut now = Instant::from_micros(1);
    let mut call = |script| {
        let mut upstream = Single::new(&policy).with_breaker(&mut shared, &breaker);
        let call = Call::new(policy.deadline(now, Deadline::NONE), 1);
        drive(&mut now, &mut upstream, call, &[at_once(script)])
    };
    assert_eq!(call(U).sent(), 1, "the failing target");
    let healthy = call(OK);
    assert!(is_rejection(healthy.reason));
    assert_eq!(healthy.sent(), 0);
}

#[test]
fn g76_a_failing_member_is_avoided_and_the_others_stay_closed() {
    let mut pool = Pool::of(3, calls(3, 100), opens_after(1));
    let mut now = Instant::from_micros(1);
    let mut call = |pool: &mut Pool, script: &[_]| {
        let deadline = pool.policy.deadline(now, Deadline::NONE);
        drive(&mut now, pool, Call::new(deadline, 1), script)
    };
    let run = call(&mut pool, &[at_once(U), at_once(OK)]);
    let targets: Vec<u16> = run.attempts.iter().map(|seen| seen.target).collect();
    assert_eq!((run.reason, targets), (StopReason::Succeeded, vec![0, 1]));
    let states: Vec<_> = pool.members.iter().map(|member| member.breaker.state()).collect();
    assert_eq!(states, [BreakerState::Open, BreakerState::Closed, BreakerState::Closed]);

    let run = call(&mut pool, &[at_once(OK)]);
    assert_eq!(run.attempts[0].target, 1, "the open one is passed over");

    // All open: one refusal, and the soonest of their times.
    let run = call(&mut pool, &[at_once(U)]);
    assert_eq!(run.sent(), 2);
    let soonest = pool.members.iter().map(|member| member.breaker.snapshot().retry_at.unwrap());
    assert_eq!(run.reason, StopReason::CircuitOpen { retry_at: soonest.min().unwrap() });
}
