//! This file knows the section `[balancing.ejection]`: when a target that does worse than the
//! others is left alone.

use core::time::Duration;

use evenkeel_core::{EjectionPolicy, FailurePercentage, Invalid, SuccessRate};

use crate::keys::{Block, Keys};
use crate::kind::{Count, Decimal, OrNone, Span};

/// `[balancing.ejection]`: when a target that does worse than the others is left alone (gRPC A50).
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Ejection {
    interval: Duration,
    base_time: Duration,
    max_time: Duration,
    max_percent: u8,
    stdev_factor: Option<u32>,
    success_rate_min_hosts: u16,
    success_rate_min_requests: u32,
    failure_threshold: Option<u8>,
    failure_min_hosts: u16,
    failure_min_requests: u32,
    policy: EjectionPolicy,
}

impl Block for Ejection {
    const MEANING: &'static str = "When a target that does worse than the others is left alone, \
                                   for longer each time in a row (gRPC A50).";

    fn keys(&mut self, keys: &mut impl Keys) {
        self.times(keys);
        self.rules(keys);
    }

    fn check(&mut self) -> Result<(), Invalid> {
        let mut policy = EjectionPolicy::DEFAULT
            .without_success_rate()
            .without_failure_percentage()
            .with_interval(self.interval)?
            .with_times(self.base_time, self.max_time)?
            .with_max_percent(self.max_percent)?;
        if let Some(factor) = self.stdev_factor {
            let (hosts, requests) = (self.success_rate_min_hosts, self.success_rate_min_requests);
            policy = policy.with_success_rate(SuccessRate::new(factor, hosts, requests)?);
        }
        if let Some(threshold) = self.failure_threshold {
            let (hosts, requests) = (self.failure_min_hosts, self.failure_min_requests);
            let rule = FailurePercentage::new(threshold, hosts, requests)?;
            policy = policy.with_failure_percentage(rule);
        }
        self.policy = policy;
        Ok(())
    }
}

impl Ejection {
    pub(super) const fn policy(&self) -> EjectionPolicy {
        self.policy
    }

    fn times(&mut self, keys: &mut impl Keys) {
        keys.key(
            "interval",
            Span::POSITIVE,
            &mut self.interval,
            "How often the targets are compared.",
        );
        keys.key(
            "base_time",
            Span::POSITIVE,
            &mut self.base_time,
            "How long a target is left alone, times its ejections in a row.",
        );
        keys.key(
            "max_time",
            Span::ANY,
            &mut self.max_time,
            "It is never left alone longer, unless base_time is.",
        );
        keys.key(
            "max_percent",
            Count(0..=100u8),
            &mut self.max_percent,
            "What share of the targets may be ejected at a time, in percent; one always may, the \
             last one never.",
        );
    }

    fn rules(&mut self, keys: &mut impl Keys) {
        let (hosts, requests) = (Count(1..=u16::MAX), Count(1..=u32::MAX));
        keys.key(
            "stdev_factor",
            OrNone(Decimal(0..=1_000_000)),
            &mut self.stdev_factor,
            "Ejects a target whose share of successes is more than this many standard deviations \
             below the mean; \"none\" turns the rule off.",
        );
        keys.key(
            "success_rate_min_hosts",
            hosts.clone(),
            &mut self.success_rate_min_hosts,
            "That rule compares at least this many targets.",
        );
        keys.key(
            "success_rate_min_requests",
            requests.clone(),
            &mut self.success_rate_min_requests,
            "Each of which had at least this many calls in the interval.",
        );
        keys.key(
            "failure_threshold",
            OrNone(Count(0..=100u8)),
            &mut self.failure_threshold,
            "Ejects a target of whose calls more than this many percent failed; \"none\" turns the \
             rule off.",
        );
        keys.key(
            "failure_min_hosts",
            hosts,
            &mut self.failure_min_hosts,
            "That rule looks at no fewer targets than this.",
        );
        keys.key(
            "failure_min_requests",
            requests,
            &mut self.failure_min_requests,
            "Each of which had at least this many calls in the interval.",
        );
    }
}

impl Default for Ejection {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(10),
            base_time: Duration::from_secs(30),
            max_time: Duration::from_secs(300),
            max_percent: 10,
            stdev_factor: Some(1_900),
            success_rate_min_hosts: 5,
            success_rate_min_requests: 100,
            failure_threshold: Some(85),
            failure_min_hosts: 5,
            failure_min_requests: 50,
            policy: EjectionPolicy::DEFAULT,
        }
    }
}
