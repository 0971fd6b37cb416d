//! This file knows how one client of the simulated world is given a script instead of a server.
//!
//! The client is that of a fleet: the same parked calls, the same breakers and budgets, the same
//! agenda. Only who answers is exchanged, so that what one client does in an outage can be compared
//! with what it does anywhere else, attempt by attempt.

use core::fmt;
use std::collections::BTreeMap;

use evenkeel_core::{Code, Deadline, Instant, Micros, Outcome, Snapshot, StopReason};

use crate::transit::Message;
use crate::world::{Event, World};
use crate::{FaultKind, Policy, Scenario};

/// When a call starts, and the caller's own limit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Cue {
    /// Since the beginning.
    pub at: Micros,
    /// How long its caller waits, whatever the policy says; `None`: as long as the policy does.
    pub within: Option<Micros>,
}

/// What becomes of an attempt.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Reply {
    /// How long it takes; [`Micros::MAX`]: it never comes.
    pub after: Micros,
    /// What it says.
    pub outcome: Outcome,
}

/// What was seen of a rehearsal.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Rehearsal {
    /// Each call, in the order of the cues.
    pub calls: Vec<Performed>,
    /// What was shown at each moment that was asked for.
    pub shown: Vec<Shown>,
}

/// What one call did.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Performed {
    /// Its attempts, in order.
    pub attempts: Vec<Heard>,
    /// When and why it ended, and in which code; `None`: it is still under way.
    pub end: Option<(Micros, StopReason, Code)>,
}

/// An attempt that went out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Heard {
    /// When.
    pub at: Micros,
    /// With how much time left; [`Micros::MAX`] without a deadline.
    pub left: Micros,
    /// Its number, from 1; a transparent repetition keeps that of what it repeats.
    pub number: u16,
}

/// What the client remembers at one moment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Shown {
    /// Its breaker, if it has one of the core's.
    pub breaker: Option<Snapshot>,
    /// The tokens left in thousandths, if it has the core's throttle.
    pub millitokens: Option<u32>,
}

/// Plays the calls of one client under `policy`: they start as the cues say, `reply` says what
/// becomes of each attempt of the call with that index, and at each of `looks` (in order, of times
/// since the beginning) it is noted what the client remembers.
///
/// ```
/// use evenkeel_core::{Micros, Outcome, StopReason};
/// use evenkeel_sim::{Cue, Reply, presets::named, rehearse};
///
/// let policy = named("kit").map(|preset| preset.policy()).unwrap();
/// let cue = Cue { at: Micros::ZERO, within: Some(Micros::from_millis(50)) };
/// let busy = Reply { after: Micros::ZERO, outcome: Outcome::unavailable() };
/// let seen = rehearse(&policy, &[cue], &[], 7, |_call| busy);
///
/// // Its first wait would be longer than the caller waits.
/// let (_, reason, _) = seen.calls[0].end.unwrap();
/// assert_eq!((seen.calls[0].attempts.len(), reason), (1, StopReason::DeadlineWouldPass));
/// ```
pub fn rehearse<'a>(
    policy: &'a Policy,
    cues: &[Cue],
    looks: &[Micros],
    seed: u64,
    reply: impl FnMut(usize) -> Reply + 'a,
) -> Rehearsal {
    let mut alone = Scenario::outage(FaultKind::None);
    alone.fleet.clients = 1;
    let mut world = World::new(&alone, policy, seed);
    world.stage = Some(Stage(Box::new(Scripted {
        cues: cues.to_vec(),
        reply: Box::new(reply),
        on_stage: BTreeMap::new(),
        entering: 0,
        seen: Rehearsal { calls: vec![Performed::default(); cues.len()], shown: Vec::new() },
    })));
    for (number, cue) in (0..).zip(cues) {
        world.agenda.push(cue.at.as_micros(), Event::Cue(number));
    }
    for at in looks {
        world.agenda.push(at.as_micros(), Event::Look);
    }
    // Attempts that hang are waited for until the end of time.
    while let Some((at, event)) = world.agenda.pop().filter(|(at, _)| *at < NEVER) {
        world.now = at;
        world.happen(event);
    }
    world.stage.map(|Stage(stage)| stage.seen).unwrap_or_default()
}

/// What a script needs, out of the way of worlds without one.
pub(crate) struct Stage<'a>(Box<Scripted<'a>>);

/// Who answers, and who acts where.
struct Scripted<'a> {
    cues: Vec<Cue>,
    reply: Box<dyn FnMut(usize) -> Reply + 'a>,
    /// Which call is parked at which place.
    on_stage: BTreeMap<u32, usize>,
    /// The call that is being started.
    entering: usize,
    seen: Rehearsal,
}

impl Stage<'_> {
    /// The call that is being started has its place.
    pub(crate) fn entered(&mut self, slot: u32) {
        self.0.on_stage.insert(slot, self.0.entering);
    }

    /// The call at this place has ended.
    pub(crate) fn left(&mut self, slot: u32, now: u64, reason: StopReason, code: Code) {
        if let Some(call) = self.0.on_stage.remove(&slot) {
            self.0.seen.calls[call].end = Some((Micros::from_micros(now), reason, code));
        }
    }
}

impl fmt::Debug for Stage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stage").field("seen", &self.0.seen).finish_non_exhaustive()
    }
}

impl World<'_> {
    /// The scripted call with this number starts.
    pub(crate) fn cue(&mut self, number: u32) {
        let Some(Stage(stage)) = &mut self.stage else { return };
        stage.entering = number as usize;
        let within = stage.cues[stage.entering].within;
        let now = Instant::from_micros(self.now);
        let caller = within.map_or(Deadline::NONE, |within| Deadline::at(now.after(within)));
        self.start_scripted_call(caller);
    }

    /// The attempt that has just been made at this place is answered by the script.
    pub(crate) fn prompt(&mut self, slot: u32, token: u32) {
        let Some(attempt) = self.calls.attempt(slot) else { return };
        let (at, left) = (self.now, attempt.deadline().remaining(attempt.started()));
        let number = attempt.number();
        let Some(Stage(stage)) = &mut self.stage else { return };
        let Some(call) = stage.on_stage.get(&slot).copied() else { return };
        let heard = Heard { at: Micros::from_micros(at), left, number };
        stage.seen.calls[call].attempts.push(heard);
        let Reply { after, outcome } = (stage.reply)(call);
        if after < Micros::MAX {
            let at = self.now.saturating_add(after.as_micros());
            self.post_until(at, Message::Reply { slot, token, outcome });
        }
    }

    /// What the client remembers is noted.
    pub(crate) fn look(&mut self) {
        let (breaker, millitokens) = self.clients.shown(0);
        if let Some(Stage(stage)) = &mut self.stage {
            stage.seen.shown.push(Shown { breaker, millitokens });
        }
    }
}

/// No event of a script is as late as that of a call that waits for ever.
const NEVER: u64 = u64::MAX - 1;
