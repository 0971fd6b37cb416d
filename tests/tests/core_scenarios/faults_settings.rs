//! An incident of a setting that nothing read: F23. What happened is in `docs/incidents.md`.
//!
//! A load is run once with plain settings, and once more for each setting changed alone. If the
//! two look the same from outside, nobody reads that setting.

use evenkeel_core::{
    Backoff, BreakerPolicy, BudgetPolicy, Call, CallPolicy, Code, CodeSet, Consecutive, Deadline,
    DeadlineBudget, Growth, Jitter, Micros, Outcome, Report, RetryPolicy, SmallRng, ThrottlePolicy,
    Weight,
};

use crate::circuit::Circuit;
use crate::driver::{Client, HANG, OK, Reply, U, after, at_once, drive};
use crate::policies::{also, calls, code, exact, millis, ms, opens_after, retries};
use crate::pool::Pool;

#[test]
fn f23_every_setting_of_a_call_changes_something() {
    let plain = calls(3, 100);
    let retry = |change: fn(RetryPolicy) -> RetryPolicy| plain.with_retry(change(*plain.retry()));
    let changed: [(&str, CallPolicy); 9] = [
        ("timeout", plain.with_timeout(millis(9_000)).unwrap()),
        ("attempt_timeout", plain.with_attempt_timeout(millis(250)).unwrap()),
        ("short_slice", plain.with_short_slice(millis(20)).unwrap()),
        ("hedge_after", plain.with_hedge_after(millis(20)).unwrap()),
        ("max_attempts", retry(|retry| retry.with_max_attempts(4).unwrap())),
        ("codes", retry(|retry| retry.with_codes(also(&[Code::Internal])))),
        ("backoff", retry(|retry| retry.with_backoff(exact(101)))),
        ("max_hint", retry(|retry| retry.with_max_hint(millis(100)).unwrap())),
        ("idempotent", retry(RetryPolicy::not_idempotent)),
    ];
    for (setting, policy) in changed {
        assert_ne!(call_load(policy), call_load(plain), "{setting} is not read");
    }
}

fn call_load(policy: CallPolicy) -> Vec<String> {
    let asks = U.with_retry_after(millis(150));
    let scripts: [&[Reply]; 4] = [
        &[at_once(U)],
        &[at_once(asks), at_once(OK)],
        &[at_once(code(Code::Internal)), at_once(OK)],
        &[after(300, OK)],
    ];
    let mut client = Client::new(policy);
    let mut seen: Vec<String> =
        scripts.iter().map(|script| format!("{:?}", client.call(script))).collect();
    // A slice of 50 ms, on a breaker that one failure opens.
    let mut client = Client::new(policy).with_breaker(opens_after(1));
    client.call_until(Deadline::at(client.now + ms(50)), &[HANG]);
    seen.push(format!("{:?}", client.breaker()));
    // Room for two attempts at once.
    let mut pool = Pool::of(2, policy, opens_after(5));
    let call = Call::<2>::with_room(policy.deadline(client.now, Deadline::NONE), 1);
    seen.push(format!("{:?}", drive(&mut client.now, &mut pool, call, &[after(90, OK)])));
    seen
}

#[test]
fn f23_every_setting_of_a_backoff_changes_something() {
    let plain = Backoff::new(millis(100), millis(500)).unwrap();
    let changed = [
        ("initial", Backoff::new(millis(101), millis(500)).unwrap()),
        ("max", Backoff::new(millis(100), millis(501)).unwrap()),
        ("multiplier", plain.with_multiplier(2_001).unwrap()),
        ("jitter", plain.with_jitter(Jitter::Proportional(101)).unwrap()),
    ];
    let load = |backoff: Backoff| {
        let (mut growth, mut rng) = (Growth::START, SmallRng::seeded(7));
        [(); 9].map(|()| backoff.next_delay(&mut growth, &mut rng))
    };
    for (setting, backoff) in changed {
        assert_ne!(load(backoff), load(plain), "{setting} is not read");
    }
}

