//! This file knows how a scenario's call is driven by this adapter, and what it saw: the same
//! vocabulary as the driver of `tests/tests/core_scenarios`, over embassy's timers.

use evenkeel_core::{
    Because, BreakerPolicy, Call, CallPolicy, CircuitBreaker, Clock, Code, Deadline, Event,
    Instant, Micros, Next, Outcome, Single, StopReason, Throttle, ThrottlePolicy, Upstream,
};
use evenkeel_embassy::{
    AttemptInfo, EmbassyClock, Exchange, drive as drive_on_embassy, sleep_until,
};

use crate::policies::ms;

/// An attempt succeeded.
pub(crate) const OK: Outcome = Outcome::success();
/// `UNAVAILABLE`, and it may have been executed.
pub(crate) const U: Outcome = Outcome::unavailable();

/// What the peer does with one attempt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reply {
    after: Micros,
    outcome: Outcome,
}

/// It never answers.
pub(crate) const HANG: Reply = Reply { after: Micros::MAX, outcome: OK };

/// It answers in the same instant.
pub(crate) const fn at_once(outcome: Outcome) -> Reply {
    Reply { after: Micros::ZERO, outcome }
}

/// It answers after this many milliseconds.
pub(crate) const fn after(millis: u64, outcome: Outcome) -> Reply {
    Reply { after: ms(millis), outcome }
}

/// What one call did.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) attempts: Vec<Seen>,
    pub(crate) retries: Vec<Retry>,
    pub(crate) last: Option<Code>,
    pub(crate) reason: StopReason,
    pub(crate) took: Micros,
    pub(crate) counted: u16,
}

/// One attempt, as it went out.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) at: Micros,
    pub(crate) slice: Micros,
    pub(crate) previous: u16,
    pub(crate) target: u16,
}

/// One retry, as it was announced.
#[derive(Debug)]
pub(crate) struct Retry {
    pub(crate) failed: u16,
    pub(crate) code: Code,
    pub(crate) wait: Micros,
    pub(crate) because: Because,
}

impl Run {
    pub(crate) fn sent(&self) -> usize {
        self.attempts.len()
    }

    /// Start and slice of every attempt, in milliseconds; [`UNBOUNDED`] without a deadline.
    pub(crate) fn slices(&self) -> Vec<(u64, u64)> {
        self.attempts.iter().map(|seen| (millis(seen.at), millis(seen.slice))).collect()
    }

    pub(crate) fn starts(&self) -> Vec<u64> {
        self.attempts.iter().map(|seen| millis(seen.at)).collect()
    }

    pub(crate) fn waits(&self) -> Vec<u64> {
        self.retries.iter().map(|retry| millis(retry.wait)).collect()
    }

    /// Why it ended, how many attempts the peer saw, and after how many milliseconds.
    pub(crate) fn end(&self) -> (StopReason, usize, u64) {
        (self.reason, self.sent(), millis(self.took))
    }
}

/// The slice of an attempt without a deadline.
pub(crate) const UNBOUNDED: u64 = u64::MAX;

fn millis(span: Micros) -> u64 {
    if span == Micros::MAX {
        return UNBOUNDED;
    }
    assert_eq!(span.as_micros() % 1_000, 0, "{} µs are no whole milliseconds", span.as_micros());
    span.as_micros() / 1_000
}

/// A caller with a clock, a policy, and perhaps a breaker and a throttle.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) now: Instant,
    pub(crate) policy: CallPolicy,
    breaker: Option<(CircuitBreaker, BreakerPolicy)>,
    throttle: Option<(Throttle, ThrottlePolicy)>,
    calls: u32,
}

impl Client {
    pub(crate) fn new(policy: CallPolicy) -> Self {
        let now = Instant::from_micros(7_000_000);
        Self { now, policy, breaker: None, throttle: None, calls: 0 }
    }

    pub(crate) fn with_breaker(mut self, policy: BreakerPolicy) -> Self {
        self.breaker = Some((CircuitBreaker::new(), policy));
        self
    }

    pub(crate) fn with_throttle(mut self, policy: ThrottlePolicy) -> Self {
        self.throttle = Some((Throttle::full(&policy), policy));
        self
    }

