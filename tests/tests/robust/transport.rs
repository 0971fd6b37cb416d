//! Every way in which a connection fails a call, through the service: the true code, how far the
//! request got, and so whether a method that must not be executed twice is tried again.

use crate::{CHARGE, ECHO, circuit, guarded, sent, stopped};
use core::future::{Pending, pending};
use core::task::{Context, Poll};
use core::time::Duration;
use evenkeel_core::{RetryPolicy, Sent, StopReason};
use evenkeel_tests::{Dial, Greeting, Last, Network, Peer, Pipe, RawClient, Reason, Reply};
use evenkeel_tonic::{DeadlinePassed, cause};
use http::Uri;
use hyper_util::rt::TokioIo;
use std::io;
use tonic::Code;
use tonic::transport::Endpoint;
use tower::Service;

/// How a failure goes on for ever is told by the attempts it takes: of a method that may be
/// repeated, and of one that may not.
struct Row {
    fault: Reply,
    code: Code,
    sent: Sent,
    echo: usize,
    charge: usize,
    counted: bool,
}

const fn maybe(fault: Reply, code: Code, echo: usize, counted: bool) -> Row {
    Row { fault, code, sent: Sent::Maybe, echo, charge: 1, counted }
}

/// Repeated once at once for every method, and then three times as an attempt that failed.
const fn refused(fault: Reply) -> Row {
    let code = Code::Unavailable;
    Row { fault, code, sent: Sent::Refused, echo: 4, charge: 4, counted: true }
}

