//! This file knows how a scenario is played by a client of the simulated world.

use core::cell::RefCell;

use evenkeel_core::{Instant, Micros};
use evenkeel_scripted::{Circuit, End, Look, Scenario, Seen, Sent, Shows, Trace, When};
use evenkeel_sim::{Budget, Cue, Guard, Heard, Performed, Policy, Reply, Shown, rehearse};

pub(crate) fn run(scenario: &Scenario) -> Seen {
    let calls = scenario.calls();
    // All of them are of one method, or the scenario is not for a simulated client.
    let policy = Policy {
        call: scenario.call_policy(calls[0].method),
        guard: scenario.breaker().map_or(Guard::None, Guard::Consecutive),
        budget: scenario.throttle().map_or(Budget::None, Budget::Shipped),
        open_jitter: 0,
    };
    let cues: Vec<Cue> =
        calls.iter().map(|call| Cue { at: call.at, within: call.within }).collect();
    let looks: Vec<Micros> = scenario.looks().iter().map(|look| look.at).collect();
    let replies = RefCell::new(scenario.replies());
    let seen = rehearse(&policy, &cues, &looks, SEED, |call| {
        let answer = replies.borrow_mut().next(call);
        Reply { after: answer.after, outcome: answer.outcome }
    });
    let looks = scenario.looks().iter().zip(seen.shown);
    Seen {
        calls: seen.calls.iter().map(trace).collect(),
        looks: looks.map(|(look, shown)| shows(look, &shown)).collect(),
    }
}

fn trace(call: &Performed) -> Trace {
    let mut number = 0;
    let sent = call.attempts.iter().map(|heard: &Heard| Sent {
        at: When::at(heard.at),
        left: When::at(heard.left),
        again: core::mem::replace(&mut number, heard.number) == heard.number,
    });
    let sent = sent.collect();
    let (at, reason, code) = call.end.expect("every call has ended");
    Trace { sent, end: End::new(at, reason, code, Instant::ZERO) }
}

fn shows(look: &Look, shown: &Shown) -> Look {
    let shows = match look.shows {
        Shows::Breaker(method, _) => {
            let circuit = shown.breaker.map(|shown| Circuit::of(&shown, Instant::ZERO));
            Shows::Breaker(method, circuit.unwrap_or(Circuit::NEW))
        }
        Shows::Tokens(_) => Shows::Tokens(shown.millitokens.unwrap_or(0)),
    };
    Look { at: look.at, shows }
}

const SEED: u64 = 7;
