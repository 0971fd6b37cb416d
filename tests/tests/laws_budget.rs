//! The laws of time and of the budget that divides it, on the product of all boundary values.

use core::time::Duration;

use evenkeel_core::{
    Action, BudgetExhausted, BudgetPolicy, Call, CallPolicy, Deadline, DeadlineBudget, Instant,
    Micros, Single, StopReason,
};

/// What a reading, a span or a deadline may be.
const VALUES: [u64; 13] = [
    0,
    1,
    999,
    65_536,
    u32::MAX as u64,
    1 << 32,
    1 << 47,
    (1 << 48) - 1,
    1 << 48,
    1 << 63,
    u64::MAX - 100_000,
    u64::MAX - 1,
    u64::MAX,
];
/// What a setting of a budget may be.
const SETTINGS: [u64; 5] = [0, 1, 100_000, 1 << 47, (1 << 48) - 1];

/// The settings of a budget in plain numbers; the total before the margin.
#[derive(Clone, Copy, Debug)]
struct Terms {
    began: u64,
    total: u64,
    margin: u64,
    floor: u64,
    strict: bool,
}

impl Terms {
    fn policy(&self) -> BudgetPolicy {
        let policy = BudgetPolicy::DEFAULT.with_safety_margin(micros(self.margin)).unwrap();
        let policy = policy.with_min_timeout(micros(self.floor)).unwrap();
        if self.strict { policy.strict() } else { policy }
    }

    fn remaining(&self, now: u64) -> i128 {
        let elapsed = (i128::from(now) - i128::from(self.began)).max(0);
        (i128::from(self.total) - i128::from(self.margin) - elapsed).max(0)
    }

    fn grant(&self, now: u64, reserve: u64, cap: Option<u64>) -> Option<i128> {
        let (remaining, floor) = (self.remaining(now), i128::from(self.floor));
        if remaining == 0 || (self.strict && remaining < floor) {
            return None;
        }
        let available = (remaining - i128::from(reserve)).max(floor);
        Some(cap.map_or(available, |cap| available.min(cap.into())))
    }
}

/// Every budget that is not refused, with every moment to ask it.
fn every_budget(mut visit: impl FnMut(&Terms, &DeadlineBudget, u64)) {
    for (began, total) in VALUES.iter().flat_map(|one| SETTINGS.map(|two| (*one, two))) {
        for (margin, floor) in SETTINGS.iter().flat_map(|one| SETTINGS.map(|two| (*one, two))) {
            for strict in [false, true] {
                let terms = Terms { began, total, margin, floor, strict };
                let budget = DeadlineBudget::new(at(began), micros(total), terms.policy());
                assert_eq!(budget.is_ok(), total > margin, "{terms:?}");
                let Ok(budget) = budget else { continue };
                for now in VALUES.into_iter().chain([began.saturating_add(total - margin)]) {
                    visit(&terms, &budget, now);
                }
            }
        }
    }
}

fn at(micros: u64) -> Instant {
    Instant::from_micros(micros)
}

fn span(micros: u64) -> Micros {
    Micros::from_micros(micros)
}

