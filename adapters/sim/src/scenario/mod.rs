//! This file knows what is simulated: the fleet, the server, and what goes wrong when.
//!
//! The server model decides as much as the policy does, so it is part of every result: whether it
//! executes work nobody waits for, in which order, and what a rejection costs it.

mod check;

#[cfg(feature = "command")]
pub(crate) use check::{MOST_CALLS, TOO_MANY};

use evenkeel_core::Micros;

/// A fleet of clients, one server, one fault, over a span of virtual time.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Who calls, and how often.
    pub fleet: Fleet,
    /// Who answers.
    pub server: ServerModel,
    /// What goes wrong.
    pub fault: Fault,
    /// Virtual time at which the run ends.
    pub end: Micros,
    /// How many events a run may have; it stops there and says so.
    pub max_events: u64,
}

/// The clients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fleet {
    /// How many clients there are; each has a throttle and a breaker of its own.
    pub clients: u32,
    /// When calls start.
    pub arrivals: Arrivals,
    /// Through how many layers of the same policy a call goes to the server: 1 is a client that
    /// asks it directly.
    pub layers: u8,
    /// Whether a layer's call ends with the attempt it was made for (deadline propagation).
    pub propagates_deadlines: bool,
}

/// When calls start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// Each client has one call at a time and starts the next an exponential `think` later.
    Closed {
        /// Mean time between the end of a call and the start of the next.
        think: Micros,
    },
    /// A Poisson stream over the whole fleet, whatever becomes of the calls.
    Open {
        /// Calls per second of the whole fleet.
        per_second: f64,
    },
}

/// The server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServerModel {
    /// How many requests it executes at once.
    pub workers: u32,
    /// Mean time one takes.
    pub service: Micros,
    /// How that time varies.
    pub law: Law,
    /// Which waiting request is next.
    pub order: Order,
    /// How many requests may wait; above, they are rejected at once. `None`: all.
    pub queue_limit: Option<u32>,
    /// What a rejection costs a worker.
    pub reject_cost: Micros,
    /// Time on the wire, each way.
    pub network: Micros,
}

/// How service times vary around their mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// Not at all.
    Constant,
    /// Exponentially.
    Exponential,
    /// Log-normally, with this deviation of the logarithm: 1 gives p99 ≈ 6 × the mean.
    LogNormal {
        /// Deviation of the logarithm.
        sigma: f64,
    },
}

/// Which waiting request a free worker takes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Order {
    /// The oldest, but one with less than `reserve` left before its deadline is refused instead.
    DropExpired {
        /// What a request must still have to be worth starting.
        reserve: Micros,
    },
    /// The oldest, whether anybody still waits for it or not.
    Fifo,
    /// The youngest.
    Lifo,
}

/// What goes wrong, from `start` for `length`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    /// What.
    pub kind: FaultKind,
    /// From when.
    pub start: Micros,
    /// For how long.
    pub length: Micros,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FaultKind {
    /// Requests vanish.
    BlackHole,
    /// Every request takes `1 / capacity` times as long.
    Brownout {
        /// The capacity left, above 0 and below 1.
        capacity: f64,
    },
    /// Every request is refused at once.
    FailFast,
    /// Nothing.
    None,
    /// This share of the requests fails after it was executed.
    Partial {
        /// From 0 to 1.
        share: f64,
    },
    /// It dies with all it holds, refuses while it is down, and afterwards the first request of
    /// each client costs a worker `setup` more: connections, sessions, caches.
    Restart {
        /// What a client's first request costs more.
        setup: Micros,
    },
    /// It executes nothing and accepts everything.
    Stall,
}

impl Scenario {
    /// The standard outage: 100 clients with 700 calls/s together, 10 workers that serve 1000/s,
    /// first in first out, 30 s of `kind` after 30 s, and 330 s more.
    pub const fn outage(kind: FaultKind) -> Self {
        let fleet = Fleet {
            clients: 100,
            arrivals: Arrivals::Open { per_second: 700.0 },
            layers: 1,
            propagates_deadlines: false,
        };
        let fault = Fault { kind, start: SECOND_30, length: SECOND_30 };
        let end = Micros::from_millis(390_000);
        Self { fleet, server: ServerModel::DEFAULT, fault, end, max_events: MAX_EVENTS }
    }

    /// What the server can execute, per second.
    pub fn capacity(&self) -> f64 {
        let service = self.server.service.as_micros().max(1) as f64;
        f64::from(self.server.workers) * 1e6 / service
    }

    /// Calls offered per second; for closed arrivals, the most there can be.
    pub fn offered(&self) -> f64 {
        match self.fleet.arrivals {
            Arrivals::Open { per_second } => per_second,
            Arrivals::Closed { think } => {
                let round = think.plus(self.server.service).as_micros().max(1) as f64;
                f64::from(self.fleet.clients) * 1e6 / round
            }
        }
    }

    /// Whether there are too few calls in a span of so many seconds to judge by: fewer than ten in
    /// the mean.
    pub fn has_few_calls_in(&self, seconds: f64) -> bool {
        self.offered() * seconds < 10.0
    }

    /// When the fault ends.
    pub const fn fault_end(&self) -> Micros {
        self.fault.start.plus(self.fault.length)
    }
}

impl ServerModel {
    /// Ten workers of 10 ms, exponential, first in first out, no limit, no network.
    pub const DEFAULT: Self = Self {
        workers: 10,
        service: Micros::from_millis(10),
        law: Law::Exponential,
        order: Order::Fifo,
        queue_limit: None,
        reject_cost: Micros::ZERO,
        network: Micros::ZERO,
    };
}

impl Default for ServerModel {
    fn default() -> Self {
        Self::DEFAULT
    }
}

const SECOND_30: Micros = Micros::from_millis(30_000);
/// Half a minute or so.
const MAX_EVENTS: u64 = 200_000_000;
