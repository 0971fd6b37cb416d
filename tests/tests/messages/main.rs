//! Every message the project can print is on `docs/messages.md`, with what to do about it.
//!
//! The page is made here, of errors and warnings as they print themselves and of log lines as they
//! stand in the sources. A variant, an error or a log line that nobody has written a row for fails,
//! and so does a row without one.
//!
//! `REWRITE=1 cargo test -p evenkeel-tests --test messages` writes the page again.

mod bare;
mod refusals;
mod sources;
mod statuses;
mod stops;
mod tell;

use core::fmt::Write;
use std::collections::BTreeSet;
use std::fs;

/// A message, of which type or variant it is, and what a person does about it.
struct Row {
    of: &'static str,
    text: String,
    to_do: &'static str,
}

impl Row {
    fn new(of: &'static str, text: impl ToString, to_do: &'static str) -> Self {
        Self { of, text: text.to_string(), to_do }
    }
}

#[tokio::test(start_paused = true)]
async fn the_page_has_every_message_and_no_other() {
    let mut page = String::from(HEAD);
    let mut named = BTreeSet::new();
    for (title, intro, rows) in [
        ("What a caller sees", STATUSES, statuses::rows().await),
        ("Why there was no further attempt", STOPS, stops::rows()),
        ("Without gRPC", PLAIN, stops::plain()),
        ("Refused when a client is built", BUILT, refusals::built()),
        ("Refused when settings are read", READ, refusals::read()),
        ("Targets", TARGETS, refusals::targets()),
        ("Warnings about settings", WARNINGS, refusals::warnings()),
    ] {
        named.extend(rows.iter().map(|row| row.of));
        if rows.iter().all(|row| row.of.starts_with("StopReason::")) {
            let words = sources::words_of_reasons();
            let cells = rows.iter().map(|row| [&*row.text, row.of, &*words[row.of], row.to_do]);
            section(&mut page, title, intro, ["message", "type", "told as", "what to do"], cells);
            continue;
        }
        let says_what_to_do = rows.iter().all(|row| row.of.starts_with("Warning::"));
        let head = ["message", "type", if says_what_to_do { "why" } else { "what to do" }];
        let cells = rows.iter().map(|row| [&*row.text, row.of, row.to_do]);
        section(&mut page, title, intro, head, cells);
    }
    let texts = bare::STATUSES.iter();
    let lines = texts.map(|(text, code, to_do)| [*text, *code, *to_do]);
    section(&mut page, "Statuses without a type", BARE, ["message", "code", "what to do"], lines);
    let events = sources::events();
    let lines = events.iter().map(|event| [&*event.text, event.level, to_do_about(&event.text)]);
    section(&mut page, "In the log", LOG, ["message", "level", "what to do"], lines);

    let targets: BTreeSet<String> = refusals::targets().into_iter().map(rule_of).collect();
    assert_eq!(targets.len(), sources::rules_of_targets(), "a row for each rule: {targets:#?}");
    let named: BTreeSet<String> = named.into_iter().map(str::to_owned).collect();
    alike(&named, &sources::printed(), "can be printed");
    let said = events.iter().map(|event| event.text.clone()).collect();
    let known = sources::TO_DO.iter().map(|(text, _)| (*text).to_owned()).collect();
    alike(&known, &said, "is logged");
    let known = bare::STATUSES.iter().map(|(text, ..)| (*text).to_owned()).collect();
    alike(&known, &bare::statuses(), "is the message of a status");
    hold("docs/messages.md", &page);
}

/// Names only what is in one of the two: whoever reads it has just added that.
fn alike(rows: &BTreeSet<String>, there: &BTreeSet<String>, is_there: &str) {
    let missing: Vec<_> = there.difference(rows).collect();
    assert!(missing.is_empty(), "{is_there}, and has no row: {missing:#?}");
    let left: Vec<_> = rows.difference(there).collect();
    assert!(left.is_empty(), "has a row, and no longer {is_there}: {left:#?}");
}

