//! How calls wait for a connection: W11 to W13, G65 to G69 and R38.

use core::future::{Ready, ready};
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context, Poll};
use std::io;
use std::sync::Arc;

use evenkeel_tests::{Dial, Greeting, Network, Peer, RawClient, Reply};
use evenkeel_tonic::connect::{self, DialPolicy};
use evenkeel_tonic::core::{BreakerState, Deadline, Sent, StopReason};
use evenkeel_tonic::{Builder, CircuitOpen, DeadlinePassed, Stopped, TransportError, cause};
use http::{Request, Response};
use tonic::body::Body;
use tonic::{Code, ConnectError, Status};
use tower::Service;

use crate::lab::{CHARGE, ECHO, Lab, busy, code, ok, pass, timed};
use crate::policies::{client, millis, opens_after, retries};

/// Three attempts within `timeout`, which wait for a connection.
fn waiting(timeout: u64) -> Builder {
    let builder = client().timeout(millis(timeout)).unwrap().retry(retries(3, 100));
    builder.wait_for_ready(true).breaker(opens_after(5))
}

/// Over tonic's connector, where each call looks for itself, and over ours.
fn dark(builder: fn() -> Builder, replies: impl Fn() -> Vec<Reply>) -> [Lab; 2] {
    [Lab::dark(builder(), replies()), Lab::dark_over_our_connector(builder(), replies())]
}

#[tokio::test(start_paused = true)]
async fn w11_and_g65_a_call_made_too_early_waits_and_is_sent_once() {
    for comes in [200, 400] {
        for lab in dark(|| waiting(3_000), || vec![ok()]) {
            lab.listen_after(comes);
            let (answer, took) = timed(lab.unary(CHARGE)).await;
            assert_eq!((answer.unwrap(), lab.peer.count()), ("pong".into(), 1));
            // A pause is shorter than what was waited before it.
            assert!((comes..2 * comes).contains(&took), "{took} ms");
            assert_eq!(lab.previous(), [None], "it is still the first attempt");
            assert_eq!(lab.circuit(CHARGE), (BreakerState::Closed, 0));
        }
    }
}

/// However many wait, the target sees the dials of one schedule.
#[tokio::test(start_paused = true)]
async fn g65_calls_that_wait_share_their_dials() {
    let lab = Lab::dark_over_our_connector(waiting(3_000), [ok()]);
    lab.listen_after(400);
    let calls = (0..64).map(|_| lab.unary(ECHO));
    let answers = futures_util::future::join_all(calls).await;
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!(lab.peer.count(), 64);
    // 20 ms × 1.6 ± 20 %: of these at most nine fit into 400 ms.
    assert!(lab.net.dials("a").len() <= 9, "{:?}", lab.net.dials("a"));
}

#[tokio::test(start_paused = true)]
async fn w12_without_waiting_a_dead_target_fails_fast() {
    let lab = Lab::dark(client().timeout(millis(10_000)).unwrap(), []);
    let (failed, took) = timed(lab.unary(ECHO)).await;
    assert_eq!((code(&failed), took), (Code::Unavailable, 0));
}

#[tokio::test(start_paused = true)]
async fn w13_and_g67_a_connection_that_never_comes_costs_one_attempt_and_one_failure() {
    for lab in dark(|| waiting(1_000), Vec::new) {
        let (failed, took) = timed(lab.unary(ECHO)).await;
        let failed = failed.unwrap_err();
        assert_eq!((failed.code(), took), (Code::DeadlineExceeded, 1_000));
        assert_eq!(cause::<DeadlinePassed>(&failed).unwrap().attempts, 1);
        assert_eq!(cause::<TransportError>(&failed).unwrap().sent(), Sent::NotConnected);
        assert_eq!(lab.circuit(ECHO), (BreakerState::Closed, 1));
        assert!(lab.net.dials("a").len() <= 12, "{:?}", lab.net.dials("a"));
    }
}

/// So a backend that stays away trips its circuit although every call waits for it.
#[tokio::test(start_paused = true)]
async fn g67_waiting_calls_open_the_circuit() {
    for lab in dark(|| waiting(1_000).breaker(opens_after(2)), Vec::new) {
        for _ in 0..2 {
            assert_eq!(code(&lab.unary(ECHO).await), Code::DeadlineExceeded);
        }
        let (refused, took) = timed(lab.unary(ECHO)).await;
        let refused = refused.unwrap_err();
        assert_eq!((refused.code(), took), (Code::Unavailable, 0));
        assert!(cause::<CircuitOpen>(&refused).is_some());
    }
}

