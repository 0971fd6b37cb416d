//! This file knows the section `[breaker]`: when a circuit opens, for how long, what closes it.

use core::time::Duration;

use evenkeel_core::{BreakerPolicy, CallPolicy, CodeSet, Invalid, Trip};

use super::rule::{self, BreakerRule};
use crate::keys::{Block, Keys};
use crate::kind::{Codes, Count, Decimal, OneOf, Span};

/// `[breaker]`: when the circuit of a target and method opens, for how long, and what closes it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Breaker {
    pub(crate) mode: Mode,
    pub(crate) fail_threshold: u16,
    pub(crate) share: u8,
    pub(crate) window: Duration,
    pub(crate) window_calls: u16,
    pub(crate) min_calls: u32,
    pub(crate) slow_after: Option<Duration>,
    pub(crate) slow_share: u8,
    pub(crate) failure_codes: CodeSet,
    pub(crate) recovery_timeout: Duration,
    pub(crate) growth: u32,
    pub(crate) max_open: Option<Duration>,
    jitter: u32,
    half_open_max_calls: u8,
    successes_to_close: u8,
    max_methods: u32,
    idle_ttl: Duration,
    short_slice: Duration,
    rule: BreakerRule,
    policy: BreakerPolicy,
}

/// What a breaker looks at.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Mode {
    Consecutive,
    Count,
    Time,
}

impl Breaker {
    /// What opens it.
    pub const fn rule(&self) -> BreakerRule {
        self.rule
    }

    /// Everything but the rule, with `trip` for it. Open times vary with `seed`: a fleet whose
    /// members share one tries again in step, so give each its own.
    pub fn policy<T: Trip>(&self, trip: T, seed: u32) -> BreakerPolicy<T> {
        // Only a share above one is refused, and that was when the section was read.
        let spread = self.policy.with_open_jitter(self.open_jitter(), seed).unwrap_or(self.policy);
        spread.with_trip(trip)
    }

    /// The spread of open times in thousandths, for whoever draws them with many seeds.
    pub fn open_jitter(&self) -> u16 {
        u16::try_from(self.jitter).unwrap_or(u16::MAX)
    }

    /// How many breakers are kept for one upstream, all targets together.
    pub const fn max_methods(&self) -> u32 {
        self.max_methods
    }

    /// After how long without a call a breaker that protects nothing is forgotten.
    pub const fn idle_ttl(&self) -> Duration {
        self.idle_ttl
    }

    /// A slice of a call's time that is too short to judge a target by.
    pub const fn short_slice(&self) -> Duration {
        self.short_slice
    }
}

impl Block for Breaker {
    const MEANING: &'static str = "When the circuit of a target and method opens, for how long, \
                                   and what closes it again. It counts attempts.";

    fn keys(&mut self, keys: &mut impl Keys) {
        self.opening(keys);
        self.closing(keys);
        keys.key(
            "max_methods",
            Count(1..=u32::MAX),
            &mut self.max_methods,
            "How many breakers are kept for one upstream, all its targets together.",
        );
        keys.key(
            "idle_ttl",
            Span::POSITIVE,
            &mut self.idle_ttl,
            "After how long without a call a breaker that protects nothing is forgotten.",
        );
        keys.key(
            "short_slice",
            Span::ANY,
            &mut self.short_slice,
            "An attempt that was given less than this, and than its method's own timeouts give it, and \
             ran into our own deadline says nothing about its target. Zero judges every attempt.",
        );
    }

    fn check(&mut self) -> Result<(), Invalid> {
        CallPolicy::DEFAULT.with_short_slice(self.short_slice)?;
        let mut policy = BreakerPolicy::DEFAULT
            .with_failures(self.failure_codes)
            .with_open_for(self.recovery_timeout)?
            .with_growth(self.growth, self.max_open.unwrap_or(UNCAPPED))?
            .with_open_jitter(self.open_jitter(), 0)?
            .with_max_trials(self.half_open_max_calls)?
            .with_successes_to_close(self.successes_to_close)?;
        if let Some(limit) = self.slow_after {
            policy = policy.with_slow_after(limit)?;
        }
        self.policy = policy;
        self.rule = rule::of(self)?;
        Ok(())
    }
}

