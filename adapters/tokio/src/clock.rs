//! This file knows tokio's clock; the only one in this crate that reads it.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use evenkeel_std::StdClock;
use evenkeel_std::core::{Clock, Instant, Micros};
use pin_project_lite::pin_project;
use tokio::task::coop::{Unconstrained, unconstrained};
use tokio::time::{Instant as TokioInstant, Sleep};

/// tokio's monotonic clock, so that `tokio::time::pause` and `advance` work on everything here.
///
/// Its readings begin where those of [`StdClock`] do. While tokio's time is not paused the two can
/// be compared, and what is shared may be used by tasks and by threads that block; paused, it follows
/// tokio's time alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioClock;

impl Clock for TokioClock {
    #[expect(clippy::disallowed_methods, reason = "the one place where this crate reads time")]
    #[inline]
    fn now(&self) -> Instant {
        let epoch = StdClock::epoch();
        epoch.reading(TokioInstant::now().into_std())
    }
}

/// Completes at `at` or later, never earlier; at [`Instant::MAX`] never.
///
/// tokio rounds timers up to the millisecond, and its wheel has been wrong beyond years of range:
/// longer waits are made in pieces. The timer is made when the future is first polled. It takes no
/// part in tokio's budget of steps, so that work beside it which never idles, and uses that budget
/// up in every poll, cannot keep it from being seen.
pub const fn sleep_until(at: Instant) -> SleepUntil {
    SleepUntil { at, piece: None }
}

pin_project! {
    /// The future of [`sleep_until`].
    #[must_use = "a future does nothing unless polled"]
    pub struct SleepUntil {
        at: Instant,
        #[pin]
        piece: Option<Unconstrained<Sleep>>,
    }
}

impl SleepUntil {
    /// When it completes.
    pub const fn at(&self) -> Instant {
        self.at
    }
}

impl fmt::Debug for SleepUntil {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SleepUntil").field("at", &self.at).finish_non_exhaustive()
    }
}

impl Future for SleepUntil {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        loop {
            if let Some(piece) = this.piece.as_mut().as_pin_mut() {
                ready!(piece.poll(cx));
            }
            let now = TokioClock.now();
            if now >= *this.at {
                return Poll::Ready(());
            }
            let step = now.after(this.at.since(now).shorter(LONGEST_SLEEP));
            match to_tokio(step) {
                Some(step) if *this.at < Instant::MAX => {
                    this.piece.set(Some(unconstrained(tokio::time::sleep_until(step))));
                }
                _ => return Poll::Pending,
            }
        }
    }
}

fn to_tokio(at: Instant) -> Option<TokioInstant> {
    let at = StdClock::epoch().start().checked_add(Duration::from_micros(at.as_micros()));
    at.map(TokioInstant::from_std)
}

const LONGEST_SLEEP: Micros = Micros::from_millis(30 * 24 * 3_600 * 1_000);
