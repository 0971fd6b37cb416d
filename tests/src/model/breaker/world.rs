//! This file knows one state of a search: the breaker, the permits that are out, and the ledger.

use core::fmt::Debug;

use evenkeel_core::{
    BreakerPolicy, BreakerState, CircuitBreaker, Deadline, Gate, Instant, Passage, Permit,
    Rejected, Trip, Verdict,
};

use super::walk::Move;
use super::{Op, Setting, Step, TICK};
use crate::ensure;
use crate::model::ledger::Ledger;
use crate::model::search::relative;

/// A permit that is out, as the way to make it again: permits are not copied.
#[derive(Clone)]
struct Ticket<T: Trip> {
    source: CircuitBreaker<T>,
    now: Instant,
    lease: Deadline,
    period: u32,
}

#[derive(Clone)]
pub(super) struct World<T: Trip> {
    now: u64,
    breaker: CircuitBreaker<T>,
    tickets: Vec<Ticket<T>>,
    ledger: Ledger,
}

/// A step with its name and where it leads.
type Named<W> = (String, Step, W);

impl<T: Trip> Ticket<T> {
    fn permit(&self, policy: &BreakerPolicy<T>) -> Permit {
        self.source.clone().admit(self.now, self.lease, policy).expect("it was let out once")
    }
}

impl<T: Trip + Debug + PartialEq> World<T> {
    pub(super) fn new(setting: &Setting<T>) -> Self {
        Self {
            now: 100 * TICK,
            breaker: CircuitBreaker::closed(),
            tickets: Vec::new(),
            ledger: Ledger::new(setting.terms.clone(), setting.rule.clone()),
        }
    }

    pub(super) fn compare(&self, step: &Step) -> Result<(), String> {
        self.ledger.compare(&step.after)
    }

    /// The state without what decides nothing: absolute time, epochs (they are only compared with
    /// each other), and reopenings beyond those that still change the open time.
    pub(super) fn key(&self, setting: &Setting<T>) -> String {
        let reach = (-i128::from(setting.past), i128::from(8 * TICK));
        let text = format!("{:?}", self.breaker);
        let names = ["epoch: ", "reopenings: "];
        let breaker = relative(&text, self.now, reach, &names, |name, number| match name {
            "epoch: " => String::new(),
            _ => number.min(3).to_string(),
        });
        let tickets = self.tickets.iter().map(|ticket| {
            let permit = format!("{:?}", ticket.permit(&setting.policy));
            (ticket.period == self.ledger.number, epoch_of(&permit) == epoch_of(&text))
        });
        let mut tickets: Vec<_> = tickets.collect();
        tickets.sort_unstable();
        format!("{breaker} {tickets:?} {}", self.ledger.key(self.now))
    }

    /// Every step from here, with its name and where it leads.
    pub(super) fn steps(&self, setting: &Setting<T>) -> Result<Vec<Named<Self>>, String> {
        let mut moves = vec![Move::Pass(TICK)];
        moves.extend(setting.leases.iter().map(|ticks| Move::Admit(ticks.map(|n| n * TICK))));
        for place in 0..self.tickets.len() {
            moves.extend([Move::Lose(place), Move::Renew(place)]);
            moves.extend(setting.verdicts.iter().map(|verdict| Move::Record(place, *verdict)));
        }
        if setting.forced {
            let forced = [BreakerState::ForcedClosed, BreakerState::ForcedOpen];
            moves.extend(forced.map(Move::Force));
            moves.push(Move::Force(BreakerState::Closed));
        }
        let mut steps = vec![self.ask_later(&setting.policy)];
        for to in moves {
            steps.extend(self.go(setting, to)?);
        }
        Ok(steps)
    }

    /// The step that `to` is from here, if it can be made.
    pub(super) fn go(&self, setting: &Setting<T>, to: Move) -> Result<Option<Named<Self>>, String> {
        let name = format!("{to:?}");
        let stale = |place: usize| self.tickets[place].period != self.ledger.number;
        Ok(Some(match to {
            Move::Admit(span) if self.tickets.len() < setting.permits => {
                self.admit(setting, span)?
            }
            Move::Admit(_) => return Ok(None),
            Move::Back(span) => {
                self.step(name, Op::Pass, |end| end.now = end.now.saturating_sub(span))
            }
            Move::Force(state) => self.force(state),
            Move::Pass(span) => self.step(name, Op::Pass, |end| end.now += span),
            Move::Lose(place) | Move::Record(place, _) | Move::Renew(place)
                if place >= self.tickets.len() =>
            {
                return Ok(None);
            }
            Move::Lose(place) => self.step(name, Op::Lose, |end| {
                end.tickets.remove(place);
            }),
            Move::Record(place, verdict) => self.record(setting, place, verdict)?,
            Move::Renew(place) => self.step(name, Op::Renew { stale: stale(place) }, |end| {
                let ticket = &end.tickets[place];
                let permit = ticket.permit(&setting.policy);
                end.breaker.renew(Instant::from_micros(end.now), &permit, &setting.policy);
                end.ledger.renew(end.now, ticket.period);
            }),
        }))
    }

