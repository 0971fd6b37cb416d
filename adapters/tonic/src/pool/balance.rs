//! This file knows how a pool chooses: the core's balancer and what calls hold against members, in
//! one lock for all clones of a client.
//!
//! The core knows three standings. A pool knows more: a member may be connected, being dialled, or
//! away. So it asks in up to four rounds, and in each only those that are as good as each other
//! are up. A call that is passed from round to round never fails for want of somebody better.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use evenkeel_tokio::core::{
    Balancer, Instant, Members, Micros, Outlier, OutlierChange, OutlierPolicy, OutlierSweep,
    Permit, Refusal, Rejected, Report, SmallRng, Standing, Strategy, Target, Tried,
};
use evenkeel_tokio::fresh_seed;

use super::line::Reach;
use super::member::{List, Member, Verdict};
use crate::warn::named;

/// The one balancer of a pool.
#[derive(Debug)]
pub(crate) struct Balance {
    outliers: OutlierPolicy,
    /// Whether only members are used of which a health check speaks well.
    checked: bool,
    /// Whose members they are, for the log.
    upstream: Arc<str>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    balancer: Balancer,
    rng: SmallRng,
    /// By number, each with the serial of the member it is held against.
    held: Vec<(u64, Outlier)>,
    sweep: Option<OutlierSweep>,
    /// When it was last seen to those who are away.
    looked_at: Instant,
}

impl Balance {
    pub(super) fn new(
        strategy: Strategy,
        outliers: OutlierPolicy,
        checked: bool,
        upstream: Arc<str>,
    ) -> Self {
        let state = State {
            balancer: Balancer::new(strategy),
            rng: SmallRng::seeded(fresh_seed()),
            held: Vec::new(),
            sweep: None,
            looked_at: Instant::ZERO,
        };
        Self { outliers, checked, upstream, state: Mutex::new(state) }
    }

    /// Chooses a member for the next attempt and asks it for leave.
    pub(crate) fn pick<S>(
        &self,
        now: Instant,
        list: &List<S>,
        tried: Tried,
        mut ask: impl FnMut(&Member<S>) -> Result<Permit, Rejected>,
    ) -> Result<(Target, Permit), Refusal> {
        let mut state = self.lock();
        if state.look(now, list) {
            self.doubt(list);
        }
        let changes = state.sweep(now, list, &self.outliers, self.checked);
        let State { balancer, rng, held, .. } = &mut *state;
        let mut refusal = Refusal::NoTarget;
        for round in ROUNDS {
            let view = View { now, list, held, checked: self.checked, round };
            let picked = balancer.pick(&view, tried, rng, |target| match list.get(target) {
                Some(member) => ask(member),
                None => Err(Rejected { retry_at: Instant::MAX }),
            });
            match picked {
                Ok(granted) => {
                    drop(state);
                    self.tell(list, &changes);
                    return Ok(granted);
                }
                Err(Refusal::CircuitOpen { retry_at }) => refusal = sooner(refusal, retry_at),
                Err(Refusal::NoTarget) => {}
            }
        }
        drop(state);
        self.tell(list, &changes);
        if matches!(refusal, Refusal::NoTarget) {
            self.doubt(list);
        }
        Err(refusal)
    }

    /// Books how an attempt on `member` ended.
    pub(crate) fn record<S>(&self, now: Instant, member: &Member<S>, report: &Report) {
        if !self.outliers.minds(report) {
            return;
        }
        let mut state = self.lock();
        let held = state.of(member);
        let change = held.and_then(|held| held.record(now, report, &self.outliers));
        drop(state);
        if change.is_some() {
            let (upstream, member) = (named(&self.upstream), &*member.name);
            let code = report.outcome.code.name();
            tracing::info!(target: "evenkeel", upstream, member, code, "quarantined");
        }
    }

    /// Has those looked up anew whom a health check is against: no call goes to them, so none would
    /// find out that they are gone for good, and others in their place.
    pub(super) fn doubt<S>(&self, list: &List<S>) {
        let unhealthy = |member: &&Arc<Member<S>>| member.verdict() == Verdict::Unhealthy;
        if self.checked {
            list.members().filter(unhealthy).for_each(|member| member.doubted());
        }
    }

    /// Whether a health check lets `member` be used.
    pub(crate) fn may_use<S>(&self, member: &Member<S>) -> bool {
        !self.checked || member.verdict() == Verdict::Healthy
    }

