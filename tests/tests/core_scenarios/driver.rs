//! This file knows how to drive a call through a script in virtual time, and what it saw.
//!
//! The loop has the three arms of every driver, and a list of what is under way, because a hedging
//! call has several attempts there. Time passes only here, and only to where the call or an answer
//! wants it.

use evenkeel_core::{
    Action, Attempt, Because, BreakerPolicy, Call, CallPolicy, CircuitBreaker, Code, Deadline,
    Instant, Micros, Next, Outcome, Single, StopReason, Throttle, ThrottlePolicy, Upstream,
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
    /// Everything that went out, transparent repetitions included.
    pub(crate) attempts: Vec<Seen>,
    /// The retries that were scheduled, whether or not they came to anything.
    pub(crate) retries: Vec<Retry>,
    /// What the last attempt to end had ended in; `None` if there was none.
    pub(crate) last: Option<Code>,
    pub(crate) reason: StopReason,
    pub(crate) took: Micros,
    /// The attempts that count.
    pub(crate) counted: u16,
}

/// One attempt, as it went out.
#[derive(Debug)]
pub(crate) struct Seen {
    /// Since the call began.
    pub(crate) at: Micros,
    /// Time until its deadline.
    pub(crate) slice: Micros,
    /// The value of `grpc-previous-rpc-attempts`.
    pub(crate) previous: u16,
    pub(crate) target: u16,
}

/// One retry, as `complete` announced it.
#[derive(Debug)]
pub(crate) struct Retry {
    /// The number of the attempt that failed.
    pub(crate) failed: u16,
    pub(crate) code: Code,
    pub(crate) wait: Micros,
    pub(crate) because: Because,
}

impl Run {
    /// How many attempts the peer saw.
    pub(crate) fn sent(&self) -> usize {
        self.attempts.len()
    }

    /// Start and slice of every attempt, in milliseconds; [`UNBOUNDED`] without a deadline.
    pub(crate) fn slices(&self) -> Vec<(u64, u64)> {
        self.attempts.iter().map(|seen| (millis(seen.at), millis(seen.slice))).collect()
    }

    /// When the attempts started, in milliseconds.
    pub(crate) fn starts(&self) -> Vec<u64> {
        self.attempts.iter().map(|seen| millis(seen.at)).collect()
    }

    /// The waits that were scheduled, in milliseconds.
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

/// Exact, because a test that rounds cannot see a rounding fault.
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
        // Not zero, so that a forgotten subtraction shows.
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
    pub(crate) fn drive<const N: usize>(&mut self, call: Call<N>, script: &[Reply]) -> Run {
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
pub(crate) fn drive<const N: usize>(
    now: &mut Instant,
    upstream: &mut impl Upstream,
    mut call: Call<N>,
    script: &[Reply],
) -> Run {
    let began = *now;
    let mut under_way: Vec<UnderWay> = Vec::new();
    let (mut attempts, mut retries, mut last) = (Vec::new(), Vec::new(), None);
    // Far more steps than any scenario has: a call that spins fails instead of hanging.
    for _ in 0..100_000 {
        match call.poll(*now, upstream) {
            Action::Attempt(attempt) => {
                let reply = script.get(attempts.len()).or_else(|| script.last()).expect("a reply");
                attempts.push(seen(&attempt, began));
                under_way.push(UnderWay::new(*now, attempt, reply));
            }
            Action::WaitUntil(at) => {
                assert!(at > *now, "it asked to be polled in the same instant");
                *now = under_way.iter().map(|flight| flight.ends).fold(at, Ord::min);
                assert!(*now < Instant::MAX, "nothing will ever happen");
                if let Some(ended) = under_way.iter().position(|flight| flight.ends <= *now) {
                    let flight = under_way.remove(ended);
                    last = Some(flight.ended);
                    retries.extend(flight.complete(*now, &mut call, upstream));
                }
            }
            Action::Finish(reason) => {
                let (took, counted) = (now.since(began), call.attempts());
                return Run { attempts, retries, last, reason, took, counted };
            }
        }
    }
    panic!("the call never ends");
}

fn seen(attempt: &Attempt, began: Instant) -> Seen {
    Seen {
        at: attempt.started().since(began),
        slice: attempt.deadline().remaining(attempt.started()),
        previous: attempt.previous(),
        target: attempt.target().number(),
    }
}

/// An attempt and what will come of it.
#[derive(Debug)]
struct UnderWay {
    attempt: Attempt,
    ends: Instant,
    /// What the driver hands over, even when it is too late: the call must see that by itself.
    answer: Outcome,
    ended: Code,
}

impl UnderWay {
    /// A driver cuts an attempt off at its deadline.
    fn new(now: Instant, attempt: Attempt, reply: &Reply) -> Self {
        let (answer, ends) = (reply.outcome, now + reply.after);
        if attempt.deadline().is_over(ends) {
            let ends = attempt.deadline().instant();
            return Self { attempt, ends, answer, ended: Code::DeadlineExceeded };
        }
        Self { attempt, ends, answer, ended: answer.code }
    }

    fn complete<const N: usize>(
        self,
        now: Instant,
        call: &mut Call<N>,
        upstream: &mut impl Upstream,
    ) -> Option<Retry> {
        let (failed, code) = (self.attempt.number(), self.ended);
        match call.complete(now, upstream, self.attempt, self.answer) {
            Next::Retry { at, because } => {
                Some(Retry { failed, code, wait: at.since(now), because })
            }
            Next::StillTrying | Next::Stop(_) => None,
        }
    }
}
