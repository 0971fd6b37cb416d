//! This file knows which cases take more instructions than they may.

use std::process::ExitCode;

use crate::case::Group;
use crate::instructions;

/// The most that a case may take.
pub(crate) struct Limit {
    pub(crate) title: &'static str,
    pub(crate) name: &'static str,
    /// On top of another case of the group, or altogether.
    pub(crate) beside: Option<&'static str>,
    pub(crate) most: u32,
}

/// Counts each case that has a limit; fails if one is beyond it by more than a twentieth.
pub(crate) fn check(groups: &[Group], limits: &[Limit]) -> ExitCode {
    if !instructions::are_countable() {
        println!("skipped: instructions (valgrind not installed)");
        return ExitCode::SUCCESS;
    }
    let mut code = ExitCode::SUCCESS;
    for limit in limits {
        let Limit { title, name, beside, most } = limit;
        let Some(count) = limit.count(groups) else {
            println!("there is no case {title}: {name}, or it cannot be counted");
            code = ExitCode::FAILURE;
            continue;
        };
        let over = beside.map_or_else(String::new, |base| format!(", on top of {base}"));
        println!("{count:>7.0}, at most {most:>6}  {title}: {name}{over}");
        if count > f64::from(*most) * TOLERANCE {
            println!("it takes more than it may");
            code = ExitCode::FAILURE;
        }
    }
    code
}

impl Limit {
    fn count(&self, groups: &[Group]) -> Option<f64> {
        let group = groups.iter().position(|group| group.title == self.title)?;
        let count = |name| {
            let case = groups[group].cases.iter().position(|case| case.name == name)?;
            instructions::of(group, case)
        };
        Some(count(self.name)? - self.beside.map_or(Some(0.0), count)?)
    }
}

/// Another compiler, or another library under it, counts a little differently; a hash map counts
/// differently each time.
const TOLERANCE: f64 = 1.05;
