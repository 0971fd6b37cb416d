//! The time of a call, to its last message: G50, G51, G54 to G56 and C48.

use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use bytes::Bytes;
use evenkeel_tests::{Reason, Reply};
use evenkeel_tonic::core::{BreakerState, StopReason};
use evenkeel_tonic::{Builder, DeadlinePassed, Stopped, TransportError, cause};
use tonic::body::Body;
use tonic::{Code, Status};
use tower::Service;

use crate::lab::{ECHO, EXPORT, KINDS, Lab, busy, code, fails, ok, pass, statuses, timed, within};
use crate::policies::{client, millis, opens_after, retries};

fn timeout(after: u64) -> Builder {
    client().timeout(millis(after)).unwrap()
}

#[tokio::test(start_paused = true)]
async fn g50_the_second_attempt_is_cut_off_at_the_calls_deadline() {
    let lab = Lab::new(timeout(2_000).retry(retries(3, 100)), [busy().after(millis(1_500))]);
    let (failed, took) = timed(lab.unary(ECHO)).await;
    let failed = failed.unwrap_err();
    assert_eq!((failed.code(), took), (Code::DeadlineExceeded, 2_000));
    assert_eq!(lab.slices(), [(0, 2_000), (1_600, 400)]);
    let passed = cause::<DeadlinePassed>(&failed).unwrap();
    assert_eq!((&*passed.method, passed.attempts), (ECHO, 2));
    assert_eq!(passed.last.as_ref().unwrap().message(), "the peer says so");
}

#[tokio::test(start_paused = true)]
async fn g51_a_wait_that_would_pass_the_deadline_is_not_begun() {
    let lab = Lab::new(timeout(2_000).retry(retries(3, 1_000)), [busy().after(millis(1_500))]);
    let (failed, took) = timed(lab.unary(ECHO)).await;
    let failed = failed.unwrap_err();
    assert_eq!((failed.code(), took, lab.peer.count()), (Code::Unavailable, 1_500, 1));
    assert_eq!(cause::<Stopped>(&failed).unwrap().reason, StopReason::DeadlineWouldPass);
}

/// Items so far, then the deadline; and the server's handler is let go.
#[tokio::test(start_paused = true)]
async fn g54_a_stream_ends_at_its_deadline() {
    let ticks = (0..20).fold(Reply::headers(), |reply, _| reply.message("tick").wait(millis(100)));
    let lab = Lab::new(timeout(1_050).breaker(opens_after(1)), [ticks]);
    let ((items, status), took) = timed(lab.export()).await;
    let status = status.unwrap();
    assert_eq!((items.len(), status.code(), took), (11, Code::DeadlineExceeded, 1_050));
    assert_eq!(cause::<DeadlinePassed>(&status).unwrap().attempts, 1);
    assert_eq!(lab.breaker(EXPORT).state, BreakerState::Open);
    pass(1).await;
    assert_eq!(lab.peer.requests()[0].reset, Some((millis(1_050), Reason::CANCEL)));
}

/// Of a server that always has one more item ready, nobody ever waits for a frame.
#[tokio::test(start_paused = true)]
async fn g54_a_stream_that_never_pauses_ends_at_its_deadline_too() {
    let flood = Reply::headers().messages([b"tick".as_slice(); 1_000]);
    let lab = Lab::new(timeout(1_050), [flood]);
    let mut stream = lab.client(EXPORT).server_streaming("ping").await.unwrap().into_inner();
    let mut items = 0;
    let failed = loop {
        match stream.message().await {
            Ok(item) => assert_eq!(item.unwrap(), "tick"),
            Err(failed) => break failed,
        }
        items += 1;
        pass(100).await;
    };
    assert_eq!((items, failed.code()), (11, Code::DeadlineExceeded));
    assert!(cause::<DeadlinePassed>(&failed).is_some());
}

/// What the server has sent in time does not speak against it, however late it is read: the call ends
/// at its deadline, and is no verdict. Also where the body is pending once between many frames.
#[tokio::test(start_paused = true)]
async fn g54_a_slow_reader_is_no_failure_of_the_server() {
    let items = [b"tick".as_slice(); 140];
    for end in [Status::ok(""), Status::not_found("")] {
        let reply = Reply::headers().messages(items).end(end);
        let lab = Lab::new(timeout(500).breaker(opens_after(1)), [reply]);
        for read in [0, 1, 126, 127, 128, 129, 130, 140] {
            assert_eq!(late_after(&lab, read).await.code(), Code::DeadlineExceeded, "{read}");
            assert_eq!(lab.circuit(EXPORT), (BreakerState::Closed, 0), "after {read} items");
        }
    }
}

