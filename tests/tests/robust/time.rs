//! Where the time of a call comes from: its method, its caller, and the budget of its task.

use crate::{CHARGE, ECHO, circuit, guarded};
use core::time::Duration;
use evenkeel_core::{BudgetPolicy, Micros};
use evenkeel_tests::pb::METHODS;
use evenkeel_tests::{RawClient, Reply, Stub};
use evenkeel_tokio::{Budget, with_budget};
use evenkeel_tonic::{BudgetExhausted, Builder, DeadlinePassed, Resilient, cause};
use std::sync::Arc;
use tonic::{Code, Request};

const SECOND: Duration = Duration::from_secs(1);

/// What a call of `method` says it may take.
async fn given(builder: Builder, method: &'static str) -> Option<Duration> {
    let stub = Stub::new([Reply::ok("pong")]);
    let service = builder.build(stub.clone()).unwrap();
    RawClient::of(method, service).unary("ping").await.unwrap();
    stub.requests()[0].timeout()
}

/// A method's own timeout is for its exact name, whichever of two it is.
#[tokio::test(start_paused = true)]
async fn a_timeout_is_for_the_exact_name() {
    let builder = || {
        let builder = Resilient::builder().methods(&METHODS).timeout(10 * SECOND).unwrap();
        let builder = builder.method_timeout(ECHO, Some(SECOND)).unwrap();
        builder.method_timeout("/lab.v1.Lab/Long", Some(20 * SECOND)).unwrap()
    };
    for (method, expected) in [
        (ECHO, 1),
        ("/lab.v1.Lab/Long", 20),
        (CHARGE, 10),
        ("/lab.v1.Lab/EchoMore", 10),
        ("/lab.v1.Lab/echo", 10),
        ("/v1.Lab/Echo", 10),
    ] {
        assert_eq!(given(builder(), method).await, Some(expected * SECOND), "{method}");
    }
    let endless = || builder().method_timeout(ECHO, None).unwrap();
    assert_eq!(given(endless(), ECHO).await, None);
    for name in ["lab.v1.Lab/Echo", "/Echo", "/lab.v1.Lab/", "//Echo", "/a/b/c", ""] {
        assert!(builder().method_timeout(name, Some(SECOND)).is_err(), "{name:?}");
    }
    assert!(builder().method_timeout(ECHO, Some(Duration::ZERO)).is_err(), "zero is not none");
}

/// Nothing left is refused here, and never reaches breaker or server.
#[tokio::test(start_paused = true)]
async fn zero_is_not_none() {
    let service = guarded().build(Stub::new([Reply::ok("pong")])).unwrap();
    let mut request = Request::new("ping");
    request.metadata_mut().insert("grpc-timeout", "0u".parse().unwrap());
    let status = RawClient::of(ECHO, service.clone()).unary(request).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert_eq!(cause::<DeadlinePassed>(&status).unwrap().attempts, 0);
    assert_eq!(service.get_ref().unwrap().count(), 0);
}

/// The budget of the task, less what is kept for others; and a client may be told to ignore it.
#[tokio::test(start_paused = true)]
async fn a_budget_trims_unless_it_is_told_not_to() {
    let default = || Resilient::builder().timeout(10 * SECOND).unwrap();
    for (builder, expected) in [
        (default(), 3),
        (Resilient::builder(), 3),
        (default().budget_reserve(SECOND).unwrap(), 2),
        (default().without_budget(), 10),
        (default().timeout(SECOND).unwrap(), 1),
    ] {
        let budget = Arc::new(Budget::new(3 * SECOND, BudgetPolicy::DEFAULT).unwrap());
        let given = with_budget(Some(budget), given(builder, ECHO)).await;
        assert_eq!(given, Some(expected * SECOND));
    }
}

/// A cap under the full name beats the floor, and the floor beats the reserve.
#[tokio::test(start_paused = true)]
async fn a_cap_beats_the_floor_and_the_floor_the_reserve() {
    let short = Duration::from_millis(50);
    let budget = Budget::new(SECOND, BudgetPolicy::DEFAULT).unwrap();
    let budget: Arc<Budget> = Arc::new(budget.with_cap(ECHO, short).unwrap());
    let builder = || Resilient::builder().budget_reserve(10 * SECOND).unwrap();
    let capped = with_budget(Some(budget.clone()), given(builder(), ECHO)).await;
    let floored = with_budget(Some(budget), given(builder(), CHARGE)).await;
    assert_eq!((capped, floored), (Some(short), Some(2 * short)));
}

/// A spent budget names the method and both numbers, and nobody else hears of the call.
#[tokio::test(start_paused = true)]
async fn a_spent_budget_is_refused_with_both_numbers() {
    let service = guarded().build(Stub::new([Reply::ok("pong")])).unwrap();
    let mut client = RawClient::of(ECHO, service.clone());
    client.unary("ping").await.unwrap();
    let budget = Arc::new(Budget::new(3 * SECOND, BudgetPolicy::DEFAULT).unwrap());
    tokio::time::sleep(SECOND * 16 / 5).await;
    let status = with_budget(Some(budget), client.unary("ping")).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
    let message = "request deadline exceeded before /lab.v1.Lab/Echo: 3.20s elapsed, \
                   budget was 3.00s";
    assert_eq!(status.message(), message);
    let spent = cause::<BudgetExhausted>(&status).unwrap();
    assert_eq!((&*spent.method, spent.total), (ECHO, Micros::from_millis(3_000)));
    assert_eq!((service.get_ref().unwrap().count(), circuit(&service, ECHO).failures), (1, 0));
}
