//! This file knows policies with any settings, made the way a user makes them: what a constructor
//! accepts is all that a machine may meet.

use core::hash::Hash;
use core::hint::black_box;

use evenkeel_core::{
    AnyOf, Backoff, BreakerPolicy, BudgetPolicy, CallPolicy, Consecutive, EjectionPolicy,
    FailurePercentage, HealthPolicy, LastN, OutlierPolicy, ReconnectPolicy, RetryPolicy, Rung,
    SuccessRate, ThrottlePolicy, TimeWindow, Trip,
};

use crate::{Any, any};

impl Any for Backoff {
    fn any() -> Self {
        Backoff::new(any(), any())
            .and_then(|backoff| Backoff::with_multiplier(backoff, any()))
            .and_then(|backoff| Backoff::with_jitter(backoff, any()))
            .unwrap_or_default()
    }
}

impl Any for RetryPolicy {
    fn any() -> Self {
        let codes = RetryPolicy::with_codes(RetryPolicy::DEFAULT, any());
        let idempotent =
            if any() { RetryPolicy::idempotent(codes) } else { RetryPolicy::not_idempotent(codes) };
        RetryPolicy::with_max_attempts(idempotent, any())
            .and_then(|retry| RetryPolicy::with_max_hint(retry, any()))
            .map(|retry| RetryPolicy::with_backoff(retry, any()))
            .unwrap_or_default()
    }
}

impl Any for CallPolicy {
    fn any() -> Self {
        let policy = CallPolicy::with_retry(CallPolicy::DEFAULT, any());
        if any() {
            return CallPolicy::unbounded(policy);
        }
        if any() {
            return CallPolicy::endless(policy);
        }
        CallPolicy::with_timeout(policy, any())
            .and_then(|policy| CallPolicy::with_attempt_timeout(policy, any()))
            .and_then(|policy| CallPolicy::with_short_slice(policy, any()))
            .and_then(|policy| CallPolicy::with_hedge_after(policy, any()))
            .unwrap_or_default()
    }
}

impl Any for ReconnectPolicy {
    fn any() -> Self {
        static LADDER: [Rung; 2] = [Rung::reset_peripheral(3), Rung::reboot(5)];
        ReconnectPolicy::with_splay(ReconnectPolicy::DEFAULT, any())
            .and_then(|policy| ReconnectPolicy::with_backoff(policy, any()))
            .and_then(|policy| ReconnectPolicy::with_stable_after(policy, any()))
            .and_then(|policy| ReconnectPolicy::with_dial_timeout(policy, any()))
            .and_then(|policy| ReconnectPolicy::with_max_hint(policy, any()))
            .and_then(|policy| ReconnectPolicy::with_give_up_after(policy, any()))
            .and_then(|policy| ReconnectPolicy::with_ladder(policy, black_box(&LADDER)))
            .unwrap_or_default()
    }
}

impl Any for BudgetPolicy {
    fn any() -> Self {
        let policy = BudgetPolicy::with_safety_margin(BudgetPolicy::DEFAULT, any())
            .and_then(|policy| BudgetPolicy::with_min_timeout(policy, any()))
            .unwrap_or_default();
        if any() { BudgetPolicy::strict(policy) } else { policy }
    }
}

impl Any for ThrottlePolicy {
    fn any() -> Self {
        let policy = if any() {
            ThrottlePolicy::grpc(any(), any())
        } else {
            ThrottlePolicy::success_refilled(any(), any())
        };
        policy.unwrap_or_default()
    }
}

/// A rule with everything the house's own rules have.
pub trait Rule: Trip + Any + Default + Eq + Hash {}

impl<T: Trip + Any + Default + Eq + Hash> Rule for T {}

impl<T: Rule> Any for BreakerPolicy<T> {
    fn any() -> Self {
        let policy = BreakerPolicy::with_failures(BreakerPolicy::new(any()), any());
        BreakerPolicy::with_slow_after(policy, any())
            .and_then(|policy| BreakerPolicy::with_open_for(policy, any()))
            .and_then(|policy| BreakerPolicy::with_growth(policy, any(), any()))
            .and_then(|policy| BreakerPolicy::with_open_jitter(policy, any(), any()))
            .and_then(|policy| BreakerPolicy::with_max_trials(policy, any()))
            .and_then(|policy| BreakerPolicy::with_successes_to_close(policy, any()))
            .unwrap_or_default()
    }
}

impl Any for Consecutive {
    fn any() -> Self {
        Consecutive::new(any()).unwrap_or_default()
    }
}

impl Any for LastN {
    fn any() -> Self {
        LastN::counting(LastN::new(any(), any(), any()).unwrap_or_default(), any())
    }
}

impl Any for TimeWindow {
    fn any() -> Self {
        TimeWindow::counting(TimeWindow::new(any(), any(), any()).unwrap_or_default(), any())
    }
}

impl<A: Any, B: Any> Any for AnyOf<A, B> {
    fn any() -> Self {
        Self { first: any(), second: any() }
    }
}

impl Any for HealthPolicy {
    fn any() -> Self {
        let policy = HealthPolicy::with_unimplemented(HealthPolicy::DEFAULT, any());
        HealthPolicy::with_interval(policy, any())
            .and_then(|policy| HealthPolicy::with_timeout(policy, any()))
            .and_then(|policy| HealthPolicy::with_max_backoff(policy, any()))
            .and_then(|policy| HealthPolicy::with_counts(policy, any(), any()))
            .unwrap_or_default()
    }
}

impl Any for OutlierPolicy {
    fn any() -> Self {
        let policy = OutlierPolicy::with_quarantine(OutlierPolicy::DEFAULT, any());
        let policy = policy.unwrap_or(OutlierPolicy::OFF);
        if any() { OutlierPolicy::with_ejection(policy, any()) } else { policy }
    }
}

impl Any for EjectionPolicy {
    fn any() -> Self {
        let mut policy = EjectionPolicy::without_success_rate(EjectionPolicy::DEFAULT);
        policy = EjectionPolicy::without_failure_percentage(policy);
        if let Ok(rule) = SuccessRate::new(any(), any(), any()) {
            policy = EjectionPolicy::with_success_rate(policy, rule);
        }
        if let Ok(rule) = FailurePercentage::new(any(), any(), any()) {
            policy = EjectionPolicy::with_failure_percentage(policy, rule);
        }
        EjectionPolicy::with_interval(policy, any())
            .and_then(|policy| EjectionPolicy::with_times(policy, any(), any()))
            .and_then(|policy| EjectionPolicy::with_max_percent(policy, any()))
            .unwrap_or_default()
    }
}
