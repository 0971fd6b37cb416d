//! The pages about scenarios and incidents, held against the tests of this folder.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const SCENARIOS: &str = include_str!("../../../docs/scenarios.md");
const INCIDENTS: &str = include_str!("../../../docs/incidents.md");

/// The names of all tests, read from the sources: a binary cannot list its own.
fn tests() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/core_scenarios");
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let source = fs::read_to_string(entry.unwrap().path()).unwrap();
        for after in source.split("#[test]\nfn ").skip(1) {
            names.insert(after.split('(').next().unwrap().to_owned());
        }
    }
    names
}

/// The ids a test's name begins with, such as `C44` and `G73` of `c44_and_g73_a_threshold`.
fn ids(test: &str) -> impl Iterator<Item = String> {
    let words = test.split('_').take_while(|word| *word == "and" || is_id(word));
    words.filter(|word| *word != "and").map(str::to_uppercase)
}

fn is_id(word: &str) -> bool {
    let (letter, number) = word.split_at_checked(1).unwrap_or_default();
    "bdlwrcgf".contains(letter) && !number.is_empty() && number.parse::<u16>().is_ok()
}

/// Every id of the table of scenarios, and whether its row says that the core's tests have it.
fn rows() -> impl Iterator<Item = (String, bool)> {
    SCENARIOS.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split(" | ").collect();
        let (id, places) = (cells.first()?.strip_prefix("| ")?, cells.last()?);
        let core = places.trim_end_matches(" |").split(", ").any(|place| place == "core");
        is_id(&id.to_lowercase()).then(|| (id.to_owned(), core))
    })
}

#[test]
fn every_scenario_of_the_core_has_a_test_and_every_test_a_row() {
    let documented: BTreeSet<String> = rows().filter(|(_, core)| *core).map(|(id, _)| id).collect();
    let mut tested: BTreeSet<String> = tests().iter().flat_map(|test| ids(test)).collect();
    tested.retain(|id| !id.starts_with('F'));
    assert_eq!(documented, tested);
    assert_eq!(rows().count(), 201);
    assert_eq!(rows().map(|(id, _)| id).collect::<BTreeSet<_>>().len(), 201, "an id twice");
}

#[test]
fn every_incident_that_is_replayed_is_told() {
    let named: BTreeSet<&str> = INCIDENTS.split('`').collect();
    for test in tests() {
        let Some(id) = ids(&test).find(|id| id.starts_with('F')) else { continue };
        assert!(INCIDENTS.contains(&format!("- **{id}** (")), "{id} is not told");
        assert!(named.contains(test.as_str()), "{test} is not named");
    }
}
