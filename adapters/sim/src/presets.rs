//! This file knows what people run: the retry policies of well-known libraries, by name.
//!
//! Numbers are the libraries' own defaults where they have one. Where a rule is not in the core the
//! preset uses its model. Each preset is a file in `presets/` too, and a test compares the two.

pub mod coap;
pub mod dhcp4;

use core::time::Duration;

use evenkeel_core::{Jitter, checked};

use crate::Policy;
use crate::models::{Aws, Envoy, Finagle, MongoDb};
use crate::spec::{BreakerSpec, BudgetSpec, RetrySpec, RuleSpec, Spec};

/// A policy with a name.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// As the command and the page call it.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub about: &'static str,
    /// The policy as a person writes it.
    pub spec: Spec,
}

impl Preset {
    /// The policy as it is simulated.
    pub const fn policy(&self) -> Policy {
        checked!(self.spec.policy())
    }

    /// The settings file of a client, with what it is as a comment.
    ///
    /// Ours has a list of the methods that may be executed twice, to be replaced by the reader's own:
    /// it tries again what may have been executed. What other libraries do, they do with all methods.
    pub fn to_toml(&self) -> String {
        let text = self.spec.to_toml();
        let text = match self.name {
            "steady" => text.replacen(RETRY, &format!("{RETRY}{LISTED}"), 1),
            _ => text,
        };
        format!("# {}\n{text}", self.about)
    }
}

/// All presets, ours first.
pub static PRESETS: [Preset; 14] = [
    preset(
        "steady",
        "Ours: full jitter, a throttle that successes refill, a breaker by share.",
        STEADY,
    ),
    preset("no-retry", "One attempt of a second: what every policy has to beat.", Spec::NO_RETRY),
    preset("naive", "Four attempts at whatever fails, and nothing that bounds them.", NAIVE),
    preset("kit", "grpc-client-kit: three attempts, ±10 %, a breaker of five in a row.", KIT),
    preset(
        "tutorial",
        "A Go tutorial's interceptors: attempts of a second, equal jitter.",
        TUTORIAL,
    ),
    preset("grpc-a6", "gRPC A6's example: four attempts, ±20 %, ten tokens.", GRPC_A6),
    preset("aws-standard", "AWS SDKs, standard: 500 tokens, 5 a retry, 10 after a timeout.", AWS),
    preset("aws-2026", "AWS SDKs, AWS_NEW_RETRIES_2026: 500 tokens, 14 a retry.", AWS_2026),
    preset("mongodb", "MongoDB's client backpressure: five attempts, 1000 tokens.", MONGODB),
    preset("finagle", "Finagle, tower, linkerd: 20 % and ten retries a second besides.", FINAGLE),
    preset("envoy", "Envoy's retry budget: 20 % of what is under way, three at least.", ENVOY),
    preset("polly", "Polly v8: three retries from 2 s, a breaker at 10 % of 30 s.", POLLY),
    preset("resilience4j", "resilience4j: always 0.5 s, a breaker at half of 100 calls.", R4J),
    preset("breaker-only", "No retry, and steady's breaker.", BREAKER_ONLY),
];

const RETRY: &str = "\n[retry]\n";
const LISTED: &str = "idempotent_methods = [\"Get*\"] # yours: those that may be executed twice\n";

/// The preset with this name.
pub fn named(name: &str) -> Option<Preset> {
    PRESETS.iter().find(|preset| preset.name == name).copied()
}

const fn preset(name: &'static str, about: &'static str, spec: Spec) -> Preset {
    Preset { name, about, spec }
}

/// Full jitter, because ±10 % is nearly none; a throttle that successes refill, because backoff does
/// not lower the load of many callers; a breaker by share, because five in a row come by chance,
/// open for 5 s, because a minute is a minute more of outage.
const STEADY: Spec = Spec {
    timeout: Some(Duration::from_secs(10)),
    retry: retry(3, 100, 10_000, Jitter::Full),
    breaker: Some(SOON_BACK),
    budget: BudgetSpec::SuccessRefilled(10, 100),
    ..Spec::NO_RETRY
};

