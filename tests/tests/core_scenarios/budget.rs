//! The time a whole request has, and how it is handed out: D1 to D19, and G59.

use core::time::Duration;

use evenkeel_core::{BudgetPolicy, CallPolicy, Deadline, DeadlineBudget, Instant, Micros};

use crate::policies::{millis, ms};

const BEGAN: Instant = Instant::from_micros(3_000_000);

fn budget(total: u64, policy: BudgetPolicy) -> DeadlineBudget {
    DeadlineBudget::new(BEGAN, millis(total), policy).unwrap()
}

fn floor(floor: u64) -> BudgetPolicy {
    BudgetPolicy::DEFAULT.with_min_timeout(millis(floor)).unwrap()
}

/// What a call is granted `gone` milliseconds later, with this reserve and cap.
fn grant(budget: &DeadlineBudget, gone: u64, reserve: u64, cap: Option<u64>) -> Option<Micros> {
    budget.grant(BEGAN + ms(gone), ms(reserve), cap.map(ms)).ok()
}

#[test]
fn d1_the_margin_is_taken_off_at_once() {
    let policy = BudgetPolicy::DEFAULT.with_safety_margin(millis(500)).unwrap();
    let budget = budget(10_000, policy);
    assert_eq!(budget.total(), ms(9_500));
    assert_eq!(budget.remaining(BEGAN), ms(9_500));
    assert_eq!(budget.deadline(), Deadline::at(BEGAN + ms(9_500)));
}

#[test]
fn d2_a_budget_of_nothing_is_refused_by_name() {
    let margin = |margin| BudgetPolicy::DEFAULT.with_safety_margin(margin).unwrap();
    let refused = |total, policy| DeadlineBudget::new(BEGAN, total, policy).unwrap_err();
    let errors = [
        refused(Duration::ZERO, BudgetPolicy::DEFAULT),
        refused(Duration::MAX, BudgetPolicy::DEFAULT),
        refused(millis(500), margin(millis(500))),
        BudgetPolicy::DEFAULT.with_safety_margin(Duration::MAX).unwrap_err(),
        BudgetPolicy::DEFAULT.with_min_timeout(Duration::MAX).unwrap_err(),
    ];
    let named = [
        "budget.total",
        "budget.total",
        "budget.safety_margin",
        "budget.safety_margin",
        "budget.min_timeout",
    ];
    assert_eq!(errors.map(|error| error.field()), named);
    // Somebody else's deadline is nobody's mistake: a spent budget, not an error.
    let soon = Deadline::at(BEGAN + ms(500));
    let spent = DeadlineBudget::until(BEGAN, soon, margin(millis(500))).unwrap();
    assert!(spent.is_expired(BEGAN));
}

#[test]
fn d3_a_cap_below_the_remainder_limits() {
    assert_eq!(grant(&budget(10_000, BudgetPolicy::DEFAULT), 0, 0, Some(5_000)), Some(ms(5_000)));
}

#[test]
fn d4_and_d13_a_cap_above_the_remainder_is_harmless() {
    let budget = budget(200, BudgetPolicy::DEFAULT);
    assert_eq!(grant(&budget, 50, 0, Some(5_000)), Some(ms(150)));
}

#[test]
fn d5_the_reserve_is_kept_for_the_calls_after() {
    let budget = budget(5_000, BudgetPolicy::DEFAULT);
    assert_eq!(grant(&budget, 0, 1_000, Some(10_000)), Some(ms(4_000)));
}

#[test]
fn d6_the_floor_beats_the_remainder() {
    assert_eq!(grant(&budget(300, floor(500)), 50, 0, Some(10_000)), Some(ms(500)));
    // And the cap beats the floor.
    assert_eq!(grant(&budget(300, floor(500)), 50, 0, Some(200)), Some(ms(200)));
}

#[test]
fn d9_a_millisecond_left_still_makes_one_useful_call() {
    assert_eq!(grant(&budget(1_000, BudgetPolicy::DEFAULT), 999, 0, None), Some(ms(100)));
}

