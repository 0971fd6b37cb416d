//! Several attempts under way at once, the way gRPC A6 hedges.

use evenkeel_core::{
    Action, Attempt, Because, Call, CallPolicy, Code, Deadline, Instant, Next, Outcome, Pushback,
    Sent, StopReason, Throttle, ThrottlePolicy, Weight,
};

use crate::driver::{HANG, OK, Reply, Run, U, after, at_once, drive};
use crate::policies::{also, calls, code, millis, ms, opens_after, retries};
use crate::pool::Pool;

fn hedged(delay: u64) -> CallPolicy {
    calls(3, 100).with_hedge_after(millis(delay)).unwrap()
}

/// A hedging call against a pool of three.
fn run(pool: &mut Pool, script: &[Reply]) -> Run {
    let mut now = Instant::from_micros(11);
    let deadline = pool.policy.deadline(now, Default::default());
    drive(&mut now, pool, Call::<3>::with_room(deadline, 1), script)
}

#[test]
fn a_slow_attempt_is_joined_by_others_on_other_targets() {
    let mut pool = Pool::of(3, hedged(20), opens_after(1));
    let seen = run(&mut pool, &[HANG, HANG, after(5, OK)]);
    assert_eq!(seen.starts(), [0, 20, 40]);
    assert_eq!(seen.end(), (StopReason::Succeeded, 3, 45));
    let targets: Vec<u16> = seen.attempts.iter().map(|seen| seen.target).collect();
    assert_eq!(targets, [0, 1, 2]);
    // The losers are given up without a verdict.
    let weights: Vec<Weight> = pool.members.iter().map(|member| member.booked[0].weight).collect();
    assert_eq!(weights, [Weight::Cancelled, Weight::Cancelled, Weight::Counts]);
}

/// Whether a method may be executed twice is not asked of failures alone.
#[test]
fn a_method_that_may_not_be_repeated_is_not_hedged() {
    let once = hedged(20).with_retry(retries(3, 100).not_idempotent());
    let mut pool = Pool::of(3, once, opens_after(5));
    let seen = run(&mut pool, &[after(50, OK), at_once(OK)]);
    assert_eq!((seen.starts(), seen.end()), (vec![0], (StopReason::Succeeded, 1, 50)));
    let seen = run(&mut pool, &[after(5, U), at_once(OK)]);
    assert_eq!(seen.end(), (StopReason::NotIdempotent, 1, 5));
}

#[test]
fn a_failure_brings_the_next_hedge_forward() {
    let mut pool = Pool::of(3, hedged(20), opens_after(5));
    let seen = run(&mut pool, &[HANG, after(5, U), after(5, OK)]);
    assert_eq!(seen.starts(), [0, 20, 25]);
    assert_eq!(seen.end(), (StopReason::Succeeded, 3, 30));
}

#[test]
fn a_pushback_puts_the_next_hedge_off_or_ends_hedging() {
    let mut pool = Pool::of(3, hedged(20), opens_after(5));
    let later = U.with_pushback(Pushback::Exactly(ms(70)));
    let seen = run(&mut pool, &[HANG, after(5, later), after(5, OK)]);
    assert_eq!(seen.starts(), [0, 20, 95]);

    let stop = U.with_pushback(Pushback::Stop);
    let seen = run(&mut pool, &[after(50, OK), after(5, stop), at_once(OK)]);
    assert_eq!(seen.end(), (StopReason::Succeeded, 2, 50));
    let seen = run(&mut pool, &[after(50, U), after(5, stop), at_once(OK)]);
    assert_eq!(seen.end(), (StopReason::PushedBack, 2, 50));
}

