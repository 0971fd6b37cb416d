//! This file knows what a call should have done: the rules of a call, written a second time and
//! without any regard to time, space or elegance.

mod verdict;

use evenkeel_core::{Next, Refusal, StopReason};

use self::verdict::Verdict;
use super::ghost::Contact;
use super::run::{Event, Run, Seen, What};
use super::settings::Settings;
use crate::ensure;

/// Follows `run`, of a call with room for `room` attempts, and compares every answer.
///
/// # Errors
///
/// The first answer that is not the one the rules give.
pub fn follow(run: &Run, room: usize) -> Result<(), String> {
    let mut oracle = Oracle {
        settings: run.settings,
        room,
        mood: Mood::Ready,
        flying: Vec::new(),
        hedge_at: u64::MAX,
        begun: false,
        counted: 0,
        unsent: 0,
        refused: false,
        replayable: true,
        pushed_back: false,
        put_off: false,
        backoffs: 0,
    };
    for (step, event) in run.events.iter().enumerate() {
        let followed = oracle.step(event);
        followed.map_err(|fault| format!("event {step}, {event:?}: {fault}"))?;
    }
    Ok(())
}

/// Behind its deadline an attempt may still be booked for so long.
const GRACE: u64 = 1_000_000;

struct Oracle {
    settings: Settings,
    room: usize,
    mood: Mood,
    /// Id, start and deadline of every attempt under way.
    flying: Vec<(usize, u64, u64)>,
    hedge_at: u64,
    /// Whether an attempt was ever let out.
    begun: bool,
    counted: u16,
    unsent: u32,
    refused: bool,
    replayable: bool,
    /// Whether a peer asked for no more while another attempt was under way.
    pushed_back: bool,
    /// Whether a peer named the time of the next attempt while another was under way.
    put_off: bool,
    /// Backoffs since the call began, or since a peer named a wait.
    backoffs: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mood {
    Ended(StopReason),
    Ready,
    Trying,
    Waiting(u64),
}

type Contacts<'a> = core::iter::Peekable<core::slice::Iter<'a, Contact>>;

impl Oracle {
    fn step(&mut self, event: &Event) -> Result<(), String> {
        let mut contacts = event.contacts.iter().peekable();
        match event.what {
            What::Forbidden => {
                self.replayable = false;
                if self.begun && matches!(self.mood, Mood::Ready | Mood::Waiting(_)) {
                    if self.flying.is_empty() {
                        self.mood = Mood::Ended(StopReason::NotReplayable);
                        // An attempt that was not to count is the one the call ends in.
                        self.counted = self.counted.max(1);
                    } else {
                        self.mood = Mood::Trying;
                    }
                }
            }
            What::Cancelled => {
                if !matches!(self.mood, Mood::Ended(_)) {
                    self.end(StopReason::Cancelled, &mut contacts)?;
                }
            }
            What::Completed { id, answer, next, late } => {
                if late || matches!(self.mood, Mood::Ended(_)) {
                    let standing = match self.mood {
                        Mood::Ended(reason) => Next::Stop(reason),
                        Mood::Ready | Mood::Trying | Mood::Waiting(_) => Next::StillTrying,
                    };
                    ensure!(next == standing, "a late answer got {next:?}");
                } else {
                    let verdict = self.settle(event.now, id, Some(answer), &mut contacts)?;
                    self.fits(event.now, verdict, next)?;
                }
            }
            What::Polled(seen) => self.polled(event.now, seen, &mut contacts)?,
        }
        ensure!(contacts.next().is_none(), "it turned to its upstream without a reason");
        ensure!(event.attempts == self.counted, "{} attempts count", self.counted);
        Ok(())
    }