#[test]
fn d11_an_overdrawn_budget_refuses_and_shows_both_numbers() {
    let budget = budget(1_000, BudgetPolicy::DEFAULT);
    let refused = budget.grant(BEGAN + ms(1_500), Micros::ZERO, None).unwrap_err();
    assert_eq!((refused.elapsed, refused.total), (ms(1_500), ms(1_000)));
    assert_eq!(refused.to_string(), "request budget spent: 1.50s elapsed, budget was 1.00s");
    // From its last instant on, not one later.
    let refused = budget.grant(BEGAN + ms(1_000), Micros::ZERO, None).unwrap_err();
    assert_eq!(refused.to_string(), "request budget spent: 1.00s elapsed, budget was 1.00s");
    // In strict mode something may be left, and too little.
    let strict = self::budget(1_000, floor(500).strict());
    let refused = strict.grant(BEGAN + ms(900), Micros::ZERO, None).unwrap_err();
    assert_eq!(refused.to_string(), "request budget nearly spent: 0.90s elapsed, budget was 1.00s");
}

#[test]
fn d12_without_a_cap_the_whole_remainder_is_granted() {
    assert_eq!(grant(&budget(10_000, BudgetPolicy::DEFAULT), 2_500, 0, None), Some(ms(7_500)));
}

#[test]
fn d14_a_grant_shrinks_by_what_has_passed() {
    let budget = budget(3_000, BudgetPolicy::DEFAULT);
    assert_eq!(grant(&budget, 700, 0, None), Some(ms(2_300)));
    assert_eq!(grant(&budget, 1_000, 0, None), Some(ms(2_000)));
}

#[test]
fn d17_endless_numbers_are_refused_or_saturate() {
    assert!(DeadlineBudget::new(BEGAN, Duration::MAX, BudgetPolicy::DEFAULT).is_err());
    let budget = budget(3_000, floor(100));
    let all = budget.grant(BEGAN, Micros::MAX, None);
    assert_eq!(all, Ok(ms(100)), "a reserve without end leaves the floor");
    assert_eq!(budget.grant(BEGAN, Micros::ZERO, Some(Micros::MAX)), Ok(ms(3_000)));
}

#[test]
fn d18_it_is_expired_from_its_end_on() {
    let budget = budget(1_000, BudgetPolicy::DEFAULT);
    assert!(!budget.is_expired(BEGAN + ms(999)));
    assert!(budget.is_expired(BEGAN + ms(1_000)));
    assert_eq!(budget.remaining(BEGAN + ms(5_000)), Micros::ZERO);
}

#[test]
fn d19_a_floor_of_zero_grants_what_is_left() {
    assert_eq!(grant(&budget(1_000, floor(0)), 999, 0, None), Some(ms(1)));
}

#[test]
fn g59_the_floor_overruns_unless_the_budget_is_strict() {
    let generous = budget(1_000, BudgetPolicy::DEFAULT);
    assert_eq!(grant(&generous, 980, 0, None), Some(ms(100)));
    assert_eq!(grant(&generous, 1_000, 0, None), None);

    let strict = budget(1_000, BudgetPolicy::DEFAULT.strict());
    assert_eq!(grant(&strict, 900, 0, None), Some(ms(100)));
    assert_eq!(grant(&strict, 901, 0, None), None, "too little left to be of use");
    assert_eq!(grant(&strict, 700, 250, None), Some(ms(100)), "the floor beats the reserve");
    assert_eq!(grant(&strict, 900, 0, Some(40)), Some(ms(40)));
}

/// No deadline is no budget, and neither widens a call.
#[test]
fn l1_without_a_budget_nothing_is_trimmed() {
    assert_eq!(DeadlineBudget::until(BEGAN, Deadline::NONE, BudgetPolicy::DEFAULT), None);
    let unbounded = CallPolicy::DEFAULT.unbounded();
    assert_eq!(unbounded.deadline(BEGAN, Deadline::NONE), Deadline::NONE);
    let caller = Deadline::at(BEGAN + ms(700));
    assert_eq!(CallPolicy::DEFAULT.deadline(BEGAN, caller), caller);
}
