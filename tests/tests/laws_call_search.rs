//! Every state that one call, one breaker and one throttle can reach together in eight steps.
//!
//! The laws of a call hold in each of them, no slot of a half-open breaker is lost, and from each
//! of them a driver that only polls and sleeps comes to an end in time.

use core::time::Duration;
use std::collections::HashSet;

use evenkeel_core::{
    Action, Attempt, Backoff, BreakerPolicy, Call, CallPolicy, Code, CodeSet, Consecutive,
    Deadline, Instant, Jitter, Micros, Next, Outcome, Pushback, Report, RetryPolicy, Sent,
    StopReason, Tried, Upstream, Weight,
};
use evenkeel_tests::ensure;
use evenkeel_tests::model::ledger::Terms;
use evenkeel_tests::model::search::search;
use evenkeel_tests::model::tokens::Tokens;
use evenkeel_tests::model::watched::{Policies, Watched};

const TICK: u64 = 20;

/// Three attempts in five ticks, two each, a tick apart; two failures open for two ticks.
fn policies(grpc: bool) -> (Policies, Tokens) {
    let ticks = |ticks: u64| Duration::from_micros(ticks * TICK);
    let backoff = Backoff::new(ticks(1), ticks(1)).unwrap();
    let retry = RetryPolicy::DEFAULT
        .with_backoff(backoff.with_jitter(Jitter::None).unwrap())
        .with_codes(CodeSet::RETRYABLE.with(Code::DeadlineExceeded));
    let call = CallPolicy::DEFAULT.with_retry(retry).with_timeout(ticks(5)).unwrap();
    let call = call.with_attempt_timeout(ticks(2)).unwrap();
    let breaker = BreakerPolicy::new(Consecutive::new(2).unwrap());
    let breaker = breaker.with_open_for(ticks(2)).unwrap();
    let terms = Terms { open_for: 2 * TICK, max_open: 2 * TICK, max_trials: 1, successes: 1 };
    let (tokens, throttle) = Tokens::new(grpc, if grpc { 4 } else { 2 }, 500);
    (Policies { call, breaker, terms, throttle }, tokens)
}

/// One thing that happens.
#[derive(Clone, Copy, Debug)]
enum Move {
    Cancel,
    End(Outcome),
    Lose,
    Pass,
    Poll,
    /// Another call to the same target, over in no time.
    Rival(Outcome),
    /// Sleep until the last `WaitUntil`, and poll.
    Sleep,
}

fn moves() -> [Move; 12] {
    let hint = Pushback::Exactly(Micros::from_micros(3 * TICK));
    [
        Move::Poll,
        Move::Pass,
        Move::Sleep,
        Move::End(Outcome::success()),
        Move::End(Outcome::unavailable()),
        Move::End(Outcome::unavailable().with_sent(Sent::Never)),
        Move::End(Outcome::unavailable().with_pushback(hint)),
        Move::End(Outcome::refused_by_peer()),
        Move::Lose,
        Move::Cancel,
        Move::Rival(Outcome::success()),
        Move::Rival(Outcome::unavailable()),
    ]
}

#[derive(Clone, Debug)]
struct World<'a> {
    now: Instant,
    call: Call,
    shared: Watched<'a>,
    /// The state whose poll gave the attempt in the driver's hands: attempts are not copied.
    giver: Option<Box<Self>>,
    wake: Instant,
    ended: Option<StopReason>,
}

