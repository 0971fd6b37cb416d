//! A caller that goes away at every place where a hedged call can wait.

use core::time::Duration;
use evenkeel_tests::{RawClient, Reply, Seen, Stub, drop_at_every_poll, poll_n};
use evenkeel_tonic::core::{BreakerState, Code as CoreCode, CodeSet, ThrottlePolicy};
use tokio::time::sleep;
use tonic::{Code, Request, Status};

use crate::lab::{ECHO, hedging, is_hedge, opens_after};

/// On a half-open breaker: each time the trials are back, and the next caller is admitted.
#[tokio::test(start_paused = true)]
async fn whatever_attempts_have_taken_is_back_at_once() {
    let failing = CodeSet::FAILURES.without(CoreCode::ResourceExhausted);
    let breaker = opens_after(1).with_open_for(Duration::ZERO).unwrap().with_failures(failing);
    let breaker = breaker.with_max_trials(2).unwrap();
    let stub = Stub::answering(|seen: &Seen| {
        if seen.header("open").is_some() {
            return Reply::status(Status::new(Code::Internal, "opens it"));
        }
        // The first attempt is never answered, and the second fails; the third is the one.
        match seen.header("grpc-previous-rpc-attempts") {
            None => Reply::hang(),
            Some("1") => Reply::status(Status::resource_exhausted("busy")),
            Some(_) => Reply::ok("pong"),
        }
    })
    .lazy();
    let settings =
        hedging(20, 3).breaker(breaker).throttle(ThrottlePolicy::grpc(1_000, 1_000).unwrap());
    let service = settings.build(stub.clone()).unwrap();
    let snapshot = || service.circuit_breaker_states()["lab"][ECHO];
    let mut open = Request::new("ping");
    open.metadata_mut().insert("open", "now".parse().unwrap());
    RawClient::of(ECHO, service.clone()).unary(open).await.unwrap_err();
    assert_eq!(snapshot().state, BreakerState::Open);

    let start = || {
        let mut client = RawClient::of(ECHO, service.clone());
        async move { client.unary("ping").await.map(drop) }
    };
    let polls = drop_at_every_poll(start, async |polled| {
        assert_eq!(snapshot().trials, 0, "after {polled} polls");
        if snapshot().state == BreakerState::HalfOpen {
            assert!(poll_n(1, start()).await.is_none(), "no trial is missing");
        }
    })
    .await;
    assert!(polls >= 4, "{polls} polls are fewer than there are places to wait");
    // What was given up is reset, all of it.
    sleep(Duration::from_millis(1)).await;
    let hanging = stub.requests();
    let hanging = hanging.iter().filter(|seen| !is_hedge(seen) && seen.header("open").is_none());
    assert!(hanging.clone().count() >= polls && hanging.clone().all(|seen| seen.reset.is_some()));
}
