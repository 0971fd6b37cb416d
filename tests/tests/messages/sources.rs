//! This file knows what can be printed, from the sources: which types are errors, which variants
//! they have, and what is logged.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A log line.
#[derive(Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Event {
    pub(crate) text: String,
    pub(crate) level: &'static str,
}

/// Errors and warnings by name; those that are enums by each of their variants.
pub(crate) fn printed() -> BTreeSet<String> {
    let mut names = BTreeSet::from(["StopReason".to_owned(), "Warning".to_owned()]);
    let mut variants = BTreeMap::new();
    for text in sources() {
        for line in text.lines().filter(|line| line.starts_with("impl")) {
            if let Some((_, name)) = line.split_once("Error for ") {
                names.insert(name.trim_end_matches([' ', '{', '}']).replace("<E>", ""));
            }
        }
        for (at, _) in text.match_indices("pub enum ") {
            let declared = &text[at + "pub enum ".len()..];
            let name = declared.split(|letter: char| !letter.is_alphanumeric()).next();
            variants.insert(name.unwrap_or_default().to_owned(), variants_of(declared));
        }
    }
    let mut all = BTreeSet::new();
    for name in names {
        match variants.get(&name) {
            Some(variants) => all.extend(variants.iter().map(|one| format!("{name}::{one}"))),
            None => _ = all.insert(name),
        }
    }
    all
}

/// The names one step inside the braces.
fn variants_of(declared: &str) -> Vec<String> {
    let body = declared.split("\n}").next().unwrap_or_default();
    let lines = body.lines().skip(1).filter_map(|line| line.strip_prefix("    "));
    let named = lines.filter(|line| line.starts_with(|letter: char| letter.is_ascii_uppercase()));
    let name =
        |line: &str| line.split(|letter: char| !letter.is_alphanumeric()).next().map(str::to_owned);
    named.filter_map(name).collect()
}

/// How many rules a target can break.
pub(crate) fn rules_of_targets() -> usize {
    let file = root().join("adapters/settings/src/target/invalid.rs");
    let text = fs::read_to_string(file).unwrap();
    variants_of(text.split("enum Rule ").nth(1).expect("the rules")).len()
}

/// Every log line whose words stand in the sources; the others print an error or a warning.
pub(crate) fn events() -> Vec<Event> {
    let mut events = BTreeSet::new();
    for text in sources() {
        for level in ["error", "warn", "info"] {
            for call in text.split(&format!("tracing::{level}!(")).skip(1) {
                let literals = literals(call);
                let words = literals.last().expect("a message");
                if !words.starts_with('{') {
                    events.insert(Event { text: words.clone(), level });
                }
            }
        }
    }
    events.into_iter().collect()
}

/// Log lines that do not say whose they are, or say it of who has no name, or that show a code as Rust spells it.
pub(crate) fn unlike_the_others() -> Vec<String> {
    let mut found = Vec::new();
    for text in sources() {
        for level in ["error", "warn", "info"] {
            let begins = format!("tracing::{level}!(");
            let calls = text.split(&begins).skip(1);
            let calls = calls.filter_map(|call| call.split(");").next());
            let unlike = |call: &&str| {
                let is_whole = call.contains("upstream = &*");
                !call.contains("upstream") || is_whole || call.contains("?code")
            };
            found.extend(calls.filter(unlike).map(str::to_owned));
        }
    }
    found
}

/// Under which word the record of a call tells each reason: those of its end, and the one it hears
/// when the throttle says no.
pub(crate) fn words_of_reasons() -> BTreeMap<String, String> {
    let observe = root().join("adapters/tonic/src/observe");
    let read = |file| fs::read_to_string(observe.join(file)).unwrap();
    let (ending, seen) = (read("ending.rs"), read("seen.rs"));
    let arms = ending.split("fn denial(").nth(1).and_then(|found| found.split("\n}").next());
    let mut words = BTreeMap::new();
    for (reasons, word) in arms.expect("the words").lines().filter_map(|arm| arm.split_once("=>")) {
        let names = reasons.split('|').filter_map(|name| name.split_whitespace().next());
        let word =
            word.split('"').nth(1).map_or_else(|| "-".to_owned(), |word| format!("`{word}`"));
        words.extend(names.map(|name| (name.to_owned(), word.clone())));
    }
    let throttled = seen.split("self.denied(\"").nth(1).and_then(|found| found.split('"').next());
    words.insert("StopReason::Throttled".to_owned(), format!("`{}`", throttled.expect("a word")));
    words
}

/// The strings between the brackets of a call.
pub(crate) fn literals(call: &str) -> Vec<String> {
    let (mut depth, mut found, mut letters) = (1, Vec::new(), call.chars());
    while let Some(letter) = letters.next() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            '"' => found.push(literal(&mut letters)),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    found
}

