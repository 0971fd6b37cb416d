//! This file knows how to tell a waiting person how far things are.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::io::{IsTerminal as _, Write as _, stderr};

/// A bar on a terminal; nothing anywhere else.
pub(crate) struct Progress {
    what: &'static str,
    total: usize,
    done: AtomicUsize,
    shown: bool,
}

impl Progress {
    pub(crate) fn new(what: &'static str, total: usize) -> Self {
        Self { what, total, done: AtomicUsize::new(0), shown: stderr().is_terminal() }
    }

    /// One more is done.
    pub(crate) fn step(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if self.shown {
            let filled = done * WIDTH / self.total.max(1);
            let bar = format!("{}{}", "█".repeat(filled), "░".repeat(WIDTH.saturating_sub(filled)));
            let _ = write!(stderr(), "\r{bar} {done}/{} {}", self.total, self.what);
            let _ = stderr().flush();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(stderr(), "\r{:WIDTH$} {:60}\r", "", "");
        }
    }
}

const WIDTH: usize = 30;
