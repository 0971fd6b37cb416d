//! The pages about scenarios and incidents, held against the tests of this folder.

use std::collections::BTreeSet;

use evenkeel_tests::{ids_of, scenarios, tests_in};

const INCIDENTS: &str = include_str!("../../../docs/incidents.md");

#[test]
fn every_scenario_of_the_core_has_a_test_and_every_test_a_row() {
    let rows = scenarios().filter(|(_, places)| places.contains(&"core"));
    let documented: BTreeSet<String> = rows.map(|(id, _)| id).collect();
    let mut tested: BTreeSet<String> =
        tests_in("core_scenarios").iter().flat_map(|test| ids_of(test)).collect();
    tested.retain(|id| !id.starts_with('F'));
    assert_eq!(documented, tested);
    assert_eq!(scenarios().count(), 253);
    assert_eq!(scenarios().map(|(id, _)| id).collect::<BTreeSet<_>>().len(), 253, "an id twice");
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
