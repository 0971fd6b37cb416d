//! This file knows how a script is played to a call, and what is written down of it.

use evenkeel_core::{Action, Attempt, Call, Instant, Next, Outcome, StopReason};

use super::ghost::{Contact, Ghost};
use super::script::{Script, Step};
use super::settings::Settings;

/// What a driver does with the liberties it has; none may make a difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Manner {
    /// Throws away answers of attempts that were given up, instead of handing them in.
    DropsLateAnswers,
    /// Calls every attempt a success whose deadline has passed.
    Flatters,
    /// Does as the script says.
    Plain,
    /// Reads a clock that stands still where the script's goes back.
    SteadyClock,
    /// Polls three times where the answer was not an attempt.
    Stutters,
}

/// What an [`Action`] said, in plain values.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields are the attempt's getters")]
pub enum Seen {
    /// An attempt.
    Attempt { target: u16, started: u64, deadline: u64, number: u16 },
    /// The end.
    Finish(StopReason),
    /// A wait.
    Wait(u64),
}

/// One step that reached the call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum What {
    /// It was cancelled.
    Cancelled,
    /// Attempt `id` was handed in, `late` when it had been booked before.
    Completed {
        /// The attempt.
        id: usize,
        /// What the script says of it.
        answer: Outcome,
        /// What the call said.
        next: Next,
        /// Whether the attempt had been given up.
        late: bool,
    },
    /// Repeats were forbidden.
    Forbidden,
    /// It was polled.
    Polled(Seen),
}

/// A step with what it did.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The latest reading any step was given; 0 where a step has no time.
    pub now: u64,
    /// What happened.
    pub what: What,
    /// What the call asked its upstream.
    pub contacts: Vec<Contact>,
    /// The counted attempts afterwards.
    pub attempts: u16,
}

/// A script played to its end.
#[derive(Debug)]
pub struct Run {
    /// What it was played with.
    pub settings: Settings,
    /// The call's own deadline; `u64::MAX` for none.
    pub deadline: u64,
    /// What happened.
    pub events: Vec<Event>,
    /// Broken promises.
    pub faults: Vec<String>,
    /// Attempts that were let out.
    pub admitted: usize,
}

/// Plays `script` to a call with room for `N`, lets it come to its end, and knocks once more.
pub fn play<const N: usize>(script: &Script, manner: Manner) -> Run {
    let settings = script.settings;
    let policy = settings.policy();
    let start = Instant::from_micros(settings.start);
    let deadline = policy.deadline(start, settings.caller());
    let mut call = Call::<N>::with_room(deadline, settings.seed);
    if settings.wait_for_ready {
        call = call.wait_for_ready();
    }
    let mut player = Player {
        call,
        ghost: Ghost::new(policy),
        manner,
        held: Vec::new(),
        clock: settings.start,
        latest: 0,
        wake: None,
        events: Vec::new(),
    };
    for step in &script.steps {
        player.take(*step);
    }
    player.finish();
    Run {
        settings,
        deadline: player.call.deadline().instant().as_micros(),
        events: player.events,
        admitted: player.ghost.admitted(),
        faults: player.ghost.into_faults(),
    }
}

struct Player<const N: usize> {
    call: Call<N>,
    ghost: Ghost,
    manner: Manner,
    /// Attempts in the driver's hands, in the order they came, with their ids.
    held: Vec<(usize, Attempt)>,
    /// The clock's reading; goes back where the script says so.
    clock: u64,
    /// The latest reading the call was given.
    latest: u64,
    /// The last `WaitUntil`.
    wake: Option<u64>,
    events: Vec<Event>,
}

