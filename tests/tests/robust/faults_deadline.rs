//! Deadlines, against every way of missing one.

use crate::parts::{answer, data, framed, service, trailers};
use crate::{CHARGE, ECHO, EXPORT, circuit, guarded, opens_after, stopped};
use core::time::Duration;
use evenkeel_core::{Backoff, BudgetPolicy, Code as Known, CodeSet, RetryPolicy, StopReason};
use evenkeel_tests::{Network, Peer, RawClient, Reply, Stub, drain};
use evenkeel_tokio::{Budget, current_budget, spawn, with_budget};
use evenkeel_tonic::{DeadlinePassed, cause};
use futures_util::future::join;
use std::sync::Arc;
use tokio::time::{advance, timeout};
use tonic::{Code, Request, Status};

const SECOND: Duration = Duration::from_secs(1);

fn within(limit: Duration) -> Request<&'static str> {
    let mut request = Request::new("ping");
    request.set_timeout(limit);
    request
}

/// F27: no number of attempts, no pause and no server outlives the total.
#[tokio::test(start_paused = true)]
async fn f27_the_total_holds_over_all_attempts() {
    let retry = RetryPolicy::DEFAULT.with_max_attempts(u16::MAX).unwrap();
    for reply in [Reply::http(503), Reply::http(503).after(SECOND / 3)] {
        let builder = guarded().timeout(5 * SECOND).unwrap().retry(retry);
        let breaker = opens_after(u16::MAX, SECOND);
        let service = builder.breaker(breaker).build(Stub::new([reply])).unwrap();
        let mut client = RawClient::of(ECHO, service.clone());
        let ended = timeout(5 * SECOND + Duration::from_millis(1), client.unary("ping")).await;
        let status = ended.expect("it goes on").unwrap_err();
        assert!(matches!(status.code(), Code::Unavailable | Code::DeadlineExceeded));
        let requests = service.get_ref().unwrap().requests();
        assert!(requests.len() > 4 && requests.iter().all(|seen| seen.at < 5 * SECOND));
    }
}

/// F31: an attempt has the nearer of its own limit and what is left.
#[tokio::test(start_paused = true)]
async fn f31_an_attempts_limit_never_replaces_the_callers_deadline() {
    for (caller, expected) in [(50, 50), (500, 200)] {
        let limit = Duration::from_millis(200);
        let builder = guarded().attempt_timeout(limit).unwrap();
        let service = builder.build(Stub::new([Reply::hang()])).unwrap();
        let mut client = RawClient::of(ECHO, service.clone());
        let started = Duration::from_millis(expected);
        let call = client.unary(within(Duration::from_millis(caller)));
        let status = timeout(started + Duration::from_millis(1), call).await.unwrap().unwrap_err();
        assert_eq!(status.code(), Code::DeadlineExceeded);
        assert_eq!(service.get_ref().unwrap().requests()[0].timeout(), Some(started));
    }
}

/// F32: an attempt that ran into its own limit is retried while the call has time.
#[tokio::test(start_paused = true)]
async fn f32_one_slow_attempt_is_not_the_end_of_the_call() {
    let codes = CodeSet::RETRYABLE.with(Known::DeadlineExceeded);
    let quick = Reply::ok("pong").after(Duration::from_millis(10));
    let net = Network::new();
    let peer = Peer::new([Reply::hang(), quick]).listen(&net, "a");
    let builder = guarded().retry(RetryPolicy::DEFAULT.with_codes(codes));
    let service = builder.attempt_timeout(SECOND).unwrap().build(net.channel("a")).unwrap();
    let mut client = RawClient::of(ECHO, service);
    let answer = timeout(SECOND + Duration::from_millis(150), client.unary(within(10 * SECOND)));
    assert_eq!(answer.await.unwrap().unwrap().into_inner(), "pong");
    let second = &peer.requests()[1];
    assert_eq!(second.header("grpc-previous-rpc-attempts"), Some("1"));
    assert!(second.at >= SECOND + Duration::from_millis(90));
}

/// F49: a hint that cannot be kept ends the call at once, with the server's own words.
#[tokio::test(start_paused = true)]
async fn f49_a_hint_beyond_the_deadline_is_not_waited_for() {
    let busy =
        Reply::status(Status::unavailable("busy")).trailer("grpc-retry-pushback-ms", "60000");
    let stub = Stub::new([busy, Reply::http(503).header("retry-after", "60"), Reply::ok("pong")]);
    let service = guarded().build(stub.clone()).unwrap();
    let mut client = RawClient::of(ECHO, service);
    for message in ["busy", "HTTP 503"] {
        let status = timeout(Duration::from_millis(1), client.unary("ping")).await.unwrap();
        let status = status.unwrap_err();
        assert_eq!(status.code(), Code::Unavailable);
        assert!(status.message().contains(message), "{status:?}");
        assert_eq!(stopped(&status), Some(StopReason::DeadlineWouldPass));
    }
    assert_eq!(stub.count(), 2);
}

/// `Retry-After` is a floor: seconds, and nothing else.
#[tokio::test(start_paused = true)]
async fn f46_retry_after_is_waited_for_and_garbage_is_not() {
    for (value, least) in [
        ("3", 3_000),
        (" 3 ", 3_000),
        ("0", 90),
        ("-1", 90),
        ("+3", 90),
        ("3.5", 90),
        ("0x10", 90),
        ("1e3", 90),
        ("", 90),
    ] {
        let busy = Reply::http(503).header("retry-after", value);
        let service = guarded().build(Stub::new([busy, Reply::ok("pong")])).unwrap();
        RawClient::of(ECHO, service.clone()).unary("ping").await.unwrap();
        let at = service.get_ref().unwrap().requests()[1].at.as_millis();
        assert!((least..least + 111).contains(&at), "{value:?}: {at} ms");
    }
}

