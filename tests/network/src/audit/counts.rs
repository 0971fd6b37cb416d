//! This file knows how much there was of what, in one run and in many.

use core::fmt;

use super::*;
use crate::plan::FAULTS;

/// How often each thing was.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Counts(BTreeMap<String, u64>);

impl Counts {
    pub(super) fn of(entries: &[Entry], calls: &BTreeMap<u32, Call>) -> Self {
        let mut counts = Self::default();
        let mut under_way = 0_usize;
        for (_, event) in entries {
            match event {
                Event::Began { .. } => under_way += 1,
                Event::Ended { .. } => under_way -= 1,
                // What nobody's call could meet is no fault of this run, and how lines are in the
                // beginning is none either. Of lost connections each is counted.
                Event::Fault(Change::Reset(_)) => {}
                Event::Fault(change) if under_way > 0 => counts.add(change.fault(), 1),
                Event::Reset { .. } => counts.add(Some("resets"), 1),
                _ => {}
            }
        }
        let ended = |end: &End| calls.values().filter(|call| call.is(end)).count() as u64;
        counts.add(Some("calls"), calls.len() as u64);
        counts.add(Some("answered"), ended(&End::Ok));
        counts.add(Some("given-up"), ended(&End::Dropped));
        counts.add(Some("requests"), calls.values().map(|call| call.arrivals.len() as u64).sum());
        counts
    }

    fn add(&mut self, what: Option<&str>, more: u64) {
        if let Some(what) = what {
            *self.0.entry(what.to_owned()).or_default() += more;
        }
    }

    /// All of `other` besides.
    pub(crate) fn join(&mut self, other: &Self) {
        for (what, count) in &other.0 {
            self.add(Some(what), *count);
        }
    }

    /// Reads what `Display` wrote.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let one = |word: &str| {
            let (what, count) = word.split_once('=')?;
            Some((what.to_owned(), count.parse().ok()?))
        };
        text.split(' ').map(one).collect::<Option<_>>().map(Self)
    }

    /// The faults that never happened.
    pub(crate) fn missing(&self) -> Vec<&'static str> {
        let happened = |fault: &&str| self.0.get(*fault).is_some_and(|count| *count > 0);
        FAULTS.into_iter().filter(|fault| !happened(fault)).collect()
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.0.iter().map(|(what, n)| format!("{what}={n}")).collect();
        f.write_str(&words.join(" "))
    }
}
