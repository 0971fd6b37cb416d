//! The warnings, each as often as it should be.

use crate::{CHARGE, ECHO, EXPORT, guarded, opens_after};
use core::time::Duration;
use evenkeel_core::{BudgetPolicy, RetryPolicy};
use evenkeel_tests::pb::METHODS;
use evenkeel_tests::{Listening, Network, RawClient, Reply, Stub, drain};
use evenkeel_tokio::{Budget, with_budget};
use evenkeel_tonic::Resilient;
use std::sync::Arc;
use tokio::time::timeout;
use tonic::{Code, Request, Status};

const SECOND: Duration = Duration::from_secs(1);

fn within(limit: Duration) -> Request<&'static str> {
    let mut request = Request::new("ping");
    request.set_timeout(limit);
    request
}

fn busy() -> Reply {
    Reply::status(Status::unavailable("busy"))
}

/// Waiting for ever is not waited for, and said once in the life of a client, with both ways out.
#[tokio::test(start_paused = true)]
async fn waiting_without_a_deadline_fails_fast_and_is_said_once() {
    let said = Listening::begin();
    let builder = || Resilient::builder().methods(&METHODS).wait_for_ready(true);
    let net = Network::new();
    let service = builder().build(net.channel("a")).unwrap();
    for method in [ECHO, CHARGE] {
        let call = RawClient::of(method, service.clone());
        let ended = timeout(SECOND / 10, async { { call }.unary("ping").await }).await;
        assert_eq!(ended.unwrap().unwrap_err().code(), Code::Unavailable);
    }
    let told = said.take_warnings();
    assert_eq!(told.len(), 1, "{told:?}");
    for word in [ECHO, "timeout", "require_deadline"] {
        assert!(told[0].contains(word), "{word} in {told:?}");
    }

    // A deadline from anywhere will do: of the caller's, or of the request's budget.
    let mut client = RawClient::of(ECHO, service);
    let status = client.unary(within(SECOND)).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
    let budget = Arc::new(Budget::new(SECOND, BudgetPolicy::DEFAULT).unwrap());
    let status = with_budget(Some(budget), client.unary("ping")).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);

    // The other way out.
    let service = builder().wait_without_deadline().build(net.channel("a")).unwrap();
    let mut client = RawClient::of(ECHO, service);
    assert!(timeout(3_600 * SECOND, client.unary("ping")).await.is_err(), "it waits");
    let told = said.take_warnings();
    assert!(told.len() == 1 && told[0].contains("may wait for ever"), "{told:?}");
}

/// An empty name would look like one that somebody forgot to fill in.
#[tokio::test(start_paused = true)]
async fn a_client_without_a_name_is_called_nothing() {
    let said = Listening::begin();
    let retry = RetryPolicy::DEFAULT.with_max_attempts(9).unwrap();
    let unnamed =
        || Resilient::builder().methods(&METHODS).retry(retry).breaker(opens_after(1, SECOND));
    let all = |client: Resilient<Stub>| async move {
        let mut client = RawClient::of(ECHO, client);
        client.unary("ping").await.unwrap_err();
    };
    all(unnamed().build(Stub::new([busy()])).unwrap()).await;
    let told = [said.take_warnings(), said.reports()].concat();
    assert!(told.iter().any(|told| told.contains("fail_threshold")), "{told:?}");
    assert!(told.iter().all(|told| !told.contains("upstream=")), "{told:?}");
    said.forget();
    all(unnamed().target("orders").build(Stub::new([busy()])).unwrap()).await;
    let told = [said.warnings(), said.reports()].concat();
    assert!(told.len() > 1, "a breaker that opened, too: {told:?}");
    assert!(told.iter().all(|told| told.contains("upstream=orders")), "{told:?}");
}

/// A method's own setting beats the default; exempt is as good as no block.
#[tokio::test(start_paused = true)]
async fn a_methods_own_wait_beats_the_default() {
    let said = Listening::begin();
    let net = Network::new();
    for (default, own, code) in [
        (true, Some(false), Code::Unavailable),
        (true, None, Code::Unavailable),
        (false, Some(true), Code::DeadlineExceeded),
        (false, Some(false), Code::Unavailable),
    ] {
        let builder = Resilient::builder().timeout(SECOND).unwrap().wait_for_ready(default);
        let builder = builder.method_wait_for_ready(ECHO, own).unwrap();
        let service = builder.build(net.channel("a")).unwrap();
        let status = RawClient::of(ECHO, service.clone()).unary("ping").await.unwrap_err();
        assert_eq!(status.code(), code, "default {default}, own {own:?}");
        let others = if default { Code::DeadlineExceeded } else { Code::Unavailable };
        let status = RawClient::of(CHARGE, service).unary("ping").await.unwrap_err();
        assert_eq!(status.code(), others, "default {default}");
    }
    assert_eq!(said.take_warnings(), [""; 0]);
}