const NAIVE: Spec =
    Spec { retry: retry(4, 100, 10_000, Jitter::Proportional(100)), ..Spec::NO_RETRY };

const KIT: Spec = Spec {
    timeout: Some(Duration::from_secs(10)),
    attempt_timeout: None,
    retry: RetrySpec { timeouts: false, ..retry(3, 100, 10_000, Jitter::Proportional(100)) },
    breaker: Some(BreakerSpec {
        rule: RuleSpec::Consecutive(5),
        open_for: Duration::from_secs(60),
        growth: None,
        jitter: 0,
        trials: 1,
    }),
    budget: BudgetSpec::None,
};

const TUTORIAL: Spec = Spec { retry: retry(3, 100, 2_000, Jitter::Equal), ..Spec::NO_RETRY };

const GRPC_A6: Spec = Spec {
    retry: RetrySpec { timeouts: false, ..retry(4, 100, 1_000, Jitter::Proportional(200)) },
    budget: BudgetSpec::Grpc(10, 100),
    ..Spec::NO_RETRY
};

const AWS: Spec = Spec {
    retry: retry(3, 1_000, 20_000, Jitter::Full),
    budget: BudgetSpec::Aws(Aws::STANDARD),
    ..Spec::NO_RETRY
};

const AWS_2026: Spec = Spec {
    retry: retry(3, 50, 20_000, Jitter::Full),
    budget: BudgetSpec::Aws(Aws::NEW_2026),
    ..Spec::NO_RETRY
};

const MONGODB: Spec = Spec {
    retry: retry(5, 100, 10_000, Jitter::Full),
    budget: BudgetSpec::MongoDb(MongoDb::SPECIFIED),
    ..Spec::NO_RETRY
};

/// Finagle's default for a request that may be requeued: 25 attempts, at once.
const FINAGLE: Spec = Spec {
    retry: retry(25, 0, 0, Jitter::None),
    budget: BudgetSpec::Finagle(Finagle { percent: 20, floor: 10, ttl: 10_000_000 }),
    ..Spec::NO_RETRY
};

const ENVOY: Spec = Spec {
    retry: retry(2, 25, 250, Jitter::Full),
    budget: BudgetSpec::Envoy(Envoy { percent: 20, min: 3, rounds_down: true }),
    ..Spec::NO_RETRY
};

const POLLY: Spec = Spec {
    retry: constant(4, 2_000),
    breaker: Some(BreakerSpec {
        rule: RuleSpec::TimeWindow { window: Duration::from_secs(30), min_calls: 100, share: 10 },
        open_for: Duration::from_secs(5),
        growth: None,
        jitter: 0,
        trials: 1,
    }),
    ..Spec::NO_RETRY
};

const R4J: Spec = Spec {
    retry: constant(3, 500),
    breaker: Some(BreakerSpec {
        rule: RuleSpec::LastN { calls: 100, min_calls: 100, share: 50 },
        open_for: Duration::from_secs(60),
        growth: None,
        jitter: 0,
        trials: 10,
    }),
    ..Spec::NO_RETRY
};

const BREAKER_ONLY: Spec = Spec { breaker: Some(SOON_BACK), ..Spec::NO_RETRY };

/// Half of ten seconds; open for 5 s, longer while it stays away, three trials.
const SOON_BACK: BreakerSpec = BreakerSpec {
    rule: RuleSpec::TimeWindow { window: Duration::from_secs(10), min_calls: 20, share: 50 },
    open_for: Duration::from_secs(5),
    growth: Some((2_000, Duration::from_secs(60))),
    jitter: 200,
    trials: 3,
};

const fn retry(max_attempts: u16, initial: u64, max: u64, jitter: Jitter) -> RetrySpec {
    RetrySpec {
        max_attempts,
        initial: Duration::from_millis(initial),
        max: Duration::from_millis(max),
        multiplier: 2_000,
        jitter,
        timeouts: true,
    }
}

const fn constant(max_attempts: u16, millis: u64) -> RetrySpec {
    RetrySpec { multiplier: 1_000, ..retry(max_attempts, millis, millis, Jitter::None) }
}
