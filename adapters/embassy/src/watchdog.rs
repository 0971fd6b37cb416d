//! This file knows whether everything that was promised by some instant is still on time.
//!
//! A watchdog that a timer task feeds proves that the timer task runs. Here it is fed only while
//! every call, session or bus transfer that has promised to be over by a deadline is within it: a
//! task that hangs in a driver, where no timeout reaches it, lets the dog bite.

use core::cell::{RefCell, RefMut};

use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::RawMutex;
use evenkeel_core::{Clock, Deadline, Instant, Micros};

use crate::{EmbassyClock, sleep_until};

/// The deadlines of at most `N` things under way, in a static, for everybody.
///
/// ```
/// use core::time::Duration;
/// use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
/// use evenkeel_embassy::OnTime;
/// use evenkeel_embassy::core::{Deadline, Instant};
///
/// static ON_TIME: OnTime<CriticalSectionRawMutex, 4> = OnTime::new();
/// let now = Instant::ZERO;
/// let promise = ON_TIME.promise(Deadline::after(now, Duration::from_secs(1)));
/// let later = Instant::from_micros(2_000_000);
/// assert!(ON_TIME.holds(now) && !ON_TIME.holds(later));
/// drop(promise);
/// assert!(ON_TIME.holds(later));
/// ```
pub struct OnTime<R: RawMutex, const N: usize>(Mutex<R, RefCell<[Option<Deadline>; N]>>);

impl<R: RawMutex, const N: usize> core::fmt::Debug for OnTime<R, N> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("OnTime").finish_non_exhaustive()
    }
}

impl<R: RawMutex, const N: usize> OnTime<R, N> {
    /// Nothing was promised.
    pub const fn new() -> Self {
        Self(Mutex::new(RefCell::new([None; N])))
    }

    /// Promises to be over by `deadline`, until the promise is dropped. A promise beyond the `N`th
    /// at a time is not kept, nor is one without a deadline.
    pub fn promise(&self, deadline: Deadline) -> Promise<'_, R, N> {
        let slot = if deadline.is_none() { None } else { self.keep(deadline) };
        Promise { on_time: self, slot }
    }

    /// Whether at `now` nothing is late.
    pub fn holds(&self, now: Instant) -> bool {
        self.0.lock(|promises| {
            promises
                .try_borrow()
                .is_ok_and(|promises| !promises.iter().flatten().any(|at| at.is_over(now)))
        })
    }

    fn keep(&self, deadline: Deadline) -> Option<u8> {
        self.0.lock(|promises| {
            let mut promises = promises.try_borrow_mut().ok()?;
            let mut number = 0u8;
            for promise in promises.iter_mut() {
                if promise.is_none() {
                    *promise = Some(deadline);
                    return Some(number);
                }
                number = number.saturating_add(1);
            }
            None
        })
    }

    fn forget(&self, slot: u8) {
        let forget = |mut promises: RefMut<'_, [Option<Deadline>; N]>| {
            _ = promises.get_mut(usize::from(slot)).and_then(Option::take);
        };
        self.0.lock(|promises| _ = promises.try_borrow_mut().map(forget));
    }
}

impl<R: RawMutex, const N: usize> Default for OnTime<R, N> {
    fn default() -> Self {
        Self::new()
    }
}

/// Something that is to be over by its deadline; dropped when it is.
#[must_use = "a promise that is dropped at once is none"]
pub struct Promise<'a, R: RawMutex, const N: usize> {
    on_time: &'a OnTime<R, N>,
    slot: Option<u8>,
}

impl<R: RawMutex, const N: usize> core::fmt::Debug for Promise<'_, R, N> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Promise").field("slot", &self.slot).finish_non_exhaustive()
    }
}

impl<R: RawMutex, const N: usize> Drop for Promise<'_, R, N> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot {
            self.on_time.forget(slot);
        }
    }
}

/// Feeds the dog every `period` while nothing is later than `grace` after its deadline; run it as a
/// task. Grace covers what a driver may still do after a deadline, such as closing a socket.
///
/// A period of zero is taken as a millisecond.
pub async fn feed_while_on_time<R: RawMutex, const N: usize>(
    on_time: &OnTime<R, N>,
    period: Micros,
    grace: Micros,
    mut feed: impl FnMut(),
) -> ! {
    let period = period.longer(Micros::from_millis(1));
    let mut at = EmbassyClock.now();
    loop {
        let now = EmbassyClock.now();
        let lenient = Instant::from_micros(now.as_micros().saturating_sub(grace.as_micros()));
        if on_time.holds(lenient) {
            feed();
        }
        at = at.after(period).max(now);
        sleep_until(at).await;
    }
}
