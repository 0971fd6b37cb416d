//! This file knows how a gRPC server says what a scenario has it say.

use evenkeel_core::{Code, Micros, Outcome, Pushback, Sent};
use evenkeel_scripted::{Answer, Scenario, Wire};
use evenkeel_tests::{Dial, Last, Network, Peer, Reason, Reply, Seen};
use tonic::Status;

/// Lets a peer that answers as the scenario says listen from when it says.
pub(crate) fn raise(net: &Network, scenario: &'static Scenario) {
    let is_there = |answer: &&Answer| answer.outcome != Outcome::not_connected();
    let refused = scenario.answers().take_while(|answer| !is_there(answer)).count();
    let rest = scenario.answers().filter(is_there).count();
    assert_eq!(refused + rest, scenario.answers().count(), "a connection that is there stays");
    if rest == 0 {
        return;
    }
    net.on_dial(HOST, (0..refused).map(|_| Dial::Refuse).chain([Dial::Connect]));
    let mut replies = scenario.replies();
    let peer = Peer::answering(move |seen| {
        let index = number(seen);
        loop {
            let answer = replies.next(index);
            if is_there(&&answer) {
                let stream = scenario.calls()[index].is_stream();
                return if stream { streamed(answer) } else { single(answer) };
            }
        }
    });
    let comes = scenario.listens().unwrap_or_default();
    if comes.is_zero() {
        peer.listen(net, HOST);
    } else {
        net.after(comes.as_duration(), move |net| drop(peer.listen(net, HOST)));
    }
}

/// What answers one message.
fn single(answer: Answer) -> Reply {
    let Answer { after, outcome, wire } = answer;
    if after == Micros::MAX {
        return Reply::hang();
    }
    let reply = match (wire, outcome.sent) {
        (Wire::GoAway, _) => Reply::hang().go_away(Last::Before, Reason::NO_ERROR),
        (Wire::Lost, _) => Reply::hang().abort(),
        (Wire::NoStatus, _) => Reply::headers().end_without_status(),
        _ if outcome.sent == Sent::Refused => Reply::hang().reset(Reason::REFUSED_STREAM),
        _ if outcome.code == Code::Ok => Reply::ok("pong"),
        (Wire::Trailing, _) => asking(Reply::headers().end(status(answer)), outcome.pushback),
        (Wire::Plain, _) => asking(Reply::status(status(answer)), outcome.pushback),
    };
    if after.is_zero() { reply } else { reply.after(after.as_duration()) }
}

/// A stream of one item, that takes its time after it.
fn streamed(answer: Answer) -> Reply {
    let mut reply = Reply::headers().message("1");
    if answer.after == Micros::MAX {
        return reply;
    }
    if !answer.after.is_zero() {
        reply = reply.wait(answer.after.as_duration());
    }
    match answer.wire {
        Wire::Lost => reply.abort(),
        Wire::NoStatus => reply.end_without_status(),
        _ => asking(reply.end(status(answer)), answer.outcome.pushback),
    }
}

fn status(answer: Answer) -> Status {
    Status::new(tonic::Code::from_i32(answer.outcome.code.number()), "the peer says so")
}

/// With what the peer asks for beside its status.
fn asking(reply: Reply, pushback: Pushback) -> Reply {
    match pushback {
        Pushback::AtLeast(wait) => {
            assert_eq!(wait.as_micros() % 1_000_000, 0, "retry-after is in whole seconds");
            reply.trailer("retry-after", wait.as_duration().as_secs().to_string())
        }
        Pushback::Exactly(wait) => {
            let millis = wait.as_duration().as_millis().to_string();
            reply.trailer("grpc-retry-pushback-ms", millis)
        }
        Pushback::None => reply,
        Pushback::Stop => reply.trailer("grpc-retry-pushback-ms", "-1"),
    }
}

/// Which call a request is of.
pub(crate) fn number(seen: &Seen) -> usize {
    seen.header(CALL).and_then(|number| number.parse().ok()).expect("every call has a number")
}

/// Where it listens.
pub(crate) const HOST: &str = "lab";
/// The header that says which call a request is of.
pub(crate) const CALL: &str = "x-call";