/// A wait that a peer named is kept, whoever else fails after it without a word.
#[test]
fn a_pushback_outlives_the_failure_of_another() {
    for (wait, ends) in [
        (400, (StopReason::AttemptsUsedUp, 3, 420)),
        // Longer than anybody waits, in whichever order they fail.
        (600_000, (StopReason::PushedBack, 2, 21)),
    ] {
        let mut pool = Pool::of(3, hedged(20), opens_after(5));
        let later = U.with_pushback(Pushback::Exactly(ms(wait)));
        let seen = run(&mut pool, &[after(21, U), after(0, later), at_once(U)]);
        assert_eq!(seen.end(), ends);
    }
    // A third that fails in the meantime does not bring the next one forward.
    let policy = hedged(20).with_retry(retries(4, 100));
    let mut pool = Pool::of(4, policy, opens_after(5));
    let later = U.with_pushback(Pushback::Exactly(ms(400)));
    let seen = run(&mut pool, &[HANG, after(25, U), after(0, later), at_once(OK)]);
    assert_eq!(seen.starts(), [0, 20, 40, 440]);
}

/// Two that were never sent are repeated by one, and only one is told that it is.
#[test]
fn of_two_that_were_never_sent_one_is_repeated_at_once() {
    let mut pool = Pool::of(3, hedged(20), opens_after(5));
    let mut now = Instant::from_micros(11);
    let mut call = Call::<3>::with_room(pool.policy.deadline(now, Deadline::NONE), 1);
    let mut hedges = flying(&mut call, &mut now, &mut pool, 2);
    let unsent = U.with_sent(Sent::Never);
    let first = call.complete(now, &mut pool, hedges.pop().unwrap(), unsent);
    assert_eq!(first, Next::Retry { at: now, because: Because::Transparent });
    assert_eq!(call.complete(now, &mut pool, hedges.pop().unwrap(), unsent), Next::StillTrying);
    assert!(matches!(call.poll(now, &mut pool), Action::Attempt(_)));
    // The other may follow as the hedge that it was.
    assert_eq!(call.poll(now, &mut pool), Action::WaitUntil(now + ms(20)));
}

/// Who begins to answer when it is too late has not answered: the others go on.
#[test]
fn an_answer_that_begins_too_late_gives_nobody_up() {
    let retry = retries(3, 100).with_codes(also(&[Code::DeadlineExceeded]));
    let policy = hedged(60).with_retry(retry).with_attempt_timeout(millis(100)).unwrap();
    let mut pool = Pool::of(3, policy, opens_after(5));
    let mut now = Instant::from_micros(11);
    let mut call = Call::<3>::with_room(pool.policy.deadline(now, Deadline::NONE), 1);
    let mut hedges = flying(&mut call, &mut now, &mut pool, 2);
    let (second, first) = (hedges.pop().unwrap(), hedges.pop().unwrap());
    let over = first.deadline().instant();
    call.commit(over, &mut pool, &first);
    let late = call.complete(over, &mut pool, first, OK);
    assert_eq!(late, Next::StillTrying);
    let next = call.complete(over, &mut pool, second, OK);
    assert_eq!(next, Next::Stop(StopReason::Succeeded));
}

#[test]
fn a_final_code_ends_the_others() {
    let mut pool = Pool::of(3, hedged(20), opens_after(5));
    let seen = run(&mut pool, &[HANG, after(5, code(Code::NotFound))]);
    assert_eq!(seen.end(), (StopReason::NotRetryable, 2, 25));
}

#[test]
fn whoever_hangs_to_the_end_of_a_call_is_blamed() {
    let mut pool = Pool::of(3, hedged(20), opens_after(1));
    let seen = run(&mut pool, &[HANG, HANG, HANG]);
    assert_eq!(seen.end().0, StopReason::NotRetryable);
    for member in &pool.members {
        let booked = member.booked[0];
        assert_eq!((booked.outcome.code, booked.weight), (Code::DeadlineExceeded, Weight::Counts));
    }
}