    /// A call without a deadline of its caller's. The last reply repeats.
    pub(crate) fn call(&mut self, script: &[Reply]) -> Run {
        self.call_until(Deadline::NONE, script)
    }

    pub(crate) fn call_until(&mut self, caller: Deadline, script: &[Reply]) -> Run {
        let deadline = self.policy.deadline(self.now, caller);
        self.calls += 1;
        self.drive(Call::new(deadline, self.calls), script)
    }

    /// A call that was made, and perhaps prepared, by the test.
    pub(crate) fn drive(&mut self, call: Call, script: &[Reply]) -> Run {
        let mut upstream = Single::new(&self.policy);
        if let Some((breaker, policy)) = &mut self.breaker {
            upstream = upstream.with_breaker(breaker, policy);
        }
        if let Some((throttle, policy)) = &mut self.throttle {
            upstream = upstream.with_throttle(throttle, policy);
        }
        drive(&mut self.now, &mut upstream, call, script)
    }

    pub(crate) fn pass(&mut self, millis: u64) {
        self.now = self.now + ms(millis);
    }

    pub(crate) fn breaker(&self) -> &CircuitBreaker {
        &self.breaker.as_ref().expect("the test gave it a breaker").0
    }

    pub(crate) fn millitokens(&self) -> u32 {
        self.throttle.as_ref().expect("the test gave it a throttle").0.millitokens()
    }
}

/// Drives `call` to its end. The last reply of `script` repeats.
pub(crate) fn drive(
    now: &mut Instant,
    upstream: &mut impl Upstream,
    mut call: Call,
    script: &[Reply],
) -> Run {
    let mut peer = Peer {
        script,
        began: *now,
        attempts: Vec::new(),
        retries: Vec::new(),
        last: None,
        reason: None,
    };
    let began = *now;
    let ended = drive_on_embassy(&mut call, upstream, &mut peer);
    let (_, end) = simulated::run_from(now.as_micros(), ended);
    *now = Instant::from_micros(end);
    Run {
        attempts: peer.attempts,
        retries: peer.retries,
        last: peer.last.map(|(_, code)| code),
        reason: peer.reason.expect("it ended"),
        took: now.since(began),
        counted: call.attempts(),
    }
}

/// Answers as its script says, and notes what it was told.
struct Peer<'a> {
    script: &'a [Reply],
    began: Instant,
    attempts: Vec<Seen>,
    retries: Vec<Retry>,
    /// Number and code of the last attempt.
    last: Option<(u16, Code)>,
    reason: Option<StopReason>,
}

impl Exchange for Peer<'_> {
    type Reply = Outcome;
    type Error = Outcome;

    async fn attempt(&mut self, attempt: AttemptInfo) -> Result<Outcome, Outcome> {
        let reply =
            *self.script.get(self.attempts.len()).or_else(|| self.script.last()).expect("a reply");
        self.attempts.push(Seen {
            at: attempt.started().since(self.began),
            slice: attempt.deadline().remaining(attempt.started()),
            previous: attempt.previous(),
            target: attempt.target().number(),
        });
        let ends = attempt.started() + reply.after;
        let too_late = attempt.deadline().is_over(ends);
        let ended = if too_late { Code::DeadlineExceeded } else { reply.outcome.code };
        self.last = Some((attempt.number(), ended));
        if reply.after > Micros::ZERO {
            sleep_until(ends).await;
        }
        if reply.outcome.code == Code::Ok { Ok(reply.outcome) } else { Err(reply.outcome) }
    }

    fn classify(&self, reply: &Result<Outcome, Outcome>) -> Outcome {
        match reply {
            Ok(outcome) | Err(outcome) => *outcome,
        }
    }

    fn happened(&mut self, event: Event) {
        match event {
            Event::Ended(Next::Retry { at, because }) => {
                let (failed, code) = self.last.expect("an attempt");
                let wait = at.since(EmbassyClock.now());
                self.retries.push(Retry { failed, code, wait, because });
            }
            Event::Stopped(reason) => self.reason = Some(reason),
            _ => {}
        }
    }
}
