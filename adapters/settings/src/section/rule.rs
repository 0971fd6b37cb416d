//! This file knows the rules that open a breaker, as a settings file chooses among them.

use evenkeel_core::{AnyOf, Bad, Consecutive, Invalid, LastN, TimeWindow};

use super::breaker::{Breaker, Mode};

/// The rule that opens a breaker, as one of the core's.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum BreakerRule {
    /// Failures in a row.
    Consecutive(Consecutive),
    /// A share of the last calls.
    LastN(LastN),
    /// Two shares of the last calls: of failures, and of slow calls.
    LastNs(AnyOf<LastN, LastN>),
    /// A share of the calls of the last seconds.
    TimeWindow(TimeWindow),
    /// Two shares of the calls of the last seconds: of failures, and of slow calls.
    TimeWindows(AnyOf<TimeWindow, TimeWindow>),
}

/// The rule a section describes.
///
/// # Errors
///
/// What the core refuses.
pub(super) fn of(breaker: &Breaker) -> Result<BreakerRule, Invalid> {
    // More than a window of calls can have is refused there.
    let least = u16::try_from(breaker.min_calls).unwrap_or(u16::MAX);
    let calls = breaker.window_calls;
    let slow_calls = breaker.slow_after.map(|_| Bad::SlowCalls);
    Ok(match (breaker.mode, slow_calls) {
        (Mode::Consecutive, _) => {
            BreakerRule::Consecutive(Consecutive::new(breaker.fail_threshold)?)
        }
        (Mode::Count, None) => BreakerRule::LastN(LastN::new(calls, least, breaker.share)?),
        (Mode::Count, Some(bad)) => BreakerRule::LastNs(AnyOf {
            first: LastN::new(calls, least, breaker.share)?,
            second: LastN::new(calls, least, breaker.slow_share)?.counting(bad),
        }),
        (Mode::Time, None) => BreakerRule::TimeWindow(time_window(breaker, breaker.share)?),
        (Mode::Time, Some(bad)) => BreakerRule::TimeWindows(AnyOf {
            first: time_window(breaker, breaker.share)?,
            second: time_window(breaker, breaker.slow_share)?.counting(bad),
        }),
    })
}

fn time_window(breaker: &Breaker, share: u8) -> Result<TimeWindow, Invalid> {
    TimeWindow::new(breaker.window, breaker.min_calls, share)
}
