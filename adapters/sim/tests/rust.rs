//! A policy is written as Rust that compiles, and builds the same policy.

use core::time::Duration;

use evenkeel_core::Jitter;
use evenkeel_sim::models::Envoy;
use evenkeel_sim::spec::{BreakerSpec, BudgetSpec, RetrySpec, RuleSpec, Spec};
use evenkeel_sim::{Budget, Guard, Policy};

#[expect(unreachable_pub, reason = "a client would have it in a module that others use")]
mod full {
    include!("written/full.rs.in");
}

#[expect(unreachable_pub, reason = "a client would have it in a module that others use")]
mod window {
    include!("written/window.rs.in");
}

const FULL: Spec = Spec {
    timeout: Some(Duration::from_secs(2)),
    attempt_timeout: Some(Duration::from_millis(1_500)),
    retry: RetrySpec {
        max_attempts: 3,
        initial: Duration::from_millis(100),
        max: Duration::from_secs(10),
        multiplier: 1_500,
        jitter: Jitter::Proportional(200),
        timeouts: true,
    },
    breaker: Some(BreakerSpec {
        rule: RuleSpec::LastN { calls: 20, min_calls: 10, share: 50 },
        open_for: Duration::from_secs(5),
        growth: Some((2_000, Duration::from_secs(60))),
        jitter: 100,
        trials: 2,
    }),
    budget: BudgetSpec::Grpc(10, 100),
};

const WINDOW: Spec = Spec {
    timeout: None,
    attempt_timeout: None,
    retry: RetrySpec {
        max_attempts: 5,
        initial: Duration::from_micros(1_500),
        max: Duration::from_millis(2_500),
        multiplier: 2_000,
        jitter: Jitter::Full,
        timeouts: false,
    },
    breaker: Some(BreakerSpec {
        rule: RuleSpec::TimeWindow { window: Duration::from_secs(30), min_calls: 100, share: 10 },
        open_for: Duration::from_millis(500),
        growth: None,
        jitter: 0,
        trials: 1,
    }),
    budget: BudgetSpec::SuccessRefilled(20, 50),
};

#[test]
fn what_is_written_is_what_was_compiled_here() {
    assert_eq!(FULL.to_rust(), include_str!("written/full.rs.in"));
    assert_eq!(WINDOW.to_rust(), include_str!("written/window.rs.in"));
}

#[test]
fn what_was_compiled_is_the_policy() {
    let policy = FULL.policy().unwrap();
    let Guard::LastN(breaker) = policy.guard else { panic!("{policy:?}") };
    // The spread has each client's seed, so the text leaves it to the client.
    assert_eq!(shown(&breaker), shown(&full::BREAKER.with_open_jitter(100, 0).unwrap()));
    assert_eq!(policy.open_jitter, 100);
    of_the_same_calls(&policy, &full::CALL, &full::THROTTLE);

    let policy = WINDOW.policy().unwrap();
    let Guard::TimeWindow(breaker) = policy.guard else { panic!("{policy:?}") };
    assert_eq!(shown(&breaker), shown(&window::BREAKER));
    of_the_same_calls(&policy, &window::CALL, &window::THROTTLE);
}

fn of_the_same_calls(
    policy: &Policy,
    call: &evenkeel_core::CallPolicy,
    throttle: &evenkeel_core::ThrottlePolicy,
) {
    assert_eq!(shown(&policy.call), shown(call));
    let Budget::Shipped(known) = &policy.budget else { panic!("{policy:?}") };
    assert_eq!(shown(known), shown(throttle));
}

/// What the core's policies are made for is to run, not to be compared.
fn shown(policy: &impl core::fmt::Debug) -> String {
    format!("{policy:?}")
}

#[test]
fn a_model_is_named_and_nothing_is_said_of_what_there_is_not() {
    let envoy = Envoy { percent: 20, min: 3, rounds_down: true };
    let model = Spec { budget: BudgetSpec::Envoy(envoy), breaker: None, ..FULL }.to_rust();
    assert!(model.ends_with("// Its throttle is a model, which evenkeel does not ship.\n"));
    assert!(!model.contains("BREAKER") && !model.contains("THROTTLE"), "{model}");
    let none = Spec { budget: BudgetSpec::None, ..WINDOW }.to_rust();
    assert!(!none.contains("//") && !none.contains("THROTTLE"), "{none}");
}

#[test]
fn every_jitter_and_a_rule_of_failures_in_a_row_have_their_words() {
    for (jitter, word) in
        [(Jitter::Decorrelated, "Decorrelated"), (Jitter::Equal, "Equal"), (Jitter::None, "None")]
    {
        let spec = Spec { retry: RetrySpec { jitter, ..FULL.retry }, ..FULL };
        assert!(spec.to_rust().contains(&format!(".with_jitter(Jitter::{word})")), "{word}");
    }
    let breaker =
        FULL.breaker.map(|breaker| BreakerSpec { rule: RuleSpec::Consecutive(5), ..breaker });
    let text = Spec { breaker, ..FULL }.to_rust();
    assert!(text.contains("BreakerPolicy<Consecutive> = "), "{text}");
    assert!(text.contains("BreakerPolicy::new(checked!(Consecutive::new(5)))"), "{text}");
}