/// Sent is sent: what follows is the retry policy's business.
#[tokio::test(start_paused = true)]
async fn g69_a_connection_lost_after_sending_is_not_waited_for() {
    for lab in dark(|| waiting(5_000), || vec![Reply::hang().abort(), ok()]) {
        lab.listen_after(0);
        pass(1).await;
        let failed = lab.unary(CHARGE).await.unwrap_err();
        assert_eq!((failed.code(), lab.peer.count()), (Code::Unavailable, 1));
        assert_eq!(cause::<TransportError>(&failed).unwrap().sent(), Sent::Maybe);
        assert_eq!(cause::<Stopped>(&failed).unwrap().reason, StopReason::NotIdempotent);
    }
    for lab in dark(|| waiting(5_000), || vec![Reply::hang().abort(), ok()]) {
        lab.listen_after(0);
        pass(1).await;
        assert_eq!(lab.unary(ECHO).await.unwrap(), "pong");
        assert_eq!(lab.previous(), [None, Some("1".to_owned())]);
    }
}

/// The second attempt finds nobody, and waits as the first would have.
#[tokio::test(start_paused = true)]
async fn r38_every_attempt_waits() {
    for lab in dark(|| waiting(5_000), || vec![busy().close(), ok()]) {
        lab.listen_after(0);
        pass(1).await;
        lab.net.on_dial("a", [Dial::Connect, Dial::Refuse]);
        let net = lab.net.clone();
        lab.net.after(millis(2_000), move |_| net.on_dial("a", [Dial::Connect]));
        let (answer, took) = timed(lab.unary(ECHO)).await;
        assert_eq!(answer.unwrap(), "pong");
        assert!((2_000..=3_000).contains(&took), "{took} ms");
        assert_eq!(lab.previous(), [None, Some("1".to_owned())]);
    }
}

/// A waiting call gives its place back when it is dropped.
#[tokio::test(start_paused = true)]
async fn a_waiting_call_that_is_dropped_leaves_nothing_behind() {
    for lab in dark(|| waiting(5_000).breaker(opens_after(1)), || vec![busy(), ok()]) {
        lab.listen_after(0);
        pass(1).await;
        // Open, and then half-open with a trial that waits.
        assert!(lab.unary(ECHO).await.is_err());
        lab.net.cut("a");
        lab.net.on_dial("a", [Dial::Refuse]);
        pass(10_000).await;
        assert!(tokio::time::timeout(millis(500), lab.unary(ECHO)).await.is_err());
        let shown = lab.breaker(ECHO);
        assert_eq!((shown.state, shown.trials), (BreakerState::HalfOpen, 0));
    }
}

/// Fails at once for want of a connection, whatever anybody else knows.
#[derive(Clone, Default)]
struct Nobody(Arc<AtomicUsize>);

impl Service<Request<Body>> for Nobody {
    type Response = Response<Body>;
    type Error = ConnectError;
    type Future = Ready<Result<Response<Body>, ConnectError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Body>) -> Self::Future {
        self.0.fetch_add(1, Ordering::Relaxed);
        ready(Err(ConnectError(io::Error::from(io::ErrorKind::ConnectionRefused).into())))
    }
}

/// A channel that has no connection although there is one must not be asked in a loop.
#[tokio::test(start_paused = true)]
async fn a_channel_that_fails_at_once_although_connected_is_not_asked_in_a_loop() {
    let net = Network::new();
    let _peer = Peer::new([ok()]).listen(&net, "a");
    let target = net.endpoint("a").uri().clone();
    let (_connector, connectivity) =
        connect::connector(net.dialer(), target, DialPolicy::DEFAULT, 7);
    connectivity.wait(Deadline::NONE).await.unwrap();
    assert!(connectivity.is_ready());

    for builder in [waiting(10_000).connectivity(connectivity), waiting(10_000)] {
        let nobody = Nobody::default();
        let mut client = RawClient::of(ECHO, builder.build(nobody.clone()).unwrap());
        let (answer, took) = timed(client.unary("ping")).await;
        let failed: Status = answer.unwrap_err();
        assert_eq!((failed.code(), took), (Code::DeadlineExceeded, 10_000));
        // Pauses of 20 ms × 1.6 ± 20 %, up to a second.
        let asked = nobody.0.load(Ordering::Relaxed);
        assert!((10..=30).contains(&asked), "{asked} times");
    }
}

