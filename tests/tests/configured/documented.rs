//! The page about scenarios, held against the tests of `evenkeel-settings`.

use std::collections::BTreeSet;

use evenkeel_tests::{ids_of, scenarios, tests_in};

#[test]
fn every_scenario_of_the_settings_has_a_test() {
    let folders = ["settings", "service_config"];
    let tests = folders.map(|folder| tests_in(&format!("../../adapters/settings/tests/{folder}")));
    let tested: BTreeSet<String> = tests.iter().flatten().flat_map(|test| ids_of(test)).collect();
    let rows = scenarios().filter(|(_, places)| places.contains(&"settings"));
    let documented: BTreeSet<String> = rows.map(|(id, _)| id).collect();
    assert!(documented.len() > 4, "{documented:?}");
    assert!(documented.is_subset(&tested), "{:?}", documented.difference(&tested));
}
