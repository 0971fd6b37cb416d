//! This file knows who goes when a newcomer needs the room.
//!
//! Whatever comes or goes holds the [`Order`]; lookups of known keys do not. They stamp their
//! entry, and where it stands in line is corrected when its turn comes: whoever was used again
//! since goes back in line, at most once for each use.
//!
//! Breakers change without telling the table: what was passed over may have closed since, or been
//! let go. A small table asks all of those again for each newcomer, so that it always forgets
//! exactly the right one. A large one asks them again once for as many newcomers as they are, so
//! that a flood of newcomers costs the same however many circuits are open.

use core::hash::Hash;

use evenkeel_core::{Instant, Trip};

use super::Shards;
use super::queue::{Candidate, Queue};
use super::shard::{Found, Idle, Reading, Standing};

/// The entries in the order in which they may have to go, and what else changes with them.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// How many entries there are.
    pub(super) len: usize,
    pub(super) untracked: u64,
    pub(super) overflowing: bool,
    /// Made when the table is full for the first time: until then every entry is missing.
    line: Option<Line>,
    sweep: Sweep,
}

/// Every entry once, and here and there one that is gone.
#[derive(Debug, Default)]
struct Line {
    waiting: Queue,
    /// Passed over because they count something.
    counting: Queue,
    /// Passed over because they protect or are held.
    needed: Vec<Candidate>,
    /// How many newcomers there were since those passed over were asked again.
    newcomers: usize,
}

/// How far the pass over the parts has come that forgets the idle ones.
#[derive(Debug, Default)]
struct Sweep {
    next: usize,
    began: Instant,
}

impl Order {
    /// Lets a newcomer join the line.
    pub(super) fn joined(&mut self, candidate: Candidate) {
        self.len += 1;
        let len = self.len;
        if let Some(line) = &mut self.line {
            line.waiting.push(candidate);
            if line.len() > 2 * len + MANY_GONE {
                self.line = None;
            }
        }
    }

    /// Says that this many have gone in another way; the line will find out.
    pub(super) const fn gone(&mut self, entries: usize) {
        self.len -= entries;
    }

    /// Before an insert into a full table: forgets what is idle, then evicts until there is room
    /// or nothing may go; clean ones first, then those that count something, the least recently
    /// used of each. Whether all of it was asked.
    pub(super) fn make_room<K: Eq + Hash, T: Trip>(
        &mut self,
        shards: &Shards<K, T>,
        idle: Idle,
        max: usize,
    ) -> bool {
        let mut line = self.line.take().unwrap_or_else(|| Line::new(shards, self.len));
        line.newcomers += 1;
        let asks_all = max <= SMALL || line.newcomers > line.counting.len() + line.needed.len();
        if asks_all {
            line.newcomers = 0;
            line.ask_again(shards, idle);
        }
        self.len -= line.forget(shards, idle);
        let mut is_new = false;
        while self.len >= max {
            if line.evict(shards, idle) {
                self.len -= 1;
            } else if line.len() < self.len && !is_new {
                // Several keys with one hash have lost some of them on the way.
                is_new = true;
                line = Line::new(shards, self.len);
            } else {
                break;
            }
        }
        self.line = Some(line);
        asks_all
    }

    /// Forgets what is idle, also when nobody ever needs its place: some parts at a time, so that
    /// no lookup has to do it all. Answers when to begin anew, once all have had their turn.
    pub(super) fn sweep<K: Eq + Hash, T: Trip>(
        &mut self,
        shards: &Shards<K, T>,
        idle: Idle,
    ) -> Option<Instant> {
        if self.sweep.next == 0 {
            self.sweep.began = idle.now;
        }
        for shard in shards.all().iter().skip(self.sweep.next).take(SWEPT_AT_ONCE) {
            self.len -= shard.sweep(idle);
        }
        self.sweep.next += SWEPT_AT_ONCE;
        if self.sweep.next < shards.all().len() {
            return None;
        }
        self.sweep.next = 0;
        Some(self.sweep.began.after(idle.ttl))
    }
}

