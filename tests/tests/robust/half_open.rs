//! What a trial does to the breaker, and above all what it does not do: keep its slot.

use crate::parts::{data, framed, refusal, service};
use crate::{CHARGE, ECHO, EXPORT, circuit, guarded, opens_after};
use core::time::Duration;
use evenkeel_core::{BreakerState, RetryPolicy};
use evenkeel_tests::pb::METHODS;
use evenkeel_tests::{Network, Peer, RawClient, Reason, Reply, Stub, drain, poll_n};
use evenkeel_tonic::{CircuitOpen, Resilient, cause};
use tonic::{Code, Request, Status};

/// A service whose circuit for `method` has been opened, and whose first trial is due.
async fn half_open(method: &'static str, reply: Reply) -> Resilient<Stub> {
    let stub = Stub::new([Reply::status(Status::internal("broken")), reply]);
    let service = Resilient::builder()
        .methods(&METHODS)
        .retry(RetryPolicy::DEFAULT)
        .timeout(Duration::from_secs(10))
        .unwrap()
        .breaker(opens_after(1, Duration::ZERO))
        .build(stub)
        .unwrap();
    RawClient::of(method, service.clone()).unary("ping").await.unwrap_err();
    assert_eq!(circuit(&service, method).state, BreakerState::Open);
    service
}

/// F83, before its first poll and in the middle of it.
#[tokio::test(start_paused = true)]
async fn f83_a_trial_that_is_dropped_gives_its_slot_back() {
    let service = half_open(ECHO, Reply::hang()).await;
    let mut client = RawClient::of(ECHO, service.clone());
    for polls in [0, 1, 1] {
        assert!(poll_n(polls, client.unary("ping")).await.is_none());
        let snapshot = circuit(&service, ECHO);
        assert_eq!(snapshot.trials, 0, "after {polls} polls");
        assert_ne!(snapshot.state, BreakerState::Closed, "it said nothing");
    }
    assert_eq!(service.get_ref().unwrap().count(), 3, "each was let out that was polled");
}

/// F83: a timeout outside drops it, which is no verdict either; only our own deadline is.
#[tokio::test(start_paused = true)]
async fn f83_a_timeout_outside_is_no_verdict_and_ours_is() {
    let service = half_open(ECHO, Reply::hang()).await;
    let mut client = RawClient::of(ECHO, service.clone());
    let second = Duration::from_secs(1);
    assert!(tokio::time::timeout(second, client.unary("ping")).await.is_err());
    let snapshot = circuit(&service, ECHO);
    assert_eq!((snapshot.state, snapshot.trials), (BreakerState::HalfOpen, 0));

    let mut request = Request::new("ping");
    request.set_timeout(second);
    assert_eq!(client.unary(request).await.unwrap_err().code(), Code::DeadlineExceeded);
    let snapshot = circuit(&service, ECHO);
    assert_eq!((snapshot.state, snapshot.trials), (BreakerState::Open, 0));
}

/// A trial holds its slot to the end of its stream, and not a moment longer.
#[tokio::test(start_paused = true)]
async fn a_stream_holds_its_slot_to_its_end() {
    let endless = Reply::headers().message("1").wait(Duration::from_secs(1)).message("2");
    let service = half_open(EXPORT, endless.end(Status::ok(""))).await;
    let mut client = RawClient::of(EXPORT, service.clone());
    let stream = client.server_streaming("all").await.unwrap().into_inner();
    assert_eq!(circuit(&service, EXPORT).trials, 1);
    let refused = client.clone().server_streaming("all").await.unwrap_err();
    let open = cause::<CircuitOpen>(&refused).unwrap();
    assert_eq!((refused.code(), open.attempts), (Code::Unavailable, 0));

    drop(stream);
    assert_eq!(circuit(&service, EXPORT).trials, 0);
    let stream = client.server_streaming("all").await.unwrap().into_inner();
    assert_eq!(drain(stream).await.0, ["1", "2"]);
    let snapshot = circuit(&service, EXPORT);
    assert_eq!((snapshot.state, snapshot.trials), (BreakerState::Closed, 0));
}

/// F89, C5: an answer that is neither good nor bad gives the slot back.
#[tokio::test(start_paused = true)]
async fn f89_what_says_nothing_about_the_server_leaves_it_half_open() {
    for code in [Code::NotFound, Code::Cancelled, Code::PermissionDenied, Code::OutOfRange] {
        let service = half_open(CHARGE, Reply::status(Status::new(code, "no"))).await;
        let mut client = RawClient::of(CHARGE, service.clone());
        for _ in 0..3 {
            assert_eq!(client.unary("ping").await.unwrap_err().code(), code);
            let snapshot = circuit(&service, CHARGE);
            assert_eq!((snapshot.state, snapshot.trials), (BreakerState::HalfOpen, 0));
        }
    }
}

