//! This file knows what must be true of every run, and finds it out from the book alone: what the
//! callers saw and what the servers saw. It shares no code with what it audits, and asks it nothing.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use tonic::Code;

use crate::book::{End, Entry, Event, Origin};
use crate::kits::MOST_ATTEMPTS;
use crate::method::Method;
use crate::plan::{Change, GATEWAY, ITEMS};

mod call;
mod counts;
mod network;

use call::Call;
pub(crate) use counts::Counts;
use network::Network;

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
    let counts = Counts::of(entries, &calls);
    (wrong, counts)
}
