//! What the page and the reader promise of scenarios that are data.

use std::fs;
use std::path::Path;

use evenkeel_scripted::{Need, PAGE, Runtime, all, page, read};
use libtest_mimic::{Failed, Trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        Trial::test("the page is as it would be written", the_page_is_as_it_would_be_written),
        Trial::test("a row that is not whole is refused", a_row_that_is_not_whole_is_refused),
        Trial::test("every lack is one of some scenario", every_lack_is_one_of_some_scenario),
        Trial::test("every scenario has a runtime", every_scenario_has_a_runtime),
        Trial::test("what is not understood is refused", what_is_not_understood_is_refused),
        Trial::test("a wrong expectation shows both traces", a_wrong_expectation_shows_both),
    ]
}

fn the_page_is_as_it_would_be_written() -> Result<(), Failed> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(PAGE);
    let found = fs::read_to_string(path)?;
    if page(&found)? == found {
        Ok(())
    } else {
        Err(format!("{PAGE} is not current: cargo run -p evenkeel-scripted").into())
    }
}

/// It would be lost when the page is written, or be a test that nobody looks for.
fn a_row_that_is_not_whole_is_refused() -> Result<(), Failed> {
    let found = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(PAGE))?;
    let under = "| id | situation | here | where |\n|---|---|---|---|\n";
    for row in ["| X1 | a | b |  |", "| X1 | a | b | |", "| X1 | a | b |", "| X1 | a | b | core"] {
        match page(&format!("{found}\n{under}{row}\n")) {
            Err(said) if said.contains(row) => {}
            other => return Err(format!("{row}: {other:?}").into()),
        }
    }
    page(&format!("{found}\n{under}| X1 | a | b | core |\n"))?;
    Ok(())
}

/// A lack of which no scenario asks is a lack nobody can check.
fn every_lack_is_one_of_some_scenario() -> Result<(), Failed> {
    for need in Need::ALL {
        if !all().iter().any(|scenario| need.is_of(scenario)) {
            return Err(format!("no scenario is about {}", need.name()).into());
        }
        if !Runtime::ALL.iter().any(|runtime| runtime.lacks.iter().any(|(lack, _)| *lack == need)) {
            return Err(format!("no runtime lacks {}", need.name()).into());
        }
    }
    Ok(())
}

fn every_scenario_has_a_runtime() -> Result<(), Failed> {
    for scenario in all() {
        if Runtime::ALL.iter().all(|runtime| runtime.lacks_for(scenario).is_some()) {
            return Err(format!("nobody runs {}", scenario.name()).into());
        }
    }
    Ok(())
}

fn what_is_not_understood_is_refused() -> Result<(), Failed> {
    for (wrong, why) in WRONG {
        let text = format!("[[scenario]]\nids = [\"R1\"]\ntitle = \"one\"\n{wrong}\n");
        match read(&text) {
            Err(said) if said.contains(why) => {}
            Err(said) => return Err(format!("{wrong}: {said:?} does not say {why:?}").into()),
            Ok(_) => return Err(format!("{wrong}: is not refused").into()),
        }
    }
    Ok(())
}

fn a_wrong_expectation_shows_both() -> Result<(), Failed> {
    let text = r#"
        [[scenario]]
        ids = ["R1"]
        title = "one"
        policy.retry = { initial_backoff = "100ms", jitter = 0 }
        answers = ["UNAVAILABLE", "OK"]
        expected = ["A(0) A(0.2) OK(0.1)"]
        shown = [{ at = 1, breaker = "closed(3)" }]
    "#;
    let scenarios = read(text)?;
    let said = scenarios[0].check(&crate::core_runner::run(&scenarios[0])).unwrap_err();
    for part in [
        "R1: one",
        "A(0.2)                       ≠ A(0.1)",
        "closed(3) ≠ 1 /lab.v1.Lab/Echo closed(0)",
    ] {
        assert!(said.contains(part), "{part:?} is not in\n{said}");
    }
    Ok(())
}

/// What is wrong, and what is said of it.
const WRONG: [(&str, &str); 15] = [
    ("expected = []", "1 calls, and expected tells of 0"),
    ("expected = [\"A(0) OK(0)\"]", "nobody answers"),
    ("answers = [\"FINE\"]\nexpected = []", "\"FINE\" is no code"),
    ("answers = [\"ok\"]\nexpected = []", "\"ok\" is no code"),
    ("answers = [\"OK soon\"]\nexpected = []", "what is \"soon\"?"),
    ("answers = [\"OK after\"]\nexpected = []", "is no time"),
    ("answers = [\"OK\"]\nexpected = [\"A(0)\"]", "has no end"),
    ("answers = [\"OK\"]\nexpected = [\"A(0) OK(0) A(1)\"]", "comes after the end"),
    ("answers = [\"OK\"]\nexpected = [\"UNAVAILABLE(0)\"]", "trace.rs has attempts used up, "),
    ("answers = [\"OK\"]\nexpected = [\"LOST(0)\"]", "OK, GONE, REFUSED, SPENT or a code is"),
    ("answers = [\"OK\"]\nexpected = [\"A(-1) OK(0)\"]", "is no time"),
    ("policy.retry = { codez = [] }\nexpected = [\"OK(0)\"]", "did you mean codes?"),
    ("policy.breaker = { mode = \"time\" }\nexpected = [\"OK(0)\"]", "consecutive"),
    ("calls = [{ at = 0, method = \"Get\" }]\nexpected = [\"OK(0)\"]", "is none of"),
    ("expected = [\"OK(0)\"]\nshown = [{ at = 1, breaker = \"open(1)\" }]", "is no breaker"),
];
