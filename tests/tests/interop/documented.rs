//! The page about scenarios, held against the tests of this folder.

use std::collections::BTreeSet;

use evenkeel_tests::{ids_of, scenarios, tests_in};

#[test]
fn every_scenario_of_the_interop_has_a_test_and_every_test_a_row() {
    let rows = scenarios().filter(|(_, places)| places.contains(&"interop"));
    let documented: BTreeSet<String> = rows.map(|(id, _)| id).collect();
    let tests = tests_in("interop");
    let tested: BTreeSet<String> = tests.iter().flat_map(|test| ids_of(test)).collect();
    assert_eq!(documented, tested);
}
