//! A preset is the same three times: as constants, as its file, and as its file is read.

use std::path::Path;

use evenkeel_core::Micros;
use evenkeel_sim::presets::{PRESETS, named};
use evenkeel_sim::spec::Spec;
use evenkeel_sim::{Arrivals, FaultKind, Law, Order, Scenario, ScenarioFile, read_policy};

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/presets"))
}

#[test]
fn every_preset_has_its_file() {
    for preset in &PRESETS {
        let file = folder().join(format!("{}.toml", preset.name));
        assert_eq!(std::fs::read_to_string(file).unwrap(), preset.to_toml(), "{}", preset.name);
    }
    assert_eq!(std::fs::read_dir(folder()).unwrap().count(), PRESETS.len());
}

#[test]
fn a_preset_s_file_is_read_as_the_preset() {
    for preset in &PRESETS {
        let read = read_policy(&format!("{}.toml", preset.name), folder()).unwrap();
        // No cap on open times is said in two ways, a microsecond apart after 8.9 years.
        let shown = |policy| format!("{policy:?}").replace("281474976710656", "281474976710655");
        let (read, known) = (shown(read.policy), shown(preset.policy()));
        assert_eq!(read, known, "{}", preset.name);
    }
}

#[test]
fn a_scenario_survives_being_written() {
    for kind in [
        FaultKind::BlackHole,
        FaultKind::FailFast,
        FaultKind::None,
        FaultKind::Stall,
        FaultKind::Brownout { capacity: 0.123_456 },
        FaultKind::Partial { share: 1.0 },
        FaultKind::Restart { setup: Micros::from_millis(70) },
    ] {
        let scenario = Scenario::outage(kind);
        let read = ScenarioFile::parse(&scenario.to_toml("naive"), Path::new("")).unwrap();
        assert_eq!((read.scenario, read.policy.name.as_str()), (scenario, "naive"));
    }
}

#[test]
fn every_server_and_fleet_survives_being_written() {
    let short = Micros::from_millis(3);
    let mut scenario = Scenario::outage(FaultKind::Stall);
    scenario.fleet.propagates_deadlines = true;
    scenario.server.queue_limit = Some(7);
    scenario.server.reject_cost = short;
    scenario.server.network = Micros::from_micros(250);
    for (arrivals, law, order) in [
        (Arrivals::Closed { think: short }, Law::Constant, Order::Fifo),
        (Arrivals::Open { per_second: 12_345.678 }, Law::LogNormal { sigma: 0.4321 }, Order::Lifo),
        (
            Arrivals::Open { per_second: 0.25 },
            Law::Exponential,
            Order::DropExpired { reserve: short },
        ),
    ] {
        scenario.fleet.arrivals = arrivals;
        (scenario.server.law, scenario.server.order) = (law, order);
        let text = scenario.to_toml("naive");
        let read =
            ScenarioFile::parse(&text, Path::new("")).unwrap_or_else(|no| panic!("{text}{no}"));
        assert_eq!(read.scenario, scenario, "{text}");
    }
}

#[test]
fn a_grpc_service_config_is_a_policy() {
    let json = r#"{
        "methodConfig": [{
            "name": [{}],
            "timeout": "2s",
            "retryPolicy": {
                "maxAttempts": 4, "initialBackoff": "0.1s", "maxBackoff": "1s",
                "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]
            }
        }],
        "retryThrottling": { "maxTokens": 10, "tokenRatio": 0.1 }
    }"#;
    let path = std::env::temp_dir().join(format!("evenkeel-{}.json", std::process::id()));
    std::fs::write(&path, json).unwrap();
    let read = read_policy(path.to_str().unwrap(), Path::new(""));
    std::fs::remove_file(&path).unwrap();
    let policy = read.unwrap().policy;
    assert_eq!(policy.attempts(), 4);
    assert_eq!(policy.call.timeout().to_string(), "2.00s");
    let known = named("grpc-a6").unwrap().policy().budget;
    assert_eq!(format!("{:?}", policy.budget), format!("{known:?}"));
}

#[test]
fn what_the_core_refuses_a_spec_refuses() {
    let mut spec = Spec::NO_RETRY;
    spec.retry.max_attempts = 0;
    assert_eq!(spec.policy().unwrap_err().field(), "retry.max_attempts");
}

#[test]
fn the_scenario_of_the_guide_is_one() {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/simulate.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let example = guide.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
    let example = example.unwrap().replace("policy.toml", "steady");
    let read = ScenarioFile::parse(&example, Path::new("")).unwrap();
    assert_eq!((read.scenario.capacity(), read.seeds().len()), (2_000.0, 10));
}