fn rows() -> Vec<Row> {
    let hang = Reply::hang;
    vec![
        maybe(hang().close(), Code::Unavailable, 3, true),
        maybe(hang().abort(), Code::Unavailable, 3, true),
        maybe(hang().reset(Reason::CANCEL), Code::Cancelled, 1, false),
        maybe(hang().reset(Reason::INTERNAL_ERROR), Code::Internal, 1, true),
        maybe(hang().reset(Reason::NO_ERROR), Code::Internal, 1, true),
        maybe(hang().reset(Reason::ENHANCE_YOUR_CALM), Code::ResourceExhausted, 3, true),
        maybe(hang().flood(64), Code::ResourceExhausted, 3, true),
        maybe(hang().go_away(Last::This, Reason::NO_ERROR).close(), Code::Unavailable, 3, true),
        maybe(
            hang().go_away(Last::This, Reason::ENHANCE_YOUR_CALM).close(),
            Code::Unavailable,
            3,
            true,
        ),
        refused(hang().reset(Reason::REFUSED_STREAM)),
        refused(hang().go_away(Last::Before, Reason::NO_ERROR)),
        refused(hang().go_away(Last::Before, Reason::ENHANCE_YOUR_CALM)),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_fault_that_stays() {
    for Row { fault, code, sent: how_far, echo, charge, counted } in rows() {
        for (method, attempts) in [(ECHO, echo), (CHARGE, charge)] {
            let net = Network::new();
            let peer = Peer::new([fault.clone()]).listen(&net, "a");
            let service = guarded().build(net.channel("a")).unwrap();
            let status = RawClient::of(method, service.clone()).unary("ping").await.unwrap_err();
            let name = format!("{method} answered by {fault:?}: {status:?}");
            assert_eq!((status.code(), sent(&status)), (code, Some(how_far)), "{name}");
            assert_eq!(peer.count(), attempts, "{name}");
            let transparent = usize::from(how_far == Sent::Refused);
            let failures = usize::from(circuit(&service, method).failures);
            assert_eq!(failures, if counted { attempts - transparent } else { 0 }, "{name}");
            assert!(stopped(&status).is_some(), "{name}");
        }
    }
}

/// Once is repeated for every method where nothing was executed, and as the first attempt.
#[tokio::test(start_paused = true)]
async fn a_fault_that_passes() {
    for Row { fault, sent: how_far, echo, .. } in rows() {
        for method in [ECHO, CHARGE] {
            let net = Network::new();
            let peer = Peer::new([fault.clone(), Reply::ok("pong")]).listen(&net, "a");
            let service = guarded().build(net.channel("a")).unwrap();
            let answer = RawClient::of(method, service.clone()).unary("ping").await;
            let repeated = how_far == Sent::Refused || (method == ECHO && echo > 1);
            assert_eq!(answer.is_ok(), repeated, "{method} answered by {fault:?}: {answer:?}");
            assert_eq!(peer.count(), if repeated { 2 } else { 1 }, "{fault:?}");
            if repeated {
                let number = (how_far != Sent::Refused).then_some("1");
                let last = &peer.requests()[1];
                assert_eq!(last.header("grpc-previous-rpc-attempts"), number, "{fault:?}");
                assert_eq!(last.messages(), [b"ping"], "{fault:?}");
                assert_eq!(circuit(&service, method).failures, 0);
            }
        }
    }
}

/// Nothing was sent, so every method is tried again, but not in a loop.
#[tokio::test(start_paused = true)]
async fn nobody_listens() {
    for method in [ECHO, CHARGE] {
        let net = Network::new();
        let service = guarded().build(net.channel("a")).unwrap();
        let status = RawClient::of(method, service.clone()).unary("ping").await.unwrap_err();
        assert_eq!((status.code(), sent(&status)), (Code::Unavailable, Some(Sent::NotConnected)));
        assert_eq!(stopped(&status), Some(StopReason::AttemptsUsedUp));
        assert_eq!(net.dials("a").len(), 3);
        assert_eq!(circuit(&service, method).failures, 3);
        assert!(net.dials("a")[2] >= Duration::from_millis(270), "they are paced");
    }
}

/// F51: a dial that hangs was not sent, and an answer that hangs may have been.
#[tokio::test(start_paused = true)]
async fn f51_what_timed_out_decides() {
    let second = Duration::from_secs(1);
    for (dial, reply, attempts, how_far) in [
        (Dial::Hang, Reply::ok("pong"), 3, Sent::NotConnected),
        (Dial::Connect, Reply::hang(), 1, Sent::Maybe),
    ] {
        let net = Network::new();
        net.on_dial("a", [dial]);
        let peer = Peer::new([reply]).listen(&net, "a");
        let endpoint = net.endpoint("a").connect_timeout(second).timeout(second);
        let channel = endpoint.connect_with_connector_lazy(net.dialer());
        let service = guarded().build(channel).unwrap();
        let status = RawClient::of(CHARGE, service).unary("ping").await.unwrap_err();
        assert_eq!(sent(&status), Some(how_far), "{status:?}");
        assert_eq!(net.dials("a").len(), attempts);
        assert_eq!(peer.count(), usize::from(how_far == Sent::Maybe));
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_closed_before_it_serves() {
    for greeting in [Greeting::Close, Greeting::CloseAfterPreface] {
        let net = Network::new();
        let peer = Peer::new([Reply::ok("pong")]);
        let peer = peer.greeting([greeting, Greeting::Serve]).listen(&net, "a");
        let service = guarded().build(net.channel("a")).unwrap();
        let answer = RawClient::of(ECHO, service.clone()).unary("ping").await;
        assert!(answer.is_ok(), "{greeting:?}: {answer:?}");
        assert_eq!((peer.connections(), peer.count()), (2, 1), "{greeting:?}");
    }
}

/// G35: of three calls on a connection that takes one at a time and dies, the third was still in
/// the queue, and says so. It is repeated although it must not be executed twice.
#[tokio::test(start_paused = true)]
async fn a_request_still_in_the_queue_was_never_sent() {
    let net = Network::new();
    let dies = Reply::hang().close().after(Duration::from_secs(1));
    let peer = Peer::new([dies, Reply::ok("pong")]).max_streams(1).listen(&net, "a");
    let service = guarded().build(net.channel("a")).unwrap();
    let call = async |wait| {
        tokio::time::sleep(Duration::from_millis(wait)).await;
        RawClient::of(CHARGE, service.clone()).unary("ping").await
    };
    let (sent_one, _opening, queued) = tokio::join!(call(0), call(10), call(20));
    assert_eq!(sent(&sent_one.unwrap_err()), Some(Sent::Maybe));
    assert_eq!(queued.unwrap().into_inner(), "pong");
    assert_eq!(peer.requests()[1].header("grpc-previous-rpc-attempts"), None);
}

#[tokio::test(start_paused = true)]
async fn a_ping_that_is_not_answered() {
    let net = Network::new();
    let peer = Peer::new([Reply::hang()]).listen(&net, "a");
    let second = Duration::from_secs(1);
    let endpoint = net.endpoint("a").http2_keep_alive_interval(second).keep_alive_timeout(second);
    let channel = endpoint.connect_with_connector_lazy(net.dialer());
    let retry = RetryPolicy::OFF;
    let service = guarded().retry(retry).build(channel).unwrap();
    net.after(second / 2, |net| net.freeze("a"));
    let status = RawClient::of(ECHO, service.clone()).unary("ping").await.unwrap_err();
    assert_eq!((status.code(), sent(&status)), (Code::Unavailable, Some(Sent::Maybe)));
    assert_eq!((peer.count(), circuit(&service, ECHO).failures), (1, 1));
}

/// tonic's own timer, when it is the nearer one: a deadline, and none of ours.
#[tokio::test(start_paused = true)]
async fn an_endpoints_timeout_is_a_deadline() {
    let net = Network::new();
    let peer = Peer::new([Reply::hang()]).listen(&net, "a");
    let tune = |endpoint: Endpoint| endpoint.timeout(Duration::from_secs(1));
    let channel = tune(net.endpoint("a")).connect_with_connector_lazy(net.dialer());
    let service = guarded().build(channel).unwrap();
    let status = RawClient::of(ECHO, service.clone()).unary("ping").await.unwrap_err();
    assert_eq!((status.code(), sent(&status)), (Code::DeadlineExceeded, Some(Sent::Maybe)));
    assert!(cause::<DeadlinePassed>(&status).is_none(), "{status:?}");
    assert_eq!((peer.count(), circuit(&service, ECHO).failures), (1, 1));
}

/// A connector that is not ready once leaves a channel that is dead for ever. That is an answer,
/// and nothing was sent.
#[tokio::test(start_paused = true)]
async fn a_connector_that_is_not_ready_once() {
    #[derive(Clone)]
    struct NeverReady;
    impl Service<Uri> for NeverReady {
        type Response = TokioIo<Pipe>;
        type Error = io::Error;
        type Future = Pending<io::Result<TokioIo<Pipe>>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Err(io::ErrorKind::OutOfMemory.into()))
        }

        fn call(&mut self, _: Uri) -> Self::Future {
            pending()
        }
    }
    let channel = Network::new().endpoint("a").connect_with_connector_lazy(NeverReady);
    let service = guarded().build(channel).unwrap();
    for method in [ECHO, CHARGE] {
        let status = RawClient::of(method, service.clone()).unary("ping").await.unwrap_err();
        assert_eq!((status.code(), sent(&status)), (Code::Unavailable, Some(Sent::NotConnected)));
    }
}

/// A call in the queue before a connection that is over before its turn is not sent. (One that is
/// past the queue and waits for its stream is sent late and reset at once; that is h2's.)
#[tokio::test(start_paused = true)]
async fn a_call_that_is_over_before_its_turn_is_not_sent() {
    let net = Network::new();
    let second = Duration::from_secs(1);
    let slow = Reply::ok("pong").after(3 * second);
    let replies = [slow, Reply::ok("pong").after(second)];
    let peer = Peer::new(replies).max_streams(1).listen(&net, "a");
    let service = guarded().build(net.channel("a")).unwrap();
    let call = async |after, limit, name: &'static str| {
        tokio::time::sleep(after).await;
        let mut request = tonic::Request::new(name);
        request.set_timeout(limit);
        RawClient::of(ECHO, service.clone()).unary(request).await.map_err(|status| status.code())
    };
    let ended = tokio::join!(
        call(Duration::ZERO, 9 * second, "sent"),
        call(second / 4, second, "opening"),
        call(second / 2, second, "queued"),
        call(2 * second, 9 * second, "next"),
    );
    let late = || Err(Code::DeadlineExceeded);
    let (sent, opening, queued, next) = ended;
    assert!(sent.is_ok() && next.is_ok());
    assert_eq!((opening.map(drop), queued.map(drop)), (late(), late()));
    let requests = peer.requests();
    let seen: Vec<_> = requests.iter().map(|seen| seen.messages()[0]).collect();
    assert_eq!(seen, [&b"sent"[..], b"opening", b"next"]);
    assert_eq!(requests[1].reset, Some((3 * second, Reason::CANCEL)));
}
