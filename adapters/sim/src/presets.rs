//! This file knows what people run: the retry policies of well-known libraries, by name.
//!
//! Numbers are the libraries' own defaults where they have one. Where a rule is not in the core the
//! preset uses its model. Each preset is a file in `presets/` too, and a test compares the two.

pub mod coap;
pub mod dhcp4;

use core::time::Duration;

use evenkeel_core::{
    Backoff, BreakerPolicy, CallPolicy, Code, CodeSet, Jitter, LastN, RetryPolicy, ThrottlePolicy,
    TimeWindow, checked,
};

use crate::models::{Aws, Envoy, Finagle, MongoDb};
use crate::{Budget, FAILURES, Guard, Policy};

/// A policy with a name.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// As the command and the page call it.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub about: &'static str,
    /// The policy.
    pub policy: Policy,
}

/// All presets, ours first.
pub const PRESETS: [Preset; 14] = [
    preset(
        "steady",
        "Ours: three attempts with full jitter, a success-refilled budget, a breaker by share that is soon back.",
        STEADY,
    ),
    preset("no-retry", "One attempt of a second: what every policy has to beat.", Policy::NO_RETRY),
    preset(
        "naive",
        "Four attempts at whatever fails, 0.1 s doubling, and nothing that bounds them.",
        NAIVE,
    ),
    preset(
        "kit",
        "grpc-client-kit: three attempts at UNAVAILABLE, ±10 %, a breaker of five in a row and 60 s.",
        KIT,
    ),
    preset(
        "tutorial",
        "A Go interceptor tutorial: three attempts of a second each, equal jitter.",
        TUTORIAL,
    ),
    preset(
        "grpc-a6",
        "gRPC A6's example: four attempts at UNAVAILABLE, ±20 %, a throttle of 10 tokens.",
        GRPC_A6,
    ),
    preset(
        "aws-standard",
        "AWS SDKs, standard mode: three attempts, 500 tokens, 5 a retry, 10 after a timeout.",
        AWS_STANDARD,
    ),
    preset(
        "aws-2026",
        "AWS SDKs, AWS_NEW_RETRIES_2026: three attempts, 500 tokens, 14 a retry.",
        AWS_2026,
    ),
    preset("mongodb", "MongoDB's client backpressure: five attempts, 1000 tokens.", MONGODB),
    preset(
        "finagle",
        "Finagle, tower and linkerd: 20 % of requests and ten retries a second besides.",
        FINAGLE,
    ),
    preset(
        "envoy",
        "Envoy with a retry budget: 20 % of requests under way, three at least.",
        ENVOY,
    ),
    preset("polly", "Polly v8: three retries from 2 s, a breaker at 10 % of 30 s.", POLLY),
    preset(
        "resilience4j",
        "resilience4j: three attempts, always 0.5 s, a breaker at 50 % of 100 calls.",
        RESILIENCE4J,
    ),
    preset("breaker-only", "No retry, and a breaker by share that is soon back.", BREAKER_ONLY),
];

/// The preset with this name.
pub fn named(name: &str) -> Option<Preset> {
    PRESETS.into_iter().find(|preset| preset.name == name)
}

const fn preset(name: &'static str, about: &'static str, policy: Policy) -> Preset {
    Preset { name, about, policy }
}

/// Full jitter, because ±10 % is nearly none; a budget that successes refill, because backoff does
/// not lower the load of many callers; a breaker by share, because five in a row come by chance,
/// open for 5 s, because a minute is a minute more of outage.
const STEADY: Policy = Policy {
    call: seconds(10, 1).with_retry(retry(3, FAILURES, waits(100, 10_000, Jitter::Full))),
    guard: Guard::TimeWindow(SOON_BACK),
    budget: Budget::Shipped(ThrottlePolicy::SUCCESS_REFILLED),
    open_jitter: 200,
};

const NAIVE: Policy = Policy {
    call: attempts_of(1).with_retry(retry(4, FAILURES, Backoff::DEFAULT)),
    ..Policy::NO_RETRY
};

const KIT: Policy = Policy {
    call: CallPolicy::DEFAULT,
    guard: Guard::Consecutive(BreakerPolicy::DEFAULT),
    ..Policy::NO_RETRY
};