/// The inner of two says that it stands down, once and not for each call.
#[tokio::test(start_paused = true)]
async fn one_below_another_says_so_once() {
    let said = Listening::begin();
    let inner = guarded().build(Stub::new([busy()])).unwrap();
    let mut client = RawClient::of(ECHO, guarded().build(inner).unwrap());
    for _ in 0..3 {
        client.unary("ping").await.unwrap_err();
    }
    let told = said.take_warnings();
    assert!(told.len() == 1 && told[0].contains("stacked"), "{told:?}");
}

/// Somebody above who retries is noticed by the header, once; somebody below must be declared.
#[tokio::test(start_paused = true)]
async fn foreign_retries_are_said_once() {
    let said = Listening::begin();
    let service = guarded().build(Stub::new([Reply::ok("pong")])).unwrap();
    for _ in 0..3 {
        let mut request = Request::new("ping");
        request.metadata_mut().insert("grpc-previous-rpc-attempts", "1".parse().unwrap());
        RawClient::of(ECHO, service.clone()).unary(request).await.unwrap();
    }
    let told = said.take_warnings();
    assert!(told.len() == 1 && told[0].contains("above"), "{told:?}");
    _ = guarded().native_retries().build(()).unwrap();
    let told = said.take_warnings();
    assert!(told.len() == 1 && told[0].contains("below"), "{told:?}");
}

/// It restarts nothing then, and nobody would see that it does not.
#[test]
fn restarts_without_retries_are_said() {
    let said = Listening::begin();
    let builder = || Resilient::builder().methods(&METHODS).retry_streaming();
    _ = builder().build(()).unwrap();
    let told = said.take_warnings();
    assert!(told.len() == 1 && told[0].contains("retry.retry_streaming has no effect"), "{told:?}");
    _ = builder().retry(RetryPolicy::DEFAULT).build(()).unwrap();
    assert_eq!(said.take_warnings(), [""; 0]);
}

/// Each restart of a stream is a warning; a call that is repeated before it began is none.
#[tokio::test(start_paused = true)]
async fn each_restart_is_said() {
    let said = Listening::begin();
    let breaks = || Reply::headers().message("1").end(Status::unavailable("gone"));
    let replies = [busy(), breaks(), breaks(), Reply::ok("1")];
    let retry = RetryPolicy::DEFAULT.with_max_attempts(4).unwrap();
    let builder = guarded().retry(retry).retry_streaming();
    let service = builder.build(Stub::new(replies)).unwrap();
    let stream = RawClient::of(EXPORT, service).server_streaming("all").await.unwrap();
    assert_eq!(drain(stream.into_inner()).await.0, ["1"; 3]);
    let told = said.take_warnings();
    assert!(told.len() == 2 && told.iter().all(|line| line.contains(EXPORT)), "{told:?}");
}

/// A table full of open circuits is one warning, whichever method met it first.
#[tokio::test(start_paused = true)]
async fn a_full_table_is_said_once() {
    for declared in [false, true] {
        let said = Listening::begin();
        let builder = Resilient::builder().breaker(opens_after(1, 60 * SECOND));
        let rows = METHODS.methods().len();
        let builder = if declared { builder.methods(&METHODS) } else { builder };
        let service = builder.max_methods(rows).unwrap().build(Stub::new([busy()])).unwrap();
        for number in 0..rows {
            let path = format!("/junk.Junk/Call{number}").leak();
            RawClient::of(path, service.clone()).unary("ping").await.unwrap_err();
        }
        assert_eq!(said.take_warnings(), [""; 0]);
        for method in [ECHO, CHARGE, EXPORT, "/junk.Junk/More"] {
            _ = RawClient::of(method, service.clone()).unary("ping").await;
        }
        let told = said.take_warnings();
        assert!(told.len() == 1 && told[0].contains("max_methods"), "{declared}: {told:?}");
    }
}
