//! This file knows the server: who waits, who is served, and what is refused.
//!
//! It is a machine of its own: it takes requests and ends of work, and hands back answers. Whether
//! anybody still waits for an answer it does not know, as a real one does not.

use std::collections::VecDeque;

use evenkeel_core::{Code, Outcome};

use crate::Chance;
use crate::agenda::Agenda;
use crate::scenario::{Fault, FaultKind, Law, Order, ServerModel};
use crate::world::Event;

/// A request at the server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    /// Whose it is: the call's place, and which of its attempts.
    pub(crate) slot: u32,
    pub(crate) token: u32,
    pub(crate) client: u32,
    /// When its client stops waiting; `u64::MAX` for never.
    pub(crate) deadline: u64,
    pub(crate) arrived: u64,
}

/// What a worker does.
#[derive(Clone, Copy, Debug)]
enum Work {
    Idle,
    Rejecting,
    Serving(Job),
}

/// The server's state.
#[derive(Debug)]
pub(crate) struct Server {
    model: ServerModel,
    fault: Fault,
    waiting: VecDeque<Job>,
    workers: Vec<Work>,
    idle: Vec<u32>,
    /// Rejections that still have to be paid for by a worker.
    rejections: u32,
    /// Whether the fault is on.
    broken: bool,
    /// Workers that would have finished during a stall, and what they have left.
    stuck: Vec<(u32, u64)>,
    /// After a restart: which clients have had their first request.
    greeted: Vec<bool>,
    restarted: bool,
    /// Requests that were given up unexecuted; their callers hear of it.
    pub(crate) dropped: Vec<Job>,
    /// The longest any request begun since this was last taken had waited.
    pub(crate) longest_wait: u64,
}

impl Server {
    pub(crate) fn new(model: ServerModel, fault: Fault, clients: u32) -> Self {
        let restarts = matches!(fault.kind, FaultKind::Restart { .. });
        Self {
            model,
            fault,
            waiting: VecDeque::new(),
            workers: vec![Work::Idle; model.workers as usize],
            idle: (0..model.workers).rev().collect(),
            rejections: 0,
            broken: false,
            stuck: Vec::new(),
            greeted: if restarts { vec![false; clients as usize] } else { Vec::new() },
            restarted: false,
            dropped: Vec::new(),
            longest_wait: 0,
        }
    }

    /// A request has arrived; answers it if it is refused at once.
    #[inline]
    pub(crate) fn arrive(
        &mut self,
        now: u64,
        job: Job,
        agenda: &mut Agenda<Event>,
        chance: &mut Chance,
    ) -> Option<Outcome> {
        if self.broken {
            match self.fault.kind {
                FaultKind::FailFast | FaultKind::Restart { .. } => {
                    return Some(Outcome::unavailable());
                }
                FaultKind::BlackHole => return None,
                _ => {}
            }
        }
        if !self.is_frozen()
            && let Some(worker) = self.idle.pop()
        {
            self.begin(now, worker, job, agenda, chance);
        } else if self.model.queue_limit.is_some_and(|limit| self.waiting.len() >= limit as usize) {
            if !self.model.reject_cost.is_zero() {
                self.rejections += 1;
            }
            return Some(Outcome::new(Code::ResourceExhausted));
        } else {
            self.waiting.push_back(job);
        }
        None
    }

    /// A worker's time is up; answers the request it has executed.
    #[inline]
    pub(crate) fn done(
        &mut self,
        now: u64,
        worker: u32,
        agenda: &mut Agenda<Event>,
        chance: &mut Chance,
    ) -> Option<(Job, Outcome)> {
        if self.is_frozen() {
            self.stuck.push((worker, now - self.fault.start.as_micros()));
            return None;
        }
        let work = core::mem::replace(&mut self.workers[worker as usize], Work::Idle);
        self.next(now, worker, agenda, chance);
        let Work::Serving(job) = work else { return None };
        let fails = match self.fault.kind {
            FaultKind::Partial { share } => self.broken && chance.happens(share),
            _ => false,
        };
        Some((job, if fails { Outcome::unavailable() } else { Outcome::success() }))
    }

