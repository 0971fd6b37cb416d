//! This file knows what will go wrong in a run, and when: all of it drawn from the seed before the
//! run begins.
//!
//! ```text
//! 0 s          faults            5 s      settling      30 s  proof    33 s
//! ├─────────────────────────────┤─────────────────────────┤─────────────┤
//!   calls of impatient callers    patient calls             every circuit closes,
//!                                                           nothing is held
//! ```
//!
//! A connection whose segments were lost stays dead, because the simulated TCP does not send them
//! again; only keepalive finds out, 11 s after it was used. Behind one of `web`'s there may be one of the
//! gateway's, which nobody uses before the first is found out: settling takes two of them, and the
//! time for which a circuit is open.

use core::time::Duration;

use crate::backend::{Mood, Nature};
use crate::dice::Dice;

/// Servers.
pub(crate) const BACKENDS: [&str; 3] = ["backend-0", "backend-1", "backend-2"];
/// Between `web` and the servers.
pub(crate) const GATEWAY: &str = "gateway";
/// A caller of the servers.
pub(crate) const APP: &str = "app";
/// A caller of the gateway.
pub(crate) const WEB: &str = "web";

/// Messages of a response stream.
pub(crate) const ITEMS: i32 = 4;

pub(crate) const FAULTS_END: Duration = Duration::from_secs(5);
pub(crate) const SETTLED: Duration = Duration::from_secs(30);
pub(crate) const LONGEST: Duration = Duration::from_secs(75);

/// The longest a segment is under way, unless it is held.
pub(crate) const LATENCY: Duration = Duration::from_millis(150);

/// How often segments are delivered, and the least they are under way. Within it each host's clock
/// runs as finely as tokio's does, one host after the other: what was under way for less would arrive
/// before it was sent.
pub(crate) const TICK: Duration = Duration::from_millis(10);

