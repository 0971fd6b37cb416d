//! This file knows how instructions are counted: callgrind runs this very program with an order to
//! do one case so many times and nothing else.

use std::env::current_exe;
use std::process::{Command, ExitCode};

use crate::case::{FEW, Group, MANY, each};

/// What the program does while it is being counted.
pub(crate) struct Order {
    group: usize,
    case: usize,
    times: u64,
}

impl Order {
    /// `None`: nobody counts, so the table is to be printed.
    pub(crate) fn from_arguments(arguments: &[String]) -> Option<Self> {
        let [word, group, case, times] = arguments else { return None };
        if word != WORD {
            return None;
        }
        let (group, case) = (group.parse().ok()?, case.parse().ok()?);
        Some(Self { group, case, times: times.parse().ok()? })
    }

    pub(crate) fn carry_out(&self, groups: &[Group]) -> ExitCode {
        let Some(case) = groups.get(self.group).and_then(|group| group.cases.get(self.case)) else {
            return ExitCode::FAILURE;
        };
        case.run(self.times);
        ExitCode::SUCCESS
    }

    /// How many instructions it takes, program start included.
    fn count(&self) -> Option<u64> {
        let Self { group, case, times } = self;
        let output = Command::new(VALGRIND)
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(current_exe().ok()?)
            .args([WORD.to_owned(), group.to_string(), case.to_string(), times.to_string()])
            .output()
            .ok()?;
        let said = String::from_utf8(output.stderr).ok()?;
        let (_, count) = said.split_once("Collected :")?;
        count.split_whitespace().next()?.parse().ok()
    }
}

/// Whether they can be counted here.
pub(crate) fn are_countable() -> bool {
    Command::new(VALGRIND).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// What one more time of a case takes.
pub(crate) fn of(group: usize, case: usize) -> Option<f64> {
    let count = |times| Order { group, case, times }.count();
    Some(each(count(FEW)?, count(MANY)?))
}

const VALGRIND: &str = "valgrind";
const WORD: &str = "count";
