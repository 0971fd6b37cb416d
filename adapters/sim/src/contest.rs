//! This file knows the optimistic-concurrency contest: N clients, one row, each must write it once.
//!
//! The experiment of "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015): a client reads
//! the row's version and writes with it; if another write came between, it backs off and reads
//! again. Each hop takes |N(10, 2)| ms. Every client is a [`Call`] with the core's backoff.

use evenkeel_core::{
    Action, Attempt, Backoff, Call, CallPolicy, Code, CodeSet, Deadline, Instant, Jitter, Next,
    Outcome, RetryPolicy, Single,
};

use crate::chance::subseed;
use crate::{Agenda, Chance};

/// How one contest went.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Contest {
    /// When the last client heard that its write had succeeded, in microseconds.
    pub time: u64,
    /// Writes made, the ones in vain included.
    pub writes: u64,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Poll(u32),
    Read(u32),
    ReadReply { client: u32, version: u32 },
    Write { client: u32, version: u32 },
    WriteReply { client: u32, won: bool },
}

struct Row<'a> {
    policy: &'a CallPolicy,
    agenda: Agenda<Event>,
    chance: Chance,
    calls: Vec<(Call, Option<Attempt>)>,
    version: u32,
    writes: u64,
}

/// One contest of `clients` under `backoff`.
///
/// ```
/// use evenkeel_sim::{contest, IMMEDIATELY};
///
/// let contest = contest(IMMEDIATELY, 10, 1);
/// assert!(contest.writes >= 10);
/// ```
pub fn contest(backoff: Backoff, clients: u32, seed: u64) -> Contest {
    let retry = RetryPolicy::DEFAULT.with_codes(CodeSet::of(&[Code::Aborted]));
    let patient = retry.with_max_attempts(u16::MAX).unwrap_or(retry).with_backoff(backoff);
    let policy = CallPolicy::DEFAULT.unbounded().with_retry(patient);
    let call = |client| (Call::new(Deadline::NONE, subseed(seed, client) as u32), None);
    let mut row = Row {
        policy: &policy,
        agenda: Agenda::new(),
        chance: Chance::seeded(seed),
        calls: (0..u64::from(clients)).map(call).collect(),
        version: 0,
        writes: 0,
    };
    for client in 0..clients {
        row.agenda.push(0, Event::Poll(client));
    }
    let mut time = 0;
    while let Some((now, event)) = row.agenda.pop() {
        time = now;
        row.happen(now, event);
    }
    Contest { time, writes: row.writes }
}

impl Row<'_> {
    fn happen(&mut self, now: u64, event: Event) {
        match event {
            Event::Poll(client) => self.poll(now, client),
            Event::Read(client) => {
                self.hop(now, Event::ReadReply { client, version: self.version });
            }
            Event::ReadReply { client, version } => self.hop(now, Event::Write { client, version }),
            Event::Write { client, version } => {
                self.writes += 1;
                let won = version == self.version;
                self.version += u32::from(won);
                self.hop(now, Event::WriteReply { client, won });
            }
            Event::WriteReply { client, won } => self.hear(now, client, won),
        }
    }

    fn poll(&mut self, now: u64, client: u32) {
        let (call, flight) = &mut self.calls[client as usize];
        match call.poll(Instant::from_micros(now), &mut Single::new(self.policy)) {
            Action::Attempt(attempt) => {
                *flight = Some(attempt);
                self.hop(now, Event::Read(client));
            }
            Action::WaitUntil(at) => self.agenda.push(at.as_micros(), Event::Poll(client)),
            Action::Finish(_) => {}
        }
    }

    fn hear(&mut self, now: u64, client: u32, won: bool) {
        let (call, flight) = &mut self.calls[client as usize];
        let Some(attempt) = flight.take() else { return };
        let outcome = if won { Outcome::success() } else { Outcome::new(Code::Aborted) };
        let upstream = &mut Single::new(self.policy);
        let next = call.complete(Instant::from_micros(now), upstream, attempt, outcome);
        if let Next::Retry { at, .. } = next {
            self.agenda.push(at.as_micros(), Event::Poll(client));
        }
    }

    fn hop(&mut self, now: u64, event: Event) {
        let millis = 10.0 + 2.0 * self.chance.normal();
        let span = if millis < 0.0 { -millis } else { millis };
        self.agenda.push(now + (span * 1_000.0 + 0.5) as u64, event);
    }
}

/// The waits of the original experiment: base 5 ms, cap 2 s, and its first wait is twice the base.
///
/// Decorrelated starts at the base itself, as there.
pub fn original_waits(jitter: Jitter) -> Backoff {
    let initial = if matches!(jitter, Jitter::Decorrelated) { 5 } else { 10 };
    let waits = crate::doubling(
        core::time::Duration::from_millis(initial),
        core::time::Duration::from_secs(2),
        jitter,
    );
    waits.unwrap_or_default()
}
