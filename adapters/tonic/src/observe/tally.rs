//! This file knows how the attempts of one call are counted: which were retries, which were
//! transparent ones, which hedges, and how long none was under way.

use evenkeel_tokio::core::{Instant, Micros};

/// The attempts of one call so far.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Those that count, as `grpc-previous-rpc-attempts` counts.
    counted: u16,
    flying: u16,
    pub(super) retries: u16,
    pub(super) transparent: u16,
    pub(super) hedges: u16,
    /// How long the call waited between attempts.
    pub(super) delay: Micros,
    /// Since when none is under way.
    idle_since: Option<Instant>,
    /// Whether the last attempt is repeated because nothing was executed.
    repeats: bool,
}

/// What an attempt is to its call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    First,
    Hedge,
    Retry,
    /// A repetition of what was certainly not executed.
    Transparent,
}

impl Tally {
    /// One more goes out. Answers what it is, and how many that count came before. Where a method is
    /// hedged instead of retried, what follows a failure is a hedge too (gRPC A6).
    pub(super) fn start(&mut self, now: Instant, hedged: bool) -> (Kind, u16) {
        let previous = self.counted;
        let kind = match (self.flying, core::mem::take(&mut self.repeats), previous) {
            (1.., _, _) => Kind::Hedge,
            (_, true, _) => Kind::Transparent,
            (_, false, 0) => Kind::First,
            (_, false, _) if hedged => Kind::Hedge,
            (_, false, _) => Kind::Retry,
        };
        let count = match kind {
            Kind::First => None,
            Kind::Hedge => Some(&mut self.hedges),
            Kind::Retry => Some(&mut self.retries),
            Kind::Transparent => Some(&mut self.transparent),
        };
        if let Some(count) = count {
            *count = count.saturating_add(1);
        }
        if let Some(since) = self.idle_since.take() {
            self.delay = self.delay.plus(now.since(since));
        }
        self.counted = self.counted.saturating_add(1);
        self.flying = self.flying.saturating_add(1);
        (kind, previous)
    }

    /// One ended; `transparent` when it will be repeated and counts for nothing.
    pub(super) fn end(&mut self, now: Instant, transparent: bool) {
        self.flying = self.flying.saturating_sub(1);
        if transparent {
            self.counted = self.counted.saturating_sub(1);
            self.repeats = true;
        }
        if self.flying == 0 {
            self.idle_since = Some(now);
        }
    }

    /// The attempts so far that count.
    pub(super) const fn counted(&self) -> u16 {
        self.counted
    }

    /// Whether the last attempt went out beside another.
    pub(super) const fn flies_beside(&self) -> bool {
        self.flying > 1
    }

    /// Whether any attempt was made.
    pub(super) const fn tried(&self) -> bool {
        self.counted > 0 || self.transparent > 0
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_tokio::core::{Instant, Micros};

    use super::{Kind, Tally};

    const fn at(millis: u64) -> Instant {
        Instant::from_micros(millis * 1_000)
    }

    #[test]
    fn a_transparent_repetition_has_the_number_of_what_it_repeats() {
        let mut tally = Tally::default();
        assert_eq!(tally.start(at(0), false), (Kind::First, 0));
        tally.end(at(1), true);
        assert_eq!(tally.start(at(1), false), (Kind::Transparent, 0));
        tally.end(at(2), false);
        assert_eq!(tally.start(at(102), false), (Kind::Retry, 1));
        tally.end(at(103), true);
        assert_eq!(tally.start(at(103), false), (Kind::Transparent, 1));
        tally.end(at(104), false);
        assert_eq!((tally.retries, tally.transparent, tally.hedges), (1, 2, 0));
        assert_eq!(tally.delay, Micros::from_millis(100));
    }

    #[test]
    fn a_hedge_is_what_starts_beside_another_and_no_delay_counts_meanwhile() {
        let mut tally = Tally::default();
        assert_eq!(tally.start(at(0), false), (Kind::First, 0));
        assert_eq!(tally.start(at(10), false), (Kind::Hedge, 1));
        tally.end(at(15), false);
        assert_eq!(tally.start(at(20), false), (Kind::Hedge, 2));
        tally.end(at(30), false);
        tally.end(at(30), false);
        assert_eq!((tally.retries, tally.hedges, tally.delay), (0, 2, Micros::ZERO));
    }

    #[test]
    fn a_clock_that_goes_back_and_ends_without_a_beginning_change_no_sum() {
        let mut tally = Tally::default();
        tally.end(at(50), true);
        assert_eq!(tally.start(at(0), false), (Kind::Transparent, 0));
        assert_eq!(tally.delay, Micros::ZERO);
    }

    #[test]
    fn what_follows_a_failure_of_a_hedged_method_is_a_hedge() {
        let mut tally = Tally::default();
        assert_eq!(tally.start(at(0), true), (Kind::First, 0));
        tally.end(at(5), false);
        assert_eq!(tally.start(at(5), true), (Kind::Hedge, 1));
        assert_eq!((tally.retries, tally.hedges), (0, 1));
    }
}
