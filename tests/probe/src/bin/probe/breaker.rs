//! This file knows the breaker in every state, under every rule.

use core::hint::black_box;

use evenkeel_core::{
    AnyOf, BreakerPolicy, BreakerState, CircuitBreaker, Consecutive, Gate, LastN, Permit, Refusal,
    TimeWindow, Trip,
};
use evenkeel_probe::{Rule, any, blur};

use crate::values::derived;

/// Two rules of unlike memories.
pub(crate) type Either = AnyOf<LastN, TimeWindow>;

pub(crate) fn reach() {
    blur(&mut CircuitBreaker::new());
    let _ = Consecutive::threshold(&any());
    let _ = (Consecutive::default(), LastN::default(), TimeWindow::default());
    windows(&any(), &any());
    breaker::<Consecutive>();
    breaker::<LastN>();
    breaker::<TimeWindow>();
    breaker::<Either>();
}

fn windows(last: &LastN, time: &TimeWindow) {
    let _ = (LastN::n(last), LastN::min_calls(last), LastN::percent(last), LastN::bad(last));
    let _ = (TimeWindow::window(time), TimeWindow::min_calls(time));
    let _ = (TimeWindow::percent(time), TimeWindow::bad(time));
}

fn breaker<T: Rule>() {
    let policy: BreakerPolicy<T> = any();
    settings(&policy);
    rule(BreakerPolicy::trip(&policy));

    let mut breaker = if any() { CircuitBreaker::closed() } else { CircuitBreaker::default() };
    blur(&mut breaker);
    match CircuitBreaker::admit(&mut breaker, any(), any(), &policy) {
        Ok(permit) => spend(&mut breaker, permit, &policy),
        Err(rejected) => drop(black_box(Refusal::from(rejected))),
    }
    blur(&mut breaker);
    look(&breaker);
    overrule(&mut breaker);
}

fn settings<T: Rule>(policy: &BreakerPolicy<T>) {
    let _ = BreakerPolicy::<T>::default();
    let _ = BreakerPolicy::with_trip(*policy, Consecutive::DEFAULT);
    let _ = BreakerPolicy::open_for(policy);
    let _ = BreakerPolicy::max_trials(policy);
    let _ = BreakerPolicy::successes_to_close(policy);
    let _ = BreakerPolicy::growth(policy);
    let _ = BreakerPolicy::max_open(policy);
    let _ = BreakerPolicy::open_jitter(policy);
    let _ = BreakerPolicy::failures(policy);
    let _ = BreakerPolicy::slow_after(policy);
    let _ = BreakerPolicy::verdict(policy, &any());
}

fn rule<T: Rule>(rule: &T) {
    let mut memory = T::EMPTY;
    blur(&mut memory);
    let _ = Trip::count(rule, &mut memory, any(), any());
    let _ = <T as Trip>::bad(&memory);
    let _ = <T as Trip>::is_quiet(&memory);
    derived(rule);
    derived(&memory);
}

fn spend<T: Rule>(breaker: &mut CircuitBreaker<T>, mut permit: Permit, policy: &BreakerPolicy<T>) {
    blur(&mut permit);
    let _ = Permit::transition(&permit);
    gate(breaker, &permit);
    blur(breaker);
    CircuitBreaker::renew(breaker, any(), &permit, policy);
    blur(breaker);
    let _ = CircuitBreaker::record(breaker, any(), permit, any(), policy);
}

fn gate<T: Rule>(breaker: &CircuitBreaker<T>, permit: &Permit) {
    let gate = Gate::of(breaker);
    let _ = Gate::to_bits(gate);
    derived(&gate);
    let stored = Gate::from_bits(any());
    let _ = Gate::admit(stored, any());
    let _ = Gate::ignores(stored, permit, any());
}

fn look<T: Rule>(breaker: &CircuitBreaker<T>) {
    let _ = BreakerState::name(CircuitBreaker::state(breaker));
    let _ = CircuitBreaker::is_protecting(breaker);
    let _ = CircuitBreaker::is_clean(breaker);
    derived(&CircuitBreaker::snapshot(breaker));
    derived(breaker);
}

fn overrule<T: Rule>(breaker: &mut CircuitBreaker<T>) {
    blur(breaker);
    let _ = CircuitBreaker::force_open(breaker);
    blur(breaker);
    let _ = CircuitBreaker::force_closed(breaker);
    blur(breaker);
    let _ = CircuitBreaker::reset(breaker);
}
