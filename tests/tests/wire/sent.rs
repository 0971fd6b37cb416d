//! What is repeated because it was certainly not executed: G10, G29 to G37.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use evenkeel_tests::{Last, Peer, RawClient, Reason, Reply};
use evenkeel_tonic::core::{BreakerState, RetryPolicy, Sent, StopReason};
use evenkeel_tonic::{Builder, Stopped, TransportError, cause};
use tonic::Code;
use tonic::transport::Endpoint;

use crate::lab::{CHARGE, ECHO, Lab, busy, code, ok, pass, timed};
use crate::policies::{client, millis, opens_after, retries};

fn refused() -> Reply {
    Reply::hang().reset(Reason::REFUSED_STREAM)
}

/// A retry block that retries nothing.
fn off() -> Builder {
    client().retry(RetryPolicy::OFF).breaker(opens_after(5))
}

#[tokio::test(start_paused = true)]
async fn g10_a_transparent_repetition_keeps_its_number() {
    let lab = Lab::new(client().retry(retries(3, 100)), [busy(), refused(), busy(), ok()]);
    assert_eq!(lab.unary(ECHO).await.unwrap(), "pong");
    let one = || Some("1".to_owned());
    assert_eq!(lab.previous(), [None, one(), one(), Some("2".to_owned())]);
    assert_eq!(lab.starts(), [0, 100, 100, 300]);
}

