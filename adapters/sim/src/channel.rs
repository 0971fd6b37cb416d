//! This file knows the slotted channel: senders that collide when two pick one slot.
//!
//! The oldest setting of exponential backoff (Ethernet). [`batch_makespan`] is the question of
//! "Adversarial Contention Resolution for Simple Channels" (Bender et al., 2005): n senders start
//! together, each picks a slot of its window, and whoever collides waits for the window's end and
//! goes on in one twice as long; how many slots until all are through? Θ(n log n).

use crate::{Agenda, Chance};

/// Slots until `senders` that start together have all had a slot to themselves.
///
/// ```
/// use evenkeel_sim::batch_makespan;
///
/// assert_eq!(batch_makespan(1, 1), 1);
/// assert!(batch_makespan(100, 1) >= 100);
/// ```
pub fn batch_makespan(senders: u32, seed: u64) -> u64 {
    let mut chance = Chance::seeded(seed);
    let (mut left, mut window, mut begins, mut last) = (senders, 1u32, 0u64, 0);
    let mut slots = Vec::new();
    while left > 0 {
        slots.clear();
        slots.resize(window as usize, 0u32);
        for _ in 0..left {
            slots[chance.below(window) as usize] += 1;
        }
        // They began together, so their windows end together.
        for (slot, sending) in slots.iter().enumerate() {
            if *sending == 1 {
                left -= 1;
                last = begins + slot as u64 + 1;
            }
        }
        begins += u64::from(window);
        window = window.saturating_mul(2).min(MOST_SLOTS);
    }
    last
}

/// The share of the slots that carry a message when every sender always has another to send: its
/// window starts at `first`, grows by `factor` thousandths with each collision, and starts over
/// with each success.
///
/// Kwak, Song and Miller ("Performance Analysis of Exponential Backoff", 2005): ½ ln 2 for a
/// factor of 2. With a `first` of 1 the winner of one slot takes all the next ones.
pub fn saturated_throughput(senders: u32, first: u32, factor: u32, slots: u64, seed: u64) -> f64 {
    let mut channel = Channel::new(senders, first, seed);
    let mut carried = 0u64;
    while let Some((now, alone)) = channel.next_slot() {
        if now >= slots {
            break;
        }
        match alone {
            Ok(sender) => {
                carried += 1;
                channel.start_over(now, sender, first);
            }
            Err(collided) => {
                for sender in collided {
                    channel.back_off(now, sender, factor);
                }
            }
        }
    }
    carried as f64 / slots.max(1) as f64
}

struct Channel {
    chance: Chance,
    agenda: Agenda<u32>,
    /// Each sender's window, in thousandths of a slot.
    windows: Vec<u64>,
}

impl Channel {
    fn new(senders: u32, first: u32, seed: u64) -> Self {
        let windows = vec![u64::from(first.max(1)) * 1_000; senders as usize];
        let mut channel = Self { chance: Chance::seeded(seed), agenda: Agenda::new(), windows };
        for sender in 0..senders {
            let slot = channel.chance.below(first.max(1));
            channel.agenda.push(slot.into(), sender);
        }
        channel
    }

    /// The next slot anybody sends in, and who does: one alone, or several that collide.
    fn next_slot(&mut self) -> Option<(u64, Result<u32, Vec<u32>>)> {
        let (now, first) = self.agenda.pop()?;
        let Some(second) = self.agenda.pop_same() else { return Some((now, Ok(first))) };
        let mut collided = vec![first, second];
        collided.extend(core::iter::from_fn(|| self.agenda.pop_same()));
        Some((now, Err(collided)))
    }

    fn back_off(&mut self, now: u64, sender: u32, factor: u32) {
        let window = &mut self.windows[sender as usize];
        *window = (*window * u64::from(factor) / 1_000).min(LONGEST);
        self.file(now, sender);
    }

    fn start_over(&mut self, now: u64, sender: u32, first: u32) {
        self.windows[sender as usize] = u64::from(first.max(1)) * 1_000;
        self.file(now, sender);
    }

    fn file(&mut self, now: u64, sender: u32) {
        let window = (self.windows[sender as usize] / 1_000) as u32;
        self.agenda.push(now + 1 + u64::from(self.chance.below(window.max(1))), sender);
    }
}

/// 2^31 slots, in thousandths.
const LONGEST: u64 = 1_000 << 31;
const MOST_SLOTS: u32 = 1 << 30;