/// But what had not come by then does, and so does a failure of the server's own.
#[tokio::test(start_paused = true)]
async fn g54_a_server_that_was_late_itself_is_judged_also_by_a_slow_reader() {
    let two = || Reply::headers().messages(["1", "2"]);
    let ends =
        [Status::unavailable("broken"), Status::cancelled(""), Status::deadline_exceeded("")];
    let failed = ends.map(|end| two().end(end));
    for reply in failed.into_iter().chain([two(), two().reset(Reason::INTERNAL_ERROR)]) {
        let lab = Lab::new(timeout(500).breaker(opens_after(1)), [reply]);
        assert_eq!(late_after(&lab, 2).await.code(), Code::DeadlineExceeded);
        assert_eq!(lab.breaker(EXPORT).state, BreakerState::Open);
    }
}

/// How a stream ends whose reader takes this many items, and comes back when it is too late.
async fn late_after(lab: &Lab, items: usize) -> Status {
    let mut stream = lab.client(EXPORT).server_streaming("ping").await.unwrap().into_inner();
    for _ in 0..items {
        stream.message().await.unwrap().unwrap();
    }
    pass(600).await;
    let failed = stream.message().await.unwrap_err();
    assert!(cause::<DeadlinePassed>(&failed).is_some(), "{failed:?}");
    failed
}

/// All kinds of calls, and wherever they hang: before the headers, after them, after a message.
#[tokio::test(start_paused = true)]
async fn g54_and_l06_every_kind_of_call_ends_at_its_deadline() {
    for reply in [Reply::hang(), Reply::headers(), Reply::headers().message("1")] {
        for kind in KINDS {
            let lab = Lab::new(timeout(1_000), [reply.clone()]);
            let (failed, took) = timed(lab.call(kind)).await;
            let failed = failed.unwrap_err();
            assert_eq!((failed.code(), took), (Code::DeadlineExceeded, 1_000), "{kind:?}");
            assert!(cause::<DeadlinePassed>(&failed).is_some());
            pass(1).await;
            assert_eq!(lab.peer.requests()[0].reset, Some((millis(1_000), Reason::CANCEL)));
        }
    }
}

/// A dial that hangs is within the call's deadline like everything else.
#[tokio::test(start_paused = true)]
async fn a_dial_that_hangs_ends_at_the_deadline() {
    let lab = Lab::new(timeout(1_000).breaker(opens_after(1)), [ok()]);
    lab.net.on_dial("a", [evenkeel_tests::Dial::Hang]);
    let (failed, took) = timed(lab.unary(ECHO)).await;
    assert_eq!((code(&failed), took), (Code::DeadlineExceeded, 1_000));
    assert_eq!(lab.breaker(ECHO).state, BreakerState::Open);
}

/// Who is told of the connection says that there was none.
#[tokio::test(start_paused = true)]
async fn a_dial_that_hangs_is_named_where_it_is_known() {
    for (target, to) in [("orders", "the connection to orders"), ("", "its connection")] {
        let lab = Lab::dark_over_our_connector(timeout(1_000).target(target), [ok()]);
        lab.net.on_dial("a", [evenkeel_tests::Dial::Hang]);
        let failed = lab.unary(ECHO).await.unwrap_err();
        let said = format!("in the first attempt of {ECHO}; {to} was still being made");
        assert!(failed.message().ends_with(&said), "{failed:?}");
    }
}

/// The server's timer started from a value that was rounded down, so it may be faster than ours.
#[tokio::test(start_paused = true)]
async fn g55_a_cancellation_at_the_deadline_is_the_deadline() {
    for early in [0, 1, 4, 5] {
        let cancelled = fails(Code::Cancelled).after(millis(2_000 - early));
        let reset = Reply::hang().reset(Reason::CANCEL).after(millis(2_000 - early));
        let in_stream = Reply::headers().wait(millis(2_000 - early)).end(Status::cancelled("late"));
        for reply in [cancelled, reset, in_stream] {
            let lab = Lab::new(timeout(2_000).breaker(opens_after(1)), [reply]);
            let (failed, took) = timed(lab.unary(ECHO)).await;
            let failed = failed.unwrap_err();
            assert_eq!((failed.code(), took), (Code::DeadlineExceeded, 2_000 - early));
            assert!(cause::<DeadlinePassed>(&failed).is_some());
            assert_eq!(lab.breaker(ECHO).state, BreakerState::Open, "it counts");
            if early > 0 {
                assert_eq!(statuses(&failed).last().unwrap().code(), Code::Cancelled);
            }
        }
    }
    let cancelled =
        Reply::headers().message("1").wait(millis(1_996)).end(Status::cancelled("late"));
    let lab = Lab::new(timeout(2_000), [cancelled]);
    assert_eq!(lab.export().await.1.unwrap().code(), Code::DeadlineExceeded);
}