#[tokio::test(start_paused = true)]
async fn g30_a_refused_stream_is_repeated_once_for_any_method() {
    for method in [ECHO, CHARGE] {
        let lab = Lab::new(off(), [refused(), ok()]);
        assert_eq!(timed(lab.unary(method)).await.1, 0);
        assert_eq!(lab.previous(), [None, None], "it counts as no attempt");
        assert_eq!(lab.circuit(method), (BreakerState::Closed, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn g31_a_stream_that_is_always_refused_is_sent_twice() {
    let lab = Lab::new(off(), [refused()]);
    let failed = lab.unary(CHARGE).await.unwrap_err();
    assert_eq!((failed.code(), lab.peer.count()), (Code::Unavailable, 2));
    assert_eq!(cause::<TransportError>(&failed).unwrap().sent(), Sent::Refused);
    assert_eq!(lab.circuit(CHARGE), (BreakerState::Closed, 1), "the second time it counts");
}

/// Used up, a refusal goes to the retry policy like any other failure; for every method, because
/// nothing was executed.
#[tokio::test(start_paused = true)]
async fn a_refused_stream_is_retried_by_the_policy_for_any_method() {
    let lab = Lab::new(client().retry(retries(3, 100)), [refused()]);
    let failed = lab.unary(CHARGE).await.unwrap_err();
    assert_eq!(lab.starts(), [0, 0, 100, 300]);
    let stopped = cause::<Stopped>(&failed).unwrap();
    assert_eq!((stopped.reason, stopped.attempts), (StopReason::AttemptsUsedUp, 3));
}

#[tokio::test(start_paused = true)]
async fn g33_what_a_goaway_excludes_is_repeated_on_a_new_connection() {
    for reason in [Reason::NO_ERROR, Reason::ENHANCE_YOUR_CALM] {
        let lab = Lab::new(off(), [Reply::hang().go_away(Last::Before, reason), ok()]);
        assert_eq!(lab.unary(CHARGE).await.unwrap(), "pong");
        assert_eq!((lab.peer.count(), lab.peer.connections()), (2, 2));
        assert_eq!(lab.circuit(CHARGE), (BreakerState::Closed, 0));
    }
}

/// A GOAWAY that accepts the request says nothing about it, and a connection lost after that
/// leaves it open whether it was executed.
#[tokio::test(start_paused = true)]
async fn g33_what_a_goaway_accepts_is_not() {
    let accepted = || Reply::hang().go_away(Last::This, Reason::NO_ERROR).wait(millis(50));
    let lab = Lab::new(off(), [accepted().message("pong").end(tonic::Status::ok(""))]);
    assert_eq!(lab.unary(CHARGE).await.unwrap(), "pong");
    assert_eq!(lab.peer.count(), 1);

    let lab = Lab::new(off(), [accepted().close(), ok()]);
    let failed = lab.unary(CHARGE).await.unwrap_err();
    assert_eq!((failed.code(), lab.peer.count()), (Code::Unavailable, 1));
    assert_eq!(cause::<TransportError>(&failed).unwrap().sent(), Sent::Maybe);
}

/// One stream at a time, and the connection dies under three calls: the first was sent, the second
/// waits for its stream (which nobody can tell from sent), the third waits in line.
#[tokio::test(start_paused = true)]
async fn g35_what_was_in_line_on_a_dying_connection_is_sent_again_for_any_method() {
    let dies = Reply::hang().close().after(millis(1_000));
    let lab = Lab::dark(off(), [dies, ok()]);
    let _peer = lab.peer.clone().max_streams(1).listen(&lab.net, "a");
    let call = async |wait| {
        pass(wait).await;
        lab.unary(CHARGE).await
    };
    let (sent, opening, queued) = tokio::join!(call(0), call(10), call(20));
    for lost in [sent, opening] {
        let lost = lost.unwrap_err();
        assert_eq!(lost.code(), Code::Unavailable);
        assert_eq!(cause::<TransportError>(&lost).unwrap().sent(), Sent::Maybe);
    }
    assert_eq!(queued.unwrap(), "pong");
    assert_eq!(lab.starts(), [0, 1_000], "each of the two was seen once");
}

/// A server that closes its connection between calls costs nobody a call.
#[tokio::test(start_paused = true)]
async fn a_connection_that_went_stale_costs_no_call() {
    let lab = Lab::new(off(), [ok().close()]);
    for _ in 0..20 {
        assert_eq!(lab.unary(CHARGE).await.unwrap(), "pong");
    }
    assert_eq!(lab.circuit(CHARGE), (BreakerState::Closed, 0));
}

/// The same where the end of a connection and the next request may cross on their way. Unlike in
/// memory a request may then be lost after it was sent, so that it takes a method that may be
/// executed twice.
#[tokio::test]
async fn a_connection_that_went_stale_costs_no_call_on_a_socket_either() {
    let peer = Peer::new([ok().close()]);
    let address = peer.listen_tcp().await.unwrap();
    let channel = Endpoint::from_shared(format!("http://{address}")).unwrap().connect_lazy();
    let service = client().retry(retries(10, 1)).build(channel).unwrap();
    let mut client = RawClient::of(ECHO, service);
    for _ in 0..50 {
        assert_eq!(client.unary("ping").await.unwrap().into_inner(), "pong");
    }
}

#[tokio::test(start_paused = true)]
async fn g36_a_server_that_is_down_fails_fast_and_every_attempt_counts() {
    let lab = Lab::dark(off(), []);
    let (failed, took) = timed(lab.unary(ECHO)).await;
    let failed = failed.unwrap_err();
    assert_eq!((failed.code(), took), (Code::Unavailable, 0));
    let error = cause::<TransportError>(&failed).unwrap();
    assert_eq!(error.sent(), Sent::NotConnected);
    assert!(error.sent().nothing_executed());

    // Nothing was executed, so the policy may repeat any method.
    let lab = Lab::dark(client().retry(retries(3, 100)).breaker(opens_after(5)), []);
    let (failed, took) = timed(lab.unary(CHARGE)).await;
    assert_eq!((code(&failed), took), (Code::Unavailable, 300));
    assert_eq!(lab.circuit(CHARGE), (BreakerState::Closed, 3));
    assert_eq!(lab.net.dials("a").len(), 3);
}

#[tokio::test(start_paused = true)]
async fn g36_inside_the_pause_after_a_failed_dial_attempts_fail_at_once() {
    let retry = client().retry(retries(3, 100)).breaker(opens_after(5));
    let lab = Lab::dark_over_our_connector(retry, []);
    let (failed, took) = timed(lab.unary(CHARGE)).await;
    let failed = failed.unwrap_err();
    assert_eq!((failed.code(), took), (Code::Unavailable, 300));
    assert_eq!(cause::<TransportError>(&failed).unwrap().sent(), Sent::NotConnected);
    assert_eq!(lab.circuit(CHARGE), (BreakerState::Closed, 3));
    assert_eq!(lab.net.dials("a").len(), 1, "the pause is a second");
}

#[tokio::test(start_paused = true)]
async fn g37_what_may_have_been_executed_is_not_repeated_without_leave() {
    for (broken, code) in [
        (Reply::hang().reset(Reason::CANCEL), Code::Cancelled),
        (Reply::hang().reset(Reason::INTERNAL_ERROR), Code::Internal),
        (Reply::hang().close(), Code::Unavailable),
        (Reply::hang().abort(), Code::Unavailable),
        (Reply::headers().close(), Code::Unavailable),
        (Reply::headers().reset(Reason::REFUSED_STREAM), Code::Unavailable),
    ] {
        let executions = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&executions);
        let counted = broken.clone().executing(move |_| {
            counter.fetch_add(1, Ordering::Relaxed);
        });
        let lab = Lab::new(client().retry(retries(3, 100)), [counted, ok()]);
        let failed = lab.unary(CHARGE).await.unwrap_err();
        assert_eq!(failed.code(), code, "{broken:?}");
        assert_eq!(executions.load(Ordering::Relaxed), 1, "{broken:?}");
        assert_eq!(cause::<TransportError>(&failed).unwrap().sent(), Sent::Maybe, "{broken:?}");
    }
}
