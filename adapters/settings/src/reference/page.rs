//! This file knows the reference page: every setting as a row of a table.

use super::inline;
use crate::Settings;
use crate::keys::{Block, Keys, Kind};

/// Every setting with its type, bounds, default and meaning, as Markdown.
pub fn page() -> String {
    let mut page = Page { text: INTRODUCTION.to_owned(), path: Vec::new() };
    Settings::default().keys(&mut page);
    page.text
}

struct Page {
    text: String,
    path: Vec<&'static str>,
}

impl Keys for Page {
    fn key<K: Kind>(
        &mut self,
        name: &'static str,
        kind: K,
        slot: &mut K::Value,
        meaning: &'static str,
    ) {
        let default = match kind.write(slot) {
            Some(value) => format!("`{}`", inline(&value)),
            None => "not set".to_owned(),
        };
        let row = format!("| `{name}` | {default} | {meaning} | {} |\n", kind.words());
        self.text.push_str(&row);
    }

    fn block<B: Block>(&mut self, name: &'static str, _slot: &mut Option<B>) {
        self.path.push(name);
        let path = self.path.join(".");
        self.text.push_str(&format!("\n## [{path}]\n\n{}\n\n{HEAD}", B::MEANING));
        B::default().keys(self);
        self.path.pop();
    }
}

const HEAD: &str = "| key | default | meaning | may be |\n|---|---|---|---|\n";

const INTRODUCTION: &str = "\
# Settings

Written by `cargo run -p evenkeel-settings --example reference`; a test compares.

A settings file is TOML or JSON, in sections. A section that is left out is off; a key that is left
out is at its default. Whatever cannot be right is refused when the file is read, all of it at once,
each with its line and column, and so is a name that no setting has.
[An example](../adapters/settings/examples/settings.toml) names every key, and
[a JSON Schema](../adapters/settings/settings.schema.json) lets an editor complete and check them.

* Spans of time have a unit: `us`, `ms`, `s`, `m` or `h`, as in `\"250ms\"` or `\"1.5s\"`, and are
  shorter than 8.9 years. A bare number is refused: it is seconds to one reader and milliseconds to
  the next. Zero is not `\"none\"`.
* Status codes are written by name, in any case, or by number.
* The environment overrides: `EVENKEEL__RETRY__MAX_ATTEMPTS=4` is `max_attempts` in `[retry]`, and
  turns the section on. Lists are written `a,b`, and tables `name=value,name=value`, never as a
  variable for each name. With one underscore in front, `EVENKEEL_RETRY__MAX_ATTEMPTS`, it is
  refused, and not left out in silence.
* The files of keys and certificates are named by path; nothing secret stands in a settings file.
";