/// A string up to its closing quote; a backslash at the end of a line joins it with the next.
pub(crate) fn literal(letters: &mut core::str::Chars<'_>) -> String {
    let mut text = String::new();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => break,
            '\\' => match letters.next() {
                Some('\n') => {
                    let rest = letters.as_str().trim_start();
                    *letters = rest.chars();
                }
                Some(other) => text.push(other),
                None => break,
            },
            other => text.push(other),
        }
    }
    text
}

/// What runs in a program of somebody's: the core and the server adapters.
fn sources() -> impl Iterator<Item = String> {
    let packages =
        ["core", "adapters/settings", "adapters/std", "adapters/tokio", "adapters/tonic"];
    packages.into_iter().flat_map(|package| files(&root().join(package).join("src")))
}

pub(crate) fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs")
            && !path.ends_with("tests.rs")
        {
            found.push(fs::read_to_string(&path).unwrap());
        }
    }
    found
}

pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// What to do about each log line.
pub(crate) const TO_DO: &[(&str, &str)] = &[
    (
        "a caller's grpc-timeout is not up to 8 digits and one of H, M, S, m, u, n: it is left \
         out, and the call has the configured timeout alone",
        "whoever wrote that header is not a gRPC library: look at the method that is named",
    ),
    (
        "a discovery ended before its first list; the pool has no members",
        "calls fail at once: have it name the targets, or `set_targets`",
    ),
    (
        "a discovery panicked; the members stay as they are",
        "mend the stream; what it panicked with is on standard error, and it is not asked again",
    ),
    (
        "a health check panicked",
        "a channel maker or an interceptor of yours; the check counts as failed",
    ),
    (
        "a health checker was started that runs already: the second start is ignored",
        "start it once",
    ),
    (
        "a metrics exporter or a subscriber panicked: calls go on, what it was told is lost",
        "mend the exporter or the subscriber; what it panicked with is on standard error",
    ),
    (
        "a name could not be looked up; what was known of it stays",
        "`name` and `why` say which and what: DNS, or a typing error. It is asked again, at \
         growing pauses",
    ),
    (
        "a name has too many addresses; the others are not used",
        "split the service, or bring a part of the members with `discover`",
    ),
    (
        "a pool was given more targets than it takes; the others are not used",
        "split the upstream; `used` is the limit",
    ),
    (
        "a resilient service is stacked on another: the inner one stands down; take one of \
         them out",
        "build the client over one of them",
    ),
    (
        "a response stream broke and was started anew: items repeat",
        "`retry_streaming` asked for it; turn it off where items must not repeat",
    ),
    ("a target cannot be dialled", "`error` is a refusal of those above; the `member` is left out"),
    (
        "circuit breaker",
        "a change of state of the method's breaker; `open` means that its target fails",
    ),
    ("circuit breaker, by hand", "somebody forced or reset it through `Kit::circuit_breaker`"),
    (
        "compared with the other members",
        "ejected, or back: a member that does worse than the others",
    ),
    (
        "every circuit breaker in the table protects or is in use, and a new method needs one; \
         raise breaker.max_methods, or look where so many method names come from",
        "until then new methods go unguarded",
    ),
    (
        "health",
        "a verdict changed; `reason` says what the check came to: a failed dial, no answer in time, what it answered",
    ),
    (
        "hedge",
        "in the span of a call: another attempt goes out beside those that have not answered; \
         `attempts` is how many went before",
    ),
    (
        "hedging is configured, and no list says which methods may be executed twice, so none \
         is hedged; name them with Builder::methods or Builder::idempotent",
        "or take the hedging out",
    ),
    (
        "no channel for a health check could be made",
        "`error` is what your channel maker said; the check counts as failed",
    ),
    (
        "no health service; it counts as healthy",
        "its checks say nothing: give the server one, or turn health checks off for this upstream",
    ),
    (
        "no health service; it counts as healthy and is not watched any more",
        "give the server one, or turn health checks off for this upstream",
    ),
    (
        "not sent",
        "in the span of a call that had no attempt: what said no is its `reason`, one of those in \
         [observability](observability.md#the-spans); the error says more",
    ),
    (
        "quarantined",
        "an attempt at this member ended in `UNAVAILABLE` or `DEADLINE_EXCEEDED`: it was not reached, was \
         too late, or said so itself, with a pushback or without. It is passed over for \
         `balancing.quarantine`",
    ),
    ("retry", "in the span of a call: what the next attempt waits for"),
    (
        "retry denied",
        "in the span of a call, after `attempts`: its `reason` is the word of [one of \
         these](#why-there-was-no-further-attempt)",
    ),
    (
        "something above this client retries too, and attempts multiply; keep one retry loop",
        "find it by its `grpc-previous-rpc-attempts`: a caller, a mesh, a loop",
    ),
    ("the callback for health changes failed", "`error` is what it said; the verdict stands"),
    (
        "wait-for-ready without a deadline could wait for ever, so the call fails fast; give \
         the method a timeout, or switch require_deadline off",
        "a deadline is the better of the two",
    ),
];
