//! This file knows which states of a table are the same for all that can come.

use super::{Ticket, World};
use crate::model::search::relative;

impl<const N: usize> World<N> {
    /// The state without what decides nothing: absolute time and numbers, of which only the order
    /// counts (lookups), or the equality and, for the next entry, the order (epochs); and which
    /// key is which.
    pub fn key(&self) -> String {
        let text = format!("{:?}", self.table);
        let first = i128::from(numbers_after(&text, "first_epoch: ")[0]);
        let used = numbers_after(&text, "used: [");
        let rank = |one: &u64| used.iter().filter(|other| *other < one).count();
        let order: Vec<_> = used.iter().map(rank).collect();
        let unit = (self.now >> 16) & 0xffff_ffff;
        let busy = numbers_after(&text, "busy_until: [");
        let busy: Vec<_> = busy.iter().map(|until| until.saturating_sub(unit)).collect();
        let breakers = text.split_once("breakers: ").map_or("", |(_, rest)| rest);
        let breakers = breakers.split("], used").next().unwrap_or_default();
        let names = ["epoch: ", "reopenings: "];
        let breakers = relative(breakers, self.now, REACH, &names, |name, number| match name {
            "epoch: " => (i128::from(number) - first).clamp(-2, 2).to_string(),
            _ => String::new(),
        });
        let ledgers: Vec<_> = self.entries.iter().map(|one| one.ledger.key(self.now)).collect();
        let mut tickets: Vec<_> = self.tickets.iter().map(|one| self.ticket_key(one)).collect();
        tickets.sort_unstable();
        format!("{breakers} {order:?} {busy:?} {ledgers:?} {tickets:?}")
    }

    /// The number of a ticket's key (that of its slot, if it has one), whether its entry lives,
    /// and whether its period lasts.
    fn ticket_key(&self, ticket: &Ticket<N>) -> (usize, bool, bool) {
        let slot = self.entries.iter().position(|entry| entry.key == ticket.key);
        let number = slot.unwrap_or_else(|| {
            let same = |other: &Ticket<N>| other.key == ticket.key;
            N + self.tickets.iter().position(same).unwrap_or(0)
        });
        let given = slot.map(|slot| &self.entries[slot]).zip(ticket.given);
        let lives = given.is_some_and(|(entry, given)| entry.life == given.0);
        let lasts = given.is_some_and(|(entry, given)| entry.ledger.number == given.1);
        (number, lives, lives && lasts)
    }
}

/// The numbers that follow `name` in a debug print, up to what is no number.
fn numbers_after(text: &str, name: &str) -> Vec<u64> {
    let list = text.split_once(name).map_or("", |(_, rest)| rest);
    let list = list.split([']', '}']).next().unwrap_or_default();
    list.split(',').map_while(|number| number.trim().parse().ok()).collect()
}

/// What is over is over, and no span of a setting that is searched is longer.
const REACH: (i128, i128) = (0, 4 << 19);
