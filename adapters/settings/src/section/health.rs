//! This file knows the section `[health]`: how targets are asked whether they are well.

use core::time::Duration;

use evenkeel_core::{HealthPolicy, Invalid, Unimplemented};

use crate::keys::{Block, Keys};
use crate::kind::{Count, OneOf, Span, Text};

/// `[health]`: how targets are asked whether they are well.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Health {
    mode: HealthMode,
    check_interval: Duration,
    timeout: Duration,
    max_backoff: Duration,
    service: Box<str>,
    rise: u8,
    fall: u8,
    unimplemented: Unimplemented,
    policy: HealthPolicy,
}

/// How a target's health is learned.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HealthMode {
    /// By asking at intervals (`grpc.health.v1.Health/Check`).
    Check,
    /// By being told of every change (`grpc.health.v1.Health/Watch`, gRPC A17).
    Watch,
}

impl Health {
    /// How it is learned.
    pub const fn mode(&self) -> HealthMode {
        self.mode
    }

    /// Intervals, counts, and what a server without the health service is taken to be.
    pub const fn policy(&self) -> HealthPolicy {
        self.policy
    }

    /// The service asked about; empty for the server as a whole.
    pub fn service(&self) -> &str {
        &self.service
    }
}

impl Block for Health {
    const MEANING: &'static str = "How targets are asked whether they are well \
                                   (grpc.health.v1.Health), over channels of their own.";

    fn keys(&mut self, keys: &mut impl Keys) {
        keys.key(
            "mode",
            OneOf(&[("check", HealthMode::Check), ("watch", HealthMode::Watch)]),
            &mut self.mode,
            "check asks at intervals; watch is told of every change (gRPC A17).",
        );
        keys.key(
            "check_interval",
            Span::POSITIVE,
            &mut self.check_interval,
            "From the end of a check to the next.",
        );
        keys.key("timeout", Span::POSITIVE, &mut self.timeout, "How long a check may take.");
        keys.key(
            "max_backoff",
            Span::ANY,
            &mut self.max_backoff,
            "The interval doubles with every failed check in a row, up to this; below \
             check_interval it has no effect.",
        );
        keys.key(
            "service",
            Text { words: "the full name of a service, or nothing", check: |_| Ok(()) },
            &mut self.service,
            "The service asked about; empty for the server as a whole.",
        );
        let equal = Count(1..=u8::MAX);
        keys.key(
            "rise",
            equal.clone(),
            &mut self.rise,
            "How many good answers in a row make a target healthy; its first one always does.",
        );
        keys.key(
            "fall",
            equal,
            &mut self.fall,
            "How many bad answers in a row make a target unhealthy; its first one always does.",
        );
        keys.key(
            "unimplemented",
            OneOf(&[("healthy", Unimplemented::Healthy), ("unhealthy", Unimplemented::Unhealthy)]),
            &mut self.unimplemented,
            "What a server without the health service is taken to be.",
        );
    }
    fn check(&mut self) -> Result<(), Invalid> {
        self.policy = HealthPolicy::DEFAULT
            .with_interval(self.check_interval)?
            .with_timeout(self.timeout)?
            .with_max_backoff(self.max_backoff)?
            .with_counts(self.rise, self.fall)?
            .with_unimplemented(self.unimplemented);
        Ok(())
    }
}

impl Default for Health {
    fn default() -> Self {
        let policy = HealthPolicy::DEFAULT;
        Self {
            mode: HealthMode::Check,
            check_interval: policy.interval().as_duration(),
            timeout: policy.timeout().as_duration(),
            max_backoff: policy.max_backoff().as_duration(),
            service: "".into(),
            rise: 1,
            fall: 1,
            unimplemented: policy.unimplemented(),
            policy,
        }
    }
}
