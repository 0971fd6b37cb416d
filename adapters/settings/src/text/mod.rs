//! This file knows where settings come from: texts of two kinds, and the environment.

mod environment;
#[cfg(any(feature = "json", feature = "toml"))]
mod format;
#[cfg(feature = "json")]
mod json;
mod misnamed;
#[cfg(feature = "toml")]
mod toml;

pub(crate) use environment::{PREFIX, tree as environment, variable_as_set};
#[cfg(feature = "json")]
pub(crate) use json::tree as json;
#[cfg(feature = "toml")]
pub(crate) use toml::tree as toml;

#[cfg(any(feature = "json", feature = "toml"))]
use crate::fault::Faults;

/// Refuses a text that nobody wrote by hand, before anything is built from it.
#[cfg(any(feature = "json", feature = "toml"))]
fn is_short_enough(text: &str, faults: &mut Faults<'_>) -> bool {
    if text.len() <= LONGEST {
        return true;
    }
    faults.refuse_at(None, format!("is {} bytes long: must be at most 1 MiB", text.len()));
    false
}

#[cfg(any(feature = "json", feature = "toml"))]
const LONGEST: usize = 1 << 20;

/// More levels than anything in a settings file or a service config has.
const DEEPEST: usize = 32;

const TOO_DEEP: &str = "is nested too deeply";