    /// What this worker serves.
    #[inline]
    pub(crate) fn job_of(&self, worker: u32) -> Option<&Job> {
        match &self.workers[worker as usize] {
            Work::Serving(job) => Some(job),
            Work::Idle | Work::Rejecting => None,
        }
    }

    /// The fault begins.
    pub(crate) fn break_down(&mut self) {
        self.broken = true;
        if matches!(self.fault.kind, FaultKind::Restart { .. }) {
            self.dropped.extend(self.waiting.drain(..));
            for work in &mut self.workers {
                if let Work::Serving(job) = *work {
                    self.dropped.push(job);
                    // The worker's own event still comes, and finds nothing to answer.
                    *work = Work::Rejecting;
                }
            }
        }
    }

    /// The fault ends.
    pub(crate) fn recover(&mut self, now: u64, agenda: &mut Agenda<Event>, chance: &mut Chance) {
        self.broken = false;
        self.restarted = matches!(self.fault.kind, FaultKind::Restart { .. });
        for (worker, left) in core::mem::take(&mut self.stuck) {
            agenda.push(now + left, Event::Done(worker));
        }
        for worker in core::mem::take(&mut self.idle).into_iter().rev() {
            self.next(now, worker, agenda, chance);
        }
    }

    /// How many requests wait.
    pub(crate) fn queue(&self) -> usize {
        self.waiting.len()
    }

    /// How long the oldest request has waited.
    pub(crate) fn oldest_wait(&self, now: u64) -> u64 {
        self.waiting.front().map_or(0, |job| now - job.arrived)
    }

    const fn is_frozen(&self) -> bool {
        self.broken && matches!(self.fault.kind, FaultKind::Stall)
    }

    /// Gives a free worker its next work.
    fn next(&mut self, now: u64, worker: u32, agenda: &mut Agenda<Event>, chance: &mut Chance) {
        if self.is_frozen() {
            self.idle.push(worker);
            return;
        }
        if self.rejections > 0 {
            self.rejections -= 1;
            self.workers[worker as usize] = Work::Rejecting;
            agenda.push(now + self.model.reject_cost.as_micros(), Event::Done(worker));
            return;
        }
        match self.take(now) {
            Some(job) => self.begin(now, worker, job, agenda, chance),
            None => self.idle.push(worker),
        }
    }

    /// The next request worth starting.
    fn take(&mut self, now: u64) -> Option<Job> {
        match self.model.order {
            Order::Fifo => self.waiting.pop_front(),
            Order::Lifo => self.waiting.pop_back(),
            Order::DropExpired { reserve } => loop {
                let job = self.waiting.pop_front()?;
                if job.deadline > now && job.deadline - now >= reserve.as_micros() {
                    return Some(job);
                }
                self.dropped.push(job);
            },
        }
    }

    fn begin(
        &mut self,
        now: u64,
        worker: u32,
        job: Job,
        agenda: &mut Agenda<Event>,
        chance: &mut Chance,
    ) {
        self.longest_wait = self.longest_wait.max(now - job.arrived);
        let mean = self.model.service.as_micros();
        let mut span = match self.model.law {
            Law::Constant => mean,
            Law::Exponential => chance.exponential(mean),
            Law::LogNormal { sigma } => chance.log_normal(mean, sigma),
        };
        match self.fault.kind {
            FaultKind::Brownout { capacity } if self.broken => {
                span = (span as f64 / capacity) as u64;
            }
            FaultKind::Restart { setup } if self.restarted => {
                let greeted = &mut self.greeted[job.client as usize];
                if !*greeted {
                    *greeted = true;
                    span += setup.as_micros();
                }
            }
            _ => {}
        }
        self.workers[worker as usize] = Work::Serving(job);
        agenda.push(now.saturating_add(span), Event::Done(worker));
    }
}
