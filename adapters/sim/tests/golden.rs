//! Runs come out the same everywhere: in debug and release builds, on any processor.

use evenkeel_sim::validate::platform::{GOLDEN, golden_run};

#[test]
fn every_golden_run_has_its_digest() {
    for golden in GOLDEN {
        let got = golden_run(golden.name).unwrap();
        assert_eq!(got, (golden.events, golden.digest), "{}", golden.name);
    }
}

#[test]
fn another_seed_is_another_run() {
    use evenkeel_core::Micros;
    use evenkeel_sim::{FaultKind, Policy, Scenario, run};

    let mut scenario = Scenario::outage(FaultKind::Stall);
    scenario.end = Micros::from_millis(5_000);
    let digest = |seed| run(&scenario, &Policy::NO_RETRY, seed).unwrap().digest();
    assert_eq!(digest(1), digest(1));
    assert_ne!(digest(1), digest(2));
}
