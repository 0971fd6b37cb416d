//! This file knows the settings of a tested call in plain numbers, so that a model computes from
//! these and never from the getters of the policy under test.

use core::time::Duration;

use evenkeel_core::{Backoff, CallPolicy, Code, CodeSet, Deadline, Instant, Jitter, RetryPolicy};
use proptest::prelude::*;
use proptest::sample::select;

/// The settings of one call. Times are microseconds; small, so that edges are met all the time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The clock's reading when the call is made.
    pub start: u64,
    /// The caller's deadline, from `start` on.
    pub caller: Option<u64>,
    /// The policy's time for the whole call.
    pub timeout: Option<u64>,
    /// The limit for each attempt.
    pub attempt_timeout: Option<u64>,
    /// Slices below this are too short to judge by.
    pub short_slice: u64,
    /// When a hedge is due.
    pub hedge_after: Option<u64>,
    /// Attempts, the first included.
    pub max_attempts: u16,
    /// Whether `DEADLINE_EXCEEDED` is retried, besides `UNAVAILABLE`.
    pub retry_deadline: bool,
    /// Whether the method may be executed twice.
    pub idempotent: bool,
    /// The first backoff; it doubles.
    pub initial: u64,
    /// The longest backoff.
    pub max: u64,
    /// How backoffs are spread.
    pub jitter: Jitter,
    /// The longest wait a peer may ask for.
    pub max_hint: u64,
    /// Whether the call waits for an eligible target.
    pub wait_for_ready: bool,
    /// The seed of the call.
    pub seed: u32,
}

impl Settings {
    /// Three attempts in 200 µs, 20 µs and 40 µs apart, 60 µs each.
    pub const PLAIN: Self = Self {
        start: 1_000,
        caller: None,
        timeout: Some(200),
        attempt_timeout: Some(60),
        short_slice: 40,
        hedge_after: None,
        max_attempts: 3,
        retry_deadline: true,
        idempotent: true,
        initial: 20,
        max: 40,
        jitter: Jitter::None,
        max_hint: 50,
        wait_for_ready: false,
        seed: 7,
    };

    /// The policy of these settings.
    pub fn policy(&self) -> CallPolicy {
        let valid = "the settings of a script are in range";
        let backoff = Backoff::new(micros(self.initial), micros(self.max)).expect(valid);
        let retry = RetryPolicy::DEFAULT
            .with_backoff(backoff.with_jitter(self.jitter).expect(valid))
            .with_codes(self.codes())
            .with_max_attempts(self.max_attempts)
            .expect(valid)
            .with_max_hint(micros(self.max_hint))
            .expect(valid);
        let retry = if self.idempotent { retry } else { retry.not_idempotent() };
        let mut policy = CallPolicy::DEFAULT.unbounded().with_retry(retry);
        policy = policy.with_short_slice(micros(self.short_slice)).expect(valid);
        if let Some(timeout) = self.timeout {
            policy = policy.with_timeout(micros(timeout)).expect(valid);
        }
        if let Some(timeout) = self.attempt_timeout {
            policy = policy.with_attempt_timeout(micros(timeout)).expect(valid);
        }
        if let Some(delay) = self.hedge_after {
            policy = policy.with_hedge_after(micros(delay)).expect(valid);
        }
        policy
    }

    /// The codes that are retried.
    pub fn codes(&self) -> CodeSet {
        let codes = CodeSet::of(&[Code::Unavailable]);
        if self.retry_deadline { codes.with(Code::DeadlineExceeded) } else { codes }
    }

    /// The caller's deadline.
    pub fn caller(&self) -> Deadline {
        let at = |left| Deadline::at(Instant::from_micros(self.start.saturating_add(left)));
        self.caller.map_or(Deadline::NONE, at)
    }

    /// When the call must be over; `u64::MAX` for never.
    pub fn end(&self) -> u64 {
        let left = self.caller.unwrap_or(u64::MAX).min(self.timeout.unwrap_or(u64::MAX));
        self.start.saturating_add(left)
    }

    /// When an attempt started at `now` must be over.
    pub fn attempt_end(&self, now: u64) -> u64 {
        now.saturating_add(self.attempt_timeout.unwrap_or(u64::MAX)).min(self.end())
    }

