//! Scenarios as data, for whoever drives calls: the proof that all runtimes decide alike.
//!
//! A scenario says what a client is set to, in the words of a settings file; what happens to it:
//! what becomes of each attempt, when calls start and callers go away; and what it must do. They
//! stand in `tests/scenarios`, one file for each letter of `docs/scenarios.md`. Each runtime has a
//! runner that plays a scenario and hands over what it [`Seen`]; what it cannot be told of is a
//! [`Need`] that the [`Runtime`] lacks, and stands on the page with its reason.
//!
//! ```toml
//! [[scenario]]
//! ids = ["R25"]
//! title = "three attempts share two seconds"
//! policy.timeout = { default = "2s" }
//! policy.retry = { max_attempts = 3, initial_backoff = "300ms", jitter = 0 }
//! answers = ["UNAVAILABLE"]
//! expected = ["A(0:2) A(0.3:1.7) A(0.9:1.1) UNAVAILABLE(0.9: attempts used up)"]
//! ```
//!
//! # The words
//!
//! | key | says |
//! |---|---|
//! | `ids`, `title` | the rows of the page it is, and what tells it from others of the same row |
//! | `policy` | a settings file; `[defaults]` at the top of a file fills the sections that are there |
//! | `answers` | what becomes of each attempt, whichever call makes it; the last goes on for ever |
//! | `listens` | when the server begins to listen |
//! | `calls` | for each `at`, and perhaps `method`, `within`, `cancel`, `answers` of its own, `detached`, `once`, `waits`; `times` and `every` for many alike |
//! | `expected` | what each call does: its attempts, and its end |
//! | `shown` | what the `breaker` of a method, or the `tokens`, are to show `at` a moment between |
//!
//! An answer is a code, `refused`, `go away`, `lost`, `never sent`, `not connected`, `no status` or
//! `hang`; then `after 0.1`, and `pushback 0.1`, `retry-after 1`, `stop` or `trailing`. How a trace is
//! written says [`Trace`]; a breaker, [`Circuit`].
//!
//! Times are seconds since the beginning. Two things that happen at one time, and of which one
//! could change the other, are in no scenario: the core's runner refuses it.

mod answer;
mod file;
mod look;
mod notation;
mod page;
mod runtime;
mod scenario;
mod time;
mod trace;
mod verdict;

use std::collections::BTreeSet;
use std::sync::LazyLock;

pub use answer::{Answer, Wire};
pub use look::{Circuit, Look, Shows};
pub use page::{PAGE, page};
pub use runtime::{Need, Runtime};
pub use scenario::{Call, Replies, Scenario};
pub use trace::{End, Sent, Trace, What, When, why};
pub use verdict::Seen;

/// What is called, the first unless a call says otherwise: three methods of one message each way,
/// and one that answers with a stream.
pub const METHODS: [&str; 4] =
    ["/lab.v1.Lab/Echo", "/lab.v1.Lab/Put", "/lab.v1.Lab/Charge", "/lab.v1.Lab/Export"];

/// Every scenario.
///
/// # Panics
///
/// With the file, the scenario and the rule, where one is not understood.
pub fn all() -> &'static [Scenario] {
    static ALL: LazyLock<Vec<Scenario>> = LazyLock::new(|| {
        let mut scenarios = Vec::new();
        for (name, text) in FILES {
            let read = file::read(text);
            scenarios.extend(read.unwrap_or_else(|why| panic!("{name}: {why}")));
        }
        let names: BTreeSet<String> = scenarios.iter().map(Scenario::name).collect();
        assert_eq!(names.len(), scenarios.len(), "two scenarios have one name");
        scenarios
    });
    &ALL
}

/// The scenarios of a file's text.
///
/// # Errors
///
/// What is not understood, and where.
///
/// ```
/// let refused = evenkeel_scripted::read(
///     "[[scenario]]\nids = [\"R1\"]\ntitle = \"misspelt\"\nanswer = [\"OK\"]\nexpected = []",
/// );
/// assert!(refused.unwrap_err().contains("unknown field `answer`"));
/// ```
pub fn read(text: &str) -> Result<Vec<Scenario>, String> {
    file::read(text)
}

const FILES: [(&str, &str); 7] = [
    ("b.toml", include_str!("../../scenarios/b.toml")),
    ("c.toml", include_str!("../../scenarios/c.toml")),
    ("d.toml", include_str!("../../scenarios/d.toml")),
    ("g.toml", include_str!("../../scenarios/g.toml")),
    ("l.toml", include_str!("../../scenarios/l.toml")),
    ("r.toml", include_str!("../../scenarios/r.toml")),
    ("w.toml", include_str!("../../scenarios/w.toml")),
];