/// A load balancer without backends accepts and closes. That is dialled no more often than one that
/// refuses, and what it never took is no reason to go on for ever.
#[tokio::test(start_paused = true)]
async fn a_target_that_accepts_and_closes_is_dialled_a_few_times() {
    for lab in dark(|| waiting(60_000), Vec::new) {
        let closes = Peer::new([]).greeting([Greeting::Close]);
        let _peer = closes.listen(&lab.net, "a");
        assert!(lab.unary(ECHO).await.is_err());
        let dials = lab.net.dials("a").len();
        assert!((2..=20).contains(&dials), "{dials} dials");
    }
}

const LATE: &str = "timeout of 3.00s passed in the first attempt of /lab.v1.Lab/Echo";

/// It was never sent, and how the dial failed is in the error's own words.
#[tokio::test(start_paused = true)]
async fn a_call_that_waited_to_the_end_says_that_it_was_never_connected() {
    for lab in dark(|| waiting(3_000), Vec::new) {
        let late = lab.unary(ECHO).await.unwrap_err();
        let said = "it was never connected: connection refused";
        assert_eq!(late.message(), format!("{LATE}; {said}"));
        let passed = cause::<DeadlinePassed>(&late).unwrap();
        assert_eq!((passed.attempts, &passed.connecting), (1, &None));
        assert_eq!(passed.unconnected.as_deref(), Some("connection refused"));
        assert!(format!("{passed:?}").contains("unconnected: Some"), "{passed:?}");
    }
}

/// Of several attempts it was the last, and what came of the others is in the sources.
#[tokio::test(start_paused = true)]
async fn a_retry_that_waited_to_the_end_says_so_of_itself() {
    for lab in dark(|| waiting(3_000), || vec![busy()]) {
        let _listens = lab.peer.clone().listen(&lab.net, "a");
        lab.net.after(millis(50), |net| {
            drop(net.listen("a"));
            net.cut("a");
        });
        let late = lab.unary(ECHO).await;
        let said = "timeout of 3.00s passed after 2 attempts of /lab.v1.Lab/Echo; the last was \
                    never connected: connection refused";
        assert_eq!(late.unwrap_err().message(), said);
    }
}

/// Connected at last and not answered: that it had waited before is no reason.
#[tokio::test(start_paused = true)]
async fn a_call_that_waited_and_was_sent_says_nothing_of_the_dial() {
    for lab in dark(|| waiting(3_000), || vec![Reply::hang()]) {
        lab.listen_after(400);
        let late = lab.unary(ECHO).await.unwrap_err();
        assert_eq!(late.message(), LATE);
        assert_eq!(cause::<DeadlinePassed>(&late).unwrap().unconnected, None);
        assert_eq!(lab.peer.count(), 1);
    }
}

/// The last dial is under way, and the one before it failed: both are said.
#[tokio::test(start_paused = true)]
async fn a_dial_that_hangs_is_told_with_how_the_last_one_failed() {
    let lab = Lab::dark_over_our_connector(waiting(3_000), []);
    lab.net.on_dial("a", [Dial::Refuse, Dial::Hang]);
    let late = lab.unary(ECHO).await.unwrap_err();
    let said = "the connection to lab was still being made (last: connection refused)";
    assert_eq!(late.message(), format!("{LATE}; {said}"));
}

/// tonic's own layer between the two says word for word what it is made of.
#[tokio::test(start_paused = true)]
async fn a_dial_that_failed_is_told_once_however_it_is_printed() {
    let lab = Lab::dark_over_our_connector(client(), []);
    let failed = lab.unary(ECHO).await.unwrap_err();
    let told = format!("{:?}", cause::<TransportError>(&failed).unwrap());
    assert_eq!(told.matches("not connected, next try in").count(), 1, "{told}");
    assert!(told.contains(" <- dial failed <- connection refused"), "{told}");
}