#[test]
fn no_delay_sends_all_at_once_and_a_refused_hedge_does_not_spin() {
    let mut pool = Pool::of(3, hedged(0), opens_after(5));
    assert_eq!(run(&mut pool, &[after(9, OK)]).starts(), [0, 0, 0]);

    // An empty throttle: the first attempt goes alone, and is waited for.
    let policy = ThrottlePolicy::grpc(1, 100).unwrap();
    let mut throttle = Throttle::full(&policy);
    let failed = pool.members[0].booked[0];
    let failed = evenkeel_core::Report { outcome: U, weight: Weight::Counts, ..failed };
    throttle.record(&failed, pool.policy.retry().codes(), &policy);
    pool.throttle = Some((throttle, policy));
    assert_eq!(run(&mut pool, &[after(9, OK)]).end(), (StopReason::Succeeded, 1, 9));
}

#[test]
fn an_attempt_that_has_begun_to_answer_is_alone_and_stays_so() {
    let mut pool = Pool::of(3, hedged(20), opens_after(5));
    let mut now = Instant::from_micros(11);
    let mut call = Call::<3>::with_room(pool.policy.deadline(now, Deadline::NONE), 1);
    let mut flying = flying(&mut call, &mut now, &mut pool, 2);
    let second = flying.pop().unwrap();
    call.commit(now, &mut pool, &second);
    assert_eq!(pool.members[0].booked[0].weight, Weight::Cancelled);
    assert!(pool.members[1].booked.is_empty());
    // No hedge is due any more, and what comes of the first is too late.
    assert_eq!(call.poll(now, &mut pool), Action::WaitUntil(call.deadline().instant()));
    let first = flying.pop().unwrap();
    call.commit(now, &mut pool, &first);
    assert_eq!(call.complete(now, &mut pool, first, OK), Next::StillTrying);
    let broken = call.complete(now, &mut pool, second, U);
    assert_eq!(broken, Next::Stop(StopReason::NotReplayable));
    assert_eq!((pool.members[0].booked.len(), pool.members[1].booked.len()), (1, 1));
}

/// Neither what was about to go out at once, because it was never sent, nor what was waiting to.
#[test]
fn what_was_to_be_repeated_is_not_once_repeats_are_forbidden() {
    let mut pool = Pool::of(3, hedged(20), opens_after(5));
    let mut now = Instant::from_micros(11);
    let mut call = Call::<3>::with_room(pool.policy.deadline(now, Deadline::NONE), 1);
    let mut hedges = flying(&mut call, &mut now, &mut pool, 2);
    let (second, first) = (hedges.pop().unwrap(), hedges.pop().unwrap());
    let unsent = call.complete(now, &mut pool, second, U.with_sent(Sent::Never));
    assert!(matches!(unsent, Next::Retry { because: Because::Transparent, .. }));
    call.commit(now, &mut pool, &first);
    assert_eq!(call.poll(now, &mut pool), Action::WaitUntil(call.deadline().instant()));
    assert_eq!(call.complete(now, &mut pool, first, OK), Next::Stop(StopReason::Succeeded));

    // The failure is the call's own, also where it was not to count.
    for sent in [Sent::Never, Sent::Maybe] {
        let mut pool = Pool::of(3, calls(3, 100), opens_after(5));
        let mut call = Call::new(pool.policy.deadline(now, Deadline::NONE), 1);
        let Action::Attempt(only) = call.poll(now, &mut pool) else { panic!("nothing sent") };
        call.complete(now, &mut pool, only, U.with_sent(sent));
        call.forbid_repeats();
        assert_eq!(call.poll(now, &mut pool), Action::Finish(StopReason::NotReplayable));
        assert_eq!(call.attempts(), 1);
    }
}

