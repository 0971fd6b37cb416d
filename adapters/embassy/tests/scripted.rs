//! Every scenario that is written as data and that this adapter can be told of: the same files as
//! on the core, tokio, tonic and the simulator (`tests/tests/scripted` in the other workspace).
//!
//! A scenario is a test: `cargo test -p evenkeel-embassy --test scripted R25` runs one.

use std::cell::RefCell;
use std::pin::Pin;
use std::task::Poll;

use embassy_futures::select::{Either, select};
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use evenkeel_core::{
    BreakerPolicy, Clock, Code, Consecutive, Event, Instant, Micros, Outcome, StopReason,
};
use evenkeel_embassy::{
    AttemptInfo, EmbassyClock, Error, Exchange, Peers, Tokens, drive, sleep_until,
};
use evenkeel_scripted::{
    Call, Circuit, End, Look, Replies, Runtime, Scenario, Seen, Sent, Shows, Trace, What, When, why,
};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let trials = Runtime::EMBASSY.scenarios().map(|scenario| {
        let name = format!("embassy {}", scenario.name());
        Trial::test(name, move || scenario.check(&run(scenario)).map_err(Failed::from))
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}

fn run(scenario: &Scenario) -> Seen {
    // Not zero, so that a forgotten subtraction shows.
    let (seen, _) = simulated::run_from(7_000_000, async {
        let stage = Stage::new(scenario);
        let traces = RefCell::new(vec![None; scenario.calls().len()]);
        let looks = RefCell::new(Vec::new());
        let mut acts: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> = Vec::new();
        for index in 0..scenario.calls().len() {
            let (stage, traces) = (&stage, &traces);
            acts.push(Box::pin(async move {
                let trace = stage.call(index).await;
                traces.borrow_mut()[index] = Some(trace);
            }));
        }
        acts.push(Box::pin(async {
            for look in scenario.looks() {
                let seen = stage.look(look).await;
                looks.borrow_mut().push(seen);
            }
        }));
        all(&mut acts).await;
        drop(acts);
        let calls = traces.take().into_iter().map(|trace| trace.expect("every call has ended"));
        Seen { calls: calls.collect(), looks: looks.take() }
    });
    seen
}

/// Waits for all of these.
async fn all(acts: &mut Vec<Pin<Box<dyn Future<Output = ()> + '_>>>) {
    std::future::poll_fn(|context| {
        acts.retain_mut(|act| act.as_mut().poll(context).is_pending());
        if acts.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

struct Stage<'a> {
    scenario: &'a Scenario,
    began: Instant,
    peers: Peers<CriticalSectionRawMutex, &'static str, 8>,
    breaker: BreakerPolicy,
    tokens: Option<Tokens<CriticalSectionRawMutex>>,
    replies: RefCell<Replies<'a>>,
}

impl<'a> Stage<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        // Of a table's breakers there is always one; this one no script is long enough to open.
        let never = || BreakerPolicy::new(Consecutive::new(u16::MAX).unwrap());
        // Firmware has its policies in flash.
        let tokens = scenario.throttle().map(|policy| Tokens::full(Box::leak(Box::new(policy))));
        Self {
            scenario,
            began: EmbassyClock.now(),
            peers: Peers::new(),
            breaker: scenario.breaker().unwrap_or_else(never),
            tokens,
            replies: RefCell::new(scenario.replies()),
        }
    }

    async fn call(&self, index: usize) -> Trace {
        let call = &self.scenario.calls()[index];
        sleep_until(self.began.after(call.at)).await;
        let mut peer = Peer { stage: self, call: index, sent: Vec::new(), number: 0, reason: None };
        let end = match call.cancel {
            None => self.made(index, call, &mut peer).await,
            Some(at) => {
                let goes = sleep_until(self.began.after(at));
                match select(self.made(index, call, &mut peer), goes).await {
                    Either::First(end) => end,
                    Either::Second(()) => End::gone(self.elapsed()),
                }
            }
        };
        Trace { sent: peer.sent, end }
    }

    async fn made(&self, index: usize, call: &Call, peer: &mut Peer<'_, '_>) -> End {
        let now = EmbassyClock.now();
        let policy = self.scenario.call_policy(call.method);
        let deadline = match self.scenario.deadline(self.began, now, call) {
            Ok(deadline) => deadline,
            Err(spent) => return End::spent(self.elapsed(), &spent),
        };
        let mut upstream = self.peers.view(call.method, &policy, &self.breaker);
        if let Some(tokens) = &self.tokens {
            upstream = upstream.with_throttle(tokens);
        }
        // Another seed for each.
        let mut machine = evenkeel_core::Call::new(deadline, index as u32 + 1);
        if call.once {
            machine.forbid_repeats();
        }
        let reply = drive(&mut machine, upstream, peer).await;
        let at = self.elapsed();
        let code = match reply {
            Ok(()) => Code::Ok,
            Err(Error::CircuitOpen { retry_at, .. }) => {
                return End::refused(at, retry_at.since(self.began));
            }
            Err(Error::Peer { error, .. }) => error.code,
            Err(_) => Code::DeadlineExceeded,
        };
        End { at: When::at(at), what: What::Code(code), why: peer.reason.and_then(why) }
    }

    async fn look(&self, look: &Look) -> Look {
        sleep_until(self.began.after(look.at)).await;
        let shows = match look.shows {
            Shows::Breaker(method, _) => {
                let shown = self.peers.snapshot(method);
                let circuit = shown.map(|shown| Circuit::of(&shown, self.began));
                Shows::Breaker(method, circuit.unwrap_or(Circuit::NEW))
            }
            Shows::Tokens(_) => {
                Shows::Tokens(self.tokens.as_ref().map_or(0, |tokens| tokens.millitokens()))
            }
        };
        Look { at: look.at, shows }
    }

    fn elapsed(&self) -> Micros {
        EmbassyClock.now().since(self.began)
    }
}

/// Answers as the scenario says, and notes what it was told.
struct Peer<'p, 'a> {
    stage: &'p Stage<'a>,
    call: usize,
    sent: Vec<Sent>,
    /// The number of the latest attempt.
    number: u16,
    reason: Option<StopReason>,
}

impl Exchange for Peer<'_, '_> {
    type Reply = ();
    type Error = Outcome;

    async fn attempt(&mut self, attempt: AttemptInfo) -> Result<(), Outcome> {
        self.sent.push(Sent {
            at: When::at(attempt.started().since(self.stage.began)),
            left: When::at(attempt.deadline().remaining(attempt.started())),
            again: attempt.number() == self.number,
        });
        self.number = attempt.number();
        let answer = self.stage.replies.borrow_mut().next(self.call);
        if !answer.after.is_zero() {
            sleep_until(attempt.started().after(answer.after)).await;
        }
        if answer.outcome.code == Code::Ok { Ok(()) } else { Err(answer.outcome) }
    }

    fn classify(&self, reply: &Result<(), Outcome>) -> Outcome {
        match reply {
            Ok(()) => Outcome::success(),
            Err(outcome) => *outcome,
        }
    }

    fn happened(&mut self, event: Event) {
        if let Event::Stopped(reason) = event {
            self.reason = Some(reason);
        }
    }
}
