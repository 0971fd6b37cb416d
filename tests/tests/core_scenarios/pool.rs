//! This file knows an upstream of several targets, the way a pool picks among them.

use evenkeel_core::{
    BreakerPolicy, CallPolicy, CircuitBreaker, Deadline, Instant, Permit, Refusal, Report, Target,
    Throttle, ThrottlePolicy, Tried, Upstream, pick,
};

#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) policy: CallPolicy,
    pub(crate) breaker: BreakerPolicy,
    pub(crate) members: Vec<Member>,
    pub(crate) throttle: Option<(Throttle, ThrottlePolicy)>,
}

#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) breaker: CircuitBreaker,
    pub(crate) eligible: bool,
    /// The attempts that were booked on it.
    pub(crate) booked: Vec<Report>,
}

impl Pool {
    pub(crate) fn of(members: usize, policy: CallPolicy, breaker: BreakerPolicy) -> Self {
        let member =
            || Member { breaker: CircuitBreaker::new(), eligible: true, booked: Vec::new() };
        let members = (0..members).map(|_| member()).collect();
        Self { policy, breaker, members, throttle: None }
    }
}

impl Upstream for Pool {
    fn policy(&self) -> &CallPolicy {
        &self.policy
    }

    fn admit(
        &mut self,
        now: Instant,
        lease: Deadline,
        tried: Tried,
    ) -> Result<(Target, Permit), Refusal> {
        let numbered = (0u16..).map(Target::new).zip(&self.members);
        let eligible: Vec<Target> =
            numbered.filter(|(_, member)| member.eligible).map(|(target, _)| target).collect();
        let (members, policy) = (&mut self.members, &self.breaker);
        pick(eligible.into_iter(), tried, |target| {
            members[usize::from(target.number())].breaker.admit(now, lease, policy)
        })
    }

    fn record(&mut self, now: Instant, target: Target, permit: Permit, report: &Report) {
        let member = &mut self.members[usize::from(target.number())];
        member.booked.push(*report);
        member.breaker.record(now, permit, self.breaker.verdict(report), &self.breaker);
        if let Some((throttle, policy)) = &mut self.throttle {
            throttle.record(report, self.policy.retry().codes(), policy);
        }
    }

    fn retry_allowed(&mut self, _now: Instant) -> bool {
        match &mut self.throttle {
            Some((throttle, policy)) => throttle.allow(policy),
            None => true,
        }
    }
}
