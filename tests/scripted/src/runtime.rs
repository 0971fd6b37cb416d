//! This file knows the runtimes that scenarios run on, and what each cannot be told.

use evenkeel_core::{Micros, Sent};

use crate::Scenario;

/// Something that runs scenarios.
#[derive(Clone, Copy, Debug)]
pub struct Runtime {
    /// Its column on the page.
    pub name: &'static str,
    /// How it runs them.
    pub how: &'static str,
    /// What it lacks, and why.
    pub lacks: &'static [(Need, &'static str)],
}

/// What a scenario asks of a runtime, as far as one of them lacks it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Need {
    /// The budget of a request.
    Budget,
    /// A caller who goes away.
    Cancelling,
    /// A server that begins to listen later, or calls that wait for one.
    Connection,
    /// Calls of several methods.
    Methods,
    /// A request that was never sent although there was a connection.
    NeverSent,
    /// A request that cannot be given a second time.
    Once,
    /// Two calls at one time, or a look at what one is doing.
    Overlap,
    /// Tokens that the calls of several methods share.
    SharedTokens,
}

impl Need {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Budget,
        Self::Cancelling,
        Self::Connection,
        Self::Methods,
        Self::NeverSent,
        Self::Once,
        Self::Overlap,
        Self::SharedTokens,
    ];

    /// As it stands on the page.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Budget => "budget",
            Self::Cancelling => "cancel",
            Self::Connection => "connection",
            Self::Methods => "methods",
            Self::NeverSent => "never sent",
            Self::Once => "once",
            Self::Overlap => "overlap",
            Self::SharedTokens => "shared tokens",
        }
    }

    /// Whether `scenario` asks for it.
    pub fn is_of(self, scenario: &Scenario) -> bool {
        let calls = scenario.calls();
        let several = || calls.iter().any(|call| call.method != calls[0].method);
        match self {
            Self::Budget => scenario.settings().budget().is_some(),
            Self::Cancelling => calls.iter().any(|call| call.cancel.is_some()),
            Self::Connection => {
                scenario.listens().is_some_and(|at| at > Micros::ZERO)
                    || scenario.settings().wait_for_ready().is_some()
                    || calls.iter().any(|call| call.waits.is_some())
            }
            Self::Methods => several(),
            Self::NeverSent => scenario.answers().any(|answer| answer.outcome.sent == Sent::Never),
            Self::Once => calls.iter().any(|call| call.once),
            Self::Overlap => scenario.overlaps(),
            Self::SharedTokens => several() && scenario.throttle().is_some(),
        }
    }
}

const NO_CONNECTION: (Need, &str) =
    (Need::Connection, "knows no connections: what makes an attempt brings its own");
const ANEW: (Need, &str) = (Need::Once, "`call` makes every attempt anew");
const ONE_TARGET: (Need, &str) =
    (Need::SharedTokens, "a `Shared` is one target, and has a throttle of its own");

impl Runtime {
    /// The machines themselves.
    pub const CORE: Self = Self {
        name: "core",
        how: "`Call`, `BreakerTable` and `Throttle` of `evenkeel-core`, stepped by hand",
        lacks: &[NO_CONNECTION],
    };
    /// Threads.
    pub const STD: Self = Self {
        name: "std",
        how: "`evenkeel_std::call`, which blocks, over `Shared`, on a clock set by hand",
        lacks: &[
            (Need::Cancelling, "a thread that blocks cannot be called away"),
            NO_CONNECTION,
            ANEW,
            (Need::Overlap, "a clock set by hand is for one thread"),
            ONE_TARGET,
        ],
    };
    /// Any async call.
    pub const TOKIO: Self = Self {
        name: "tokio",
        how: "`evenkeel_tokio::call` over `Shared`, on tokio's paused clock",
        lacks: &[NO_CONNECTION, ANEW, ONE_TARGET],
    };
    /// gRPC.
    pub const TONIC: Self = Self {
        name: "tonic",
        how: "`Resilient` over a real channel and HTTP/2 through memory, on tokio's paused clock",
        lacks: &[(
            Need::NeverSent,
            "takes a connection that closes under a queue of requests; `wire` has one",
        )],
    };
    /// Microcontrollers.
    pub const EMBASSY: Self = Self {
        name: "embassy",
        how: "`evenkeel_embassy::drive` over `Peers` and `Tokens`, on embassy's clock in virtual \
              time",
        lacks: &[NO_CONNECTION],
    };
    /// The simulator.
    pub const SIM: Self = Self {
        name: "sim",
        how: "`evenkeel_sim::rehearse`: a client of a simulated fleet, in its world",
        lacks: &[
            (Need::Budget, "no simulated call is made for a request"),
            (Need::Cancelling, "no simulated caller goes away"),
            NO_CONNECTION,
            (Need::Methods, "a simulated client calls one method"),
            (Need::Once, "no simulated request is lost by being sent"),
        ],
    };
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::CORE, Self::STD, Self::TOKIO, Self::TONIC, Self::EMBASSY, Self::SIM];

    /// The first thing that `scenario` asks for and this lacks.
    pub fn lacks_for(&self, scenario: &Scenario) -> Option<Need> {
        let mut lacks = self.lacks.iter().map(|(need, _)| *need);
        lacks.find(|need| need.is_of(scenario))
    }

    /// The scenarios it runs.
    pub fn scenarios(&self) -> impl Iterator<Item = &'static Scenario> {
        crate::all().iter().filter(|scenario| self.lacks_for(scenario).is_none())
    }
}
