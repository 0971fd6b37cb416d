//! Figures and reports are whole, self-contained, and say what the run says.

use core::time::Duration;

use evenkeel_core::{Jitter, Micros};
use evenkeel_sim::presets::{PRESETS, named};
use evenkeel_sim::{
    Batch, FaultKind, Map, Report, Scenario, Summary, conclusion, facts, figures, map_figure, run,
    verdict,
};

fn scenario() -> Scenario {
    let mut scenario = Scenario::outage(FaultKind::Stall);
    scenario.fault.start = Micros::from_millis(3_000);
    scenario.fault.length = Micros::from_millis(3_000);
    scenario.end = Micros::from_millis(20_000);
    scenario
}

/// Every tag that opens closes, in order.
fn is_well_formed(svg: &str) -> bool {
    let mut open = Vec::new();
    for tag in svg.split('<').skip(1) {
        let Some((tag, _)) = tag.split_once('>') else { return false };
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return false;
            }
        } else if !tag.ends_with('/') {
            open.push(tag.split(' ').next().unwrap_or(tag));
        }
    }
    open.is_empty()
}

#[test]
fn every_policy_has_five_pictures_without_a_number_missing() {
    let scenario = scenario();
    for preset in PRESETS {
        let record = run(&scenario, &preset.policy(), 1).unwrap();
        let pictures = figures(&scenario, &preset.policy(), &record);
        assert_eq!(pictures.len(), 5);
        for figure in pictures {
            assert!(is_well_formed(&figure.svg), "{} of {}", figure.id, preset.name);
            assert!(is_well_formed(&figure.standalone()));
            assert!(!figure.svg.contains("NaN") && !figure.svg.contains("inf"), "{}", figure.id);
            assert!(figure.conclusion.ends_with('.'), "{}", figure.conclusion);
        }
    }
}

#[test]
fn the_verdict_is_about_the_one_that_is_back_sooner() {
    let scenario = scenario();
    let record = run(&scenario, &named("no-retry").unwrap().policy(), 1).unwrap();
    let batch = |times: &[Option<u32>]| {
        let one = Summary::of(&record, &scenario);
        Batch { runs: times.iter().map(|time| Summary { recovery: *time, ..one }).collect() }
    };
    let (soon, late, never) = (batch(&[Some(0), Some(8)]), batch(&[Some(18)]), batch(&[None]));
    let half = batch(&[None, Some(1)]);
    for (a, b, told) in [
        (&soon, &late, "By p95, a recovers sooner: within 8 s, b within 18 s."),
        (&late, &soon, "By p95, b recovers sooner: within 8 s, a within 18 s."),
        (&late, &late, "By p95, both recover alike, within 18 s."),
        (
            &late,
            &half,
            "By p95, a recovers, within 18 s, and b does not: 50 % of its runs do not before they end.",
        ),
        (
            &never,
            &soon,
            "By p95, b recovers, within 8 s, and a does not: 100 % of its runs do not before they end.",
        ),
        (
            &never,
            &half,
            "By p95, neither recovers: 100 % of the runs of a do not before they end, and 50 % of those of b.",
        ),
    ] {
        assert_eq!(verdict(["a", "b"], [a, b]), told);
    }
    let told = verdict(["policy", "policy"], [&late, &soon]);
    assert_eq!(told, "By p95, the second recovers sooner: within 8 s, the first within 18 s.");
}

/// One attempt, because there are no others or because its code is not retried, is not the same.
#[test]
fn one_attempt_is_told_with_the_code_that_made_it_the_last() {
    let told = |preset: &str, kind| {
        let (mut scenario, policy) = (scenario(), named(preset).unwrap().policy());
        scenario.fault.kind = kind;
        let record = run(&scenario, &policy, 1).unwrap();
        let pictures = figures(&scenario, &policy, &record);
        pictures.into_iter().find(|figure| figure.id == "call").unwrap().conclusion
    };
    let why = ": DEADLINE_EXCEEDED is not among the retried codes, so there is no other.";
    assert!(told("grpc-a6", FaultKind::Stall).ends_with(why));
    assert!(told("grpc-a6", FaultKind::FailFast).starts_with("4 attempts"));
    // Its only attempt is cut off by the call's own end, and nothing could follow.
    for (preset, kind) in [
        ("kit", FaultKind::Stall),
        ("no-retry", FaultKind::Stall),
        ("no-retry", FaultKind::FailFast),
    ] {
        let told = told(preset, kind);
        assert!(told.starts_with("One attempt, and") && !told.contains(':'), "{told}");
    }
}

/// Some of the requests fail, and the answers say so; a caller without a limit waits for one for ever.
#[test]
fn one_call_is_told_of_as_the_fault_answers_it() {
    let told = |kind, attempt_timeout: Option<Duration>| {
        let mut spec = named("naive").unwrap().spec;
        spec.attempt_timeout = attempt_timeout;
        let (mut scenario, policy) = (scenario(), spec.policy().unwrap());
        scenario.fault.kind = kind;
        let record = run(&scenario, &policy, 1).unwrap();
        let pictures = figures(&scenario, &policy, &record);
        pictures.into_iter().find(|figure| figure.id == "call").unwrap().conclusion
    };
    let minutes = Some(Duration::from_secs(120));
    let partial = FaultKind::Partial { share: 0.3 };
    assert_eq!(told(partial, minutes), told(FaultKind::FailFast, minutes));
    assert_eq!(told(FaultKind::Stall, None), "One attempt, and the caller never knows.");
    assert!(told(FaultKind::FailFast, None).starts_with("4 attempts"));
    let told = told(FaultKind::Stall, minutes);
    assert!(told.starts_with("4 attempts") && told.contains("starts 361 s"), "{told}");
}

