//! This file knows what must be true of every run, and finds it out from the book alone: what the
//! callers saw and what the servers saw. It shares no code with what it audits, and asks it nothing.

use core::fmt;
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use tonic::Code;

use crate::book::{End, Entry, Event, Origin};
use crate::kits::MOST_ATTEMPTS;
use crate::method::Method;
use crate::plan::{GATEWAY, ITEMS};

mod call;
mod network;

use call::Call;
use network::Network;

/// How much there was of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) calls: usize,
    pub(crate) ok: usize,
    pub(crate) dropped: usize,
    pub(crate) requests: usize,
    pub(crate) faults: usize,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { calls, ok, dropped, requests, faults } = self;
        write!(
            f,
            "{calls} calls ({ok} OK, {dropped} given up), {requests} requests, {faults} changes"
        )
    }
}

/// Everything that is wrong with a run, and its size.
pub(crate) fn audit(entries: &[Entry]) -> (Vec<String>, Counts) {
    let network = Network::of(entries);
    let calls = Call::all(entries);
    let mut wrong = Vec::new();
    for (_, event) in entries {
        if let Event::Wrong(what) = event {
            wrong.push(what.clone());
        }
    }
    for (number, call) in &calls {
        for what in call.faults(&network, &calls) {
            wrong.push(format!("call {number}: {what}"));
        }
    }
    wrong.extend(network.probes_of_strangers(entries));
    let ended = |end: &End| calls.values().filter(|call| call.is(end)).count();
    let faults = entries.iter().filter(|(_, event)| matches!(event, Event::Fault(_))).count();
    let counts = Counts {
        calls: calls.len(),
        ok: ended(&End::Ok),
        dropped: ended(&End::Dropped),
        requests: calls.values().map(|call| call.arrivals.len()).sum(),
        faults,
    };
    (wrong, counts)
}