    fn polled(&mut self, now: u64, seen: Seen, contacts: &mut Contacts<'_>) -> Result<(), String> {
        while self.is_over(now) {
            // In which order they end is nobody's business.
            let Some(Contact::Recorded { id, .. }) = contacts.peek() else {
                return Err("an attempt outlived its deadline".into());
            };
            let id = *id;
            let verdict = self.settle(now, id, None, contacts)?;
            if let Verdict::Wait { from, to, tight, .. } = verdict {
                // The exact instant shows in the answer.
                match seen {
                    Seen::Wait(at) if at >= from && at <= to => self.mood = Mood::Waiting(at),
                    Seen::Finish(StopReason::DeadlineWouldPass) if tight => {
                        self.mood = Mood::Ended(StopReason::DeadlineWouldPass);
                    }
                    _ => ensure!(from <= now, "a wait until {from} to {to} was skipped"),
                }
            }
        }
        let expected = match self.mood {
            Mood::Ended(reason) => Seen::Finish(reason),
            Mood::Waiting(at) if now < at => Seen::Wait(at),
            Mood::Ready | Mood::Waiting(_) => self.start(now, contacts)?,
            Mood::Trying => self.keep_trying(now, contacts)?,
        };
        ensure!(seen == expected, "expected {expected:?}");
        Ok(())
    }

    fn is_over(&self, now: u64) -> bool {
        self.flying.iter().any(|flight| flight.2 <= now && flight.2 < u64::MAX)
    }

    fn start(&mut self, now: u64, contacts: &mut Contacts<'_>) -> Result<Seen, String> {
        let refused = if now >= self.settings.end() && self.settings.end() < u64::MAX {
            StopReason::DeadlinePassed
        } else {
            match self.launch(now, contacts)? {
                Ok(attempt) => return Ok(attempt),
                Err(reason) => reason,
            }
        };
        if !self.flying.is_empty() {
            return self.keep_trying(now, contacts);
        }
        if refused == StopReason::NoTarget && self.settings.wait_for_ready {
            self.mood = Mood::Ready;
            return Ok(Seen::Wait(self.settings.end()));
        }
        self.mood = Mood::Ended(refused);
        Ok(Seen::Finish(refused))
    }

    fn keep_trying(&mut self, now: u64, contacts: &mut Contacts<'_>) -> Result<Seen, String> {
        self.mood = Mood::Trying;
        if self.may_hedge() && now >= self.hedge_at {
            let Some(Contact::Asked { granted }) = contacts.next() else {
                return Err("a hedge is a retry, but the throttle was not asked".into());
            };
            self.hedge_at = u64::MAX;
            if *granted && let Ok(attempt) = self.launch(now, contacts)? {
                return Ok(attempt);
            }
        }
        let mut endless: Vec<usize> = Vec::new();
        while let Some(Contact::Renewed { id }) = contacts.peek() {
            endless.push(*id);
            contacts.next();
        }
        endless.sort_unstable();
        let without_end = self.flying.iter().filter(|flight| flight.2 == u64::MAX);
        let expected: Vec<usize> = without_end.map(|flight| flight.0).collect();
        ensure!(endless == expected, "renewed {endless:?}, not {expected:?}");
        let hedge = if self.may_hedge() { self.hedge_at } else { u64::MAX };
        Ok(Seen::Wait(self.flying.iter().map(|flight| flight.2).fold(hedge, u64::min)))
    }

    fn may_hedge(&self) -> bool {
        self.flying.len() < self.room
            && self.settings.hedge_after.is_some()
            && self.counted < self.settings.max_attempts
            && self.settings.idempotent
            && self.replayable
            && !self.pushed_back
    }

    /// The request for a target that must come now, and what was made of it.
    fn launch(
        &mut self,
        now: u64,
        contacts: &mut Contacts<'_>,
    ) -> Result<Result<Seen, StopReason>, String> {
        match contacts.next() {
            Some(Contact::Admitted { id, now: at, lease, target }) => {
                let deadline = self.settings.attempt_end(now);
                let expected = deadline.saturating_add(GRACE);
                ensure!(*at == now && *lease == expected, "expected a lease until {expected}");
                self.flying.push((*id, now, deadline));
                self.mood = Mood::Trying;
                self.counted += 1;
                self.begun = true;
                self.hedge_at = now.saturating_add(self.settings.hedge_after.unwrap_or(u64::MAX));
                self.put_off = false;
                let (number, target) = (self.counted, *target);
                Ok(Ok(Seen::Attempt { target, started: now, deadline, number }))
            }
            Some(Contact::Refused(Refusal::NoTarget)) => Ok(Err(StopReason::NoTarget)),
            Some(Contact::Refused(Refusal::CircuitOpen { retry_at })) => {
                Ok(Err(StopReason::CircuitOpen { retry_at: *retry_at }))
            }
            other => Err(format!("expected a request for a target, not {other:?}")),
        }
    }
}
