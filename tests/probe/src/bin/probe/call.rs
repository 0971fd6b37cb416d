//! This file knows the composed call: one attempt in flight and several, against every upstream.

use core::hint::black_box;

use evenkeel_core::{
    Action, Attempt, AttemptInfo, BreakerPolicy, BreakerTable, Call, CallPolicy, CircuitBreaker,
    Consecutive, Deadline, Instant, Keyed, LastN, Permit, Refusal, Report, RetryPolicy, Single,
    StopReason, Target, Throttle, ThrottlePolicy, TimeWindow, Tried, Upstream, pick,
};
use evenkeel_probe::{Rule, any, blur};

use crate::breaker::Either;
use crate::values::derived;

pub(crate) fn reach() {
    policies();
    blur(&mut Call::new(any(), any()));
    with_one_target::<Consecutive>();
    with_one_target::<LastN>();
    with_one_target::<TimeWindow>();
    with_one_target::<Either>();
    with_a_table();
    with_a_pool();
}

fn policies() {
    let policy: CallPolicy = any();
    let _ = CallPolicy::default();
    let _ = CallPolicy::deadline(&policy, any(), any());
    let _ = CallPolicy::timeout(&policy);
    let _ = CallPolicy::attempt_timeout(&policy);
    let _ = CallPolicy::short_slice(&policy);
    let _ = CallPolicy::hedge_after(&policy);
    derived(&policy);

    let retry: &RetryPolicy = CallPolicy::retry(&policy);
    let _ = RetryPolicy::default();
    let _ = RetryPolicy::max_attempts(retry);
    let _ = RetryPolicy::codes(retry);
    derived(RetryPolicy::backoff(retry));
    let _ = RetryPolicy::max_hint(retry);
    let _ = RetryPolicy::is_idempotent(retry);
}

fn with_one_target<T: Rule>() {
    let policy: CallPolicy = any();
    let rules: BreakerPolicy<T> = any();
    let tokens: ThrottlePolicy = any();
    let mut breaker = CircuitBreaker::<T>::closed();
    let mut throttle = Throttle::full(&tokens);
    blur(&mut breaker);
    blur(&mut throttle);
    let bare = Single::new(&policy);
    let mut single = Single::with_breaker(bare, &mut breaker, &rules);
    if any() {
        single = Single::with_throttle(single, &mut throttle, &tokens);
    }
    blur(&mut single);
    let _ = Single::changed(&single);
    drive::<1, _>(&mut single);
    drive::<2, _>(&mut single);
}

fn with_a_table() {
    let policy: CallPolicy = any();
    let rules: BreakerPolicy = any();
    let tokens: ThrottlePolicy = any();
    let mut table = BreakerTable::<u16, 8>::new();
    let mut throttle = Throttle::full(&tokens);
    blur(&mut table);
    blur(&mut throttle);
    let mut keyed = Keyed::new(any(), &policy, &mut table, &rules);
    if any() {
        keyed = Keyed::with_throttle(keyed, &mut throttle, &tokens);
    }
    blur(&mut keyed);
    let _ = Keyed::changed(&keyed);
    drive::<1, _>(&mut keyed);
    drive::<8, _>(&mut &mut keyed);
}

fn with_a_pool() {
    let policy: CallPolicy = any();
    let rules: BreakerPolicy = any();
    let mut pool =
        Pool { policy: &policy, rules: &rules, breakers: [const { CircuitBreaker::new() }; 3] };
    blur(&mut pool);
    drive::<2, _>(&mut pool);
    let lent: &mut dyn Upstream = black_box(&mut pool);
    drive::<2, _>(lent);
}

fn drive<const IN_FLIGHT: usize, U: Upstream + ?Sized>(upstream: &mut U) {
    lend(upstream);
    let mut call = Call::<IN_FLIGHT>::with_room(any(), any());
    if any() {
        call = Call::wait_for_ready(call);
    }
    blur(&mut call);
    match Call::poll(&mut call, any(), upstream) {
        Action::Attempt(mut attempt) => {
            blur(&mut attempt);
            blur(&mut call);
            look(&attempt);
            if any() {
                Call::commit(&mut call, any(), upstream, &attempt);
            }
            if any() {
                Call::excuse(&mut call, &attempt);
            }
            let _ = Call::complete(&mut call, any(), upstream, attempt, any());
        }
        Action::Finish(reason) => drop(black_box(reason)),
        Action::WaitUntil(at) => drop(black_box(at)),
    }
    blur(&mut call);
    Call::forbid_repeats(&mut call);
    let _ = Call::attempts(&call);
    let _ = Call::deadline(&call);
    derived(&call);
    blur(&mut call);
    Call::cancel(&mut call, any(), upstream);
}

fn lend<U: Upstream + ?Sized>(upstream: &mut U) {
    black_box(Upstream::policy(upstream));
    match Upstream::admit(upstream, any(), any(), any()) {
        Ok((target, mut permit)) => {
            blur(&mut permit);
            Upstream::renew(upstream, any(), target, &permit);
            Upstream::record(upstream, any(), target, permit, &any());
        }
        Err(refusal) => drop(black_box(StopReason::from(refusal))),
    }
    let _ = Upstream::retry_allowed(upstream, any());
    let _ = Upstream::hedge_after(upstream);
}

fn look(attempt: &Attempt) {
    let _ = Attempt::target(attempt);
    let _ = Attempt::deadline(attempt);
    let _ = Attempt::number(attempt);
    let _ = Attempt::previous(attempt);
    let _ = Attempt::started(attempt);
    let info = Attempt::info(attempt);
    let _ = AttemptInfo::target(&info);
    let _ = AttemptInfo::deadline(&info);
    let _ = AttemptInfo::number(&info);
    let _ = AttemptInfo::previous(&info);
    let _ = AttemptInfo::started(&info);
}

/// Three targets of the user's own, picked in the house's order.
struct Pool<'a> {
    policy: &'a CallPolicy,
    rules: &'a BreakerPolicy,
    breakers: [CircuitBreaker; 3],
}

impl Pool<'_> {
    fn breaker(&mut self, target: Target) -> Option<&mut CircuitBreaker> {
        self.breakers.get_mut(usize::from(target.number()))
    }
}

impl Upstream for Pool<'_> {
    fn policy(&self) -> &CallPolicy {
        self.policy
    }

    fn admit(
        &mut self,
        now: Instant,
        lease: Deadline,
        tried: Tried,
    ) -> Result<(Target, Permit), Refusal> {
        let rules = self.rules;
        let targets = [Target::new(0), Target::new(1), Target::new(any())];
        pick(black_box(&targets[..]).iter().copied(), tried, |target| match self.breaker(target) {
            Some(breaker) => breaker.admit(now, lease, rules),
            None => Ok(Permit::UNTRACKED),
        })
    }

    fn record(&mut self, now: Instant, target: Target, permit: Permit, report: &Report) {
        let rules = self.rules;
        if let Some(breaker) = self.breaker(target) {
            let _ = breaker.record(now, permit, rules.verdict(report), rules);
        }
    }
}
