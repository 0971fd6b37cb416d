//! What things are called: settings that the core refuses, and methods.

use core::time::Duration;

use evenkeel_core::{
    Backoff, BreakerPolicy, BudgetPolicy, CallPolicy, Consecutive, DeadlineBudget, EjectionPolicy,
    FailurePercentage, HealthPolicy, Instant, Invalid, Jitter, LastN, OutlierPolicy, RetryPolicy,
    SuccessRate, ThrottlePolicy, TimeWindow, check_weights,
};
use evenkeel_settings::{MethodPattern, Settings, path_of};

const ENDLESS: Duration = Duration::MAX;
const ZERO: Duration = Duration::ZERO;

/// One refusal of every setting the core has.
fn refusals() -> Vec<Invalid> {
    let (backoff, retry, call) = (Backoff::DEFAULT, RetryPolicy::DEFAULT, CallPolicy::DEFAULT);
    let (breaker, budget) = (BreakerPolicy::DEFAULT, BudgetPolicy::DEFAULT);
    let (health, ejection) = (HealthPolicy::DEFAULT, EjectionPolicy::DEFAULT);
    let refused = [
        Backoff::new(ENDLESS, ZERO).err(),
        Backoff::new(ZERO, ENDLESS).err(),
        backoff.with_multiplier(0).err(),
        backoff.with_jitter(Jitter::Proportional(1_001)).err(),
        retry.with_max_attempts(0).err(),
        retry.with_max_hint(ENDLESS).err(),
        call.with_timeout(ZERO).err(),
        call.with_attempt_timeout(ZERO).err(),
        call.with_short_slice(ENDLESS).err(),
        call.with_hedge_after(ENDLESS).err(),
        Consecutive::new(0).err(),
        LastN::<4>::new(0, 1, 50).err(),
        LastN::<4>::new(10, 0, 50).err(),
        TimeWindow::<10>::new(ZERO, 1, 50).err(),
        TimeWindow::<10>::new(Duration::from_secs(1), 1, 0).err(),
        breaker.with_slow_after(ZERO).err(),
        breaker.with_open_for(ENDLESS).err(),
        breaker.with_growth(0, ENDLESS).err(),
        breaker.with_growth(1_000, ZERO).err(),
        breaker.with_open_jitter(1_001, 0).err(),
        breaker.with_max_trials(0).err(),
        breaker.with_successes_to_close(0).err(),
        ThrottlePolicy::grpc(0, 1).err(),
        ThrottlePolicy::grpc(1, 0).err(),
        budget.with_safety_margin(ENDLESS).err(),
        budget.with_min_timeout(ENDLESS).err(),
        DeadlineBudget::new(Instant::ZERO, ZERO, budget).err(),
        health.with_interval(ZERO).err(),
        health.with_timeout(ZERO).err(),
        health.with_max_backoff(ENDLESS).err(),
        health.with_counts(0, 1).err(),
        health.with_counts(1, 0).err(),
        OutlierPolicy::DEFAULT.with_quarantine(ENDLESS).err(),
        ejection.with_interval(ZERO).err(),
        ejection.with_times(ZERO, ZERO).err(),
        ejection.with_times(Duration::from_secs(1), ENDLESS).err(),
        ejection.with_max_percent(101).err(),
        SuccessRate::new(u32::MAX, 1, 1).err(),
        SuccessRate::new(0, 0, 1).err(),
        SuccessRate::new(0, 1, 0).err(),
        FailurePercentage::new(101, 1, 1).err(),
        FailurePercentage::new(0, 0, 1).err(),
        FailurePercentage::new(0, 1, 0).err(),
        check_weights(&[0]).err(),
    ];
    refused.into_iter().map(|refused| refused.expect("a refusal")).collect()
}

#[test]
fn what_the_core_refuses_is_a_setting_of_the_file() {
    let paths = Settings::paths();
    for refused in refusals() {
        let path = path_of(&refused);
        let is_one = paths.iter().any(|known| known == path);
        assert!(is_one, "`{path}` is no key: `path_of` in names.rs says which it is of: {refused}");
    }
}

/// What there is besides is nobody's alone: [`path_of`] has to be asked, and the page of messages
/// says so.
#[test]
fn the_core_calls_a_setting_as_a_file_does() {
    let renamed = refusals().into_iter().filter(|refused| path_of(refused) != refused.field());
    for refused in renamed {
        assert!(refused.field().starts_with("backoff."), "{refused}");
    }
}

#[test]
fn a_pattern_matches_whole_names_and_beginnings_of_them() {
    let matches = |pattern: &str, path| pattern.parse::<MethodPattern>().unwrap().matches(path);
    for (pattern, right, wrong) in [
        ("/a.B/C", &["/a.B/C"][..], &["/a.B/Cc", "/x/a.B/C", "a.B/C", "/a.B/c", ""][..]),
        ("/a.B/*", &["/a.B/C", "/a.B/"], &["/a.Bb/C", "/x/a.B/C", "/a.B", ""]),
        ("Get*", &["/a.B/Get", "/a.B/GetAll", "/Get"], &["/a.B/get", "/Get/Set", "Get", ""]),
    ] {
        assert!(right.iter().all(|path| matches(pattern, path)), "{pattern}");
        for path in wrong {
            assert!(!matches(pattern, path), "{pattern} {path}");
        }
    }
}

/// The beginnings of a table's methods, by their words.
#[test]
fn a_misspelled_beginning_is_told_from_another_verb() {
    let known = || ["/a.B/GetOrder", "/a.B/ListOrders", "/a.B/CancelOrder", "/a.B/Put"];
    let meant = |pattern: &str| pattern.parse::<MethodPattern>().unwrap().meant(known());
    for (pattern, right) in [
        ("Gte*", "Get*"),
        ("get*", "Get*"),
        ("Gett*", "Get*"),
        ("Lsit*", "List*"),
        ("Lst*", "List*"),
        ("GetOrdre*", "GetOrder*"),
        ("Cancle*", "Cancel*"),
        ("Cancal*", "Cancel*"),
        ("Putt*", "Put*"),
    ] {
        assert_eq!(meant(pattern).map(|it| it.to_string()).as_deref(), Some(right), "{pattern}");
    }
    let long = format!("G{}*", "e".repeat(1 << 20));
    for pattern in [
        "Get*", "Ge*", "G*", "Set*", "Let*", "Got*", "Last*", "Pet*", "Lock*", "Delete*", "X*",
        &long,
    ] {
        assert_eq!(meant(pattern), None, "{pattern}");
    }
    let nobody: [&str; 0] = [];
    assert_eq!("Gte*".parse::<MethodPattern>().unwrap().meant(nobody), None);
}