#[test]
fn f23_every_setting_of_a_breaker_changes_something() {
    let plain = opens_after(2);
    let slow = plain.with_slow_after(millis(100)).unwrap();
    let changed: [(&str, BreakerPolicy, BreakerPolicy); 9] = [
        ("fail_threshold", plain, opens_after(3)),
        ("failures", plain, plain.with_failures(CodeSet::FAILURES.without(Code::Internal))),
        ("slow_after", plain, slow),
        ("open_for", plain, plain.with_open_for(millis(10_001)).unwrap()),
        ("growth", plain, plain.with_growth(1_500, millis(60_000)).unwrap()),
        ("max_open", plain, plain.with_growth(1_000, millis(9_000)).unwrap()),
        ("jitter", plain, plain.with_open_jitter(100, 1).unwrap()),
        ("max_trials", plain, plain.with_max_trials(2).unwrap()),
        ("successes_to_close", plain, plain.with_successes_to_close(2).unwrap()),
    ];
    for (setting, plain, changed) in changed {
        assert_ne!(breaker_load(changed), breaker_load(plain), "{setting} is not read");
    }
    let seeds = [1, 2].map(|seed| plain.with_open_jitter(100, seed).unwrap());
    assert_ne!(breaker_load(seeds[0]), breaker_load(seeds[1]), "the seed is not read");
}

fn breaker_load(policy: BreakerPolicy<Consecutive>) -> Vec<String> {
    let mut circuit = Circuit::new(policy);
    let mut seen = Vec::new();
    for ended in [Code::Internal, Code::Internal, Code::Internal] {
        if let Ok(permit) = circuit.admit() {
            seen.push(format!("{:?}", circuit.end(permit, ended)));
        }
        seen.push(format!("{:?}", circuit.breaker.snapshot()));
    }
    let mut circuit = Circuit::ready_for_trials(policy);
    circuit.attempt(Code::Unavailable);
    seen.push(format!("{:?}", circuit.breaker.snapshot()));
    circuit.now = circuit.breaker.snapshot().retry_at.unwrap();
    let trial = circuit.admit().unwrap();
    seen.push(format!("{:?}", circuit.admit().is_ok()));
    let slow = Report { outcome: Outcome::success(), took: ms(200), weight: Weight::Counts };
    let verdict = policy.verdict(&slow);
    circuit.breaker.record(circuit.now, trial, verdict, &policy);
    seen.push(format!("{:?}", circuit.breaker.state()));
    seen
}

#[test]
fn f23_every_setting_of_a_budget_and_a_throttle_changes_something() {
    let plain = BudgetPolicy::DEFAULT;
    let changed = [
        ("safety_margin", plain.with_safety_margin(millis(1)).unwrap()),
        ("min_timeout", plain.with_min_timeout(millis(99)).unwrap()),
        ("strict", plain.strict()),
    ];
    for (setting, budget) in changed {
        assert_ne!(budget_load(budget), budget_load(plain), "{setting} is not read");
    }

    let plain = ThrottlePolicy::grpc(10, 100).unwrap();
    let changed = [
        ("max_tokens", ThrottlePolicy::grpc(11, 100).unwrap()),
        ("token_ratio", ThrottlePolicy::grpc(10, 101).unwrap()),
        ("kind", ThrottlePolicy::success_refilled(10, 100).unwrap()),
    ];
    for (setting, throttle) in changed {
        assert_ne!(throttle_load(throttle), throttle_load(plain), "{setting} is not read");
    }
}

fn budget_load(policy: BudgetPolicy) -> Vec<Option<Micros>> {
    let began = evenkeel_core::Instant::from_micros(1);
    let budget = DeadlineBudget::new(began, millis(1_000), policy).unwrap();
    [0, 950].map(|gone| budget.grant(began + ms(gone), Micros::ZERO, None).ok()).to_vec()
}

fn throttle_load(policy: ThrottlePolicy) -> Vec<u32> {
    let mut client = Client::new(CallPolicy::DEFAULT.with_retry(retries(3, 1)));
    client = client.with_throttle(policy);
    let mut seen = Vec::new();
    for outcome in [U, U, U, U, OK] {
        client.call(&[at_once(outcome)]);
        seen.push(client.millitokens());
    }
    seen
}