impl<const N: usize> Player<N> {
    fn take(&mut self, step: Step) {
        match step {
            Step::Back(span) => self.clock = self.clock.saturating_sub(span),
            Step::Cancel => {
                let now = self.reading();
                self.call.cancel(now, &mut self.ghost);
                self.note(What::Cancelled);
            }
            Step::End(which, how) => self.complete(which, how),
            Step::Forbid => {
                self.call.forbid_repeats();
                self.note(What::Forbidden);
            }
            Step::Lose(which) => drop(self.let_go(which)),
            Step::Pass(span) => self.clock = self.clock.saturating_add(span),
            Step::Peers(peers) => self.ghost.peers = peers,
            Step::Poll => drop(self.poll()),
            Step::Sleep(aside) => {
                if let Some(wake) = self.wake.filter(|wake| *wake < u64::MAX) {
                    self.clock = self.clock.max(wake.saturating_add_signed(aside));
                }
                self.poll();
            }
            Step::Throttle(grants) => self.ghost.throttle = grants,
        }
    }

    /// Waits as told, losing every attempt, until the call ends; then tries everything again.
    fn finish(&mut self) {
        for _ in 0..200 {
            match self.poll() {
                Seen::Attempt { .. } => {}
                Seen::Finish(_) => break,
                Seen::Wait(u64::MAX) => self.take(Step::Cancel),
                Seen::Wait(at) => self.clock = self.clock.max(at),
            }
        }
        self.clock = self.clock.saturating_add(1_000);
        while !self.held.is_empty() {
            self.complete(0, Outcome::success());
        }
        self.take(Step::Cancel);
        self.poll();
    }

    fn poll(&mut self) -> Seen {
        let now = self.reading();
        let action = self.call.poll(now, &mut self.ghost);
        let seen = see(&action);
        self.wake = match seen {
            Seen::Wait(at) => Some(at),
            Seen::Attempt { .. } | Seen::Finish(_) => None,
        };
        self.note(What::Polled(seen));
        match action {
            Action::Attempt(attempt) => self.held.push((self.ghost.admitted() - 1, attempt)),
            Action::Finish(_) | Action::WaitUntil(_) => {
                if self.manner == Manner::Stutters {
                    self.stutter(now, seen);
                }
            }
        }
        seen
    }

    fn stutter(&mut self, now: Instant, seen: Seen) {
        for _ in 0..2 {
            let before = self.call.clone();
            let again = see(&self.call.poll(now, &mut self.ghost));
            if again != seen || self.call != before {
                let fault = format!("polled again at {now:?}: {seen:?}, then {again:?}");
                self.ghost.faults.push(fault);
            }
            self.ghost.take_log();
        }
    }

    fn complete(&mut self, which: u8, answer: Outcome) {
        let Some((id, attempt)) = self.let_go(which) else { return };
        let late = self.ghost.is_booked(id);
        if late && self.manner == Manner::DropsLateAnswers {
            return;
        }
        let now = self.reading();
        let flatters = self.manner == Manner::Flatters && attempt.deadline().is_over(now);
        let said = if flatters { Outcome::success() } else { answer };
        let next = self.call.complete(now, &mut self.ghost, attempt, said);
        self.note(What::Completed { id, answer, next, late });
    }

    fn let_go(&mut self, which: u8) -> Option<(usize, Attempt)> {
        let place = usize::from(which).checked_rem(self.held.len())?;
        Some(self.held.remove(place))
    }

    fn reading(&mut self) -> Instant {
        self.latest = self.latest.max(self.clock);
        let reading = if self.manner == Manner::SteadyClock { self.latest } else { self.clock };
        Instant::from_micros(reading)
    }

    fn note(&mut self, what: What) {
        let contacts = self.ghost.take_log();
        let attempts = self.call.attempts();
        let now = if what == What::Forbidden { 0 } else { self.latest };
        self.events.push(Event { now, what, contacts, attempts });
    }
}

fn see(action: &Action) -> Seen {
    match action {
        Action::Attempt(attempt) => Seen::Attempt {
            target: attempt.target().number(),
            started: attempt.started().as_micros(),
            deadline: attempt.deadline().instant().as_micros(),
            number: attempt.number(),
        },
        Action::Finish(reason) => Seen::Finish(*reason),
        Action::WaitUntil(at) => Seen::Wait(at.as_micros()),
    }
}
