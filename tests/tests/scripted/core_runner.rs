//! This file knows how a scenario is played on the core alone: the machines are stepped by hand,
//! and time passes only to where something happens.
//!
//! It is also the judge of scenarios: where two calls act in one instant, which of them is first
//! would be the runtime's choice, so such a scenario is refused.

use evenkeel_core::{
    Action, Attempt, BreakerPolicy, BreakerTable, Call, Code, Instant, Keyed, Outcome, Single,
    Throttle, ThrottlePolicy, Upstream,
};
use evenkeel_scripted::{Circuit, End, Look, Replies, Scenario, Seen, Sent, Shows, Trace, When};

/// Not zero, so that a forgotten subtraction shows.
const BEGAN: Instant = Instant::from_micros(7_000_000);

pub(crate) fn run(scenario: &Scenario) -> Seen {
    let mut stage = Stage::new(scenario);
    while let Some((at, actors)) = stage.next() {
        stage.now = at;
        match actors[..] {
            [Actor::Call(index)] => stage.act(index),
            _ if actors.iter().all(|actor| matches!(actor, Actor::Look)) => stage.look(),
            _ => panic!("{}: {actors:?} act at one time, {}", scenario.name(), at.since(BEGAN)),
        }
    }
    stage.seen()
}

/// Who acts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Actor {
    Call(usize),
    Look,
}

struct Stage<'a> {
    scenario: &'a Scenario,
    now: Instant,
    calls: Vec<Player>,
    looks: Vec<Look>,
    replies: Replies<'a>,
    shared: Shared,
}

/// What calls share.
struct Shared {
    breakers: BreakerTable<&'static str, 8>,
    breaker: Option<BreakerPolicy>,
    throttle: Option<(Throttle, ThrottlePolicy)>,
}

/// A call, and how far it is.
struct Player {
    call: Option<Call>,
    flight: Option<Flight>,
    /// When it acts next; [`Instant::MAX`] for never.
    next: Instant,
    sent: Vec<Sent>,
    /// The number of its latest attempt.
    number: u16,
    last: Code,
    end: Option<End>,
}

/// An attempt under way.
struct Flight {
    attempt: Attempt,
    ends: Instant,
    answer: Outcome,
}

