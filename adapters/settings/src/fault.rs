//! This file knows how problems are collected while settings are read, and where they are.

use std::borrow::Cow;

use crate::error::{Place, Problem, SettingsError, variable};
use crate::in_quotes;
use crate::node::{Node, shortened};
use crate::text::variable_as_set;

/// Collects problems while settings are read.
#[derive(Debug)]
pub(crate) struct Faults<'t> {
    source: Source<'t>,
    path: String,
    found: Vec<(Option<usize>, Problem)>,
    more: usize,
}

/// What is read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source<'t> {
    /// The variables, by name and value. A place is the number of one.
    Environment(&'t [(&'t str, &'t str)]),
    #[cfg_attr(
        not(any(feature = "json", feature = "toml")),
        expect(dead_code, reason = "there is no text without a format")
    )]
    Text(&'t str),
    Unknown,
}

impl<'t> Faults<'t> {
    pub(crate) const fn new(source: Source<'t>) -> Self {
        Self { source, path: String::new(), found: Vec::new(), more: 0 }
    }

    /// Whatever `read` refuses is in the setting called `name`.
    pub(crate) fn within<T>(&mut self, name: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.enter(name);
        let answer = read(self);
        self.leave(outer);
        answer
    }

    /// Whatever `read` refuses is in the item with this number.
    pub(crate) fn item<T>(&mut self, number: usize, read: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.enter_item(number);
        let answer = read(self);
        self.leave(outer);
        answer
    }

    /// Steps into a setting; what it returns leads out again.
    pub(crate) fn enter(&mut self, name: &str) -> usize {
        let outer = self.path.len();
        push_step(&mut self.path, name);
        outer
    }

    /// Steps into an item; what it returns leads out again.
    pub(crate) fn enter_item(&mut self, number: usize) -> usize {
        let outer = self.path.len();
        self.path.push_str(&format!("[{number}]"));
        outer
    }

    pub(crate) fn leave(&mut self, outer: usize) {
        self.path.truncate(outer);
    }

    /// The value if there is one; else the rule it broke is noted.
    pub(crate) fn take<T>(
        &mut self,
        node: &Node<'_>,
        parsed: Result<T, Cow<'static, str>>,
    ) -> Option<T> {
        parsed.map_err(|rule| self.refuse(node, rule)).ok()
    }

    /// The value of `node` is wrong.
    pub(crate) fn refuse(&mut self, node: &Node<'_>, rule: impl Into<String>) {
        self.add(node.at, Some(node.shown()), rule.into());
    }

    /// Something is wrong at a place, whatever its value.
    pub(crate) fn refuse_at(&mut self, at: Option<usize>, rule: impl Into<String>) {
        self.add(at, None, rule.into());
    }

    fn add(&mut self, at: Option<usize>, value: Option<String>, rule: String) {
        if self.found.len() == MOST_PROBLEMS {
            self.more = self.more.saturating_add(1);
            return;
        }
        let (path, place) = (self.path.clone(), Place::Unknown);
        self.found.push((at, Problem { path, value, rule, place, variable: None }));
    }

    /// The setting that is read.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// A setting as it is named in what is read.
    pub(crate) fn shown(&self, path: &str) -> String {
        match self.source {
            Source::Environment(_) => variable(path),
            _ => path.to_owned(),
        }
    }

    /// How a table is written, where that cannot be seen.
    pub(crate) const fn form_of_tables(&self) -> &'static str {
        match self.source {
            Source::Environment(_) => "; a table is written name=value,name=value",
            _ => "",
        }
    }

    /// How many were found so far.
    pub(crate) const fn count(&self) -> usize {
        self.found.len().saturating_add(self.more)
    }

    /// Whether whatever is still found is only counted.
    pub(crate) const fn is_full(&self) -> bool {
        self.found.len() >= MOST_PROBLEMS
    }

    /// What was read, if nothing is wrong with it.
    pub(crate) fn into_result<T>(self, read: T) -> Result<T, SettingsError> {
        if self.found.is_empty() {
            return Ok(read);
        }
        let more = self.more;
        Err(SettingsError { problems: self.into_problems(), more })
    }

    /// What was found, in the order of the text.
    pub(crate) fn into_problems(mut self) -> Vec<Problem> {
        self.found.sort_by_key(|(at, _)| *at);
        let placed = |(at, problem): (_, Problem)| Problem {
            place: self.source.place(at),
            variable: self.source.variable(at, &problem.path),
            ..problem
        };
        self.found.into_iter().map(placed).collect()
    }
}

impl Source<'_> {
    fn place(self, at: Option<usize>) -> Place {
        let before = match (self, at) {
            (Self::Environment(_), _) => return Place::Environment,
            (Self::Unknown, _) | (_, None) => return Place::Unknown,
            (Self::Text(text), Some(at)) => text.get(..at).unwrap_or(text),
        };
        let line = before.matches('\n').count().saturating_add(1);
        let start = before.rfind('\n').map_or(0, |end| end.saturating_add(1));
        let column = before.get(start..).unwrap_or_default().chars().count().saturating_add(1);
        Place::Text { line, column }
    }

    /// The variable at a place, and what of it is wrong.
    fn variable(self, at: Option<usize>, path: &str) -> Option<String> {
        let Self::Environment(variables) = self else { return None };
        let (name, _) = variables.get(at?)?;
        Some(variable_as_set(name, path))
    }
}

/// One step further into a setting.
pub(crate) fn push_step(path: &mut String, name: &str) {
    let dot = if path.is_empty() { "" } else { "." };
    path.push_str(dot);
    if is_bare(name) {
        path.push_str(name);
    } else {
        path.push_str(&in_quotes(&shortened(name)));
    }
}

/// Whether a name needs no quotes.
pub(crate) fn is_bare(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 60
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// More than anybody mends in one go; a file that is nothing but mistakes must not take all memory.
const MOST_PROBLEMS: usize = 100;