    /// How long an attempt may take that nothing cuts short.
    pub fn longest_attempt(&self) -> u64 {
        self.attempt_timeout.unwrap_or(u64::MAX).min(self.timeout.unwrap_or(u64::MAX))
    }

    /// Whether a slice of `span` is shorter than what attempts are normally given.
    pub fn cuts_short(&self, span: u64) -> bool {
        let normal = self.longest_attempt();
        span < self.short_slice.min(normal - normal / 64)
    }

    /// Bounds of the `n`-th backoff in a row (0 is the first), both included.
    pub fn backoff(&self, n: u32) -> (u64, u64) {
        let raw = (u128::from(self.initial) << n.min(60)).min(u128::from(self.max)) as u64;
        match self.jitter {
            Jitter::None => (raw, raw),
            Jitter::Full => (0, raw),
            Jitter::Equal => (raw / 2, raw),
            Jitter::Decorrelated => (self.initial.min(self.max), self.max),
            Jitter::Proportional(share) => {
                let side = raw * u64::from(share) / 1_000;
                (raw - side, (raw + side).min(self.max))
            }
        }
    }
}

/// Any settings a script may run under.
pub fn any_settings() -> impl Strategy<Value = Settings> {
    let times = (
        select(vec![0, 1_000, 1 << 49]),
        select(vec![None, None, Some(0), Some(70), Some(300)]),
        select(vec![None, Some(90), Some(200), Some(1_000)]),
        select(vec![None, Some(30), Some(60)]),
        select(vec![0, 20, 45]),
        select(vec![None, Some(0), Some(25)]),
    );
    let waits = (
        select(vec![0, 10, 20]),
        select(vec![5, 20, 80]),
        select(JITTERS.to_vec()),
        select(vec![0, 15, 50]),
    );
    let rules = (1..5u16, any::<bool>(), any::<bool>(), any::<bool>(), any::<u32>());
    (times, waits, rules).prop_map(|(times, waits, rules)| Settings {
        start: times.0,
        caller: times.1,
        timeout: times.2,
        attempt_timeout: times.3,
        short_slice: times.4,
        hedge_after: times.5,
        initial: waits.0,
        max: waits.1,
        jitter: waits.2,
        max_hint: waits.3,
        max_attempts: rules.0,
        retry_deadline: rules.1,
        idempotent: rules.2,
        wait_for_ready: rules.3,
        seed: rules.4,
    })
}

/// Settings at the ends of their ranges, at both ends of the clock.
pub fn extreme_settings() -> impl Strategy<Value = Settings> {
    const LONGEST: u64 = (1 << 48) - 1;
    let spans = || select(vec![None, Some(1), Some(LONGEST)]);
    let times = (select(vec![0, LONGEST, u64::MAX - LONGEST, u64::MAX - 200]), spans(), spans());
    let waits = (select(vec![0, 1, LONGEST]), select(vec![0, 1, LONGEST]));
    let rules = (select(vec![1, 4, u16::MAX]), select(vec![0, LONGEST]));
    (any_settings(), times, waits, rules, spans()).prop_map(
        |(settings, times, waits, rules, hedge_after)| Settings {
            start: times.0,
            timeout: times.1,
            attempt_timeout: times.2,
            initial: waits.0,
            max: waits.1,
            max_attempts: rules.0,
            max_hint: rules.1,
            hedge_after,
            ..settings
        },
    )
}

fn micros(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

macro_rules! jitters {
    ($($kind:ident $(($end:expr))?),* $(,)?) => {
        /// Every kind of jitter, and the ends of those that have any: what the laws draw from.
        pub const JITTERS: [Jitter; [$(stringify!($kind)),*].len()] = [$(Jitter::$kind $(($end))?),*];

        // No law would look at a kind that is missing, so the compiler does not let it be missing.
        #[expect(unreachable_patterns, reason = "some have several ends")]
        const _: fn(Jitter) = |listed| match listed {
            $(Jitter::$kind { .. } => (),)*
        };
    };
}

jitters!(
    None,
    Full,
    Equal,
    Decorrelated,
    Proportional(0),
    Proportional(1),
    Proportional(100),
    Proportional(500),
    Proportional(999),
    Proportional(1_000),
);
