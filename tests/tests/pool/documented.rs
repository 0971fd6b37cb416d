//! The page about scenarios, held against the tests of this folder.

use std::collections::BTreeSet;

use evenkeel_tests::{ids_of, scenarios, tests_in};

#[test]
fn every_scenario_of_the_pool_has_a_test_and_every_test_a_row() {
    let rows = scenarios().filter(|(_, places)| places.contains(&"pool"));
    let documented: BTreeSet<String> = rows.map(|(id, _)| id).collect();
    let mut tested: BTreeSet<String> =
        tests_in("pool").iter().flat_map(|test| ids_of(test).collect::<Vec<_>>()).collect();
    // Incidents have a page of their own.
    tested.retain(|id| !id.starts_with('F'));
    assert_eq!(documented, tested);
}