#[tokio::test(start_paused = true)]
async fn g56_a_cancellation_well_before_the_deadline_is_one() {
    for reply in [fails(Code::Cancelled), Reply::hang().reset(Reason::CANCEL)] {
        let builder = timeout(2_000).breaker(opens_after(1)).retry(retries(3, 100));
        let lab = Lab::new(builder, [reply.after(millis(1_994))]);
        let (failed, took) = timed(lab.unary(ECHO)).await;
        assert_eq!((code(&failed), took, lab.peer.count()), (Code::Cancelled, 1_994, 1));
        assert_eq!(lab.circuit(ECHO), (BreakerState::Closed, 0));
    }
}

/// tonic's own timer too starts from the value on the wire, and long deadlines are rounded to
/// milliseconds there. It is our deadline, and nothing about the transport.
#[tokio::test(start_paused = true)]
async fn a_deadline_that_tonic_sees_first_is_our_deadline() {
    let builder = client().timeout(Duration::from_micros(150_000_500)).unwrap();
    let lab = Lab::new(builder.retry(retries(2, 100)), [busy(), Reply::hang()]);
    let failed = lab.unary(ECHO).await.unwrap_err();
    assert_eq!(failed.code(), Code::DeadlineExceeded);
    assert_eq!(cause::<DeadlinePassed>(&failed).unwrap().attempts, 2);
    assert!(cause::<TransportError>(&failed).is_none(), "{failed:?}");
    assert_eq!(statuses(&failed).last().unwrap().message(), "the peer says so");
}

/// A body that never comes to its end, as a proxy may be handed one.
struct Endless;

impl http_body::Body for Endless {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Status>>> {
        Poll::Pending
    }
}

/// The request is read before it is sent, and that too takes from the call's time.
#[tokio::test(start_paused = true)]
async fn a_request_that_never_comes_ends_at_the_deadline() {
    let mut lab = Lab::new(timeout(1_000).retry(retries(3, 100)), [ok()]);
    let request = http::Request::post(ECHO).body(Body::new(Endless)).unwrap();
    let call = tokio::time::timeout(millis(60_000), lab.service.call(request));
    let (failed, took) = timed(call).await;
    let failed = failed.expect("it ends by itself").unwrap_err();
    assert_eq!((failed.code(), took, lab.peer.count()), (Code::DeadlineExceeded, 1_000, 0));
    assert_eq!(cause::<DeadlinePassed>(&failed).unwrap().attempts, 0);
}

/// A slice cut shorter than the method is normally given says nothing about the server; our own
/// deadline after a longer one does, and so does the server's word.
#[tokio::test(start_paused = true)]
async fn a_short_slice_is_no_verdict() {
    let usual = || timeout(10_000).breaker(opens_after(1));
    let hurried = || usual().method_timeout(ECHO, Some(millis(50))).unwrap();
    let late = || fails(Code::DeadlineExceeded).after(millis(49));
    for (builder, left, reply, verdict) in [
        (usual(), 99, Reply::hang(), BreakerState::Closed),
        (usual(), 100, Reply::hang(), BreakerState::Open),
        (usual(), 50, late(), BreakerState::Open),
        (hurried(), 1_000, Reply::hang(), BreakerState::Open),
        (hurried(), 49, Reply::hang(), BreakerState::Closed),
    ] {
        let lab = Lab::new(builder, [reply]);
        assert_eq!(code(&lab.request(ECHO, within(left)).await), Code::DeadlineExceeded);
        assert_eq!(lab.breaker(ECHO).state, verdict, "{left} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn c48_the_calls_own_timeout_counts() {
    let lab = Lab::new(timeout(200).breaker(opens_after(1)), [Reply::hang()]);
    assert_eq!(code(&lab.unary(ECHO).await), Code::DeadlineExceeded);
    assert_eq!(lab.breaker(ECHO).state, BreakerState::Open);
}
