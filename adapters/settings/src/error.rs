//! This file knows everything that is wrong with a settings file, and how it is told.
//!
//! All of it at once: whoever mends a file wants one list, not one error for each run.

use core::fmt;

/// Why settings were refused: every problem that was found, in the order of the text.
///
/// ```
/// use evenkeel_settings::Settings;
///
/// let text = "[retry]\nmax_attempts = 0\ncodez = []\n";
/// let refused = Settings::from_toml(text).unwrap_err();
/// assert_eq!(
///     refused.to_string(),
///     "line 2, column 16: retry.max_attempts = 0: must be a whole number from 1 to 65535\n\
///      line 3, column 1: retry.codez: there is no such setting; did you mean codes?"
/// );
/// ```
#[derive(Clone, Eq, PartialEq)]
pub struct SettingsError {
    pub(crate) problems: Vec<Problem>,
    pub(crate) more: usize,
}

impl SettingsError {
    /// The problems, never none; the first hundred if there are more.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// How many problems there were beyond these.
    pub const fn more(&self) -> usize {
        self.more
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = "";
        for problem in &self.problems {
            write!(f, "{line}{problem}")?;
            line = "\n";
        }
        if self.more > 0 {
            write!(f, "\nand {} more", self.more)?;
        }
        Ok(())
    }
}

/// As it is displayed: a `main` that returns it prints this.
impl fmt::Debug for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for SettingsError {}

/// One thing that is wrong.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Problem {
    pub(crate) path: String,
    pub(crate) value: Option<String>,
    pub(crate) rule: String,
    pub(crate) place: Place,
    /// The variable as it was set, and what of it is wrong.
    pub(crate) variable: Option<String>,
}

/// Where a problem is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Place {
    /// In the environment; [`Problem`] says in which variable when it is displayed.
    Environment,
    /// In a text.
    Text {
        /// From 1.
        line: usize,
        /// In characters, from 1.
        column: usize,
    },
    /// Nobody knows.
    Unknown,
}

impl Problem {
    /// The setting, such as `retry.max_attempts`; empty when it is the text itself. Of a variable
    /// that only looks like a setting's, its whole name, `EVENKEEL_RETRY__MAX_ATTEMPTS`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The value as it was written, shortened; `None` when the value is not what is wrong.
    pub fn value(&self) -> Option<&str> {
        self.value.as_deref()
    }

    /// What would be right.
    pub fn rule(&self) -> &str {
        &self.rule
    }

    /// Where it is.
    pub const fn place(&self) -> Place {
        self.place
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.place, &self.variable) {
            (_, Some(variable)) => f.write_str(variable)?,
            (Place::Environment, None) => f.write_str(&variable(&self.path))?,
            (Place::Text { line, column }, None) => {
                write!(f, "line {line}, column {column}: {}", self.path)?;
            }
            (Place::Unknown, None) => f.write_str(&self.path)?,
        }
        match (&self.value, self.path.is_empty()) {
            (Some(value), false) => write!(f, " = {value}: ")?,
            (Some(value), true) => write!(f, "{value}: ")?,
            (None, false) => f.write_str(": ")?,
            (None, true) => {}
        }
        f.write_str(&self.rule)
    }
}

/// The variable that sets the setting with this path.
pub(crate) fn variable(path: &str) -> String {
    let mut name = crate::text::PREFIX.to_owned();
    // What stands in quotes or brackets is inside the variable's value.
    let (setting, inside) = path.split_at(path.find(['"', '[']).unwrap_or(path.len()));
    name.push_str(&setting.trim_end_matches('.').to_uppercase().replace('.', "__"));
    if !inside.is_empty() {
        name.push_str(&format!(" ({inside})"));
    }
    name
}
