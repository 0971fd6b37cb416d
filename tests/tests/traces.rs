//! This file knows how our machines compare with the recordings of the Python kit, to the last
//! number: a rule that changes shows here, and says in which traces.

use std::fs;
use std::path::{Path, PathBuf};

use evenkeel_tests::replay::{Rule, Rules, Summary, replay};

#[test]
fn breaker_traces_differ_as_intended_only() {
    let summary = replayed("breaker.jsonl");
    assert_eq!((summary.traces, summary.steps, summary.agree), (200, 5_054, 97), "{summary}");
    let first = [
        (Rules::of(&[Rule::InUse]), 38),
        (Rules::of(&[Rule::LateFailureMovesWindow]), 39),
        (Rules::of(&[Rule::RestartedCount]), 22),
        (Rules::of(&[Rule::Boundary, Rule::RestartedCount]), 4),
    ];
    assert_eq!(summary.first, first.into(), "{summary}");
    let needed = [
        (Rule::Boundary, 8),
        (Rule::Epoch, 5),
        (Rule::InUse, 39),
        (Rule::LateFailureMovesWindow, 50),
        (Rule::RestartedCount, 46),
        (Rule::ShrinksBack, 3),
    ];
    assert_eq!(summary.needed, needed.into(), "{summary}");
}

#[test]
fn retry_traces_differ_as_intended_only() {
    let summary = replayed("retry.jsonl");
    assert_eq!((summary.traces, summary.steps, summary.agree), (200, 768, 178), "{summary}");
    let needed = [(Rule::EmptyAllowList, 2), (Rule::ShortSlice, 12), (Rule::ZeroSlice, 8)];
    assert_eq!(summary.first, needed.map(|(rule, count)| (Rules::of(&[rule]), count)).into());
    assert_eq!(summary.needed, needed.into(), "{summary}");
}

#[test]
fn budget_traces_differ_as_intended_only() {
    let summary = replayed("budget.jsonl");
    assert_eq!((summary.traces, summary.steps, summary.agree), (100, 399, 94), "{summary}");
    assert_eq!(summary.needed, [(Rule::NeverNegative, 6)].into(), "{summary}");
}

#[test]
fn details_traces_agree() {
    let summary = replayed("details.jsonl");
    assert_eq!((summary.traces, summary.steps, summary.agree), (100, 100, 100), "{summary}");
}

#[test]
fn balancer_traces_agree() {
    let summary = replayed("balancer.jsonl");
    assert_eq!((summary.traces, summary.steps, summary.agree), (100, 1_446, 100), "{summary}");
}

#[test]
fn health_traces_differ_as_intended_only() {
    let summary = replayed("health.jsonl");
    assert_eq!((summary.traces, summary.steps, summary.agree), (100, 2_440, 21), "{summary}");
    let first = [(Rules::of(&[Rule::HealthBit]), 3), (Rules::of(&[Rule::IndependentTargets]), 76)];
    assert_eq!(summary.first, first.into(), "{summary}");
    let needed = [(Rule::HealthBit, 28), (Rule::IndependentTargets, 77)];
    assert_eq!(summary.needed, needed.into(), "{summary}");
}

/// One number changed in a recording must be a difference that no rule excuses.
#[test]
fn a_doctored_recording_is_noticed() {
    let doctored = [
        ("breaker.jsonl", r#""open", 1, 0, 0.0"#, r#""open", 2, 0, 0.0"#),
        ("retry.jsonl", r#""elapsed": 0.3"#, r#""elapsed": 0.31"#),
        ("budget.jsonl", "[0.05, false, null", "[0.06, false, null"),
        ("balancer.jsonl", r#""h0:1", "h1:1", "h2:1", null"#, r#""h0:1", "h2:1", "h1:1", null"#),
        ("health.jsonl", "[10.0, \"h0:1\"]", "[10.5, \"h0:1\"]"),
        ("details.jsonl", r#"{"timeout": 100.0, "wait_for_ready": true"#, r#"{"timeout": 100.0"#),
    ];
    for (name, was, is) in doctored {
        let text = fs::read_to_string(recording(name)).unwrap();
        let summary = replay(&written(name, &text.replacen(was, is, 1))).unwrap();
        assert_eq!(summary.otherwise.len(), 1, "{summary}");
        assert_eq!(summary.model_is_kit, summary.traces - 1, "{summary}");
        assert_eq!(summary.model_is_ours, summary.traces, "{summary}");
    }
}

/// Nothing in a recording is passed over, and no recording at all is not success.
#[test]
fn what_cannot_be_replayed_is_refused() {
    let text = fs::read_to_string(recording("details.jsonl")).unwrap();
    let strange = text.replacen(r#""result""#, r#""novelty": 1, "result""#, 1);
    let refused = replay(&written("strange/details.jsonl", &strange)).unwrap_err();
    assert!(refused.to_string().contains("unknown field `novelty`"), "{refused}");
    let refused = replay(&written("empty/details.jsonl", "")).unwrap_err();
    assert!(refused.to_string().contains("no trace"), "{refused}");
}

fn replayed(name: &str) -> Summary {
    let summary = replay(&recording(name)).unwrap();
    assert!(summary.otherwise.is_empty(), "{summary}");
    assert_eq!(summary.agree + summary.intended(), summary.traces, "{summary}");
    assert_eq!(summary.model_is_kit, summary.traces, "{summary}");
    assert_eq!(summary.model_is_ours, summary.traces, "{summary}");
    summary
}

fn recording(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("traces").join(name)
}

fn written(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("traces").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}
