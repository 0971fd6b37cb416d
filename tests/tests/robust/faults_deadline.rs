//! Deadlines, against every way of missing one.

use crate::parts::{answer, data, framed, service, trailers};
use crate::{CHARGE, ECHO, EXPORT, circuit, guarded, opens_after, stopped};
use core::time::Duration;
use evenkeel_core::{Backoff, BudgetPolicy, Code as Known, CodeSet, RetryPolicy, StopReason};
use evenkeel_tests::{Network, Peer, RawClient, Reply, Stub, drain};
use evenkeel_tokio::{Budget, current_budget, spawn, with_budget};
use evenkeel_tonic::{DeadlinePassed, cause};
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
        let requests = service.get_ref().requests();
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
        assert_eq!(service.get_ref().requests()[0].timeout(), Some(started));
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
