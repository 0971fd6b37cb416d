//! This file knows the parked calls, and how each is driven: the three arms of any driver.
//!
//! A driver keeps one timer for each call. Here it is one event for each place of the slab: an
//! event that comes too early for the call now parked there is put off, not cancelled, so a call
//! that ends before its timer costs nothing.

use core::hint::black_box;

use evenkeel_core::{
    Action, Attempt, Call, Code, Deadline, Instant, Next, Outcome, Random, StopReason,
};

use crate::clients::Memo;
use crate::server::Job;
use crate::world::{Event, World};

/// The calls under way, by place.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    places: Vec<Parked>,
    free: Vec<u32>,
}

/// A call under way, or the place of one.
#[derive(Debug)]
struct Parked {
    call: Call,
    attempt: Option<Attempt>,
    client: u32,
    /// Which attempt an answer must be for; changes with every attempt and every end.
    token: u32,
    started: u64,
    /// When the call wants to be polled; `NEVER` while the place is free.
    wanted: u64,
    /// When the event that is on the agenda for this place comes.
    armed: u64,
    /// The attempt of the layer above that this call serves.
    parent: Option<(u32, u32)>,
    layer: u8,
    /// How its last attempt ended.
    last: Code,
    memo: Memo,
}

impl Calls {
    /// Whether anybody still waits for the answer to this attempt.
    pub(crate) fn awaits(&self, slot: u32, token: u32) -> bool {
        let parked = &self.places[slot as usize];
        parked.token == token && parked.attempt.is_some()
    }

    /// When the callers' calls started that have not ended.
    pub(crate) fn started_of_the_unfinished(&self) -> impl Iterator<Item = u64> {
        let busy = self.places.iter().filter(|parked| parked.wanted != NEVER);
        busy.filter(|parked| parked.parent.is_none()).map(|parked| parked.started)
    }

    /// The attempt that is under way at this place.
    #[cfg(feature = "rehearse")]
    pub(crate) fn attempt(&self, slot: u32) -> Option<&Attempt> {
        self.places[slot as usize].attempt.as_ref()
    }

    /// Has this place brought from memory.
    #[inline]
    pub(crate) fn fetch(&self, slot: u32) {
        let parked = &self.places[slot as usize];
        black_box((parked.attempt.is_some(), parked.call.deadline(), parked.token));
    }

    fn place(&mut self, mut parked: Parked) -> u32 {
        let Some(slot) = self.free.pop() else {
            self.places.push(parked);
            return (self.places.len() - 1) as u32;
        };
        let old = &mut self.places[slot as usize];
        parked.token = old.token.wrapping_add(1);
        parked.armed = old.armed;
        *old = parked;
        slot
    }
}