/// F47: a date in the past is no leave to come back at once, and one in the future is not waited
/// for; both leave the call's own jittered pause as it is.
#[tokio::test(start_paused = true)]
async fn f47_a_date_leaves_the_pause_as_it_is() {
    for date in ["Thu, 01 Jan 1970 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT"] {
        let mut pauses = std::collections::BTreeSet::new();
        for _ in 0..20 {
            let busy = Reply::http(503).header("retry-after", date);
            let service = guarded().build(Stub::new([busy, Reply::ok("pong")])).unwrap();
            RawClient::of(ECHO, service.clone()).unary("ping").await.unwrap();
            let seen = service.get_ref().unwrap().requests();
            pauses.insert((seen[1].at - seen[0].at).as_millis());
        }
        assert!(pauses.iter().all(|pause| (90..=111).contains(pause)), "{date}: {pauses:?}");
        assert!(pauses.len() > 3, "they are spread: {pauses:?}");
    }
}

/// F107: after any uptime ten milliseconds are ten milliseconds.
#[tokio::test(start_paused = true)]
async fn f107_a_long_uptime_changes_nothing() {
    const DAY: Duration = Duration::from_secs(24 * 3_600);
    let wheel = Duration::from_millis((1 << 36) - 5);
    let mut up = Duration::ZERO;
    for uptime in [Duration::ZERO, 13 * DAY, wheel, 796 * DAY] {
        advance(uptime.saturating_sub(up)).await;
        up = up.max(uptime);
        let ten = Duration::from_millis(10);
        let service = guarded().build(Stub::new([Reply::hang()])).unwrap();
        let mut client = RawClient::of(ECHO, service);
        assert!(timeout(ten - SECOND / 1_000, client.unary(within(ten))).await.is_err());
        let ended = timeout(ten + SECOND / 1_000, client.unary(within(ten))).await;
        assert_eq!(ended.unwrap().unwrap_err().code(), Code::DeadlineExceeded, "{uptime:?}");

        let wait = Backoff::new(ten, ten).unwrap();
        let replies = [Reply::status(Status::unavailable("busy")), Reply::ok("pong")];
        let retry = RetryPolicy::DEFAULT.with_backoff(wait);
        let service = guarded().retry(retry).build(Stub::new(replies)).unwrap();
        let mut client = RawClient::of(ECHO, service);
        let ended = timeout(ten + 2 * SECOND / 1_000, client.unary(within(SECOND))).await;
        assert_eq!(ended.unwrap().unwrap().into_inner(), "pong", "{uptime:?}");
    }
    // And a deadline beyond every wheel is no panic.
    let service = guarded().build(Stub::new([Reply::ok("pong").after(DAY)])).unwrap();
    let mut client = RawClient::of(CHARGE, service);
    client.unary(within(Duration::from_secs(99_999_999 * 3_600))).await.unwrap_err();
}

/// F120: what an attempt may spend is in its headers and in its task, also in a task of its own.
#[tokio::test(start_paused = true)]
async fn f120_the_layer_below_sees_the_same_deadline() {
    let inner = service(|_, request| async move {
        assert!(current_budget().is_some(), "the budget is in the task");
        assert_eq!(request.headers()["grpc-timeout"], "2000000u");
        answer([data(framed(b"pong")), trailers(&Status::ok(""))])
    });
    let service = guarded().build(inner).unwrap();
    let budget = Arc::new(Budget::new(2 * SECOND, BudgetPolicy::DEFAULT).unwrap());
    with_budget(Some(budget), async {
        for method in [ECHO, EXPORT] {
            let mut client = RawClient::of(method, service.clone());
            let call = async move { client.server_streaming("all").await.unwrap().into_inner() };
            let stream = spawn(call).await.unwrap();
            assert_eq!(drain(stream).await.0, ["pong"]);
        }
    })
    .await;
}

/// Whoever gets ready only at the deadline is not called any more.
#[tokio::test(start_paused = true)]
async fn nothing_is_sent_with_nothing_left() {
    let stub = Stub::new([Reply::hang()]);
    let limited = tower::limit::ConcurrencyLimit::new(stub.clone(), 1);
    let service = guarded().timeout(SECOND).unwrap().build(limited).unwrap();
    let mut clients = [(); 2].map(|()| RawClient::of(ECHO, service.clone()));
    let [first, second] = &mut clients;
    // Both end in the same moment, the first one first: then its place is free for the second.
    let (first, second) = join(first.unary("1"), second.unary("2")).await;
    for status in [first.unwrap_err(), second.unwrap_err()] {
        assert_eq!(status.code(), Code::DeadlineExceeded);
        assert!(cause::<DeadlinePassed>(&status).is_some());
    }
    assert_eq!(stub.count(), 1);
}

/// A short slice that runs out says nothing about the server, whoever's timer was first.
#[tokio::test(start_paused = true)]
async fn a_slice_too_short_to_judge_by() {
    let net = Network::new();
    let _peer = Peer::new([Reply::hang()]).listen(&net, "a");
    let service = guarded().build(net.channel("a")).unwrap();
    let mut client = RawClient::of(ECHO, service.clone());
    for (limit, failures) in [(50, 0), (99, 0), (100, 1), (1_000, 2)] {
        let call = client.unary(within(Duration::from_millis(limit)));
        assert_eq!(call.await.unwrap_err().code(), Code::DeadlineExceeded);
        assert_eq!(circuit(&service, ECHO).failures, failures, "after {limit} ms");
    }
}