impl Breaker {
    fn opening(&mut self, keys: &mut impl Keys) {
        let percent = Count(1..=100u8);
        keys.key("mode", MODES, &mut self.mode, "What opens it: see the keys that name a mode.");
        keys.key(
            "fail_threshold",
            Count(1..=u16::MAX),
            &mut self.fail_threshold,
            "consecutive: how many failures in a row.",
        );
        keys.key(
            "share",
            percent.clone(),
            &mut self.share,
            "count, time: what share of the calls failed, in percent.",
        );
        keys.key("window", Span::POSITIVE, &mut self.window, "time: of the calls of this long.");
        keys.key(
            "window_calls",
            Count(1..=128u16),
            &mut self.window_calls,
            "count: of this many calls.",
        );
        keys.key(
            "min_calls",
            // What ten buckets count at least.
            Count(1..=327_670u32),
            &mut self.min_calls,
            "count, time: from how many calls on it is judged; with count, at most window_calls.",
        );
        keys.key(
            "slow_after",
            Span::OR_NONE,
            &mut self.slow_after,
            "From how long on a call is slow. A slow trial opens the circuit again.",
        );
        keys.key(
            "slow_share",
            percent,
            &mut self.slow_share,
            "count, time, with slow_after: what share of the calls was slow, in percent.",
        );
        keys.key(
            "failure_codes",
            Codes,
            &mut self.failure_codes,
            "The status codes that speak against a target. CANCELLED never does.",
        );
    }

    fn closing(&mut self, keys: &mut impl Keys) {
        keys.key(
            "recovery_timeout",
            Span::ANY,
            &mut self.recovery_timeout,
            "How long it stays open before the first trial.",
        );
        keys.key(
            "growth",
            Decimal(1_000..=65_535_000),
            &mut self.growth,
            "By how much it stays open longer with every reopening in a row.",
        );
        keys.key(
            "max_open",
            Span::OR_NONE,
            &mut self.max_open,
            "It never stays open longer; below recovery_timeout it wins.",
        );
        keys.key(
            "jitter",
            Decimal(0..=1_000),
            &mut self.jitter,
            "Spreads the open times by ± this share, so that a fleet does not come back in step.",
        );
        keys.key(
            "half_open_max_calls",
            Count(1..=u8::MAX),
            &mut self.half_open_max_calls,
            "How many trials may be under way at a time.",
        );
        keys.key(
            "successes_to_close",
            Count(1..=u8::MAX),
            &mut self.successes_to_close,
            "How many successful trials close it.",
        );
    }
}

impl Default for Breaker {
    fn default() -> Self {
        let policy = BreakerPolicy::DEFAULT;
        Self {
            mode: Mode::Consecutive,
            fail_threshold: policy.trip().threshold(),
            share: 50,
            window: Duration::from_secs(10),
            window_calls: 100,
            min_calls: 20,
            slow_after: None,
            slow_share: 100,
            failure_codes: CodeSet::FAILURES,
            recovery_timeout: policy.open_for().as_duration(),
            growth: 1_000,
            max_open: None,
            jitter: 0,
            half_open_max_calls: policy.max_trials(),
            successes_to_close: policy.successes_to_close(),
            max_methods: 1_000,
            idle_ttl: Duration::from_secs(3_600),
            short_slice: Duration::from_millis(100),
            rule: BreakerRule::Consecutive(*policy.trip()),
            policy,
        }
    }
}

const MODES: OneOf<Mode> =
    OneOf(&[("consecutive", Mode::Consecutive), ("count", Mode::Count), ("time", Mode::Time)]);

/// The longest open time there can be.
const UNCAPPED: Duration = Duration::from_micros((1 << 48) - 1);
