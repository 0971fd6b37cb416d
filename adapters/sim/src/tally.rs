//! This file knows how a run is counted while it goes on.

use evenkeel_core::StopReason;

use crate::clients::Census;
use crate::record::Second;

/// The seconds and tenths so far.
#[derive(Debug)]
pub(crate) struct Tally {
    seconds: Vec<Second>,
    tenths: Vec<u32>,
}

impl Tally {
    pub(crate) fn new(end: u64) -> Self {
        let seconds = end.div_ceil(SECOND) as usize;
        let tenths = end.div_ceil(TENTH) as usize;
        Self { seconds: vec![Second::default(); seconds], tenths: vec![0; tenths] }
    }

    pub(crate) fn started(&mut self, now: u64) {
        self.at(now).calls += 1;
    }

    pub(crate) fn attempted(&mut self, now: u64) {
        self.at(now).attempts += 1;
        self.tenths[(now / TENTH) as usize] += 1;
    }

    /// A call that had started at `started` has ended.
    pub(crate) fn ended(&mut self, now: u64, started: u64, reason: StopReason) {
        if matches!(reason, StopReason::Succeeded) {
            self.at(started).good += 1;
            self.at(now).goodput += 1;
            return;
        }
        let second = self.at(now);
        second.failed += 1;
        match reason {
            StopReason::CircuitOpen { .. } => second.rejected += 1,
            StopReason::Throttled => second.denied += 1,
            _ => {}
        }
    }

    pub(crate) fn executed(&mut self, now: u64, wasted: bool) {
        let second = self.at(now);
        second.executed += 1;
        second.wasted += u32::from(wasted);
    }

    pub(crate) fn refused(&mut self, now: u64) {
        self.at(now).refused += 1;
    }

    pub(crate) fn unfinished(&mut self, started: u64) {
        self.at(started).unfinished += 1;
    }

    /// The second that ends at `now` is over.
    pub(crate) fn close_second(&mut self, now: u64, queue: usize, delay: u64, census: &Census) {
        let second = self.at(now - 1);
        second.queue = u32::try_from(queue).unwrap_or(u32::MAX);
        second.delay = delay;
        second.open = census.open;
        second.half_open = census.half_open;
    }

    /// The seconds that are over at `now`.
    pub(crate) fn seconds_before(&self, now: u64) -> &[Second] {
        &self.seconds[..(now.div_ceil(SECOND) as usize).min(self.seconds.len())]
    }

    /// All that was counted, of the seconds and tenths that are over at `now`.
    pub(crate) fn into_parts(mut self, now: u64) -> (Vec<Second>, Vec<u32>) {
        self.seconds.truncate(now.div_ceil(SECOND) as usize);
        self.tenths.truncate(now.div_ceil(TENTH) as usize);
        (self.seconds, self.tenths)
    }

    fn at(&mut self, now: u64) -> &mut Second {
        &mut self.seconds[(now / SECOND) as usize]
    }
}

const SECOND: u64 = 1_000_000;
const TENTH: u64 = 100_000;
