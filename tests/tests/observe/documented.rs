//! The page about scenarios, held against the tests of this folder, and the words of a metric, against
//! the page about what is told.

use std::collections::BTreeSet;

use evenkeel_tests::{ids_of, scenarios, tests_in};

use crate::dashboard::instruments;

const PAGE: &str = include_str!("../../../docs/observability.md");
/// Made from the sources, and compared with them by the test `messages`.
const MESSAGES: &str = include_str!("../../../docs/messages.md");

#[test]
fn every_scenario_of_what_is_told_has_a_test_and_every_test_a_row() {
    let rows = scenarios().filter(|(_, places)| places.contains(&"observe"));
    let documented: BTreeSet<String> = rows.map(|(id, _)| id).collect();
    let tests = tests_in("observe");
    let tested: BTreeSet<String> = tests.iter().flat_map(|test| ids_of(test)).collect();
    assert_eq!(documented, tested);
}

#[test]
fn the_page_lists_every_word_for_a_retry_that_was_not_made() {
    let table = MESSAGES.split("## Why there was no further attempt").nth(1).expect("the reasons");
    let rows =
        table.split("\n## ").next().unwrap().lines().filter(|row| row.contains("`StopReason::"));
    // A row has its word in a column, and may have others for what it tells apart.
    let told: BTreeSet<&str> = rows
        .flat_map(|row| {
            let word = row.split(" | ").nth(2).expect("told as").trim_matches('`');
            let others = row.split("told as `").skip(1).filter_map(|rest| rest.split('`').next());
            others.chain([word])
        })
        .filter(|word| *word != "-")
        .collect();
    let (_, list) = PAGE.split_once("\n`reason` is ").expect("the words");
    let (list, _) = list.split_once("[which stands for what]").expect("where more is said");
    // What is in brackets is about a word.
    let words = list.split('(').flat_map(|part| part.rsplit(')').next());
    let listed: BTreeSet<&str> =
        words.flat_map(|part| part.split('`').skip(1).step_by(2)).collect();
    assert_eq!(listed, told, "left: docs/observability.md; right: docs/messages.md");
}

/// The names are part of the interface, and the page is where it is.
#[test]
fn the_page_lists_every_metric_and_no_other() {
    let (_, table) = PAGE.split_once("\n## The metrics\n").expect("the metrics");
    let rows = table.split("\n## ").next().unwrap().lines().filter(|row| row.starts_with("| `"));
    let mut listed = BTreeSet::new();
    for row in rows {
        let names = row.split(" | ").next().unwrap().split('`').skip(1).step_by(2);
        let mut stem = "";
        for name in names {
            // What begins with a dot takes the place of the last word of the one in front.
            let whole = match name.starts_with('.') {
                true => format!("{stem}{name}"),
                false => name.to_owned(),
            };
            if let Some((front, _)) = name.rsplit_once('.').filter(|(front, _)| !front.is_empty()) {
                stem = front;
            }
            listed.insert(whole);
        }
    }
    let made: BTreeSet<String> = instruments().into_keys().collect();
    assert_eq!(listed, made, "left: docs/observability.md; right: adapters/tonic/src/observe");
}
