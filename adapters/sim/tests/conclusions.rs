//! The sentence above a report is true of what was run.

use evenkeel_core::Micros;
use evenkeel_sim::{
    Arrivals, Batch, FEW, FaultKind, Map, Policy, Run, Scenario, Second, ServerModel, Summary,
    conclusion, facts_of_enough, presets::named, safe_load,
};

#[test]
fn an_outage_that_does_not_end_is_not_said_to_end_at_every_load() {
    for (per_second, recovery, safe, end) in [
        (
            1_200.0,
            None,
            0.992,
            " load this outage does not end within 330 s after the fault; at every load below the capacity it would end.",
        ),
        (700.0, None, 0.19, "; up to 19 % load it would end."),
        (700.0, None, 0.0, "; at no load it would end."),
        (700.0, Some(5), 0.8, " s after the server is; up to 80 % load it would end."),
        (
            700.0,
            Some(5),
            0.992,
            " s after the server is, and would be at every load below the capacity.",
        ),
        // The two kinds of runs disagree, and neither is hidden.
        (
            700.0,
            None,
            0.8,
            "; in the smaller runs that look for the safe load it ends up to 80 % load.",
        ),
        (
            700.0,
            None,
            0.992,
            "; in the smaller runs that look for the safe load it ends at every load below the capacity.",
        ),
        (
            700.0,
            Some(5),
            0.6,
            "; in the smaller runs that look for the safe load it ends up to 60 % load.",
        ),
    ] {
        let mut scenario = Scenario::outage(FaultKind::Stall);
        scenario.fleet.arrivals = Arrivals::Open { per_second };
        let one = Summary { recovery, ..Summary::of(&idle(&scenario), &scenario) };
        let said = conclusion(&scenario, &Policy::NO_RETRY, &Batch { runs: vec![one] }, Some(safe));
        assert!(said.ends_with(end), "{said}");
    }
}

/// A run only shows that it has not ended yet: a breaker may still be open, and a queue nearly done.
#[test]
fn an_outage_is_said_not_to_end_by_itself_only_by_the_law_and_where_it_is_seen() {
    let naive = named("naive").unwrap().policy();
    let steady = named("steady").unwrap().policy();
    for (policy, per_second, wasted, is_told) in [
        (naive, 251.0, 0.95, true),
        (naive, 249.0, 0.95, false),
        // It may have been late for a few seconds, and have had few since.
        (naive, 251.0, 0.5, false),
        (steady, 900.0, 0.95, false),
    ] {
        let mut scenario = Scenario::outage(FaultKind::Stall);
        scenario.fleet.arrivals = Arrivals::Open { per_second };
        let one = Summary { wasted, ..Summary::of(&idle(&scenario), &scenario) };
        let said = conclusion(&scenario, &policy, &Batch { runs: vec![one, one] }, None);
        assert_eq!(said.ends_with("this outage does not end by itself."), is_told, "{said}");
        assert_eq!(said.ends_with("does not end within 330 s after the fault."), !is_told);
        let ended = Summary { recovery: Some(7), ..one };
        let said = conclusion(&scenario, &policy, &Batch { runs: vec![one, ended, ended] }, None);
        assert!(said.ends_with("but in 33 % of the runs not within 330 s."), "{said}");
    }
}

/// That is seen in ten seconds in a row.
#[test]
fn an_outage_with_too_few_calls_is_not_judged() {
    for (per_second, few) in [(1e-308, true), (0.99, true), (1.0, false), (700.0, false)] {
        let mut scenario = Scenario::outage(FaultKind::Stall);
        scenario.fleet.arrivals = Arrivals::Open { per_second };
        let batch = Batch { runs: vec![Summary::of(&idle(&scenario), &scenario)] };
        let said = conclusion(&scenario, &Policy::NO_RETRY, &batch, None);
        assert_eq!(said.starts_with("Too few calls to judge"), few, "{said}");
        assert_eq!(said.contains("does not end within 330 s"), !few, "{said}");
        let safe = conclusion(&scenario, &Policy::NO_RETRY, &batch, Some(0.992));
        assert!(
            !few || safe
                .ends_with("look for the safe load it ends at every load below the capacity."),
            "{safe}"
        );
        let rows = facts_of_enough(&scenario, &batch, None);
        assert_eq!(rows[3].1 == FEW, few, "{rows:?}");
        assert_eq!(rows[5].1 == FEW, per_second < 10.0, "{rows:?}");
    }
    // A second, thirty and ten of them, and all 120 behind the fault.
    let mut scenario = Scenario::outage(FaultKind::Stall);
    for (per_second, told) in [(0.05, 0), (0.1, 1), (0.34, 3), (1.0, 6), (10.0, 7)] {
        scenario.fleet.arrivals = Arrivals::Open { per_second };
        let rows = facts_of_enough(&scenario, &Batch { runs: Vec::new() }, None);
        let judged = rows[1..8].iter().filter(|row| row.1 != FEW).count();
        assert_eq!(judged, told, "{per_second}: {rows:?}");
    }
}

