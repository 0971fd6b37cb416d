//! This file knows what the end of an attempt leads to: the questions in their order.

use evenkeel_core::{
    Because, Code, Micros, Next, Outcome, Pushback, Report, Sent, StopReason, Weight,
};

use super::{Contacts, Mood, Oracle};
use crate::ensure;
use crate::model::ghost::Contact;

/// What the end of an attempt leads to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Verdict {
    AtOnce,
    Still,
    Stop(StopReason),
    /// A retry between these instants, or a stop for want of time if `tight`.
    Wait {
        from: u64,
        to: u64,
        because: Because,
        tight: bool,
    },
}

impl Oracle {
    pub(super) fn settle(
        &mut self,
        now: u64,
        id: usize,
        answer: Option<Outcome>,
        contacts: &mut Contacts<'_>,
    ) -> Result<Verdict, String> {
        let Some(place) = self.flying.iter().position(|flight| flight.0 == id) else {
            return Err(format!("attempt {id} is not under way"));
        };
        let (_, started, deadline) = self.flying.remove(place);
        let late = now >= deadline && deadline < u64::MAX;
        let timeout = Outcome::new(Code::DeadlineExceeded);
        ensure!(late || answer.is_some(), "attempt {id} was given up before its time");
        let outcome = answer.filter(|_| !late).unwrap_or(timeout);
        let weight = if self.is_transparent(&outcome) {
            Weight::Transparent
        } else if late && self.settings.cuts_short(deadline - started) {
            Weight::CutShort
        } else {
            Weight::Counts
        };
        let took = answer.map_or_else(|| self.settings.longest_attempt(), |_| now - started);
        let took = Micros::from_micros(took);
        let expected = Contact::Recorded { id, now, report: Report { outcome, took, weight } };
        let contact = contacts.next();
        ensure!(contact == Some(&expected), "expected {expected:?}, not {contact:?}");
        if weight == Weight::Transparent {
            self.counted -= 1;
            let other = core::mem::replace(&mut self.mood, Mood::Ready) == Mood::Ready;
            return Ok(if other { Verdict::Still } else { Verdict::AtOnce });
        }
        let verdict = self.decide(now, &outcome, contacts)?;
        match verdict {
            Verdict::Stop(reason) => self.end(reason, contacts)?,
            Verdict::Wait { from, .. } => self.mood = Mood::Waiting(from),
            Verdict::AtOnce | Verdict::Still => {}
        }
        Ok(verdict)
    }

    fn is_transparent(&mut self, outcome: &Outcome) -> bool {
        if outcome.code == Code::Ok || !self.replayable {
            return false;
        }
        self.unsent = if outcome.sent == Sent::Never { self.unsent + 1 } else { 0 };
        match outcome.sent {
            Sent::Never => self.unsent <= 3,
            Sent::Refused => !core::mem::replace(&mut self.refused, true),
            Sent::Maybe | Sent::NotConnected => false,
        }
    }

    fn decide(
        &mut self,
        now: u64,
        outcome: &Outcome,
        contacts: &mut Contacts<'_>,
    ) -> Result<Verdict, String> {
        if outcome.code == Code::Ok {
            return Ok(Verdict::Stop(StopReason::Succeeded));
        }
        if !self.settings.codes().contains(outcome.code) {
            return Ok(Verdict::Stop(StopReason::NotRetryable));
        }
        // What was never sent and goes out again at once is under way, though nobody has polled yet.
        if !self.flying.is_empty() || self.mood == Mood::Ready {
            match outcome.pushback {
                Pushback::None if !self.put_off => self.hedge_at = now,
                Pushback::None => {}
                Pushback::AtLeast(wait) | Pushback::Exactly(wait)
                    if wait.as_micros() <= self.settings.max_hint =>
                {
                    self.hedge_at = now.saturating_add(wait.as_micros());
                    self.put_off = true;
                }
                _ => self.pushed_back = true,
            }
            return Ok(Verdict::Still);
        }
        if !self.settings.idempotent && outcome.sent == Sent::Maybe {
            return Ok(Verdict::Stop(StopReason::NotIdempotent));
        }
        if !self.replayable {
            return Ok(Verdict::Stop(StopReason::NotReplayable));
        }
        if self.counted >= self.settings.max_attempts {
            return Ok(Verdict::Stop(StopReason::AttemptsUsedUp));
        }
        if self.pushed_back {
            return Ok(Verdict::Stop(StopReason::PushedBack));
        }
        match contacts.next() {
            Some(Contact::Asked { granted: true }) => {
                let mut told = *outcome;
                if self.put_off && told.pushback == Pushback::None {
                    let left = self.hedge_at.saturating_sub(now);
                    told.pushback = Pushback::AtLeast(Micros::from_micros(left));
                }
                Ok(self.schedule(now, &told))
            }
            Some(Contact::Asked { granted: false }) => Ok(Verdict::Stop(StopReason::Throttled)),
            other => Err(format!("the throttle was not asked, but {other:?}")),
        }
    }