/// One change of the world.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Change {
    Bounce(&'static str),
    Crash(&'static str),
    Cut(Link),
    CutOneWay(Link),
    Hold(Link),
    Latency(Link, Duration),
    Mood(&'static str, Mood),
    Release(Link),
    Repair(Link),
    RepairOneWay(Link),
    Reset(Link),
    Restart(&'static str),
    Serving(&'static str, bool),
}

pub(crate) type Link = (&'static str, &'static str);

pub(crate) const LINKS: [Link; 7] = [
    (APP, BACKENDS[0]),
    (APP, BACKENDS[1]),
    (APP, BACKENDS[2]),
    (GATEWAY, BACKENDS[0]),
    (GATEWAY, BACKENDS[1]),
    (GATEWAY, BACKENDS[2]),
    (WEB, GATEWAY),
];

const SERVERS: [&str; 4] = [BACKENDS[0], BACKENDS[1], BACKENDS[2], GATEWAY];

/// Everything that will happen, in the order of time.
pub(crate) struct Plan {
    pub(crate) changes: Vec<(Duration, Change)>,
    /// The members `app` asks for, from then on.
    pub(crate) members: Vec<(Duration, Vec<&'static str>)>,
}

impl Plan {
    pub(crate) fn of(seed: u32) -> Self {
        let mut dice = Dice::of(seed, "plan");
        let mut changes = Vec::new();
        for link in LINKS {
            let latency = dice.millis(TICK.as_millis() as u64, LATENCY.as_millis() as u64);
            changes.push((Duration::ZERO, Change::Latency(link, latency)));
            faults(&mut dice, |dice, from, to| {
                let [begin, end] = on_link(dice, link);
                changes.extend([(from, begin), (to, end)]);
            });
        }
        for server in SERVERS {
            faults(&mut dice, |dice, from, to| {
                let [begin, end] = on_server(dice, server);
                changes.extend([(from, begin), (to, end)]);
            });
        }
        changes.sort_by_key(|(at, _)| *at);
        Self { changes, members: members(&mut dice) }
    }
}

/// None to three faults of one thing, one after the other.
fn faults(dice: &mut Dice, mut fault: impl FnMut(&mut Dice, Duration, Duration)) {
    let mut at = Duration::ZERO;
    for _ in 0..dice.between(0, 4) {
        let from = at + dice.millis(50, 2_500);
        let to = from + dice.millis(20, 1_500);
        if to >= FAULTS_END {
            return;
        }
        fault(dice, from, to);
        at = to;
    }
}

fn on_link(dice: &mut Dice, link: Link) -> [Change; 2] {
    match dice.between(0, 6) {
        0 => [Change::CutOneWay(link), Change::RepairOneWay(link)],
        1 => [Change::Cut(link), Change::Repair(link)],
        2 => [Change::Reset(link), Change::Reset(link)],
        3 => {
            let mut latency = || {
                Change::Latency(
                    link,
                    dice.millis(TICK.as_millis() as u64, LATENCY.as_millis() as u64),
                )
            };
            [latency(), latency()]
        }
        _ => [Change::Hold(link), Change::Release(link)],
    }
}

fn on_server(dice: &mut Dice, server: &'static str) -> [Change; 2] {
    let mood = match dice.between(0, 10) {
        0 | 1 => return [Change::Crash(server), Change::Bounce(server)],
        2 => return [Change::Serving(server, false), Change::Serving(server, true)],
        3 => return [Change::Restart(server), Change::Mood(server, Mood::Fine)],
        4 => return [Change::Restart(server), Change::Restart(server)],
        5 => Mood::Broken,
        6 => Mood::Silent,
        7 => Mood::Slow(dice.millis(20, 800)),
        _ => Mood::Busy,
    };
    [Change::Mood(server, mood), Change::Mood(server, Mood::Fine)]
}

/// Lists of two or three members; the last has all.
fn members(dice: &mut Dice) -> Vec<(Duration, Vec<&'static str>)> {
    let mut lists = Vec::new();
    let mut at = dice.millis(250, 1_500);
    while at < FAULTS_END {
        let mut list = BACKENDS.to_vec();
        list.remove(dice.between(0, 3) as usize);
        lists.push((at, list));
        at += dice.millis(150, 1_500);
        lists.push((at.min(FAULTS_END), BACKENDS.to_vec()));
        at += dice.millis(150, 3_000);
    }
    lists
}

impl Change {
    pub(crate) fn make(self, world: &mut turmoil::Sim<'_>, nature: &Nature) {
        match self {
            Self::Bounce(host) => world.bounce(host),
            Self::Crash(host) => world.crash(host),
            Self::Cut((a, b)) => world.partition(a, b),
            Self::CutOneWay((a, b)) => world.partition_oneway(a, b),
            Self::Hold((a, b)) => world.hold(a, b),
            Self::Latency((a, b), span) => world.set_link_max_message_latency(a, b, span),
            Self::Mood(host, mood) => nature.set_mood(host, mood),
            Self::Release((a, b)) => world.release(a, b),
            Self::Repair((a, b)) => world.repair(a, b),
            Self::RepairOneWay((a, b)) => world.repair_oneway(a, b),
            Self::Reset(link) => nature.reset(link),
            Self::Restart(host) => nature.restart(host),
            Self::Serving(host, serving) => nature.set_serving(host, serving),
        }
    }
}

impl Change {
    /// The fault that begins with it; nothing if it ends one.
    pub(crate) const fn fault(self) -> Option<&'static str> {
        Some(match self {
            Self::Crash(_) => "restarts",
            Self::Cut(_) | Self::CutOneWay(_) => "partitions",
            Self::Hold(_) => "holds",
            Self::Latency(..) => "latencies",
            Self::Mood(_, Mood::Fine) | Self::Serving(_, true) => return None,
            Self::Mood(..) => "moods",
            Self::Reset(_) => "resets",
            Self::Restart(_) => "goodbyes",
            Self::Serving(_, false) => "unwell",
            Self::Bounce(_) | Self::Release(_) | Self::Repair(_) | Self::RepairOneWay(_) => {
                return None;
            }
        })
    }
}

/// Each must have been among the faults of many runs.
pub(crate) const FAULTS: [&str; 8] =
    ["goodbyes", "holds", "latencies", "moods", "partitions", "resets", "restarts", "unwell"];
