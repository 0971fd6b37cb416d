//! This file knows which variables of the environment were meant as settings and set nothing,
//! because their names do not begin as those of settings do.
//!
//! `EVENKEEL_RETRY__MAX_ATTEMPTS` is one underscore short. `EVENKEEL_HOME` is somebody's own.

use super::environment::PREFIX;
use crate::Settings;
use crate::error::variable;
use crate::fault::Faults;

/// Refuses those of `names` that were meant as settings.
pub(super) fn refuse<'n>(names: impl Iterator<Item = &'n str>, faults: &mut Faults<'_>) {
    let named = |(at, name): (usize, &str)| Some((name.to_ascii_uppercase(), rest(name)?, at));
    let mut begun: Vec<_> = names.enumerate().filter_map(named).collect();
    if begun.is_empty() {
        return;
    }
    begun.sort();
    let paths = Settings::paths();
    for (name, rest, at) in begun {
        let Some(meant) = meant(&rest, &paths) else { continue };
        let right: Vec<_> = meant.iter().map(|path| variable(path)).collect();
        let right = right.join(" or ");
        let name: String = name.chars().take(SHOWN).collect();
        faults.within(&name, |faults| {
            faults.refuse_at(Some(at), format!("sets nothing; write {right}"));
        });
    }
}

/// What follows the beginning of a name that has one underscore where settings have two.
fn rest(name: &str) -> Option<String> {
    let begins = PREFIX.get(..PREFIX.len().checked_sub(1)?)?;
    let (start, rest) = name.split_at_checked(begins.len())?;
    let is_short = start.eq_ignore_ascii_case(begins) && !rest.starts_with('_');
    is_short.then(|| rest.to_ascii_lowercase())
}

/// The paths of the settings that `rest` may be meant for; `None` if it is none of ours.
fn meant(rest: &str, paths: &[String]) -> Option<Vec<String>> {
    let flat = rest.replace("__", "_");
    let chosen = |is: &dyn Fn(&str) -> bool| {
        let chosen: Vec<_> = paths.iter().filter(|path| is(path)).cloned().collect();
        (!chosen.is_empty()).then_some(chosen)
    };
    let is_near = |path: &str| {
        flat.len() <= LONGEST && strsim::damerau_levenshtein(&path.replace('.', "_"), &flat) == 1
    };
    chosen(&|path| path.replace('.', "_") == flat)
        .or_else(|| chosen(&|path| path.rsplit('.').next() == Some(&flat)))
        .or_else(|| chosen(&is_near))
        .or_else(|| {
            let section = rest.split("__").next()?;
            let is_one = paths.iter().any(|path| path.split('.').next() == Some(section));
            let path = if rest.len() <= LONGEST { rest } else { section };
            is_one.then(|| vec![path.replace("__", ".")])
        })
}

/// More than the longest name of a setting with a typing error, and short enough to compare.
const LONGEST: usize = 64;

/// So much of a name is repeated.
const SHOWN: usize = 60;
