//! This file knows how targets are compared: who is ejected, and who is let back in.
//!
//! Before changing this file read gRFC A50, "gRPC xDS Outlier Detection Support". The rates are
//! 16.16 fractions and every mean is left multiplied by the number of targets, so that nothing
//! is divided: `p < mean − f × deviation` is compared as `n p < S − f × √(n Q − S²)`, where S and
//! Q are the sums of the rates and of their squares.

use super::{EjectionPolicy, FailurePercentage, Outlier, OutlierChange, SuccessRate};
use crate::num::{widen, widen16};
use crate::{Instant, Standing, Target};

/// Compares the targets of one upstream, every [`interval`](EjectionPolicy::interval).
///
/// It needs no timer of its own: whoever picks a target can ask whether it is
/// [`due`](Self::due), because nothing changes while nobody picks. A sweep that comes late
/// judges the calls of a longer interval.
///
/// ```
/// use core::time::Duration;
/// use evenkeel_core::{
///     EjectionPolicy, FailurePercentage, Instant, Outlier, OutlierChange, OutlierSweep, Standing,
///     Target, checked,
/// };
///
/// const POLICY: EjectionPolicy = EjectionPolicy::DEFAULT
///     .with_failure_percentage(checked!(FailurePercentage::new(50, 2, 10)));
/// let mut targets = [Outlier::new(); 3];
/// let mut sweep = OutlierSweep::starting(Instant::ZERO, &POLICY);
///
/// targets[0].add(10, 0);
/// targets[1].add(2, 8);
/// let (now, mut changes) = (sweep.due(), Vec::new());
/// sweep.run(now, &mut targets, &POLICY, |_| true, |target, change| changes.push((target, change)));
/// assert_eq!(changes, [(Target::new(1), OutlierChange::Ejected)]);
/// assert_eq!(targets[1].standing(now), Standing::Suspect);
/// assert_eq!(sweep.due().since(now).as_duration(), Duration::from_secs(10));
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct OutlierSweep {
    due: Instant,
}

impl OutlierSweep {
    /// The first sweep is due an interval after `now`.
    pub const fn starting(now: Instant, policy: &EjectionPolicy) -> Self {
        Self { due: now.after(policy.interval) }
    }

    /// When the next sweep should be run. Before that it does nothing.
    pub const fn due(&self) -> Instant {
        self.due
    }

    /// Compares `targets` (by number), if it is time; `changed` is told of each that is ejected
    /// or back.
    ///
    /// `healthy` says of a target whether a health check has nothing against it: the last target
    /// that is healthy and not out is never ejected. Targets after the 65,535th are left alone.
    pub fn run(
        &mut self,
        now: Instant,
        targets: &mut [Outlier],
        policy: &EjectionPolicy,
        healthy: impl Fn(Target) -> bool,
        changed: impl FnMut(Target, OutlierChange),
    ) {
        if now < self.due {
            return;
        }
        self.due = now.after(policy.interval);
        let mut round = Round::begin(now, targets, policy, (healthy, changed));
        if let Some(rule) = &policy.success_rate {
            round.eject_below_the_others(rule);
        }
        if let Some(rule) = &policy.failure_percentage {
            round.eject_failing(rule);
        }
        round.finish();
    }
}

/// One sweep, and what it knows of all targets together.
struct Round<'a, H, C> {
    now: Instant,
    targets: &'a mut [Outlier],
    policy: &'a EjectionPolicy,
    healthy: H,
    changed: C,
    /// How many targets there are, are ejected, and are healthy and not out.
    total: u32,
    ejected: u32,
    up: u32,
}

impl<'a, H: Fn(Target) -> bool, C: FnMut(Target, OutlierChange)> Round<'a, H, C> {
    fn begin(
        now: Instant,
        targets: &'a mut [Outlier],
        policy: &'a EjectionPolicy,
        (healthy, changed): (H, C),
    ) -> Self {
        let (mut total, mut ejected, mut up) = (0u32, 0u32, 0u32);
        for (target, outlier) in numbered(targets) {
            let is_up = outlier.standing(now) == Standing::Up && healthy(target);
            total = total.saturating_add(1);
            ejected = ejected.saturating_add(u32::from(outlier.ejected));
            up = up.saturating_add(u32::from(is_up));
        }
        Self { now, targets, policy, healthy, changed, total, ejected, up }
    }

