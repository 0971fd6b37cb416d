//! This file knows the two rules of ejection, gRFC A50: which targets are the odd ones out.

use crate::Invalid;
use crate::num::{widen, widen8to64};

/// Ejects a target whose share of successes lies too far below the mean of all.
///
/// Too far is: more than `factor` standard deviations. Only targets with at least `min_requests`
/// calls in the interval are compared, and only if there are `min_hosts` of them.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct SuccessRate {
    pub(super) factor: u32,
    pub(super) min_hosts: u16,
    pub(super) min_requests: u32,
}

impl SuccessRate {
    /// 1.9 standard deviations, among five targets with a hundred calls each.
    pub const DEFAULT: Self = Self { factor: 1_900, min_hosts: 5, min_requests: 100 };

    /// More than `factor` thousandths of a standard deviation below the mean. At 0 every target
    /// below the mean is too far from it.
    ///
    /// # Errors
    ///
    /// Refuses a `factor` above 1,000,000, and `min_hosts` or `min_requests` of 0.
    pub const fn new(factor: u32, min_hosts: u16, min_requests: u32) -> Result<Self, Invalid> {
        if factor > 1_000_000 {
            let rule = "must be from 0 to 1000000, in thousandths of a standard deviation";
            let field = "balancing.ejection.stdev_factor";
            return Err(Invalid::new(field, widen(factor), "/1000", rule));
        }
        let (hosts, requests) = (
            "balancing.ejection.success_rate_min_hosts",
            "balancing.ejection.success_rate_min_requests",
        );
        match check_volume((hosts, min_hosts), (requests, min_requests)) {
            Ok(()) => Ok(Self { factor, min_hosts, min_requests }),
            Err(invalid) => Err(invalid),
        }
    }

    /// How far below the mean is too far, in thousandths of a standard deviation.
    pub const fn factor(&self) -> u32 {
        self.factor
    }

    /// How many targets must have enough calls.
    pub const fn min_hosts(&self) -> u16 {
        self.min_hosts
    }

    /// How many calls of an interval are enough.
    pub const fn min_requests(&self) -> u32 {
        self.min_requests
    }
}

/// Ejects a target of whose calls too large a share failed, whatever the others do.
///
/// Only targets with at least `min_requests` calls in the interval are looked at, and only if
/// there are `min_hosts` of them.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct FailurePercentage {
    pub(super) threshold: u8,
    pub(super) min_hosts: u16,
    pub(super) min_requests: u32,
}

impl FailurePercentage {
    /// More than 85 %, among five targets with fifty calls each.
    pub const DEFAULT: Self = Self { threshold: 85, min_hosts: 5, min_requests: 50 };

    /// *More* than `threshold` percent: exactly that share is not enough, and at 100 nobody is
    /// ejected. A50 says "greater than or equal to" of the setting and ">" in its algorithm; this
    /// is the algorithm's.
    ///
    /// # Errors
    ///
    /// Refuses a `threshold` above 100 %, and `min_hosts` or `min_requests` of 0.
    pub const fn new(threshold: u8, min_hosts: u16, min_requests: u32) -> Result<Self, Invalid> {
        if threshold > 100 {
            let rule = "must be from 0 to 100 % of the calls";
            let value = widen8to64(threshold);
            return Err(Invalid::new("balancing.ejection.failure_threshold", value, " %", rule));
        }
        let (hosts, requests) =
            ("balancing.ejection.failure_min_hosts", "balancing.ejection.failure_min_requests");
        match check_volume((hosts, min_hosts), (requests, min_requests)) {
            Ok(()) => Ok(Self { threshold, min_hosts, min_requests }),
            Err(invalid) => Err(invalid),
        }
    }

    /// More than this share of failures is too large, in percent.
    pub const fn threshold(&self) -> u8 {
        self.threshold
    }

    /// How many targets must have enough calls.
    pub const fn min_hosts(&self) -> u16 {
        self.min_hosts
    }

    /// How many calls of an interval are enough.
    pub const fn min_requests(&self) -> u32 {
        self.min_requests
    }
}

/// Each with the name of its setting.
const fn check_volume(
    (hosts, min_hosts): (&'static str, u16),
    (requests, min_requests): (&'static str, u32),
) -> Result<(), Invalid> {
    if min_hosts == 0 {
        return Err(Invalid::new(hosts, 0, "", "must be 1 or more targets with enough calls"));
    }
    if min_requests == 0 {
        return Err(Invalid::new(requests, 0, "", "must be 1 or more calls in an interval"));
    }
    Ok(())
}