/// Nobody has seen that calls are good again where there were none.
#[test]
fn seconds_without_a_call_are_no_recovery() {
    let scenario = Scenario::outage(FaultKind::Stall);
    let mut record = idle(&scenario);
    assert_eq!(Summary::of(&record, &scenario).recovery, None);
    record.seconds[200] = Second { calls: 1, good: 1, ..Second::default() };
    assert_eq!(Summary::of(&record, &scenario).recovery, Some(0));
    record.seconds[100] = Second { calls: 1, ..Second::default() };
    assert_eq!(Summary::of(&record, &scenario).recovery, Some(41));
    record.seconds[205] = Second { calls: 1, ..Second::default() };
    record.seconds[389] = Second { calls: 1, good: 1, ..Second::default() };
    assert_eq!(Summary::of(&record, &scenario).recovery, Some(41));
}

/// What decides is the load over the capacity, and how many may wait for each worker.
#[test]
fn a_scenario_and_its_tenth_have_the_same_safe_load() {
    let naive = named("naive").unwrap().policy();
    let safe = |workers: u32, queue_limit: Option<u32>| {
        let mut scenario = Scenario::outage(FaultKind::Stall);
        scenario.fleet.clients = 10 * workers;
        scenario.server = ServerModel { workers, queue_limit, ..ServerModel::DEFAULT };
        safe_load(&scenario, &naive, 11).unwrap()
    };
    for (limit, tenth, low, high) in [
        (None, None, 0.2, 0.3),
        (Some(1_000), Some(100), 0.9, 1.0),
        (Some(100), Some(10), 0.9, 1.0),
    ] {
        let (whole, tenth) = (safe(20, limit), safe(2, tenth));
        assert!((whole - tenth).abs() < 0.05, "{limit:?}: {whole}, its tenth {tenth}");
        assert!(low < whole && whole < high, "{limit:?}: {whole}");
    }
}

/// Their load is what the server lets it be.
#[test]
fn clients_that_think_have_no_safe_load() {
    let mut scenario = Scenario::outage(FaultKind::Stall);
    scenario.fleet.arrivals = Arrivals::Closed { think: Micros::from_millis(100) };
    let refused = safe_load(&scenario, &Policy::NO_RETRY, 11).unwrap_err();
    assert_eq!(refused.field(), "fleet.think");
    assert_eq!(Map::new().look(0, &scenario, &Policy::NO_RETRY, 11), Err(refused));
    assert!(!Map::can_run(&scenario, 0.5, scenario.fault.length));
}

/// One call in three weeks is served: no load is safe, as nothing is ever good.
#[test]
fn a_server_that_serves_nothing_in_its_run_has_no_safe_load() {
    let mut scenario = Scenario::outage(FaultKind::Stall);
    scenario.server.service = Micros::from_millis(700 * 3_600_000);
    let load = safe_load(&scenario, &Policy::NO_RETRY, 11).unwrap();
    assert!(load < 0.01, "{load}");
}

/// The record of a run in which nobody called.
fn idle(scenario: &Scenario) -> Run {
    let seconds = vec![Second::default(); (scenario.end.as_micros() / 1_000_000) as usize];
    Run { seed: 1, events: 0, seconds, tenths: Vec::new(), opened: 0, cut_short: false }
}