    fn eject_below_the_others(&mut self, rule: &SuccessRate) {
        let (mut hosts, mut sum, mut squares) = (0u16, 0u64, 0u64);
        for (_, outlier) in numbered(self.targets) {
            if outlier.calls() >= widen(rule.min_requests) {
                let rate = outlier.success_rate();
                hosts = hosts.saturating_add(1);
                sum = sum.saturating_add(rate);
                squares = squares.saturating_add(rate.wrapping_mul(rate));
            }
        }
        if hosts < rule.min_hosts {
            return;
        }
        let hosts = widen16(hosts);
        // Below 2^16 targets and rates of at most 2^16 no product reaches 2^64, and none is
        // negative: n Q ≥ S² for any numbers.
        let deviation =
            square_root(hosts.wrapping_mul(squares).saturating_sub(sum.wrapping_mul(sum)));
        let reach = widen(rule.factor).saturating_mul(deviation);
        let mean = sum.saturating_mul(1_000);
        self.eject(|outlier| {
            let rate = hosts.wrapping_mul(outlier.success_rate()).saturating_mul(1_000);
            outlier.calls() >= widen(rule.min_requests) && rate.saturating_add(reach) < mean
        });
    }

    fn eject_failing(&mut self, rule: &FailurePercentage) {
        let mut hosts = 0u16;
        for (_, outlier) in numbered(self.targets) {
            if outlier.calls() >= widen(rule.min_requests) {
                hosts = hosts.saturating_add(1);
            }
        }
        if hosts < rule.min_hosts {
            return;
        }
        self.eject(|outlier| {
            let limit = outlier.calls().saturating_mul(crate::num::widen8to64(rule.threshold));
            outlier.calls() >= widen(rule.min_requests)
                && widen(outlier.failures).saturating_mul(100) > limit
        });
    }

    /// Ejects those that `deserve` it, in their order, while there is room.
    fn eject(&mut self, deserve: impl Fn(&Outlier) -> bool) {
        for (target, outlier) in numbered(self.targets) {
            // One may always be ejected; from the second on their share must stay in the limit.
            let percent = u32::from(self.policy.max_percent);
            let with_this = self.ejected.saturating_add(1).saturating_mul(100);
            let has_room = self.ejected == 0 || with_this <= self.total.saturating_mul(percent);
            let is_up = outlier.standing(self.now) == Standing::Up && (self.healthy)(target);
            let somebody_else_is_up = self.up > u32::from(is_up);
            if outlier.ejected || !has_room || !somebody_else_is_up || !deserve(outlier) {
                continue;
            }
            self.ejected = self.ejected.saturating_add(1);
            self.up = self.up.saturating_sub(u32::from(is_up));
            outlier.ejected = true;
            outlier.ejections = outlier.ejections.saturating_add(1);
            outlier.ejected_until = self.now.after(self.policy.time(outlier.ejections));
            (self.changed)(target, OutlierChange::Ejected);
        }
    }

    /// Lets back in whose time is over, shortens the next time of those who kept quiet, and
    /// begins to count anew.
    fn finish(mut self) {
        for (target, outlier) in numbered(self.targets) {
            if !outlier.ejected {
                outlier.ejections = outlier.ejections.saturating_sub(1);
            } else if self.now >= outlier.ejected_until {
                outlier.ejected = false;
                (self.changed)(target, OutlierChange::Returned);
            }
            outlier.successes = 0;
            outlier.failures = 0;
        }
    }
}

impl Outlier {
    fn calls(&self) -> u64 {
        widen(self.successes).saturating_add(widen(self.failures))
    }

    /// The share of successes as a 16.16 fraction, rounded down. Long division by hand: a machine
    /// without a divider would link a kilobyte for it.
    fn success_rate(&self) -> u64 {
        let (calls, mut rest, mut rate) = (self.calls(), widen(self.successes), 0u64);
        if rest >= calls {
            return 1 << 16;
        }
        for _ in 0..16 {
            rest <<= 1;
            rate <<= 1;
            if rest >= calls {
                rest = rest.wrapping_sub(calls);
                rate |= 1;
            }
        }
        rate
    }
}

/// Not `enumerate`: its counter could overflow as far as the compiler can tell.
fn numbered(targets: &mut [Outlier]) -> impl Iterator<Item = (Target, &mut Outlier)> {
    (0..u16::MAX).map(Target::new).zip(targets)
}

/// The square root, rounded down, bit by bit.
const fn square_root(value: u64) -> u64 {
    let (mut rest, mut root, mut bit) = (value, 0u64, 1u64 << 62);
    while bit != 0 {
        let trial = root.wrapping_add(bit);
        root >>= 1;
        if rest >= trial {
            rest = rest.wrapping_sub(trial);
            root = root.wrapping_add(bit);
        }
        bit >>= 2;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_rounded_down() {
        for root in [0, 1, 2, 3, 1_000, 65_536, (1 << 32) - 1] {
            let square = root * root;
            assert_eq!(square_root(square), root);
            assert_eq!(square_root(square + 2 * root), root, "just below the next square");
        }
        assert_eq!(square_root(u64::MAX), (1 << 32) - 1);
    }
}