    fn schedule(&mut self, now: u64, outcome: &Outcome) -> Verdict {
        let longest = Micros::from_micros(self.settings.max_hint);
        let (from, to, because) = match outcome.pushback {
            Pushback::Stop => return Verdict::Stop(StopReason::PushedBack),
            Pushback::Exactly(hint) | Pushback::AtLeast(hint) if hint > longest => {
                return Verdict::Stop(StopReason::HintTooLong { hint });
            }
            Pushback::Exactly(hint) => {
                self.backoffs = 0;
                (hint.as_micros(), hint.as_micros(), Because::Pushback)
            }
            Pushback::AtLeast(hint) => {
                let (low, high) = self.backoff();
                let (hint, own) = (hint.as_micros(), Because::Backoff);
                (low.max(hint), high.max(hint), if hint > high { Because::Hint } else { own })
            }
            Pushback::None => {
                let (low, high) = self.backoff();
                (low, high, Because::Backoff)
            }
        };
        let end = self.settings.end();
        let (from, to) = (now.saturating_add(from), now.saturating_add(to));
        if from >= end {
            return Verdict::Stop(StopReason::DeadlineWouldPass);
        }
        Verdict::Wait { from, to: to.min(end - 1), because, tight: to >= end }
    }

    fn backoff(&mut self) -> (u64, u64) {
        self.backoffs += 1;
        self.settings.backoff(self.backoffs - 1)
    }

    /// Compares what `complete` answered, and takes over the instant it chose.
    pub(super) fn fits(&mut self, now: u64, verdict: Verdict, next: Next) -> Result<(), String> {
        let fits = match (verdict, next) {
            (Verdict::AtOnce, Next::Retry { at, because }) => {
                at.as_micros() == now && because == Because::Transparent
            }
            (Verdict::Still, Next::StillTrying) => true,
            (Verdict::Stop(expected), Next::Stop(reason)) => expected == reason,
            (Verdict::Wait { tight, .. }, Next::Stop(StopReason::DeadlineWouldPass)) => {
                self.mood = Mood::Ended(StopReason::DeadlineWouldPass);
                tight
            }
            (Verdict::Wait { from, to, because, .. }, Next::Retry { at, because: why }) => {
                self.mood = Mood::Waiting(at.as_micros());
                let either = because == Because::Backoff && why == Because::Hint;
                (from..=to).contains(&at.as_micros()) && (because == why || either)
            }
            _ => false,
        };
        ensure!(fits, "expected {verdict:?}");
        Ok(())
    }

    /// Everything still under way is booked as given up, or as late where its time is over as well.
    pub(super) fn end(
        &mut self,
        reason: StopReason,
        contacts: &mut Contacts<'_>,
    ) -> Result<(), String> {
        self.mood = Mood::Ended(reason);
        while !self.flying.is_empty() {
            let Some(Contact::Recorded { id, now, report }) = contacts.next() else {
                return Err(format!("{:?} were not given back", self.flying));
            };
            let Some(place) = self.flying.iter().position(|flight| flight.0 == *id) else {
                return Err(format!("attempt {id} is not under way"));
            };
            let (_, started, deadline) = self.flying.remove(place);
            let late = *now >= deadline && deadline < u64::MAX && reason != StopReason::Cancelled;
            let due = match late {
                true if self.settings.cuts_short(deadline - started) => Weight::CutShort,
                true => Weight::Counts,
                false => Weight::Cancelled,
            };
            ensure!(report.weight == due, "given up as {report:?}");
        }
        Ok(())
    }
}