impl Line {
    fn new<K: Eq + Hash, T: Trip>(shards: &Shards<K, T>, len: usize) -> Self {
        let mut candidates = Vec::with_capacity(len);
        for shard in shards.all() {
            shard.candidates(shards.hashing(), &mut candidates);
        }
        Self { waiting: Queue::new(candidates), ..Self::default() }
    }

    /// Puts those passed over back in line that no longer are what they were passed over for.
    fn ask_again<K: Eq + Hash, T: Trip>(&mut self, shards: &Shards<K, T>, idle: Idle) {
        let Self { waiting, counting, needed, .. } = self;
        let mut reading: Option<Reading<'_, K, T>> = None;
        let mut stays = |candidate: Candidate, as_what: Standing| {
            let shard = shards.of(candidate.hash);
            // The last one is let go before the next is taken.
            reading = reading.take().filter(|reading| reading.is_of(shard));
            let reading = reading.get_or_insert_with(|| shard.reading());
            match reading.ask(idle, candidate, shards.hashing()) {
                Found::Stays(standing) if standing == as_what => return true,
                Found::Stays(_) => waiting.push(candidate),
                Found::Used(again) => waiting.push(again),
                Found::Gone | Found::Removed => {}
            }
            false
        };
        counting.retain(|candidate| stays(candidate, Standing::Counting));
        needed.retain(|candidate| stays(*candidate, Standing::Needed));
    }

    /// Forgets those in line that are idle, and answers how many.
    fn forget<K: Eq + Hash, T: Trip>(&mut self, shards: &Shards<K, T>, idle: Idle) -> usize {
        let mut forgotten = 0;
        while let Some(next) = self.waiting.peek().filter(|next| idle.is(next.used)) {
            self.waiting.pop();
            forgotten += usize::from(self.remove(shards, idle, next, Standing::Forgotten));
        }
        forgotten
    }

    /// Evicts the first in line that may go; whether there was one.
    fn evict<K: Eq + Hash, T: Trip>(&mut self, shards: &Shards<K, T>, idle: Idle) -> bool {
        while let Some(next) = self.waiting.pop() {
            if self.remove(shards, idle, next, Standing::Clean) {
                return true;
            }
        }
        while let Some(next) = self.counting.pop() {
            if self.remove(shards, idle, next, Standing::Counting) {
                return true;
            }
        }
        false
    }

    /// Removes the entry of a candidate that has left the line, if it stands at most so high; if
    /// it does not it is put where it belongs.
    fn remove<K: Eq + Hash, T: Trip>(
        &mut self,
        shards: &Shards<K, T>,
        idle: Idle,
        candidate: Candidate,
        at_most: Standing,
    ) -> bool {
        let shard = shards.of(candidate.hash);
        match shard.evict(idle, candidate, at_most, shards.hashing()) {
            Found::Removed => return true,
            Found::Gone => {}
            Found::Used(again) => self.waiting.push(again),
            Found::Stays(Standing::Counting) => self.counting.push(candidate),
            Found::Stays(Standing::Needed) => self.needed.push(candidate),
            // Never: neither stands higher than what was asked to go.
            Found::Stays(Standing::Clean | Standing::Forgotten) => self.waiting.push(candidate),
        }
        false
    }

    fn len(&self) -> usize {
        self.waiting.len() + self.counting.len() + self.needed.len()
    }
}

/// Up to this size a table forgets exactly the right one, whatever has changed behind its back.
pub(super) const SMALL: usize = 1_024;
/// So many parts, of some 3,000 entries each, are gone through by one lookup.
const SWEPT_AT_ONCE: usize = 4;
/// How many may be in line that are gone, besides as many again as there are.
const MANY_GONE: usize = 64;
