//! The pages about scenarios and incidents, held against the tests of this folder.

use std::collections::BTreeSet;

use evenkeel_tests::{ids_of, scenarios, tests_in};

const PAGE: &str = include_str!("../../../docs/scenarios.md");
const INCIDENTS: &str = include_str!("../../../docs/incidents.md");

#[test]
fn every_scenario_of_the_core_has_a_test_and_every_test_a_row() {
    let rows = scenarios().filter(|(_, places)| places.contains(&"core"));
    let documented: BTreeSet<String> = rows.map(|(id, _)| id).collect();
    let mut tested: BTreeSet<String> =
        tests_in("core_scenarios").iter().flat_map(|test| ids_of(test)).collect();
    tested.retain(|id| !id.starts_with('F'));
    let untested: Vec<_> = documented.difference(&tested).collect();
    assert!(untested.is_empty(), "no test in tests/tests/core_scenarios is of {untested:?}");
    let untold: Vec<_> = tested.difference(&documented).collect();
    assert!(untold.is_empty(), "docs/scenarios.md has no row with the place core of {untold:?}");
}

#[test]
fn no_row_is_lost_and_none_is_there_twice() {
    let count = "count the new row here, in tests/tests/core_scenarios/documented.rs";
    assert_eq!(scenarios().count(), 253, "{count}");
    let mut seen = BTreeSet::new();
    for (id, _) in scenarios() {
        assert!(seen.insert(id.clone()), "docs/scenarios.md has {id} twice");
    }
}

/// A place that is none is looked for by nobody. A row that is no test anywhere says so: `none`.
#[test]
fn every_row_says_where_it_is_a_test() {
    let words = PAGE.split("| word | place |\n|---|---|\n").nth(1).expect("the places in words");
    let rows = words.lines().map_while(|line| line.strip_prefix("| "));
    let known: BTreeSet<&str> = rows.filter_map(|row| row.split(" | ").next()).collect();
    assert!(known.len() > 5, "{known:?}");
    for (id, places) in scenarios() {
        for place in places {
            let is_one = known.contains(place);
            assert!(is_one, "docs/scenarios.md: {id} is where? {place:?} is none of {known:?}");
        }
    }
}

#[test]
fn every_incident_that_is_replayed_is_told() {
    let named: BTreeSet<&str> = INCIDENTS.split('`').collect();
    for test in tests_in("core_scenarios") {
        let Some(id) = ids_of(&test).find(|id| id.starts_with('F')) else { continue };
        let told = format!("- **F{:0>2}** (", id.trim_start_matches('F'));
        assert!(INCIDENTS.contains(&told), "{id} is not told");
        assert!(named.contains(test.as_str()), "{test} is not named");
    }
}
