//! `Resilient` under attack: by hostile servers, impatient callers and careless layers. Whatever
//! they do, nothing breaks, nothing leaks, and nothing is executed twice that must not be.

mod parts;

mod answers;
mod chain;
mod contract;
mod contradictions;
mod crowd;
mod drops;
mod ends;
mod faults_deadline;
mod faults_replay;
mod garbage;
mod half_open;
mod layers;
mod limits;
mod messages;
mod names;
mod panics;
mod ready;
mod sizes;
mod sockets;
mod statuses;
mod streams;
mod time;
mod transport;
mod warnings;
mod zero_time;

use core::time::Duration;
use evenkeel_core::{BreakerPolicy, Consecutive, RetryPolicy, Sent, Snapshot, StopReason};
use evenkeel_tests::pb::METHODS;
use evenkeel_tests::{Network, Peer, RawClient, Reply};
use evenkeel_tonic::{Builder, Resilient, Stopped, TransportError, cause};
use tonic::Status;
use tonic::transport::Channel;

/// Unary, and declared harmless to repeat.
const ECHO: &str = "/lab.v1.Lab/Echo";
/// Unary, and nothing is declared: never executed twice.
const CHARGE: &str = "/lab.v1.Lab/Charge";
/// A response stream, declared harmless to repeat.
const EXPORT: &str = "/lab.v1.Lab/Export";
/// A request stream.
const UPLOAD: &str = "/lab.v1.Lab/Upload";
/// Streams both ways.
const CHAT: &str = "/lab.v1.Lab/Chat";

/// Ten seconds, three attempts, and a breaker that five failures in a row open.
fn guarded() -> Builder {
    Resilient::builder()
        .methods(&METHODS)
        .timeout(Duration::from_secs(10))
        .unwrap()
        .retry(RetryPolicy::DEFAULT)
        .breaker(BreakerPolicy::DEFAULT)
}

/// That, over a channel to a peer with these replies.
fn resilient(replies: impl IntoIterator<Item = Reply>) -> (Resilient<Channel>, Peer) {
    let net = Network::new();
    let peer = Peer::new(replies).listen(&net, "a");
    (guarded().build(net.channel("a")).unwrap(), peer)
}

/// The same as a client of one method.
fn client_of(
    method: &'static str,
    replies: impl IntoIterator<Item = Reply>,
) -> (RawClient<Resilient<Channel>>, Peer) {
    let (service, peer) = resilient(replies);
    (RawClient::of(method, service), peer)
}

/// A breaker that this many failures in a row open, for this long.
fn opens_after(threshold: u16, open_for: Duration) -> BreakerPolicy {
    BreakerPolicy::new(Consecutive::new(threshold).unwrap()).with_open_for(open_for).unwrap()
}

/// What the breaker of `method` looks like.
fn circuit<S>(service: &Resilient<S>, method: &str) -> Snapshot {
    service.circuit_breaker_states()[""][method]
}

/// How far the request got, where the transport failed.
fn sent(status: &Status) -> Option<Sent> {
    cause::<TransportError>(status).map(TransportError::sent)
}

/// Why there was no further attempt.
fn stopped(status: &Status) -> Option<StopReason> {
    cause::<Stopped>(status).map(|stopped| stopped.reason)
}
