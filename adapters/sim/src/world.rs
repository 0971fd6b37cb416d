//! This file knows virtual time: it lets events happen in order, and carries out what they ask.
//!
//! Clients run the core's [`Call`](evenkeel_core::Call) exactly as it ships; this is one more
//! driver of it, with ten thousands of parked calls and the three arms every driver has.

use evenkeel_core::Outcome;

use crate::agenda::Agenda;
use crate::calls::{Calls, client_index};
use crate::clients::Clients;
use crate::record::Run;
use crate::rehearsal::Stage;
use crate::scenario::{Arrivals, FaultKind, Scenario};
use crate::server::{Job, Server};
use crate::tally::Tally;
use crate::transit::{Message, Transit};
use crate::{Chance, Policy};

/// What can happen. Eight bytes: with its time sixteen, and there are millions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// The next call of the Poisson stream.
    Arrival,
    /// The fault begins.
    BreakDown,
    /// A scripted call starts.
    #[cfg(feature = "rehearse")]
    Cue(u32),
    /// A message reaches the other end.
    Deliver(u32),
    /// What a script looks at is to be shown.
    #[cfg(feature = "rehearse")]
    Look,
    /// A worker is done.
    Done(u32),
    /// The fault ends.
    Recover,
    /// A second is over.
    Second,
    /// A client has thought enough.
    Think(u32),
    /// A parked call wants to be polled.
    Wake(u32),
}

/// Everything there is.
pub(crate) struct World<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) now: u64,
    pub(crate) agenda: Agenda<Event>,
    pub(crate) chance: Chance,
    pub(crate) clients: Clients,
    pub(crate) calls: Calls,
    pub(crate) server: Server,
    pub(crate) tally: Tally,
    /// A script in place of the server, if there is one.
    pub(crate) stage: Option<Stage<'a>>,
    transit: Transit,
}

impl<'a> World<'a> {
    pub(crate) fn new(scenario: &'a Scenario, policy: &'a Policy, seed: u64) -> Self {
        let fleet = &scenario.fleet;
        let clients = fleet.clients as usize * usize::from(fleet.layers);
        Self {
            scenario,
            now: 0,
            agenda: Agenda::new(),
            chance: Chance::seeded(seed),
            clients: Clients::new(policy, clients, seed),
            calls: Calls::default(),
            server: Server::new(scenario.server, scenario.fault, fleet.clients),
            tally: Tally::new(scenario.end.as_micros()),
            stage: None,
            transit: Transit::default(),
        }
    }

    pub(crate) fn begin(&mut self) {
        let fault = &self.scenario.fault;
        if !matches!(fault.kind, FaultKind::None) && !fault.length.is_zero() {
            self.agenda.push(fault.start.as_micros(), Event::BreakDown);
            self.agenda.push(self.scenario.fault_end().as_micros(), Event::Recover);
        }
        self.agenda.push(SECOND, Event::Second);
        match self.scenario.fleet.arrivals {
            Arrivals::Open { .. } => self.plan_arrival(),
            Arrivals::Closed { .. } => {
                for client in 0..self.scenario.fleet.clients {
                    self.plan_thought(client);
                }
            }
        }
    }

    /// The next event and its time.
    ///
    /// What a large fleet needs lies in memory, not in the cache, so that most of an event's time
    /// would be spent waiting for it. The agenda knows what is coming: all of that is fetched at once.
    pub(crate) fn next(&mut self) -> Option<(u64, Event)> {
        if cfg!(target_family = "wasm") {
            return self.agenda.pop(); // The page's fleets are small, and so its engine shall be.
        }
        let Self { agenda, calls, clients, server, transit, scenario, .. } = self;
        let fleet = &scenario.fleet;
        agenda.pop_showing(|event| match event {
            Event::Think(client) => {
                clients.fetch(client_index(fleet.clients, client, fleet.layers));
            }
            Event::Wake(slot) => calls.fetch(slot),
            Event::Done(worker) => {
                if let Some(job) = server.job_of(worker) {
                    calls.fetch(job.slot);
                    clients.fetch(job.client as usize);
                }
            }
            Event::Deliver(place) => match transit.at(place) {
                Message::Request(job) => clients.fetch(job.client as usize),
                Message::Reply { slot, .. } => calls.fetch(slot),
            },
            _ => {}
        })
    }

