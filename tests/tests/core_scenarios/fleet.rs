//! This file knows an upstream of several targets as a pool has it: health, outliers, balancer.

use evenkeel_core::{
    Balancer, BreakerPolicy, CallPolicy, CircuitBreaker, Deadline, Instant, Members, Outlier,
    OutlierChange, OutlierPolicy, OutlierSweep, Permit, Refusal, Report, SmallRng, Standing,
    Strategy, Target, Tried, Upstream,
};

#[derive(Debug)]
pub(crate) struct Fleet {
    pub(crate) policy: CallPolicy,
    pub(crate) breaker: BreakerPolicy,
    pub(crate) outliers: OutlierPolicy,
    pub(crate) balancer: Balancer,
    pub(crate) members: Vec<Member>,
    pub(crate) changes: Vec<(u16, OutlierChange)>,
    rng: SmallRng,
}

#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) breaker: CircuitBreaker,
    /// What a health check says; without a checker everybody is healthy.
    pub(crate) healthy: Option<bool>,
    pub(crate) outlier: Outlier,
    pub(crate) weight: u32,
    pub(crate) in_flight: u32,
}

impl Fleet {
    pub(crate) fn of(members: usize, strategy: Strategy, breaker: BreakerPolicy) -> Self {
        let member = Member {
            breaker: CircuitBreaker::new(),
            healthy: Some(true),
            outlier: Outlier::new(),
            weight: 1_000,
            in_flight: 0,
        };
        Self {
            policy: CallPolicy::DEFAULT,
            breaker,
            outliers: OutlierPolicy::DEFAULT,
            balancer: Balancer::new(strategy),
            members: vec![member; members],
            changes: Vec::new(),
            rng: SmallRng::seeded(1),
        }
    }

    /// Whom an attempt goes to that comes to nothing.
    pub(crate) fn pick(&mut self, now: Instant) -> Result<u16, Refusal> {
        self.admit(now, Deadline::NONE, Tried::NONE).map(|(target, _)| target.number())
    }

    /// Whom so many attempts go to, or nobody.
    pub(crate) fn picks(&mut self, now: Instant, count: usize) -> Vec<Result<u16, Refusal>> {
        (0..count).map(|_| self.pick(now)).collect()
    }

    /// An attempt on whatever target comes, which ends like this.
    pub(crate) fn attempt(
        &mut self,
        now: Instant,
        report: impl FnOnce(u16) -> Report,
    ) -> Result<u16, Refusal> {
        let (target, permit) = self.admit(now, Deadline::NONE, Tried::NONE)?;
        self.record(now, target, permit, &report(target.number()));
        Ok(target.number())
    }

    pub(crate) fn health(&mut self, verdicts: &[Option<bool>]) {
        for (member, verdict) in self.members.iter_mut().zip(verdicts) {
            member.healthy = *verdict;
        }
    }

    pub(crate) fn sweep(&mut self, now: Instant, sweep: &mut OutlierSweep) {
        let Some(policy) = self.outliers.ejection() else { return };
        let mut outliers: Vec<Outlier> = self.members.iter().map(|one| one.outlier).collect();
        let (members, changes) = (&self.members, &mut self.changes);
        let healthy = |target: Target| members[usize::from(target.number())].healthy == Some(true);
        let told = |target: Target, change| changes.push((target.number(), change));
        sweep.run(now, &mut outliers, policy, healthy, told);
        for (member, outlier) in self.members.iter_mut().zip(outliers) {
            member.outlier = outlier;
        }
    }
}

/// The members, at one moment.
struct Seen<'a>(Instant, &'a [Member]);

impl Members for Seen<'_> {
    fn count(&self) -> u16 {
        self.1.len() as u16
    }

    fn standing(&self, target: Target) -> Standing {
        let member = &self.1[usize::from(target.number())];
        if member.healthy == Some(true) { member.outlier.standing(self.0) } else { Standing::Down }
    }

    fn in_flight(&self, target: Target) -> u32 {
        self.1[usize::from(target.number())].in_flight
    }

    fn weight(&self, target: Target) -> u32 {
        self.1[usize::from(target.number())].weight
    }
}

impl Upstream for Fleet {
    fn policy(&self) -> &CallPolicy {
        &self.policy
    }

    fn admit(
        &mut self,
        now: Instant,
        lease: Deadline,
        tried: Tried,
    ) -> Result<(Target, Permit), Refusal> {
        let mut breakers: Vec<CircuitBreaker> =
            self.members.iter().map(|member| member.breaker.clone()).collect();
        let seen = Seen(now, &self.members);
        let picked = self.balancer.pick(&seen, tried, &mut self.rng, |target| {
            breakers[usize::from(target.number())].admit(now, lease, &self.breaker)
        });
        for (member, breaker) in self.members.iter_mut().zip(breakers) {
            member.breaker = breaker;
        }
        picked
    }

    fn record(&mut self, now: Instant, target: Target, permit: Permit, report: &Report) {
        let member = &mut self.members[usize::from(target.number())];
        member.breaker.record(now, permit, self.breaker.verdict(report), &self.breaker);
        if let Some(change) = member.outlier.record(now, report, &self.outliers) {
            self.changes.push((target.number(), change));
        }
    }
}