impl<'a> Stage<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        let throttle = scenario.throttle().map(|policy| (Throttle::full(&policy), policy));
        let breaker = scenario.breaker();
        let player = |call: &evenkeel_scripted::Call| Player {
            call: None,
            flight: None,
            next: BEGAN.after(call.at),
            sent: Vec::new(),
            number: 0,
            last: Code::Unavailable,
            end: None,
        };
        Self {
            scenario,
            now: BEGAN,
            calls: scenario.calls().iter().map(player).collect(),
            looks: Vec::new(),
            replies: scenario.replies(),
            shared: Shared { breakers: BreakerTable::new(), breaker, throttle },
        }
    }

    /// When something happens next, and who does it.
    fn next(&self) -> Option<(Instant, Vec<Actor>)> {
        let mut acts = Vec::new();
        for (index, player) in self.calls.iter().enumerate().filter(|(_, one)| one.end.is_none()) {
            let goes = self.scenario.calls()[index].cancel;
            let goes = goes.map_or(Instant::MAX, |at| BEGAN.after(at));
            acts.push((player.next.min(goes), Actor::Call(index)));
        }
        let looks = self.scenario.looks().iter().skip(self.looks.len());
        acts.extend(looks.map(|look| (BEGAN.after(look.at), Actor::Look)));
        let first = acts.iter().map(|(at, _)| *at).min()?;
        assert!(first < Instant::MAX, "{}: nothing will ever happen", self.scenario.name());
        let actors = acts.into_iter().filter(|(at, _)| *at == first).map(|(_, actor)| actor);
        Some((first, actors.collect()))
    }

    fn act(&mut self, index: usize) {
        let (call, now) = (&self.scenario.calls()[index], self.now);
        let player = &mut self.calls[index];
        let policy = self.scenario.call_policy(call.method);
        if player.call.is_none() {
            match self.scenario.deadline(BEGAN, now, call) {
                // Another seed for each.
                Ok(deadline) => {
                    let machine = player.call.insert(Call::new(deadline, index as u32 + 1));
                    if call.once {
                        machine.forbid_repeats();
                    }
                }
                Err(spent) => {
                    player.end = Some(End::spent(now.since(BEGAN), &spent));
                    return;
                }
            }
        }
        let goes = call.cancel.is_some_and(|at| BEGAN.after(at) == now);
        let replies = &mut || self.replies.next(index);
        let Shared { breakers, breaker, throttle } = &mut self.shared;
        match (breaker, throttle) {
            (Some(breaker), Some((throttle, tokens))) => {
                let upstream = Keyed::new(call.method, &policy, breakers, breaker);
                player.act(now, upstream.with_throttle(throttle, tokens), goes, replies);
            }
            (Some(breaker), None) => {
                player.act(now, Keyed::new(call.method, &policy, breakers, breaker), goes, replies);
            }
            (None, Some((throttle, tokens))) => {
                let upstream = Single::new(&policy).with_throttle(throttle, tokens);
                player.act(now, upstream, goes, replies);
            }
            (None, None) => player.act(now, Single::new(&policy), goes, replies),
        }
    }

    fn look(&mut self) {
        for look in self.scenario.looks().iter().filter(|look| BEGAN.after(look.at) == self.now) {
            let shows = match look.shows {
                Shows::Breaker(method, _) => {
                    let breaker = self.shared.breakers.get(method);
                    let shown = breaker.map(|breaker| Circuit::of(&breaker.snapshot(), BEGAN));
                    Shows::Breaker(method, shown.unwrap_or(Circuit::NEW))
                }
                Shows::Tokens(_) => {
                    let throttle = self.shared.throttle.as_ref();
                    Shows::Tokens(throttle.map_or(0, |(throttle, _)| throttle.millitokens()))
                }
            };
            self.looks.push(Look { at: look.at, shows });
        }
    }

    fn seen(self) -> Seen {
        let traces = self.calls.into_iter().map(|player| {
            let end = player.end.expect("every call has ended");
            Trace { sent: player.sent, end }
        });
        Seen { calls: traces.collect(), looks: self.looks }
    }
}

impl Player {
    /// The three arms, until there is nothing more to do in this instant.
    fn act(
        &mut self,
        now: Instant,
        mut upstream: impl Upstream,
        goes: bool,
        replies: &mut impl FnMut() -> evenkeel_scripted::Answer,
    ) {
        let call = self.call.as_mut().expect("it has started");
        if goes {
            call.cancel(now, &mut upstream);
            self.end = Some(End::gone(now.since(BEGAN)));
            return;
        }
        loop {
            if let Some(flight) = self.flight.take_if(|flight| flight.ends <= now) {
                let too_late = flight.attempt.deadline().is_over(now);
                self.last = if too_late { Code::DeadlineExceeded } else { flight.answer.code };
                // What it says is handed over even when it is too late: the call must see that.
                let _ = call.complete(now, &mut upstream, flight.attempt, flight.answer);
            }
            match call.poll(now, &mut upstream) {
                Action::Attempt(attempt) => {
                    self.sent.push(Sent {
                        at: When::at(now.since(BEGAN)),
                        left: When::at(attempt.deadline().remaining(now)),
                        again: attempt.number() == self.number,
                    });
                    self.number = attempt.number();
                    let answer = replies();
                    let ends = attempt.deadline().instant().min(now.after(answer.after));
                    self.flight = Some(Flight { attempt, ends, answer: answer.outcome });
                }
                Action::WaitUntil(at) => {
                    assert!(at > now, "it asked to be polled in the same instant");
                    self.next = self.flight.as_ref().map_or(at, |flight| flight.ends);
                    if self.next > now {
                        return;
                    }
                }
                Action::Finish(reason) => {
                    self.end = Some(End::new(now.since(BEGAN), reason, self.last, BEGAN));
                    return;
                }
            }
        }
    }
}
