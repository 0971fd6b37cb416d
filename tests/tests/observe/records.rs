//! One record for each logical call, however it went: O1 to O6 and G89.

use core::pin::pin;
use core::time::Duration;
use std::sync::Arc;

use evenkeel_tests::{Reply, drop_at_every_poll, poll_n};
use evenkeel_tokio::{Budget, with_budget};
use evenkeel_tonic::core::BudgetPolicy;
use tonic::{Code, Request, Status};

use crate::figures::{Figures, Read};
use crate::lab::{
    CHARGE, ECHO, EXPORT, KINDS, Lab, busy, counted, fails, method_of, millis, ok, opens_after,
    pass, retries,
};

const CALLS: &str = "resilience.calls";
const DURATION: &str = "grpc.client.call.duration";
const STARTED: &str = "grpc.client.attempt.started";
const ACTIVE: &str = "resilience.calls.active";

/// How many calls ended in this kind, and how many in all.
fn ended(read: &Read, status: &str) -> (f64, f64) {
    (read.of(CALLS, &[("status", status)]), read.of(CALLS, &[]))
}

#[tokio::test(start_paused = true)]
async fn o01_one_record_for_each_kind_of_call_and_none_in_flight_after() {
    for kind in KINDS {
        let figures = Figures::new();
        let lab = Lab::new(counted(&figures), [ok(), busy()]);
        lab.call(kind).await.unwrap();
        lab.call(kind).await.unwrap_err();
        let read = figures.read();
        let method = [("grpc.method", method_of(kind).trim_start_matches('/'))];
        assert_eq!(read.of(CALLS, &method), 2.0, "{kind:?}");
        assert_eq!(ended(&read, "success"), (1.0, 2.0), "{kind:?}");
        assert_eq!(read.of(CALLS, &[("status", "error"), ("grpc.status", "UNAVAILABLE")]), 1.0);
        assert_eq!((read.of(DURATION, &method), read.of(STARTED, &method)), (2.0, 2.0));
        assert_eq!(read.of("rpc.client.call.duration", &[]), 2.0);
        assert_eq!(read.of(ACTIVE, &[]), 0.0, "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn o01_a_call_under_way_is_counted_as_such() {
    let figures = Figures::new();
    let lab = Lab::new(counted(&figures), [Reply::hang()]);
    let mut call = pin!(lab.unary(ECHO));
    assert!(poll_n(1, call.as_mut()).await.is_none());
    let read = figures.read();
    assert_eq!((read.of(ACTIVE, &[]), read.of(CALLS, &[])), (1.0, 0.0));
}

#[tokio::test(start_paused = true)]
async fn o02_two_attempts_are_one_success() {
    let figures = Figures::new();
    let lab = Lab::new(counted(&figures).retry(retries(3, 100)), [busy(), ok()]);
    lab.unary(ECHO).await.unwrap();
    let read = figures.read();
    assert_eq!(ended(&read, "success"), (1.0, 1.0));
    assert_eq!((read.of(STARTED, &[]), read.of(DURATION, &[])), (2.0, 1.0));
    let attempts = "grpc.client.attempt.duration";
    assert_eq!(read.of(attempts, &[("grpc.status", "UNAVAILABLE")]), 1.0);
    assert_eq!(read.of(attempts, &[("grpc.status", "OK")]), 1.0);
    assert_eq!(read.sum(DURATION, &[("grpc.status", "OK")]), 0.1, "the wait is the call's");
    let kinds = read.of("resilience.retry.calls", &[("outcome", "successful_with_retry")]);
    assert_eq!(kinds, 1.0);
}

#[tokio::test(start_paused = true)]
async fn o03_and_g89_a_refusal_of_the_breaker_is_rejected_and_starts_no_attempt() {
    let figures = Figures::new();
    let lab = Lab::new(counted(&figures).breaker(opens_after(1)), [busy()]);
    lab.unary(ECHO).await.unwrap_err();
    lab.unary(ECHO).await.unwrap_err();
    let read = figures.read();
    assert_eq!(ended(&read, "rejected"), (1.0, 2.0));
    assert_eq!(ended(&read, "error"), (1.0, 2.0));
    let rejected = [("status", "rejected"), ("origin", "local"), ("grpc.status", "UNAVAILABLE")];
    assert_eq!(read.of(CALLS, &rejected), 1.0);
    assert_eq!(read.of(CALLS, &[("status", "error"), ("origin", "peer")]), 1.0);
    assert_eq!(read.of(STARTED, &[]), 1.0);
    assert_eq!(read.of("resilience.breaker.rejections", &[("member", "lab")]), 1.0);
    assert_eq!(read.of(ACTIVE, &[]), 0.0);
}

/// What was refused after an attempt is rejected too: the breaker's word is what the caller hears.
#[tokio::test(start_paused = true)]
async fn g89_a_retry_the_breaker_refuses_is_denied_by_it() {
    let figures = Figures::new();
    let builder = counted(&figures).retry(retries(3, 100)).breaker(opens_after(1));
    let lab = Lab::new(builder, [busy()]);
    lab.unary(ECHO).await.unwrap_err();
    let read = figures.read();
    assert_eq!(ended(&read, "rejected"), (1.0, 1.0));
    assert_eq!(read.of("resilience.retry.denied", &[("reason", "breaker")]), 1.0);
    let failed = read.of("resilience.retry.calls", &[("outcome", "failed_without_retry")]);
    assert_eq!((failed, read.of(STARTED, &[])), (1.0, 1.0));
}

#[tokio::test(start_paused = true)]
async fn o03_a_spent_budget_is_an_error_of_this_sides() {
    let figures = Figures::new();
    let lab = Lab::new(counted(&figures), [ok()]);
    let budget = Arc::new(Budget::new(millis(100), BudgetPolicy::DEFAULT).unwrap());
    pass(200).await;
    let status = with_budget(Some(budget), lab.unary(ECHO)).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
    let read = figures.read();
    let local = [("status", "error"), ("origin", "local"), ("grpc.status", "DEADLINE_EXCEEDED")];
    assert_eq!((read.of(CALLS, &local), read.of(CALLS, &[])), (1.0, 1.0));
    assert_eq!((read.of(STARTED, &[]), read.of(ACTIVE, &[])), (0.0, 0.0));
}

/// The server's own `DEADLINE_EXCEEDED` is the server's, ours is ours.
#[tokio::test(start_paused = true)]
async fn o03_whose_deadline_it_was_is_told_apart() {
    let figures = Figures::new();
    let lab = Lab::new(counted(&figures), [fails(Code::DeadlineExceeded), Reply::hang()]);
    lab.unary(ECHO).await.unwrap_err();
    let mut request = Request::new("ping");
    request.set_timeout(millis(500));
    lab.client(ECHO).unary(request).await.unwrap_err();
    let read = figures.read();
    let of = |origin| read.of(CALLS, &[("grpc.status", "DEADLINE_EXCEEDED"), ("origin", origin)]);
    assert_eq!((of("peer"), of("local")), (1.0, 1.0));
    assert_eq!(read.sum("resilience.deadline.remaining", &[]), 0.5);
    assert_eq!(read.of("resilience.deadline.remaining", &[]), 1.0, "the other had none");
}

#[tokio::test(start_paused = true)]
async fn o04_a_stream_dropped_in_the_middle_is_cancelled() {
    let figures = Figures::new();
    let reply = Reply::headers().message("1").wait(millis(60_000)).message("2");
    let lab = Lab::new(counted(&figures), [reply.end(Status::ok(""))]);
    let mut stream = lab.client(EXPORT).server_streaming("ping").await.unwrap().into_inner();
    assert_eq!(stream.message().await.unwrap().unwrap(), "1");
    assert_eq!(figures.read().of(ACTIVE, &[]), 1.0);
    drop(stream);
    let read = figures.read();
    assert_eq!(ended(&read, "cancelled"), (1.0, 1.0));
    assert_eq!(read.of(DURATION, &[("grpc.status", "CANCELLED")]), 1.0);
    assert_eq!(read.of("grpc.client.attempt.duration", &[("grpc.status", "CANCELLED")]), 1.0);
    assert_eq!(read.of(ACTIVE, &[]), 0.0);
    assert_eq!(read.of("resilience.retry.calls", &[]), 0.0, "nobody knows what it would have been");
}

/// A future or a stream that nobody polls on, dropped wherever it stands, leaves nothing behind.
#[tokio::test(start_paused = true)]
async fn o05_what_is_dropped_at_any_poll_returns_its_place() {
    let figures = Figures::new();
    let builder = counted(&figures).retry(retries(3, 100)).breaker(opens_after(50));
    let lab = Lab::new(builder.timeout(Duration::from_secs(9)).unwrap(), [busy(), ok()]);
    let none_is_left = async |_| assert_eq!(figures.read().of(ACTIVE, &[]), 0.0);
    let polls = drop_at_every_poll(|| lab.unary(ECHO), none_is_left).await;
    assert!(polls > 2, "{polls}");
    let read = figures.read();
    let calls = read.of(CALLS, &[]);
    assert_eq!(read.of(ACTIVE, &[]), 0.0);
    assert_eq!(calls, polls as f64, "one for each that was polled at all");
    assert!(read.of(CALLS, &[("status", "cancelled")]) > 1.0);
    assert_eq!(read.of(STARTED, &[]), read.of("grpc.client.attempt.duration", &[]));
    assert_eq!(calls, read.of(DURATION, &[]));
}

#[tokio::test(start_paused = true)]
async fn o05_a_stream_nobody_reads_holds_its_place_only_until_it_is_dropped() {
    let figures = Figures::new();
    let lab = Lab::new(counted(&figures), [Reply::headers().message("1").end(Status::ok(""))]);
    let mut kept = Vec::new();
    for _ in 0..100 {
        kept.push(lab.client(EXPORT).server_streaming("ping").await.unwrap());
    }
    assert_eq!(figures.read().of(ACTIVE, &[]), 100.0);
    drop(kept);
    let read = figures.read();
    assert_eq!((read.of(ACTIVE, &[]), ended(&read, "cancelled")), (0.0, (100.0, 100.0)));
}

/// OK in the headers, a failure in the trailers: it is no success, in whatever kind of call.
#[tokio::test(start_paused = true)]
async fn o06_a_call_that_fails_in_its_trailers_is_never_a_success() {
    for kind in KINDS {
        let figures = Figures::new();
        let late = Reply::headers().message("pong").end(Status::internal("late"));
        let lab = Lab::new(counted(&figures), [late]);
        lab.call(kind).await.unwrap_err();
        let read = figures.read();
        assert_eq!(ended(&read, "error"), (1.0, 1.0), "{kind:?}");
        assert_eq!(read.of(DURATION, &[("grpc.status", "INTERNAL")]), 1.0);
        assert_eq!(read.of(DURATION, &[("grpc.status", "OK")]), 0.0);
    }
}

/// A hundred at once, of every end there is.
#[tokio::test(start_paused = true)]
async fn a_crowd_is_counted_to_the_last() {
    let figures = Figures::new();
    let replies = (0..100).map(|call| if call % 2 == 0 { ok() } else { fails(Code::NotFound) });
    let lab = Lab::new(counted(&figures), replies);
    let calls = (0..100).map(|_| lab.unary(CHARGE));
    let results = futures_util::future::join_all(calls).await;
    let read = figures.read();
    let good = results.iter().filter(|result| result.is_ok()).count();
    assert_eq!(ended(&read, "success"), (good as f64, 100.0));
    assert_eq!(read.of(ACTIVE, &[]), 0.0);
}
