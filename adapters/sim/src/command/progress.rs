//! This file knows how to tell a waiting person how far things are: from time to time, whether any
//! part is done or not, so that nobody takes long work for none.

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::io::{IsTerminal as _, Write as _, stderr};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{Builder, JoinHandle};

use crate::clock::Stopwatch;
use crate::out;

/// A bar on a terminal; a line every few seconds anywhere else. Nothing for what is done sooner.
pub(crate) struct Progress {
    work: Arc<Work>,
    /// None, where the system gives no thread for it.
    teller: Option<JoinHandle<()>>,
    shown: bool,
}

struct Work {
    what: String,
    parts: u64,
    done: AtomicU64,
    watch: Stopwatch,
    is_over: Mutex<bool>,
    over: Condvar,
}

impl Progress {
    /// Work that is over when `parts` were done, each by a [`step`](Self::step).
    pub(crate) fn new(what: impl Into<String>, parts: u64) -> Self {
        match stderr().is_terminal() {
            true => Self::telling(what, parts, OFTEN, |work| work.draw()),
            false => Self::telling(what, parts, SELDOM, |work| out::aside(format_args!("{work}"))),
        }
    }

    fn telling(
        what: impl Into<String>,
        parts: u64,
        every: Duration,
        tell: impl Fn(&Work) + Send + 'static,
    ) -> Self {
        let work = Arc::new(Work {
            what: what.into(),
            parts: parts.max(1),
            done: AtomicU64::new(0),
            watch: Stopwatch::start(),
            is_over: Mutex::new(false),
            over: Condvar::new(),
        });
        let told = Arc::clone(&work);
        let teller = Builder::new().spawn(move || {
            while told.goes_on_for(every) {
                tell(&told);
            }
        });
        Self { work, teller: teller.ok(), shown: every == OFTEN }
    }

    /// One more part is done.
    pub(crate) fn step(&self) {
        self.work.done.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        *self.work.is_over.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = true;
        self.work.over.notify_all();
        if let Some(teller) = self.teller.take() {
            let _ = teller.join();
        }
        if self.shown {
            let _ = write!(stderr(), "\r{:WIDTH$} {:60}\r", "", "");
        }
    }
}

impl Work {
    /// Waits for so long; answers at once, and with no, when the work is over.
    fn goes_on_for(&self, span: Duration) -> bool {
        let is_over = self.is_over.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let waited = self.over.wait_timeout_while(is_over, span, |is_over| !*is_over);
        !*waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0
    }

    fn percent(&self) -> u64 {
        self.done.load(Ordering::Relaxed).saturating_mul(100) / self.parts
    }

    fn draw(&self) {
        let filled = self.percent() as usize * WIDTH / 100;
        let bar = format!("{}{}", "█".repeat(filled), "░".repeat(WIDTH.saturating_sub(filled)));
        let _ = write!(stderr(), "\r{bar} {self}");
        let _ = stderr().flush();
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.watch.wall().as_secs();
        write!(f, "{}: {} % after {seconds} s", self.what, self.percent())
    }
}

const WIDTH: usize = 30;
const OFTEN: Duration = Duration::from_secs(1);
const SELDOM: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::sync::mpsc::channel;

    use super::Progress;

    #[test]
    fn it_is_told_before_anything_is_done_and_until_all_is() {
        let (sender, told) = channel();
        let tell = move |work: &super::Work| {
            let _ = sender.send(work.to_string());
        };
        let progress = Progress::telling("4 runs", 4, Duration::ZERO, tell);
        for percent in ["0 %", "25 %", "50 %", "75 %"] {
            let line = format!("4 runs: {percent} after ");
            assert!(told.iter().any(|it| it.starts_with(&line) && it.ends_with(" s")));
            progress.step();
        }
        drop(progress);
        // Whoever told it has gone.
        assert!(told.iter().all(|line| line.starts_with("4 runs: ")));
    }
}