    pub(crate) fn happen(&mut self, event: Event) {
        match event {
            Event::Wake(slot) => self.wake(slot),
            Event::Done(worker) => {
                let answer = self.server.done(self.now, worker, &mut self.agenda, &mut self.chance);
                if let Some((job, outcome)) = answer {
                    self.tally.executed(self.now, !self.calls.awaits(job.slot, job.token));
                    self.answer(&job, outcome);
                }
                self.refuse_dropped();
            }
            Event::Arrival => {
                let client = self.chance.below(self.scenario.fleet.clients);
                self.plan_arrival();
                self.start_call(client);
            }
            Event::Think(client) => self.start_call(client),
            Event::Deliver(place) => self.deliver(place),
            Event::Second => {
                self.close_second();
                self.agenda.push(self.now + SECOND, Event::Second);
            }
            #[cfg(feature = "rehearse")]
            Event::Cue(number) => self.cue(number),
            #[cfg(feature = "rehearse")]
            Event::Look => self.look(),
            Event::BreakDown => {
                self.server.break_down();
                self.refuse_dropped();
            }
            Event::Recover => {
                self.server.recover(self.now, &mut self.agenda, &mut self.chance);
                self.refuse_dropped();
            }
        }
    }

    fn close_second(&mut self) {
        let wait = core::mem::take(&mut self.server.longest_wait);
        let delay = wait.max(self.server.oldest_wait(self.now));
        self.tally.close_second(self.now, self.server.queue(), delay, self.clients.census());
    }

    /// Hands a request to the server, over the wire if there is one.
    pub(crate) fn send(&mut self, job: Job) {
        if self.scenario.server.network.is_zero() {
            self.arrive(job);
        } else {
            self.post(Message::Request(job));
        }
    }

    fn arrive(&mut self, mut job: Job) {
        job.arrived = self.now;
        let refused = self.server.arrive(self.now, job, &mut self.agenda, &mut self.chance);
        if let Some(outcome) = refused {
            self.tally.refused(self.now);
            self.answer(&job, outcome);
        }
    }

    fn answer(&mut self, job: &Job, outcome: Outcome) {
        let (slot, token) = (job.slot, job.token);
        if self.scenario.server.network.is_zero() {
            self.hear(slot, token, outcome);
        } else {
            self.post(Message::Reply { slot, token, outcome });
        }
    }

    /// What the server gave up unexecuted is refused to whoever sent it.
    fn refuse_dropped(&mut self) {
        while let Some(job) = self.server.dropped.pop() {
            self.tally.refused(self.now);
            self.answer(&job, Outcome::unavailable());
        }
    }

    fn post(&mut self, message: Message) {
        let at = self.now + self.scenario.server.network.as_micros();
        self.post_until(at, message);
    }

    /// Has `message` delivered at `at`.
    pub(crate) fn post_until(&mut self, at: u64, message: Message) {
        let place = self.transit.put(message);
        self.agenda.push(at, Event::Deliver(place));
    }

    fn deliver(&mut self, place: u32) {
        match self.transit.take(place) {
            Message::Request(job) => self.arrive(job),
            Message::Reply { slot, token, outcome } => self.hear(slot, token, outcome),
        }
    }

    fn plan_arrival(&mut self) {
        if let Arrivals::Open { per_second } = self.scenario.fleet.arrivals {
            let wait = self.chance.standard_exponential() * (1e6 / per_second);
            // Times are whole microseconds, and rounding down would raise the rate.
            self.agenda.push(self.now.saturating_add((wait + 0.5) as u64), Event::Arrival);
        }
    }

    pub(crate) fn plan_thought(&mut self, client: u32) {
        if let Arrivals::Closed { think } = self.scenario.fleet.arrivals {
            // A client that thinks no time at all still lets the clock move on.
            let wait = self.chance.exponential(think.as_micros()).max(1);
            self.agenda.push(self.now + wait, Event::Think(client));
        }
    }

    pub(crate) fn finish(mut self, seed: u64, events: u64, cut_short: bool) -> Run {
        if !cut_short {
            self.now = self.scenario.end.as_micros();
            self.close_second();
        }
        // Of a run that was cut nobody knows the second it was cut in, nor those that follow.
        let over = if cut_short { self.now / SECOND * SECOND } else { self.now };
        let Self { mut tally, calls, clients, .. } = self;
        for started in calls.started_of_the_unfinished() {
            tally.unfinished(started);
        }
        let (seconds, tenths) = tally.into_parts(over);
        Run { seed, events, seconds, tenths, opened: clients.census().opened, cut_short }
    }
}

pub(crate) const SECOND: u64 = 1_000_000;