const TUTORIAL: Policy = Policy {
    call: attempts_of(1).with_retry(retry(3, FAILURES, waits(100, 2_000, Jitter::Equal))),
    ..Policy::NO_RETRY
};

const GRPC_A6: Policy = Policy {
    call: attempts_of(1).with_retry(retry(
        4,
        CodeSet::of(&[Code::Unavailable]),
        waits(100, 1_000, Jitter::Proportional(200)),
    )),
    budget: Budget::Shipped(checked!(ThrottlePolicy::grpc(10, 100))),
    ..Policy::NO_RETRY
};

const AWS_STANDARD: Policy = Policy {
    call: attempts_of(1).with_retry(retry(3, FAILURES, waits(1_000, 20_000, Jitter::Full))),
    budget: Budget::Aws(Aws::STANDARD),
    ..Policy::NO_RETRY
};

const AWS_2026: Policy = Policy {
    call: attempts_of(1).with_retry(retry(3, FAILURES, waits(50, 20_000, Jitter::Full))),
    budget: Budget::Aws(Aws::NEW_2026),
    ..Policy::NO_RETRY
};

const MONGODB: Policy = Policy {
    call: attempts_of(1).with_retry(retry(5, FAILURES, waits(100, 10_000, Jitter::Full))),
    budget: Budget::MongoDb(MongoDb::SPECIFIED),
    ..Policy::NO_RETRY
};

/// Finagle's default for a request that may be requeued: 25 attempts, at once.
const FINAGLE: Policy = Policy {
    call: attempts_of(1).with_retry(retry(25, FAILURES, crate::IMMEDIATELY)),
    budget: Budget::Finagle(Finagle { percent: 20, floor: 10, ttl: 10_000_000 }),
    ..Policy::NO_RETRY
};

const ENVOY: Policy = Policy {
    call: attempts_of(1).with_retry(retry(2, FAILURES, waits(25, 250, Jitter::Full))),
    budget: Budget::Envoy(Envoy { percent: 20, min: 3, rounds_down: true }),
    ..Policy::NO_RETRY
};

const POLLY: Policy = Policy {
    call: attempts_of(1).with_retry(retry(4, FAILURES, constant(2_000))),
    guard: Guard::TimeWindow(checked!(
        BreakerPolicy::new(checked!(TimeWindow::new(Duration::from_secs(30), 100, 10)))
            .with_open_for(Duration::from_secs(5))
    )),
    ..Policy::NO_RETRY
};

const RESILIENCE4J: Policy = Policy {
    call: attempts_of(1).with_retry(retry(3, FAILURES, constant(500))),
    guard: Guard::LastN(checked!(
        BreakerPolicy::new(checked!(LastN::new(100, 100, 50))).with_max_trials(10)
    )),
    ..Policy::NO_RETRY
};

const BREAKER_ONLY: Policy = Policy {
    call: attempts_of(1).with_retry(RetryPolicy::OFF),
    guard: Guard::TimeWindow(SOON_BACK),
    open_jitter: 200,
    ..Policy::NO_RETRY
};

/// Half of ten seconds; open for 5 s, longer while it stays away, three trials.
const SOON_BACK: BreakerPolicy<TimeWindow> = {
    let opens =
        checked!(BreakerPolicy::new(TimeWindow::DEFAULT).with_open_for(Duration::from_secs(5)));
    checked!(checked!(opens.with_growth(2_000, Duration::from_secs(60))).with_max_trials(3))
};

const fn retry(attempts: u16, codes: CodeSet, backoff: Backoff) -> RetryPolicy {
    checked!(RetryPolicy::DEFAULT.with_max_attempts(attempts))
        .with_codes(codes)
        .with_backoff(backoff)
}

const fn waits(initial: u64, max: u64, jitter: Jitter) -> Backoff {
    checked!(crate::doubling(Duration::from_millis(initial), Duration::from_millis(max), jitter))
}

const fn constant(millis: u64) -> Backoff {
    checked!(waits(millis, millis, Jitter::None).with_multiplier(1_000))
}

const fn attempts_of(seconds: u64) -> CallPolicy {
    let limit = Duration::from_secs(seconds);
    checked!(CallPolicy::DEFAULT.unbounded().with_attempt_timeout(limit))
}

const fn seconds(call: u64, attempt: u64) -> CallPolicy {
    checked!(attempts_of(attempt).with_timeout(Duration::from_secs(call)))
}