impl World<'_> {
    fn go(&mut self, to: Move) -> Result<(), String> {
        match to {
            Move::Cancel => {
                self.call.cancel(self.now, &mut self.shared);
                self.ended.get_or_insert(StopReason::Cancelled);
            }
            Move::End(outcome) => self.complete(outcome)?,
            Move::Lose => self.giver = None,
            Move::Pass => self.now = self.now + Micros::from_micros(TICK),
            Move::Poll => drop(self.poll()?),
            Move::Rival(outcome) => self.rival(outcome),
            Move::Sleep => {
                self.now =
                    if self.wake < Instant::MAX { self.wake.max(self.now) } else { self.now };
                self.poll()?;
            }
        }
        self.check()
    }

    fn poll(&mut self) -> Result<Option<StopReason>, String> {
        let before = self.clone();
        match self.call.poll(self.now, &mut self.shared) {
            Action::Attempt(attempt) => {
                ensure!(attempt.deadline() <= self.call.deadline(), "{attempt:?} is too long");
                ensure!(attempt.number() == self.call.attempts(), "{attempt:?} is misnumbered");
                let giver = World { giver: None, ..before };
                self.giver = Some(Box::new(giver));
                Ok(None)
            }
            Action::WaitUntil(at) => {
                ensure!(at > self.now, "waits until {at:?} at {:?}", self.now);
                ensure!(at <= self.call.deadline().instant(), "waits until {at:?}");
                self.wake = at;
                Ok(None)
            }
            Action::Finish(reason) => {
                let ended = *self.ended.get_or_insert(reason);
                ensure!(ended == reason, "ended with {ended:?}, and with {reason:?}");
                Ok(Some(reason))
            }
        }
    }

    fn complete(&mut self, outcome: Outcome) -> Result<(), String> {
        let Some(attempt) = self.giver.take().map(|giver| again(*giver)) else { return Ok(()) };
        match self.call.complete(self.now, &mut self.shared, attempt, outcome) {
            Next::Stop(reason) => {
                let ended = *self.ended.get_or_insert(reason);
                ensure!(ended == reason, "ended with {ended:?}, and with {reason:?}");
            }
            Next::Retry { at, .. } => {
                ensure!(Deadline::at(at) < self.call.deadline(), "a retry at {at:?}");
                self.wake = at;
            }
            Next::StillTrying => {}
        }
        Ok(())
    }

    fn rival(&mut self, outcome: Outcome) {
        let lease = Deadline::at(self.now + Micros::from_micros(TICK));
        if let Ok((target, permit)) = self.shared.admit(self.now, lease, Tried::NONE) {
            let report = Report { outcome, took: Micros::ZERO, weight: Weight::Counts };
            self.shared.record(self.now, target, permit, &report);
        }
    }

    fn check(&self) -> Result<(), String> {
        ensure!(self.shared.faults.is_empty(), "{:?}", self.shared.faults);
        ensure!(self.call.attempts() <= 3, "{} attempts", self.call.attempts());
        let shown = self.shared.breaker.snapshot();
        if self.ended.is_some() {
            ensure!(self.shared.under_way() == 0, "ended with an attempt under way");
            ensure!(shown.trials == 0, "ended, and holds the slot of a trial");
        }
        ensure!(shown.trials <= 1 && self.shared.under_way() <= 1, "more than one at a time");
        Ok(())
    }

    /// What decides what comes. The ledgers do not show: they agree with what does.
    fn key(&self) -> String {
        let attempt = self.giver.as_ref().map(|giver| (giver.now, &giver.call));
        let shared = (&self.shared.breaker, &self.shared.throttle);
        format!("{:?} {:?} {shared:?} {:?} {attempt:?}", self.now, self.call, self.wake)
    }

    /// Polls and sleeps, and forgets every attempt.
    fn ends_in_time(&self) -> Result<(), String> {
        let mut world = World { giver: None, ..self.clone() };
        for _ in 0..20 {
            if world.poll()?.is_some() {
                let over = world.call.deadline().instant();
                ensure!(world.now <= over.max(self.now), "ended only at {:?}", world.now);
                world.check()?;
                return world.recovers();
            }
            world.giver = None;
            world.now = world.now.max(world.wake.min(world.call.deadline().instant()));
        }
        Err("it goes on and on".into())
    }

    /// After a silence, the breaker lets somebody through.
    fn recovers(&self) -> Result<(), String> {
        let later = self.now + Micros::from_micros(100 * TICK);
        let mut shared = self.shared.clone();
        let let_through = shared.admit(later, Deadline::NONE, Tried::NONE);
        ensure!(let_through.is_ok(), "still refused: {let_through:?}");
        Ok(())
    }
}

/// The attempt that `giver` gave, once more.
fn again(mut giver: World<'_>) -> Attempt {
    match giver.call.poll(giver.now, &mut giver.shared) {
        Action::Attempt(attempt) => attempt,
        other => panic!("{other:?} where an attempt was given"),
    }
}

/// Searches, and answers which ends and which states of the breaker were met. A changed number of
/// states is a changed machine: look at it, then write the new one down.
fn every_state(grpc: bool, expected: (usize, usize)) -> HashSet<String> {
    let (policies, tokens) = policies(grpc);
    let now = Instant::from_micros(1_000);
    let start = World {
        now,
        call: Call::new(policies.call.deadline(now, Deadline::NONE), 7),
        shared: Watched::new(&policies, tokens),
        giver: None,
        wake: Instant::MAX,
        ended: None,
    };
    let mut met = HashSet::new();
    let extent = search(start, DEPTH, World::key, |world, reached| {
        world.ends_in_time()?;
        for to in moves() {
            let mut end = world.clone();
            end.go(to)?;
            met.insert(end.shared.breaker.state().name().into());
            met.extend(end.ended.map(kind));
            reached(format!("{to:?}"), end);
        }
        Ok(())
    });
    let extent = extent.unwrap_or_else(|fault| panic!("{fault}"));
    println!("{extent:?} with the throttle of gRPC: {grpc}");
    assert_eq!((extent.states, extent.steps), expected);
    met
}

/// A reason without the time in it.
fn kind(reason: StopReason) -> String {
    let shown = format!("{reason:?}");
    shown.split(' ').next().unwrap_or_default().to_owned()
}

#[test]
fn laws_hold_in_every_state() {
    let mut met = every_state(true, (14_483, 72_156));
    met.extend(every_state(false, (12_797, 63_456)));
    assert_eq!(met.len(), 3 + 8, "three states of the breaker, eight ends of the call: {met:?}");
}

const DEPTH: usize = 8;