    fn step(&self, name: String, op: Op, act: impl FnOnce(&mut Self)) -> Named<Self> {
        let mut end = self.clone();
        act(&mut end);
        let step = Step {
            op,
            now: self.now,
            before: self.breaker.snapshot(),
            after: end.breaker.snapshot(),
            admitted: None,
            changed: None,
            unchanged: end.breaker == self.breaker,
            lost: self.ledger.is_lost(self.now),
        };
        (name, step, end)
    }

    fn admit(&self, setting: &Setting<T>, span: Option<u64>) -> Result<Named<Self>, String> {
        let until = span.map(|span| self.now + span);
        let lease = until.map_or(Deadline::NONE, |at| Deadline::at(Instant::from_micros(at)));
        let now = Instant::from_micros(self.now);
        let (mut answer, mut due) = (Ok(()), Ok(()));
        let (name, mut step, end) = self.step(format!("admit {span:?}"), Op::Admit, |end| {
            due = end.ledger.admit(end.now, until);
            let given = end.breaker.admit(now, lease, &setting.policy);
            answer = given.as_ref().map(drop).map_err(|refused| refused.retry_at.as_micros());
            if given.is_ok() {
                let source = self.breaker.clone();
                end.tickets.push(Ticket { source, now, lease, period: end.ledger.number });
            }
        });
        step.admitted = Some(answer);
        ensure!(answer == due, "answered {answer:?}, due {due:?}\nin {step:?}");
        self.passes(&setting.policy, &step)?;
        Ok((name, step, end))
    }

    /// What it would answer if everybody went away for a long time. Leads nowhere.
    pub(super) fn ask_later(&self, policy: &BreakerPolicy<T>) -> Named<Self> {
        let later = Instant::from_micros(self.now + 100 * TICK);
        let given = self.breaker.clone().admit(later, Deadline::NONE, policy);
        let (name, mut step, end) = self.step("ask later".into(), Op::AskLater, |_| {});
        step.admitted = Some(given.map(drop).map_err(|refused| refused.retry_at.as_micros()));
        (name, step, end)
    }

    /// The gate, where it answers, answers as the breaker does.
    fn passes(&self, policy: &BreakerPolicy<T>, step: &Step) -> Result<(), String> {
        let gate = Gate::from_bits(Gate::of(&self.breaker).to_bits());
        let now = Instant::from_micros(self.now);
        let asked = self.breaker.clone().admit(now, Deadline::NONE, policy);
        let agrees = match gate.admit(now) {
            Passage::Ask => true,
            Passage::Granted(permit) => step.unchanged && asked == Ok(permit),
            Passage::Refused(Rejected { retry_at }) => {
                step.unchanged && asked == Err(Rejected { retry_at })
            }
        };
        ensure!(agrees, "the gate {gate:?} answers otherwise than {asked:?}\nin {step:?}");
        Ok(())
    }

    fn record(
        &self,
        setting: &Setting<T>,
        place: usize,
        verdict: Verdict,
    ) -> Result<Named<Self>, String> {
        let ticket = &self.tickets[place];
        let permit = ticket.permit(&setting.policy);
        let ignores = Gate::of(&self.breaker).ignores(&permit, verdict);
        let op = Op::Record { verdict, stale: ticket.period != self.ledger.number };
        let (mut changed, mut due) = (None, Ok(None));
        let (name, mut step, end) = self.step(format!("{verdict:?} {place}"), op, |end| {
            let now = Instant::from_micros(end.now);
            changed = end.breaker.record(now, permit, verdict, &setting.policy);
            due = end.ledger.record(end.now, ticket.period, verdict, changed);
            end.tickets.remove(place);
        });
        step.changed = changed;
        let due = due.map_err(|fault| format!("{fault}\nin {step:?}"))?;
        ensure!(changed == due, "changed {changed:?}, due {due:?}\nin {step:?}");
        ensure!(step.unchanged || !ignores, "the gate would have ignored {step:?}");
        Ok((name, step, end))
    }

    fn force(&self, to: BreakerState) -> Named<Self> {
        let mut changed = None;
        let (name, mut step, end) = self.step(format!("force {to}"), Op::Force(to), |end| {
            changed = match to {
                BreakerState::ForcedOpen => end.breaker.force_open(),
                BreakerState::ForcedClosed => end.breaker.force_closed(),
                _ => end.breaker.reset(),
            };
            end.ledger.force(to);
        });
        step.changed = changed;
        (name, step, end)
    }
}

/// The first epoch in a debug print.
fn epoch_of(text: &str) -> Option<u64> {
    let number = text.split_once("epoch: ")?.1;
    let end = number.find(|letter: char| !letter.is_ascii_digit())?;
    number[..end].parse().ok()
}
