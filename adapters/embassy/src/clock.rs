//! This file knows embassy's clock; the only one in this crate that reads it.
//!
//! Readings round down and timers round up. The other way round a machine is woken a tick early,
//! answers "not yet", and the driver spins until the tick turns over: with the 30 µs ticks of a
//! 32,768 Hz timer, once in every wait.

use core::fmt;
use core::future::poll_fn;
use core::pin::{Pin, pin};
use core::task::{Context, Poll};

use embassy_time::{TICK_HZ, Timer};
use evenkeel_core::{Clock, Deadline, Instant};

use crate::CLOSE_LIMIT;

/// embassy's monotonic clock.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct EmbassyClock;

impl Clock for EmbassyClock {
    #[expect(clippy::disallowed_methods, reason = "the one place where this crate reads time")]
    fn now(&self) -> Instant {
        Instant::from_micros(micros_of(embassy_time::Instant::now().as_ticks(), TICK_HZ))
    }
}

/// Completes at `at` or later, never earlier; at [`Instant::MAX`] never.
///
/// The timer is set to an instant, not to a span from now: a span that overruns the tick counter
/// panics in embassy-time 0.5 (embassy #6141), an instant beyond its end does not.
pub fn sleep_until(at: Instant) -> SleepUntil {
    let ticks = ticks_of(at.as_micros(), TICK_HZ);
    let timer = || Timer::at(embassy_time::Instant::from_ticks(ticks));
    SleepUntil { timer: (at < Instant::MAX).then(timer) }
}

/// The future of [`sleep_until`]. A type and not an `async fn`, because polling one of those again
/// after its end is a panic that no compiler rules out.
#[must_use = "a future does nothing unless polled"]
pub struct SleepUntil {
    timer: Option<Timer>,
}

impl fmt::Debug for SleepUntil {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SleepUntil").field("ends", &self.timer.is_some()).finish_non_exhaustive()
    }
}

impl Future for SleepUntil {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.timer.as_mut().map_or(Poll::Pending, |timer| Pin::new(timer).poll(cx))
    }
}

/// The output of `future`, or `None` once `deadline` has come first. The future is polled before
/// the clock is looked at; whether its answer came too late is the machine's to say.
pub async fn until<F: Future>(deadline: Deadline, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut timer = pin!(sleep_until(deadline.instant()));
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => timer.as_mut().poll(cx).map(|()| None),
    })
    .await
}

/// Gives `goodbye` a bounded while.
pub(crate) async fn bounded(goodbye: impl Future<Output = ()>) {
    let limit = EmbassyClock.now().after(CLOSE_LIMIT);
    let _ = until(Deadline::at(limit), goodbye).await;
}

/// Whole microseconds in `ticks` of a clock with `hz` of them a second, rounded down; saturates.
///
/// ```
/// use evenkeel_embassy::micros_of;
///
/// assert_eq!(micros_of(5, 1_000_000), 5);
/// assert_eq!(micros_of(1, 32_768), 30); // 30.5
/// assert_eq!(micros_of(u64::MAX, 32_768), u64::MAX);
/// ```
pub const fn micros_of(ticks: u64, hz: u64) -> u64 {
    let (micros, per) = reduced(hz);
    // Where a second divides into the ticks as a power of two, as at 32,768 Hz, no division is left.
    let (whole, rest) = divided(ticks, per);
    whole.saturating_mul(micros).saturating_add(divided(rest.saturating_mul(micros), per).0)
}

/// Ticks of a clock with `hz` of them a second that `micros` take, rounded up; saturates.
///
/// ```
/// use evenkeel_embassy::ticks_of;
///
/// assert_eq!(ticks_of(5, 1_000_000), 5);
/// assert_eq!(ticks_of(31, 32_768), 2); // 1.02
/// assert_eq!(ticks_of(u64::MAX, 1_000_000_000), u64::MAX);
/// ```
pub const fn ticks_of(micros: u64, hz: u64) -> u64 {
    let (unit, ticks) = reduced(hz);
    let (whole, rest) = divided(micros, unit);
    let (more, left) = divided(rest.saturating_mul(ticks), unit);
    let rounded_up = if left == 0 { more } else { more.saturating_add(1) };
    whole.saturating_mul(ticks).saturating_add(rounded_up)
}

/// Quotient and rest; what is divided by zero has no end.
const fn divided(number: u64, by: u64) -> (u64, u64) {
    match (number.checked_div(by), number.checked_rem(by)) {
        (Some(quotient), Some(rest)) => (quotient, rest),
        _ => (u64::MAX, 0),
    }
}

/// Microseconds and ticks in the shortest span that is a whole number of both.
const fn reduced(hz: u64) -> (u64, u64) {
    let (mut greatest, mut rest) = (MICROS_PER_SECOND, hz);
    while rest != 0 {
        (greatest, rest) = (rest, divided(greatest, rest).1);
    }
    (divided(MICROS_PER_SECOND, greatest).0, divided(hz, greatest).0)
}

const MICROS_PER_SECOND: u64 = 1_000_000;
