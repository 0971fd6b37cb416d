//! This file knows all futures and bodies that the adapters hand out, by reading their
//! sources: one that is new must say where it is dropped.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Where each is dropped at every poll: a test of that name.
const EMBASSY: [(&str, &str); 7] = [
    ("SleepUntil", "what_is_limited_and_dropped_anywhere_is_gone"),
    ("call", "a_call_may_be_dropped_at_every_await"),
    ("call_with", "a_call_dropped_anywhere_gives_its_place_back"),
    ("drive", "a_call_dropped_anywhere_gives_its_place_back"),
    ("feed_while_on_time", "a_watchdog_dropped_anywhere_is_not_fed"),
    ("supervise", "a_supervisor_dropped_anywhere_lets_go_of_its_link"),
    ("until", "what_is_limited_and_dropped_anywhere_is_gone"),
];

const TOKIO: [(&str, &str); 8] = [
    ("Driving", "a_trial_that_is_dropped_gives_its_place_back"),
    ("SleepUntil", "a_sleep_dropped_anywhere_holds_nothing"),
    ("WithBudget", "a_scope_dropped_anywhere_is_left"),
    ("call", "a_trial_that_is_dropped_gives_its_place_back"),
    ("call_hedged", "hedged_attempts_dropped_anywhere_give_their_places_back"),
    ("call_seeded", "a_trial_that_is_dropped_gives_its_place_back"),
    ("call_within", "a_call_within_a_deadline_dropped_anywhere_gives_its_place_back"),
    ("until", "a_limit_dropped_anywhere_drops_what_it_limits"),
];

const TONIC: [(&str, &str); 16] = [
    ("Asked", "a_lookup_dropped_anywhere_stops_the_resolver"),
    ("Front", "in_a_request_stream"),
    ("Loan", "in_a_request_stream"),
    ("OneMessage", "in_a_unary_call"),
    ("OpenBudgetBody", "a_response_body_dropped_anywhere_leaves_its_budget"),
    ("OpenBudgetFuture", "a_handler_dropped_anywhere_leaves_its_budget"),
    ("Release", "in_a_unary_call"),
    ("ResponseFuture", "in_a_unary_call_with_two_retries"),
    ("Sending", "in_a_unary_call"),
    ("StreamBody", "in_a_response_stream_that_begins_anew"),
    ("changed", "changes_dropped_anywhere_are_told_again"),
    ("check_health", "a_one_shot_check_dropped_anywhere_leaves_no_channel_and_no_verdict"),
    ("close", "a_kit_whose_close_is_dropped_anywhere_is_closed"),
    ("stop", "a_stop_dropped_anywhere_has_stopped_once_it_was_polled"),
    ("wait", "f133_a_wait_dropped_anywhere_leaves_nothing_behind"),
    ("wait_until_ready", "a_kit_waited_for_and_dropped_anywhere_holds_nothing"),
];

#[test]
fn each_has_a_test_that_drops_it() {
    let tests: Vec<String> = ["tests", "adapters"].iter().flat_map(|top| sources(top)).collect();
    for (adapter, dropped) in [("embassy", &EMBASSY[..]), ("tokio", &TOKIO), ("tonic", &TONIC)] {
        let dropped = BTreeMap::from_iter(dropped.iter().copied());
        let mut found = BTreeSet::new();
        let sources = sources(&format!("adapters/{adapter}/src"));
        for name in sources.iter().flat_map(|source| futures_in(source)) {
            let test = dropped.get(name).copied();
            let test = test.unwrap_or_else(|| panic!("{adapter}: who drops {name}?"));
            let begins = format!("fn {test}(");
            assert!(tests.iter().any(|text| text.contains(&begins)), "no test is called {test}");
            found.insert(name);
        }
        assert!(found.into_iter().eq(dropped.into_keys()), "{adapter}: some are gone");
    }
}

/// The futures and bodies a source hands out, or hands on inside its crate.
fn futures_in(source: &str) -> Vec<&str> {
    let types = source.lines().filter_map(|line| {
        let rest = line.strip_prefix("impl")?;
        let (_, rest) = rest.split_once(" Future for ").or_else(|| rest.split_once("Body for "))?;
        Some(rest)
    });
    let functions =
        source.lines().filter_map(|line| line.trim_start().strip_prefix("pub async fn "));
    let plain = source.match_indices("-> impl Future").filter_map(|(at, _)| {
        let (head, name) = source[..at].rsplit_once("fn ")?;
        head.ends_with("pub ").then_some(name)
    });
    types.chain(functions).chain(plain).map(first_word).collect()
}

fn first_word(text: &str) -> &str {
    let end = text.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    &text[..end.unwrap_or(text.len())]
}

fn sources(top: &str) -> Vec<String> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned();
    let mut found = Vec::new();
    read(&root.join(top), &mut found);
    found
}

fn read(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") && !path.ends_with("node_modules") {
            read(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(fs::read_to_string(path).unwrap());
        }
    }
}
