//! This file knows the validation suite: published and closed-form results a run must meet.
//!
//! Whoever trusts a simulator has a reason to. Each check here says what is known from elsewhere, how
//! far off is still agreement, and what comes out; [`outage`] adds the standard outage under every
//! policy, with what it did in an independent implementation.

mod backoff;
mod failing;
mod metastable;
pub mod outage;
pub mod platform;
mod schedules;
mod spread;
mod tokens;

use evenkeel_core::{Backoff, Jitter, ThrottlePolicy};

/// What is validated. A test replaces a part to see that the suite would notice.
#[derive(Clone, Copy, Debug)]
pub struct Machines {
    /// The waits of the optimistic-concurrency contest.
    pub waits: fn(Jitter) -> Backoff,
    /// gRPC A6's throttle for these tokens and this ratio in thousandths.
    pub throttle: fn(u16, u32) -> ThrottlePolicy,
}

/// A result that is known.
#[derive(Clone, Copy)]
pub struct Check {
    /// Its name: V1 to V25.
    pub id: &'static str,
    /// Who found it.
    pub source: &'static str,
    run: fn(&Machines) -> Vec<Row>,
}

/// One number of a check.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What was run.
    pub what: String,
    /// What is known.
    pub expected: String,
    /// How far off is still agreement.
    pub tolerance: String,
    /// What came out.
    pub got: String,
    /// Whether that agrees.
    pub passes: bool,
}

impl Machines {
    /// The shipped ones.
    pub const SHIPPED: Self = Self { waits: crate::original_waits, throttle: grpc };
}

impl Check {
    /// Runs it.
    pub fn run(&self, machines: &Machines) -> Vec<Row> {
        (self.run)(machines)
    }
}

impl core::fmt::Debug for Check {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Check").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Row {
    /// Agreement within a share of the expected value.
    fn within(what: String, expected: f64, share: f64, got: f64) -> Self {
        let passes = (got - expected).abs() <= share * expected.abs();
        let tolerance = format!("±{} %", share * 100.0);
        Self { what, expected: number(expected), tolerance, got: number(got), passes }
    }

    /// Agreement within an absolute distance.
    fn near(what: String, expected: f64, distance: f64, got: f64) -> Self {
        let passes = (got - expected).abs() <= distance;
        let tolerance = format!("±{distance}");
        Self { what, expected: number(expected), tolerance, got: number(got), passes }
    }

    /// Agreement with a band.
    fn between(what: String, low: f64, high: f64, got: f64) -> Self {
        let passes = low <= got && got <= high;
        let expected = format!("{low} to {high}");
        Self { what, expected, tolerance: "band".into(), got: number(got), passes }
    }

    /// Exact agreement.
    fn exactly<T: PartialEq + core::fmt::Debug>(what: String, expected: &T, got: &T) -> Self {
        let passes = expected == got;
        let (expected, got) = (format!("{expected:?}"), format!("{got:?}"));
        Self { what, expected, tolerance: "exact".into(), got, passes }
    }
}

/// All checks but the outage table, in the order of their names.
pub const CHECKS: &[Check] = &[
    Check { id: "V1", source: "AWS backoff simulator, write calls", run: backoff::calls },
    Check { id: "V2", source: "AWS backoff simulator, time", run: backoff::times },
    Check { id: "V3", source: "AWS Architecture Blog, 2015: orderings", run: backoff::orderings },
    Check { id: "V4", source: "Brooker 2022: failing server, 3 retries", run: failing::retries },
    Check { id: "V5", source: "Brooker 2022: failing server, adaptive", run: failing::adaptive },
    Check {
        id: "V7",
        source: "SRE book ch. 22, AWS Builders' Library: layers",
        run: failing::layers,
    },
    Check { id: "V8", source: "gRPC A6: when retries stop", run: tokens::threshold },
    Check { id: "V9", source: "gRPC A6, AWS SDK, MongoDB: token traces", run: tokens::traces },
    Check { id: "V10", source: "The Tail at Scale: fan-out", run: spread::fan_out },
    Check { id: "V13", source: "Bender et al.: batch backoff", run: spread::batch_backoff },
    Check { id: "V15", source: "renewal: share of time a breaker is open", run: failing::breakers },
    Check { id: "V16", source: "Bronson et al., HotOS'21", run: metastable::bronson },
    Check { id: "V17", source: "fluid law without retries", run: metastable::without_retries },
    Check { id: "V18", source: "fluid law with a budget", run: metastable::with_budget },
    Check { id: "V20", source: "Huang et al., OSDI'22", run: metastable::osdi },
    Check { id: "V22", source: "RFC 7252 (CoAP): worst case", run: schedules::coap },
    Check { id: "V23", source: "RFC 2131 (DHCP): schedule", run: schedules::dhcp },
    Check { id: "V24", source: "reconnect storm: free of scale", run: spread::storm },
    Check { id: "V25", source: "same on every platform", run: platform::counts },
];

fn grpc(tokens: u16, ratio: u32) -> ThrottlePolicy {
    ThrottlePolicy::grpc(tokens, ratio).unwrap_or_default()
}

/// As many digits as a person compares.
fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.3}"),
        _ => format!("{value:.4}"),
    }
}