/// What goes out again at once counts as under way: the failure of another in between neither ends
/// the call, nor costs a token, nor makes it wait.
#[test]
fn what_is_repeated_at_once_outlives_the_failure_of_another() {
    for (ends, goes_on) in [(U, true), (Outcome::new(Code::NotFound), false)] {
        let mut pool = Pool::of(3, hedged(20), opens_after(5));
        let policy = ThrottlePolicy::SUCCESS_REFILLED;
        pool.throttle = Some((Throttle::full(&policy), policy));
        let mut now = Instant::from_micros(11);
        let mut call = Call::<3>::with_room(pool.policy.deadline(now, Deadline::NONE), 1);
        let mut hedges = flying(&mut call, &mut now, &mut pool, 2);
        let (second, first) = (hedges.pop().unwrap(), hedges.pop().unwrap());
        let unsent = call.complete(now, &mut pool, first, U.with_sent(Sent::Never));
        assert!(matches!(unsent, Next::Retry { because: Because::Transparent, .. }));
        let tokens = pool.throttle.as_ref().unwrap().0;
        let next = call.complete(now, &mut pool, second, ends);
        assert_eq!(next == Next::StillTrying, goes_on, "{next:?}");
        assert_eq!(pool.throttle.as_ref().unwrap().0, tokens, "not asked");
        if goes_on {
            assert!(matches!(call.poll(now, &mut pool), Action::Attempt(_)));
        }
    }
}

/// Polls until so many attempts are under way; they are left to hang.
fn flying(call: &mut Call<3>, now: &mut Instant, pool: &mut Pool, count: usize) -> Vec<Attempt> {
    let mut flying = Vec::new();
    while flying.len() < count {
        match call.poll(*now, pool) {
            Action::Attempt(attempt) => flying.push(attempt),
            Action::WaitUntil(at) => *now = at,
            Action::Finish(reason) => panic!("{reason}"),
        }
    }
    flying
}

/// Each attempt remembers by itself whether it had its usual time.
#[test]
fn what_was_cut_short_is_remembered_of_every_attempt() {
    let retry = retries(3, 100).with_codes(also(&[Code::DeadlineExceeded]));
    let mut pool = Pool::of(3, hedged(10).with_retry(retry), opens_after(5));
    let mut now = Instant::from_micros(11);
    let end = now + ms(30);
    let mut call = Call::<3>::with_room(Deadline::at(end), 1);
    flying(&mut call, &mut now, &mut pool, 3);
    assert!(matches!(call.poll(end, &mut pool), Action::Finish(_)));
    for member in &pool.members {
        let weights: Vec<Weight> = member.booked.iter().map(|report| report.weight).collect();
        assert_eq!(weights, [Weight::CutShort]);
    }
}

/// And one that had it is blamed, though another beside it had not.
#[test]
fn what_had_its_time_is_blamed_beside_what_had_not() {
    let retry = retries(2, 100).with_codes(also(&[Code::DeadlineExceeded]));
    let policy = hedged(60).with_retry(retry).with_attempt_timeout(millis(100)).unwrap();
    let mut pool = Pool::of(2, policy, opens_after(5));
    let mut now = Instant::from_micros(11);
    let end = now + ms(130);
    let mut call = Call::<3>::with_room(Deadline::at(end), 1);
    let first = flying(&mut call, &mut now, &mut pool, 2).remove(0);
    assert_eq!(call.poll(first.deadline().instant(), &mut pool), Action::WaitUntil(end));
    assert!(matches!(call.poll(end, &mut pool), Action::Finish(_)));
    let weights: Vec<Weight> = pool.members.iter().map(|member| member.booked[0].weight).collect();
    assert_eq!(weights, [Weight::Counts, Weight::CutShort]);
}

/// A pool may stop hedging while a call is under way: a failure then brings no hedge forward.
#[test]
fn hedging_that_was_turned_off_meanwhile_stays_off() {
    let mut pool = Pool::of(3, hedged(20), opens_after(5));
    let mut now = Instant::from_micros(11);
    let mut call = Call::<3>::with_room(pool.policy.deadline(now, Deadline::NONE), 1);
    let second = flying(&mut call, &mut now, &mut pool, 2).pop().unwrap();
    pool.policy = calls(3, 100);
    assert_eq!(call.complete(now, &mut pool, second, U), Next::StillTrying);
    let end = call.deadline().instant();
    assert_eq!(call.poll(now, &mut pool), Action::WaitUntil(end));
}
