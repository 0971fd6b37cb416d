//! This file knows an upstream that does as it is told, writes down every question it is asked,
//! and notices when a call breaks its side of the contract.

use evenkeel_core::{
    BreakerPolicy, CallPolicy, CircuitBreaker, Deadline, Instant, Permit, Refusal, Report, Target,
    Tried, Upstream, Weight,
};

use super::script::Peers;

/// One question of a call to its upstream, with the answer. `id` numbers the admitted attempts.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields are the arguments of the trait's methods")]
pub enum Contact {
    /// An attempt was let out.
    Admitted { id: usize, now: u64, lease: u64, target: u16 },
    /// The throttle was asked.
    Asked { granted: bool },
    /// An attempt was booked.
    Recorded { id: usize, now: u64, report: Report },
    /// No attempt was let out.
    Refused(Refusal),
    /// An attempt without a deadline was said to be under way.
    Renewed { id: usize },
}

/// The upstream of a scripted call.
#[derive(Debug)]
pub struct Ghost {
    policy: CallPolicy,
    /// What is said to the next request for a target.
    pub peers: Peers,
    /// Whether retries are granted.
    pub throttle: bool,
    /// Broken promises, in words.
    pub faults: Vec<String>,
    log: Vec<Contact>,
    admitted: Vec<Admitted>,
    mint: CircuitBreaker,
    may_ask: bool,
}

/// An admitted attempt, and the twin of the permit that was given for it.
#[derive(Debug)]
struct Admitted {
    twin: Permit,
    target: Target,
    lease: Deadline,
    booked: bool,
}

impl Ghost {
    /// Two targets and an open-handed throttle.
    pub fn new(policy: CallPolicy) -> Self {
        Self {
            policy,
            peers: Peers::Both,
            throttle: true,
            faults: Vec::new(),
            log: Vec::new(),
            admitted: Vec::new(),
            mint: CircuitBreaker::new(),
            may_ask: false,
        }
    }

    /// The questions since the last time, and forgets them.
    pub fn take_log(&mut self) -> Vec<Contact> {
        core::mem::take(&mut self.log)
    }

    /// How many attempts were let out.
    pub fn admitted(&self) -> usize {
        self.admitted.len()
    }

    /// Whether attempt `id` has been booked.
    pub fn is_booked(&self, id: usize) -> bool {
        self.admitted[id].booked
    }

    /// Every promise the call broke, attempts it never booked included.
    pub fn into_faults(self) -> Vec<String> {
        let open = self.admitted.iter().filter(|admitted| !admitted.booked);
        let never = open.map(|admitted| format!("never booked: {admitted:?}"));
        self.faults.into_iter().chain(never).collect()
    }

    /// Two permits that are equal to each other and to no other: one epoch for each attempt.
    fn twins(&mut self) -> (Permit, Permit) {
        self.mint.reset();
        let policy = BreakerPolicy::DEFAULT;
        let mut one = || self.mint.admit(Instant::ZERO, Deadline::NONE, &policy);
        (one().expect("it is closed"), one().expect("it is closed"))
    }

    fn holder(&self, permit: &Permit) -> Option<usize> {
        self.admitted.iter().position(|admitted| admitted.twin == *permit)
    }

    fn choose(&self, now: Instant, tried: Tried) -> Result<Target, Refusal> {
        let targets = [Target::new(0), Target::new(1)];
        match self.peers {
            Peers::Both => {
                Ok(*targets.iter().find(|target| !tried.contains(**target)).unwrap_or(&targets[0]))
            }
            Peers::Only(number) => Ok(Target::new(number)),
            Peers::Nobody => Err(Refusal::NoTarget),
            Peers::Refusing(more) => {
                let retry_at = Instant::from_micros(now.as_micros().saturating_add(more));
                Err(Refusal::CircuitOpen { retry_at })
            }
        }
    }
}

impl Upstream for Ghost {
    fn policy(&self) -> &CallPolicy {
        &self.policy
    }

    fn admit(
        &mut self,
        now: Instant,
        lease: Deadline,
        tried: Tried,
    ) -> Result<(Target, Permit), Refusal> {
        self.may_ask = false;
        let used = self.admitted.iter().fold(Tried::NONE, |used, one| used.with(one.target));
        if used != tried {
            self.faults.push(format!("said to have tried {tried:?}, has used {used:?}"));
        }
        let target = match self.choose(now, tried) {
            Ok(target) => target,
            Err(refusal) => {
                self.log.push(Contact::Refused(refusal));
                return Err(refusal);
            }
        };
        let (permit, twin) = self.twins();
        self.log.push(Contact::Admitted {
            id: self.admitted.len(),
            now: now.as_micros(),
            lease: lease.instant().as_micros(),
            target: target.number(),
        });
        self.admitted.push(Admitted { twin, target, lease, booked: false });
        Ok((target, permit))
    }

    fn record(&mut self, now: Instant, target: Target, permit: Permit, report: &Report) {
        let Some(id) = self.holder(&permit) else {
            self.faults.push(format!("booked with a permit nobody gave: {permit:?}"));
            return;
        };
        let admitted = &mut self.admitted[id];
        if admitted.booked {
            self.faults.push(format!("attempt {id} was booked twice"));
        }
        if admitted.target != target {
            self.faults.push(format!("attempt {id} was booked on {target:?}"));
        }
        admitted.booked = true;
        self.may_ask =
            !report.is_success() && matches!(report.weight, Weight::Counts | Weight::CutShort);
        self.log.push(Contact::Recorded { id, now: now.as_micros(), report: *report });
    }

    fn retry_allowed(&mut self, _now: Instant) -> bool {
        let hedges = self.admitted.iter().any(|admitted| !admitted.booked);
        if !core::mem::take(&mut self.may_ask) && !hedges {
            self.faults.push("the throttle was asked, but not for a failure just booked".into());
        }
        self.log.push(Contact::Asked { granted: self.throttle });
        self.throttle
    }

    fn renew(&mut self, _now: Instant, target: Target, permit: &Permit) {
        match self.holder(permit) {
            Some(id) => {
                let admitted = &self.admitted[id];
                if admitted.booked || admitted.target != target || !admitted.lease.is_none() {
                    self.faults.push(format!("attempt {id} was renewed: {admitted:?}"));
                }
                self.log.push(Contact::Renewed { id });
            }
            None => self.faults.push(format!("renewed a permit nobody gave: {permit:?}")),
        }
    }
}
