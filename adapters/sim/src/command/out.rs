//! This file knows standard output: its reader may leave before the end (`evenkeel check … | head`),
//! and that is no failure. A disk that is full is one.
//!
//! What comes after is still worked out, so that the exit status says the same as without the pipe.

use core::fmt;
use std::io::{ErrorKind, Write as _, stderr, stdout};
use std::sync::OnceLock;

use evenkeel_sim::unwritten;

/// What went wrong first, when it was more than a reader who left.
static TROUBLE: OnceLock<String> = OnceLock::new();

/// A line on standard output.
macro_rules! tell {
    () => { $crate::out::line(::core::format_args!("")) };
    ($($words:tt)+) => { $crate::out::line(::core::format_args!($($words)+)) };
}
pub(crate) use tell;

pub(crate) fn line(words: fmt::Arguments<'_>) {
    keep(writeln!(stdout().lock(), "{words}"));
}

/// A line for a person, beside what is printed. Nobody may be there to read it.
pub(crate) fn aside(words: fmt::Arguments<'_>) {
    let _ = writeln!(stderr(), "{words}");
}

/// Sends what is still kept back.
///
/// # Errors
///
/// What went wrong with standard output, now or before.
pub(crate) fn finish() -> Result<(), String> {
    keep(stdout().flush());
    TROUBLE.get().map_or(Ok(()), |why| Err(format!("standard output: {why}")))
}

fn keep(result: std::io::Result<()>) {
    if let Err(error) = result
        && error.kind() != ErrorKind::BrokenPipe
    {
        let _ = TROUBLE.set(unwritten(&error));
    }
}