/// A trial that fails and would be retried meets its own circuit, which is open again.
#[tokio::test(start_paused = true)]
async fn a_failed_trial_is_not_retried_into_its_own_circuit() {
    let inner = service(|_, _| async { refusal(Status::unavailable("down")) });
    let open_for = Duration::from_secs(60);
    let service = Resilient::builder()
        .methods(&METHODS)
        .retry(RetryPolicy::DEFAULT)
        .breaker(opens_after(1, open_for))
        .build(inner)
        .unwrap();
    let mut client = RawClient::of(ECHO, service.clone());
    for round in 0..3 {
        let status = client.unary("ping").await.unwrap_err();
        let open = cause::<CircuitOpen>(&status).unwrap();
        assert_eq!(open.attempts, 1, "round {round}");
        assert_eq!(open.last.as_ref().unwrap().message(), "down");
        assert_eq!(circuit(&service, ECHO).reopenings, round);
        tokio::time::sleep(open_for).await;
    }
}

/// The lease of a trial without a deadline holds while its stream is read.
#[tokio::test(start_paused = true)]
async fn a_stream_without_a_deadline_keeps_its_slot_while_it_moves() {
    let second = Duration::from_secs(1);
    let inner = service(move |call, _| async move {
        if call == 0 {
            return refusal(Status::internal("broken"));
        }
        let frames = futures_util::stream::unfold(0, move |sent| async move {
            tokio::time::sleep(second / 2).await;
            (sent < 8).then(|| (data(framed(b"item")), sent + 1))
        });
        Ok(http::Response::new(tonic::body::Body::new(http_body_util::StreamBody::new(frames))))
    });
    let breaker = opens_after(1, second);
    let service = Resilient::builder().methods(&METHODS).breaker(breaker).build(inner).unwrap();
    let mut client = RawClient::of(EXPORT, service.clone());
    client.server_streaming("all").await.unwrap_err();
    tokio::time::sleep(second).await;
    let mut stream = client.server_streaming("all").await.unwrap().into_inner();
    for _ in 0..8 {
        stream.message().await.unwrap().unwrap();
        let refused = client.clone().server_streaming("all").await.unwrap_err();
        assert!(cause::<CircuitOpen>(&refused).is_some());
    }
    assert_eq!(stream.message().await.unwrap_err().code(), Code::Unknown);
    assert_eq!(circuit(&service, EXPORT).state, BreakerState::Open);
}

/// What is repeated because nothing was executed is the same trial, and gives one verdict.
#[tokio::test(start_paused = true)]
async fn a_trial_that_is_repeated_at_once_is_one_trial() {
    let net = Network::new();
    let broken = Reply::status(Status::internal("broken"));
    let refused = || Reply::hang().reset(Reason::REFUSED_STREAM);
    let peer = Peer::new([broken, refused(), Reply::ok("pong")]).listen(&net, "a");
    let breaker = opens_after(1, Duration::ZERO);
    let service = guarded().breaker(breaker).build(net.channel("a")).unwrap();
    let mut client = RawClient::of(CHARGE, service.clone());
    client.unary("ping").await.unwrap_err();
    assert_eq!(client.unary("ping").await.unwrap().into_inner(), "pong");
    let snapshot = circuit(&service, CHARGE);
    assert_eq!((snapshot.state, snapshot.trials, peer.count()), (BreakerState::Closed, 0, 3));
}

/// Waiting for a connection is below the breaker: it is the trial, and its end is the verdict.
#[tokio::test(start_paused = true)]
async fn a_trial_that_waits_for_a_connection_holds_its_slot() {
    let net = Network::new();
    let builder = guarded().breaker(opens_after(1, Duration::ZERO)).wait_for_ready(true);
    let service = builder.build(net.channel("a")).unwrap();
    let second = Duration::from_secs(1);
    let call = |wait| {
        let mut client = RawClient::of(ECHO, service.clone());
        async move {
            tokio::time::sleep(wait).await;
            let mut request = Request::new("ping");
            request.set_timeout(second);
            client.unary(request).await.unwrap_err()
        }
    };
    assert_eq!(call(Duration::ZERO).await.code(), Code::DeadlineExceeded);
    let (trial, other) = tokio::join!(call(Duration::ZERO), call(second / 2));
    assert_eq!(trial.code(), Code::DeadlineExceeded);
    assert!(cause::<CircuitOpen>(&other).is_some());
    let snapshot = circuit(&service, ECHO);
    assert_eq!((snapshot.state, snapshot.trials, snapshot.reopenings), (BreakerState::Open, 0, 1));
}
