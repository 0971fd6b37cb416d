//! What keeps attempts from going out: a model, and rules that only a settings file can say.

use std::path::Path;

use evenkeel_core::Micros;
use evenkeel_sim::models::Adaptive;
use evenkeel_sim::{Arrivals, FaultKind, Guard, Policy, Run, Scenario, Second, read_policy, run};

fn short(kind: FaultKind) -> Scenario {
    let mut scenario = Scenario::outage(kind);
    scenario.fleet.arrivals = Arrivals::Open { per_second: 140.0 };
    scenario.fleet.clients = 20;
    scenario.server.workers = 10;
    scenario.fault.start = Micros::from_millis(5_000);
    scenario.fault.length = Micros::from_millis(5_000);
    scenario.end = Micros::from_millis(30_000);
    scenario
}

fn all(record: &Run, count: impl Fn(&Second) -> u32) -> u64 {
    record.sum(0, usize::MAX, count)
}

/// The policy that a settings file says.
fn settings(name: &str, text: &str) -> Policy {
    let path = std::env::temp_dir().join(format!("evenkeel-{}-{name}.toml", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let read = read_policy(path.to_str().unwrap(), Path::new(""));
    std::fs::remove_file(&path).unwrap();
    read.unwrap().policy
}

/// SRE book, ch. 21: the share that is dropped grows with what is refused, and is never all of it.
#[test]
fn adaptive_throttling_drops_while_the_server_refuses_and_forgets_it() {
    let rule = Adaptive { k: 2.0, window: 2_000_000, ceiling: 0.75 };
    let policy = Policy { guard: Guard::Adaptive(rule), ..Policy::NO_RETRY };
    let record = run(&short(FaultKind::FailFast), &policy, 3).unwrap();
    let dropped = |from, to| record.sum(from, to, |second| second.rejected);
    assert!(dropped(0, 5) < 35, "of 700, before anything was refused: {}", dropped(0, 5));
    assert!(dropped(6, 10) > 100, "of 560: {}", dropped(6, 10));
    let asked = record.sum(6, 10, |second| second.attempts);
    assert!(asked > 100, "it asks whether the server is back: {asked}");
    assert_eq!(dropped(25, 30), 0, "an outage is forgotten with the window");
}

#[test]
fn a_circuit_opens_on_calls_that_are_only_slow() {
    for (mode, kind) in [("count", "window_calls = 20"), ("time", "window = \"10s\"")] {
        let policy = |limit| {
            let breaker = format!(
                "[timeout]\nattempt_timeout = \"1s\"\n[breaker]\nmode = \"{mode}\"\n{kind}\n\
                 min_calls = 10\nslow_after = \"{limit}\"\nslow_share = 50\n\
                 recovery_timeout = \"1s\"\n"
            );
            settings(mode, &breaker)
        };
        let mut scenario = short(FaultKind::None);
        // Each answer takes 0.3 s, and none is an error.
        scenario.server.network = Micros::from_millis(150);
        let record = run(&scenario, &policy("200ms"), 3).unwrap();
        let rejected = all(&record, |second| second.rejected);
        assert!(record.opened >= 20 && rejected > 1_000, "{mode}: {rejected} rejected");
        assert_eq!(all(&record, |second| second.failed), rejected, "{mode}");
        let record = run(&scenario, &policy("900ms"), 3).unwrap();
        assert_eq!((record.opened, all(&record, |second| second.failed)), (0, 0), "{mode}");
    }
}
