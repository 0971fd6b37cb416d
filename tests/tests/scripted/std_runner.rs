//! This file knows how a scenario is played with `evenkeel_std::call`, which blocks: one call after
//! the other, and nobody looks on meanwhile.

use core::cell::RefCell;
use evenkeel_core::{Attempt, Clock, Code, Deadline, Instant, Outcome};
use evenkeel_scripted::{End, Look, Replies, Scenario, Seen, Sent, Trace, When};
use evenkeel_std::{BlockingClock, ManualClock, call};

use crate::targets::{self, Targets};

pub(crate) fn run(scenario: &Scenario) -> Seen {
    let stage = Stage::new(scenario);
    let mut seen = Seen::default();
    let mut looks = scenario.looks().iter().peekable();
    for (index, call) in scenario.calls().iter().enumerate() {
        while let Some(look) = looks.next_if(|look| look.at < call.at) {
            seen.looks.push(stage.look(look));
        }
        seen.calls.push(stage.call(index));
    }
    seen.looks.extend(looks.map(|look| stage.look(look)));
    seen
}

struct Stage<'a> {
    scenario: &'a Scenario,
    clock: ManualClock,
    began: Instant,
    targets: Targets,
    replies: RefCell<Replies<'a>>,
}

impl<'a> Stage<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        let clock = ManualClock::new();
        let (began, targets) = (clock.now(), Targets::new(scenario));
        Self { scenario, clock, began, targets, replies: RefCell::new(scenario.replies()) }
    }

    fn call(&self, index: usize) -> Trace {
        let made = &self.scenario.calls()[index];
        self.clock.sleep_until(self.began.after(made.at));
        let now = self.clock.now();
        let shared = self.targets.of(made.method);
        let deadline = match self.scenario.deadline(self.began, now, made) {
            Ok(deadline) => deadline,
            Err(spent) => {
                return Trace { sent: Vec::new(), end: End::spent(made.at, &spent) };
            }
        };
        let mut sent = Vec::new();
        let mut number = 0;
        let attempt = |attempt: &Attempt| {
            sent.push(Sent {
                at: When::at(attempt.started().since(self.began)),
                left: When::at(attempt.deadline().remaining(attempt.started())),
                again: core::mem::replace(&mut number, attempt.number()) == attempt.number(),
            });
            self.answer(index, attempt)
        };
        // Another seed for each.
        let seed = index as u32 + 1;
        let reply = call(&self.clock, shared.view(), deadline, seed, targets::classify, attempt);
        let end = targets::end(self.clock.now().since(self.began), self.began, reply);
        Trace { sent, end }
    }

    /// Blocks as a socket does that was given the attempt's deadline.
    fn answer(&self, index: usize, attempt: &Attempt) -> Result<(), Outcome> {
        let answer = self.replies.borrow_mut().next(index);
        let comes = Deadline::at(attempt.started().after(answer.after));
        self.clock.sleep_until(comes.earlier(attempt.deadline()).instant());
        if answer.outcome.code == Code::Ok { Ok(()) } else { Err(answer.outcome) }
    }

    fn look(&self, look: &Look) -> Look {
        self.clock.sleep_until(self.began.after(look.at));
        self.targets.show(look, self.began)
    }
}
