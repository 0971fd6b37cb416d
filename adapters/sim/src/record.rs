//! This file knows what a run leaves behind: counts for each second, and for the whole.

/// What happened in one second of virtual time (the last may be shorter).
///
/// Calls are booked twice: by when they started ([`calls`](Self::calls), [`good`](Self::good)),
/// which says how a caller fared who came in this second, and by when something happened, which is
/// what a meter would show.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Second {
    /// Calls that started.
    pub calls: u32,
    /// Of those, the ones that ended well, whenever that was.
    pub good: u32,
    /// Of those, the ones that were still under way when the run ended.
    pub unfinished: u32,
    /// Attempts that went out, at the layer next to the server.
    pub attempts: u32,
    /// Calls that ended well in this second.
    pub goodput: u32,
    /// Calls that ended otherwise.
    pub failed: u32,
    /// Calls that were stopped by their own client's breaker or adaptive throttle.
    pub rejected: u32,
    /// Calls that were not retried because the budget said no.
    pub denied: u32,
    /// Requests the server executed.
    pub executed: u32,
    /// Of those, the ones nobody waited for any more.
    pub wasted: u32,
    /// Requests the server refused or gave up.
    pub refused: u32,
    /// Requests waiting at the end of the second.
    pub queue: u32,
    /// The longest a request waited that was begun in it, or the oldest still waiting; in µs.
    pub delay: u64,
    /// Clients whose breaker is open at its end.
    pub open: u32,
    /// Clients whose breaker is half-open at its end.
    pub half_open: u32,
}

/// The record of one run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Run {
    /// The seed it was made from.
    pub seed: u64,
    /// How many events were simulated.
    pub events: u64,
    /// Each second, from 0 on; of a run that was cut short, those before it was.
    pub seconds: Vec<Second>,
    /// Attempts in each tenth of a second, from 0 on: where a herd shows.
    pub tenths: Vec<u32>,
    /// How many times any breaker opened.
    pub opened: u64,
    /// Whether it was cut short at [`Scenario::max_events`](crate::Scenario::max_events).
    pub cut_short: bool,
}

impl Run {
    /// One number for everything in the record: equal runs have equal digests, on any platform.
    ///
    /// FNV-1a over the counts, in a fixed order.
    pub fn digest(&self) -> u64 {
        let mut hash = Fnv::START;
        hash.eat(self.events);
        hash.eat(self.opened);
        for second in &self.seconds {
            let Second { calls, good, unfinished, attempts, goodput, failed, rejected, .. } =
                *second;
            let Second { denied, executed, wasted, refused, queue, open, half_open, .. } = *second;
            for count in [calls, good, unfinished, attempts, goodput, failed, rejected, denied] {
                hash.eat(count.into());
            }
            for count in [executed, wasted, refused, queue, open, half_open] {
                hash.eat(count.into());
            }
            hash.eat(second.delay);
        }
        for tenth in &self.tenths {
            hash.eat((*tenth).into());
        }
        hash.0
    }

    /// The sum of one count over the seconds `from..to`.
    pub fn sum(&self, from: usize, to: usize, count: impl Fn(&Second) -> u32) -> u64 {
        let to = to.min(self.seconds.len());
        let seconds = self.seconds.get(from..to).unwrap_or_default();
        seconds.iter().map(|second| u64::from(count(second))).sum()
    }
}

/// FNV-1a, 64 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fnv(pub(crate) u64);

impl Fnv {
    pub(crate) const START: Self = Self(0xcbf2_9ce4_8422_2325);

    pub(crate) fn eat(&mut self, number: u64) {
        for byte in number.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}