    fn tell<S>(&self, list: &List<S>, changes: &[(Target, OutlierChange)]) {
        for (target, change) in changes {
            let Some(member) = list.get(*target) else { continue };
            let (upstream, member) = (named(&self.upstream), &*member.name);
            tracing::info!(
                target: "evenkeel", upstream, member, ?change, "compared with the other members",
            );
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// What is held against `member`; nothing is, where its number is another's by now.
    fn of<S>(&mut self, member: &Member<S>) -> Option<&mut Outlier> {
        let at = usize::from(member.target.number());
        if self.held.len() <= at {
            self.held.resize(at + 1, (0, Outlier::new()));
        }
        let (serial, held) = self.held.get_mut(at)?;
        if *serial < member.serial {
            (*serial, *held) = (member.serial, Outlier::new());
        }
        (*serial == member.serial).then_some(held)
    }

    /// Has those dialled who are away, as long as there are calls that would use them; and looked
    /// up anew where they are. Nobody asks them, so nobody else would notice that they are back.
    /// Whether it was time to.
    fn look<S>(&mut self, now: Instant, list: &List<S>) -> bool {
        if now.since(self.looked_at) < LOOK_AGAIN {
            return false;
        }
        self.looked_at = now;
        for member in list.members().filter(|member| member.line.reach() == Reach::Away) {
            member.unreachable(now);
        }
        true
    }

    /// Compares the members with each other, when it is time.
    fn sweep<S>(
        &mut self,
        now: Instant,
        list: &List<S>,
        policy: &OutlierPolicy,
        checked: bool,
    ) -> Vec<(Target, OutlierChange)> {
        let Some(ejection) = policy.ejection() else { return Vec::new() };
        let sweep = self.sweep.get_or_insert_with(|| OutlierSweep::starting(now, ejection));
        if now < sweep.due() {
            return Vec::new();
        }
        let mut sweep = *sweep;
        // Without the numbers nobody has, which would count as members.
        let members: Vec<&Member<S>> = list.members().map(|member| &**member).collect();
        let held = members.iter().map(|member| self.of(member).copied().unwrap_or_default());
        let mut held: Vec<Outlier> = held.collect();
        let member = |target: Target| members.get(usize::from(target.number()));
        let healthy =
            |target| member(target).is_some_and(|m| !checked || m.verdict() == Verdict::Healthy);
        let mut changes = Vec::new();
        sweep.run(now, &mut held, ejection, healthy, |target, change| {
            changes.extend(member(target).map(|member| (member.target, change)));
        });
        self.sweep = Some(sweep);
        for (member, swept) in members.iter().zip(held) {
            if let Some(held) = self.of(member) {
                *held = swept;
            }
        }
        changes
    }
}

/// Who is asked when: the best first.
const ROUNDS: [Round; 4] = [
    Round { reach: Reach::Near, suspect: false },
    Round { reach: Reach::Dialling, suspect: false },
    Round { reach: Reach::Near, suspect: true },
    Round { reach: Reach::Away, suspect: true },
];

/// Those that are as good as each other.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Round {
    reach: Reach,
    suspect: bool,
}

/// The members as one round sees them.
struct View<'a, S> {
    now: Instant,
    list: &'a List<S>,
    held: &'a [(u64, Outlier)],
    checked: bool,
    round: Round,
}

impl<S> View<'_, S> {
    /// In which round a member is asked; `None` if a health check is against it.
    fn round_of(&self, member: &Member<S>) -> Option<Round> {
        if self.checked && member.verdict() != Verdict::Healthy {
            return None;
        }
        let held = self.held.get(usize::from(member.target.number()));
        let suspect = held.is_some_and(|(serial, held)| {
            *serial == member.serial && held.standing(self.now) != Standing::Up
        });
        Some(match (member.line.reach(), suspect) {
            (Reach::Away, _) => Round { reach: Reach::Away, suspect: true },
            (_, true) => Round { reach: Reach::Near, suspect: true },
            (reach, false) => Round { reach, suspect: false },
        })
    }
}

impl<S> Members for View<'_, S> {
    fn count(&self) -> u16 {
        u16::try_from(self.list.slots.len()).unwrap_or(u16::MAX)
    }

    fn standing(&self, target: Target) -> Standing {
        let member = self.list.get(target);
        match member.is_some_and(|member| self.round_of(member) == Some(self.round)) {
            true => Standing::Up,
            false => Standing::Down,
        }
    }

    fn in_flight(&self, target: Target) -> u32 {
        self.list.get(target).map_or(u32::MAX, |member| member.line.in_flight())
    }

    fn weight(&self, target: Target) -> u32 {
        self.list.get(target).map_or(0, |member| member.weight)
    }
}

/// Well below the first pause between two dials.
const LOOK_AGAIN: Micros = Micros::from_millis(200);

fn sooner(refusal: Refusal, other: Instant) -> Refusal {
    match refusal {
        Refusal::CircuitOpen { retry_at } if retry_at <= other => refusal,
        Refusal::CircuitOpen { .. } | Refusal::NoTarget => Refusal::CircuitOpen { retry_at: other },
    }
}