impl World<'_> {
    /// A caller starts a call.
    pub(crate) fn start_call(&mut self, client: u32) {
        self.tally.started(self.now);
        let layer = self.scenario.fleet.layers;
        self.open_call(client, layer, None, Deadline::NONE);
    }

    /// A caller with a script starts a call of the only client.
    #[cfg(feature = "rehearse")]
    pub(crate) fn start_scripted_call(&mut self, caller: Deadline) {
        self.open_call(0, 1, None, caller);
    }

    fn open_call(&mut self, client: u32, layer: u8, parent: Option<(u32, u32)>, caller: Deadline) {
        let index = self.index(client, layer);
        let deadline = self.clients.started(self.now, index, caller);
        let slot = self.calls.place(Parked {
            call: Call::new(deadline, self.chance.next_u32()),
            attempt: None,
            client,
            token: 0,
            started: self.now,
            wanted: self.now,
            armed: NEVER,
            parent,
            layer,
            last: Code::Unavailable,
            memo: Memo::default(),
        });
        if let Some(stage) = &mut self.stage {
            stage.entered(slot);
        }
        self.poll(slot);
    }

    /// An event for this place has come.
    pub(crate) fn wake(&mut self, slot: u32) {
        let parked = &mut self.calls.places[slot as usize];
        if parked.armed != self.now {
            return; // An older event; a sooner one has taken its part.
        }
        parked.armed = NEVER;
        if parked.wanted == NEVER {
            return;
        }
        if parked.wanted > self.now {
            let at = parked.wanted;
            self.arm(slot, at);
            return;
        }
        if parked.attempt.is_some() {
            // The driver ends an attempt at its deadline.
            self.complete(slot, Outcome::new(Code::DeadlineExceeded));
        } else {
            self.poll(slot);
        }
    }

    /// An answer has reached its caller, who may have gone.
    pub(crate) fn hear(&mut self, slot: u32, token: u32, outcome: Outcome) {
        if self.calls.awaits(slot, token) {
            self.complete(slot, outcome);
        }
    }

    fn poll(&mut self, slot: u32) {
        let now = Instant::from_micros(self.now);
        let parked = &mut self.calls.places[slot as usize];
        let index = client_index(self.scenario.fleet.clients, parked.client, parked.layer);
        let mut lent = self.clients.lend(index, &mut parked.memo, &mut self.chance);
        match parked.call.poll(now, &mut lent) {
            Action::Attempt(attempt) => self.launch(slot, attempt),
            Action::WaitUntil(at) => self.arm(slot, at.as_micros()),
            Action::Finish(reason) => self.end(slot, reason),
        }
    }

    fn launch(&mut self, slot: u32, attempt: Attempt) {
        let deadline = attempt.deadline();
        let parked = &mut self.calls.places[slot as usize];
        parked.token = parked.token.wrapping_add(1);
        parked.attempt = Some(attempt);
        let (client, layer, token) = (parked.client, parked.layer, parked.token);
        self.arm(slot, deadline.instant().as_micros());
        if layer > 1 {
            let propagates = self.scenario.fleet.propagates_deadlines;
            let caller = if propagates { deadline } else { Deadline::NONE };
            self.open_call(client, layer - 1, Some((slot, token)), caller);
            return;
        }
        if self.stage.is_some() {
            self.prompt(slot, token);
            return;
        }
        self.tally.attempted(self.now);
        let deadline = deadline.instant().as_micros();
        self.send(Job { slot, token, client, deadline, arrived: self.now });
    }

    fn complete(&mut self, slot: u32, outcome: Outcome) {
        let now = Instant::from_micros(self.now);
        let parked = &mut self.calls.places[slot as usize];
        let Some(attempt) = parked.attempt.take() else { return };
        parked.last = outcome.code;
        let index = client_index(self.scenario.fleet.clients, parked.client, parked.layer);
        let mut lent = self.clients.lend(index, &mut parked.memo, &mut self.chance);
        match parked.call.complete(now, &mut lent, attempt, outcome) {
            Next::Retry { at, .. } => self.arm(slot, at.as_micros()),
            Next::Stop(reason) => self.end(slot, reason),
            Next::StillTrying => {}
        }
    }

    /// Polls this place at `at`, or as soon as possible.
    fn arm(&mut self, slot: u32, at: u64) {
        let parked = &mut self.calls.places[slot as usize];
        parked.wanted = at.min(NEVER - 1);
        if at < parked.armed {
            parked.armed = at;
            self.agenda.push(at, Event::Wake(slot));
        }
    }

    fn end(&mut self, slot: u32, reason: StopReason) {
        let index = {
            let parked = &self.calls.places[slot as usize];
            self.index(parked.client, parked.layer)
        };
        let parked = &mut self.calls.places[slot as usize];
        parked.wanted = NEVER;
        parked.token = parked.token.wrapping_add(1);
        self.clients.ended(index, &mut parked.memo);
        let (client, started, parent) = (parked.client, parked.started, parked.parent);
        let code = if matches!(reason, StopReason::Succeeded) { Code::Ok } else { parked.last };
        self.calls.free.push(slot);
        if let Some(stage) = &mut self.stage {
            // It is told call by call, and not counted second by second.
            stage.left(slot, self.now, reason, code);
            return;
        }
        match parent {
            Some((slot, token)) => self.hear(slot, token, Outcome::new(code)),
            None => {
                self.tally.ended(self.now, started, reason);
                self.plan_thought(client);
            }
        }
    }

    fn index(&self, client: u32, layer: u8) -> usize {
        client_index(self.scenario.fleet.clients, client, layer)
    }
}

/// Each layer has a fleet of its own.
pub(crate) fn client_index(clients: u32, client: u32, layer: u8) -> usize {
    clients as usize * (usize::from(layer) - 1) + client as usize
}

const NEVER: u64 = u64::MAX;