fn micros(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

#[test]
fn a_deadline_is_never_widened() {
    every_budget(|terms, budget, now| {
        for (reserve, cap) in [(0, None), (1, Some(99)), (u64::MAX, None), (0, Some(1 << 50))] {
            let Ok(grant) = budget.grant(at(now), span(reserve), cap.map(span)) else { continue };
            let grant = i128::from(grant.as_micros());
            // The floor is the one exception, and strict budgets have not even that.
            let most = if terms.strict { 0 } else { i128::from(terms.floor) };
            assert!(grant <= terms.remaining(now).max(most), "{terms:?} at {now}: {grant}");
            assert!(cap.is_none_or(|cap| grant <= i128::from(cap)), "{terms:?} over its cap");
        }
    });
    for (now, caller) in VALUES.iter().flat_map(|one| VALUES.map(|two| (*one, two))) {
        let caller = Deadline::at(at(caller));
        for policy in [CallPolicy::DEFAULT, CallPolicy::DEFAULT.unbounded()] {
            let deadline = policy.deadline(at(now), caller);
            assert!(deadline <= caller, "{deadline:?} for {caller:?}");
            assert!(deadline.instant() <= at(now).after(policy.timeout()), "{deadline:?}");
        }
        for margin in SETTINGS {
            let policy = BudgetPolicy::DEFAULT.with_safety_margin(micros(margin)).unwrap();
            let budget = DeadlineBudget::until(at(now), caller, policy);
            assert_eq!(budget.is_none(), caller.is_none(), "no budget is not an endless one");
            let ends = budget.map(|budget| budget.deadline());
            let late = ends.is_some_and(|ends| ends > caller && ends.instant() > at(now));
            assert!(!late, "{ends:?} for {caller:?}");
        }
    }
}

#[test]
fn zero_is_not_none() {
    for now in VALUES.into_iter().filter(|now| *now < u64::MAX) {
        let zero = Deadline::after(at(now), Duration::ZERO);
        assert!(!zero.is_none() && zero.is_over(at(now)), "{zero:?}");
        assert_eq!(zero.remaining(at(now)), Micros::ZERO);
        assert_eq!(Deadline::NONE.remaining(at(now)), Micros::MAX);
        // Nothing is sent, and the reason is the deadline.
        let policy = CallPolicy::DEFAULT;
        let mut call = Call::new(policy.deadline(at(now), zero), 1);
        let action = call.poll(at(now), &mut Single::new(&policy));
        assert_eq!(action, Action::Finish(StopReason::DeadlinePassed));
        assert_eq!(call.attempts(), 0);
        // An incoming deadline that is over opens a budget, and it is spent.
        let spent = DeadlineBudget::until(at(now), zero, BudgetPolicy::DEFAULT).unwrap();
        let exhausted = BudgetExhausted { elapsed: Micros::ZERO, total: Micros::ZERO };
        assert_eq!(spent.grant(at(now), Micros::ZERO, None), Err(exhausted));
    }
    let budget = DeadlineBudget::new(at(0), micros(500_000), BudgetPolicy::DEFAULT).unwrap();
    assert_eq!(budget.grant(at(0), Micros::ZERO, Some(Micros::ZERO)), Ok(Micros::ZERO));
    assert_eq!(budget.grant(at(0), Micros::ZERO, None), Ok(span(500_000)));
    // Where zero cannot have been meant it is refused, with the way out.
    assert!(CallPolicy::DEFAULT.with_attempt_timeout(Duration::ZERO).is_err());
    let refused = CallPolicy::DEFAULT.with_timeout(Duration::ZERO).unwrap_err();
    assert!(refused.rule().contains("none"), "{refused}");
    assert!(DeadlineBudget::new(at(0), Duration::ZERO, BudgetPolicy::DEFAULT).is_err());
    // And what is not zero does not become it.
    assert_eq!(Micros::from_duration(Duration::from_nanos(1)), span(1));
}

#[test]
fn no_overflow_in_any_profile() {
    every_budget(|terms, budget, now| {
        assert_eq!(i128::from(budget.remaining(at(now)).as_micros()), terms.remaining(now));
        assert_eq!(budget.is_expired(at(now)), terms.remaining(now) == 0);
        let ends = i128::from(terms.began) + i128::from(terms.total) - i128::from(terms.margin);
        assert_eq!(budget.deadline().instant(), at(saturated(ends)));
        for (reserve, cap) in [(0, None), (99, Some(0)), (u64::MAX, Some(1)), (1 << 47, None)] {
            let granted = budget.grant(at(now), span(reserve), cap.map(span));
            let granted = granted.ok().map(|grant| i128::from(grant.as_micros()));
            assert_eq!(granted, terms.grant(now, reserve, cap), "{terms:?} at {now}");
        }
    });
    for (one, two) in VALUES.iter().flat_map(|one| VALUES.map(|two| (*one, two))) {
        let (wide, other) = (i128::from(one), i128::from(two));
        assert_eq!(at(one) + span(two), at(saturated(wide + other)));
        assert_eq!(at(one).since(at(two)), span(saturated(wide - other)));
        assert_eq!(span(one).plus(span(two)), span(saturated(wide + other)));
        assert_eq!(span(one).minus(span(two)), span(saturated(wide - other)));
        assert_eq!(span(one).shorter(span(two)), span(one.min(two)));
        assert_eq!(span(one).longer(span(two)), span(one.max(two)));
        assert_eq!(Micros::from_millis(one), span(saturated(wide * 1_000)));
        let (deadline, now) = (Deadline::at(at(one)), at(two));
        assert_eq!(deadline.is_over(now), two >= one && one < u64::MAX);
        let left = if one == u64::MAX { u64::MAX } else { saturated(wide - other) };
        assert_eq!(deadline.remaining(now), span(left));
        assert_eq!(deadline.earlier(Deadline::at(now)).instant(), at(one.min(two)));
        every_duration(one, |duration, micros| {
            let ends = i128::from(two).saturating_add(micros);
            assert_eq!(Deadline::after(now, duration).instant(), at(saturated(ends)));
        });
    }
}

/// Durations around `seconds`, with the microseconds they must become.
fn every_duration(seconds: u64, visit: impl Fn(Duration, i128)) {
    for nanos in [0, 1, 999, 1_000, 999_999_999] {
        let duration = Duration::new(seconds, nanos);
        let exact = i128::from(seconds) * 1_000_000 + i128::from(nanos / 1_000);
        let micros = if exact == 0 && nanos > 0 { 1 } else { exact };
        assert_eq!(Micros::from_duration(duration), span(saturated(micros)));
        let fits = micros < 1 << 48;
        assert_eq!(Micros::setting("a", duration).is_ok(), fits, "{duration:?}");
        let positive = Micros::positive_setting("a", duration);
        assert_eq!(positive.is_ok(), fits && !duration.is_zero(), "{duration:?}");
        visit(duration, micros);
    }
}

fn saturated(wide: i128) -> u64 {
    u64::try_from(wide.max(0)).unwrap_or(u64::MAX)
}