/// Not as if they were all there are.
#[test]
fn attempts_that_do_not_fit_into_the_timeout_are_told() {
    let told = |attempts: u16, timeout: u64, jitter: Jitter| {
        let mut spec = named("naive").unwrap().spec;
        spec.timeout = Some(Duration::from_millis(timeout));
        spec.retry.max_attempts = attempts;
        spec.retry.jitter = jitter;
        let (scenario, policy) = (scenario(), spec.policy().unwrap());
        let record = run(&scenario, &policy, 1).unwrap();
        let pictures = figures(&scenario, &policy, &record);
        pictures.into_iter().find(|figure| figure.id == "call").unwrap().conclusion
    };
    let some = "3 of 4 attempts fit into the timeout; the last one starts 2.3 s after the first";
    assert!(told(4, 3_000, Jitter::None).starts_with(some));
    let some = "3 of 4 attempts fit into the timeout, over after 3 s; by the last one";
    assert!(told(4, 3_000, Jitter::Full).starts_with(some));
    assert!(told(4, 60_000, Jitter::None).starts_with("4 attempts; the last one"));
    assert!(told(4, 60_000, Jitter::Full).starts_with("4 attempts, over after "));
    // Nobody has looked whether the others fit.
    assert!(told(65_535, 86_400_000, Jitter::None).starts_with("48 of 65535 attempts; the last"));
}

#[test]
fn the_map_is_drawn_whatever_is_in_it() {
    let policy = named("naive").unwrap().policy();
    for cell in [None, Some(0), Some(7), Some(500)] {
        let mut map = Map::new();
        map.cells.fill(cell);
        let figure = map_figure(&scenario(), &policy, &map);
        assert!(is_well_formed(&figure.svg));
        assert_eq!(map.safe_load(), if cell.is_none() { Some(0.0) } else { None });
    }
}

#[test]
fn the_map_leaves_out_the_loads_that_are_too_large_for_it() {
    let mut scenario = Scenario::outage(FaultKind::Stall);
    let left_out = |scenario: &Scenario| {
        let mut map = Map::new();
        let first = map.leave_out(scenario);
        assert_eq!(map.cells.len(), map.loads.len() * map.lengths.len());
        (first, map)
    };
    assert_eq!(left_out(&scenario), (None, Map::new()));
    scenario.server.service = Micros::from_micros(10);
    let (first, map) = left_out(&scenario);
    assert_eq!((first, map.loads.len(), map.cells.len()), (Some(0.6), 5, 35));
    // What is kept may be run, and drawn.
    scenario.check().unwrap();
    assert!(Map::can_run(&scenario, 0.5, Micros::from_millis(60_000)));
    assert!(!Map::can_run(&scenario, 0.6, Micros::from_millis(60_000)));
    let policy = named("naive").unwrap().policy();
    assert!(is_well_formed(&map_figure(&scenario, &policy, &map).svg));
    // A month of a fault is no run of a minute.
    assert!(!Map::can_run(&scenario, 0.1, Micros::from_millis(30 * 86_400_000)));
    scenario.server.service = Micros::ZERO;
    assert!(left_out(&scenario).1.loads.is_empty());
}

#[test]
fn a_report_needs_nothing_from_outside() {
    let scenario = scenario();
    let policy = named("naive").unwrap().policy();
    let record = run(&scenario, &policy, 1).unwrap();
    let batch = Batch { runs: vec![Summary::of(&record, &scenario)] };
    let report = Report {
        name: "<b>&\"name\"".into(),
        conclusion: conclusion(&scenario, &policy, &batch, Some(0.25)),
        facts: facts(&scenario, &batch),
        figures: figures(&scenario, &policy, &record),
        calls: "calls are to <any> method".into(),
        source: "policy = \"naive\" # <script>".into(),
        policy: "[retry] # <img>".into(),
        provenance: "one seed".into(),
    };
    let html = report.to_html();
    assert!(html.contains("to &lt;any&gt; method") && html.contains("[retry] # &lt;img&gt;"));
    let links = html.replace("http://www.w3.org/2000/svg", "");
    assert!(!links.contains("http") && !html.contains("<script") && !html.contains("<b>"));
    assert!(html.contains("does not end by itself") && html.contains("A model, not your service"));
}

/// It stands below the bars, where there is none.
#[test]
fn the_name_of_the_deadline_is_over_no_bar() {
    let scenario = scenario();
    for preset in PRESETS {
        let record = run(&scenario, &preset.policy(), 1).unwrap();
        let pictures = figures(&scenario, &preset.policy(), &record);
        let svg = &pictures.iter().find(|figure| figure.id == "call").unwrap().svg;
        let Some((before, _)) = svg.split_once("\">deadline of the call") else { continue };
        let number = |text: &str| text.split('"').next().unwrap().parse::<f64>().unwrap();
        let words = number(before.rsplit_once(" y=\"").unwrap().1);
        for bar in svg.split("<rect class=\"bar").skip(1) {
            let top = number(bar.split_once(" y=\"").unwrap().1);
            let height = number(bar.split_once(" height=\"").unwrap().1);
            assert!(words - 10.0 > top + height, "{}: {words} {top} {height}", preset.name);
        }
    }
}

#[test]
fn the_map_says_what_its_numbers_are() {
    let figure = map_figure(&scenario(), &named("naive").unwrap().policy(), &Map::new());
    assert!(figure.svg.contains("in the cells: seconds to recover"));
}