/// Who has ten clients looks for the lines of one, and for a code by its name.
#[test]
fn every_log_line_names_its_client_and_codes_as_grpc_does() {
    assert_eq!(sources::unlike_the_others(), <[String; 0]>::default());
}

/// Behind the target that broke it.
fn rule_of(row: Row) -> String {
    row.text.split_once("\": ").map(|(_, rule)| rule.to_owned()).expect("a target and a rule")
}

fn to_do_about(text: &str) -> &'static str {
    let known = sources::TO_DO.iter().find(|(known, _)| *known == text);
    known.map_or("", |(_, to_do)| to_do)
}

/// The first cell of a row is a message, the second a name, and the others are sentences.
fn section<'a, const CELLS: usize>(
    page: &mut String,
    title: &str,
    intro: &str,
    head: [&str; CELLS],
    rows: impl Iterator<Item = [&'a str; CELLS]>,
) {
    let _ = write!(page, "\n## {title}\n\n{intro}\n\n| {} |\n", head.join(" | "));
    let _ = writeln!(page, "|{}", "---|".repeat(CELLS));
    for cells in rows {
        assert!(cells.iter().all(|cell| !cell.is_empty()), "{cells:?}");
        let mut cells = cells.map(str::to_owned);
        cells[0] = cells[0].replace('|', "\\|").replace('\n', " ");
        cells[1] = format!("`{}`", cells[1]);
        let _ = writeln!(page, "| {} |", cells.join(" | "));
    }
}

/// The file is as it was made here; with `REWRITE` in the environment it becomes so.
fn hold(file: &str, made: &str) {
    let path = sources::root().join(file);
    if std::env::var_os("REWRITE").is_some() {
        fs::write(&path, made).unwrap();
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    for (number, (there, made)) in there.lines().zip(made.lines()).enumerate() {
        assert_eq!(there, made, "{file}, line {}; REWRITE=1 writes it again", number + 1);
    }
    assert_eq!(there.len(), made.len(), "{file} is longer or shorter; REWRITE=1 writes it again");
}

const HEAD: &str = "# Messages\n
Every message that is printed, with what to do about it. Written by
`REWRITE=1 cargo test -p evenkeel-tests --test messages`, of the errors themselves and of the log lines
in the sources; without `REWRITE` that test compares. Names, numbers and times are examples. The words may
change with any version; programs look at the types.\n";

const STATUSES: &str = "A call ends in a `tonic::Status`. Where it is ours, or more is known of it, \
    `evenkeel_tonic::cause`\nfinds one of these types in its sources.";
const STOPS: &str = "The `reason` of a `Stopped`, and of `Error::Peer` without gRPC. The log's `retry \
    denied` and the metric\n`resilience.retry.denied` say it in the word of the third column. Their \
    `budget` is the throttle's tokens, and not\nthe request's time, which in this project's other \
    words is the budget.";
const PLAIN: &str = "Of `evenkeel-core`, and of the drivers in `evenkeel-std` and `evenkeel-tokio`; those \
    of\n`evenkeel-embassy` say the same.";
const BUILT: &str = "`BuildError`, and what the policies of the core refuse. A setting is named as in a \
    settings file, but for\n`backoff.…` and `dial.…`, which are those of `[retry]` and `[channel]` there \
    (`evenkeel_settings::path_of` tells);\nwhat each may be is in [settings.md](settings.md).";
const READ: &str =
    "All problems of a file at once, the first hundred of them, each with its place.";
const TARGETS: &str = "What is refused as a target, in code and in `channel.targets`.";
const WARNINGS: &str = "Given when a client is built, and by `evenkeel check`. Nothing is refused: \
    somebody may mean it.";
const BARE: &str =
    "What `evenkeel-tonic` says for itself in a `tonic::Status`, with … for what differs.";
const LOG: &str = "`tracing` events with the target `evenkeel`. All have the field `upstream`, the \
    client, and many more: `member`, one of those it calls; `method`.\nWhat is wrong with a client's settings or surroundings is said once in its life.";
