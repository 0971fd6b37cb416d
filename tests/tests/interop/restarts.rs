//! Servers that go away, and come back, while they are used.

use core::time::Duration;

use evenkeel_tonic::core::{Backoff, Code as CoreCode, CodeSet, RetryPolicy};
use serde_json::json;
use tokio::sync::watch;
use tonic::Code;

use crate::lab::{LONG, Lab, asks, calls, eventually, kit, lab, outcome, patiently, retried};
use crate::python::{Server, reserved};

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn a_server_that_was_started_again_is_found_again() {
    let (_place, port) = reserved();
    let mut server = Server::at(port);
    let calls = retried(3, Duration::from_millis(5)).wait_for_ready(true);
    let mut lab = lab(server.target(), calls);
    for round in 0..3 {
        let answer = lab.echo(asks("k", json!([{ "text": "there" }]))).await;
        let answer = answer.unwrap_or_else(|failed| panic!("{round}: {failed:?}"));
        assert_eq!(answer.into_inner().text, "there");
        assert_eq!(server.seen("k").await.len(), 1);
        server.kill();
        server = Server::at(port);
    }
}

/// Nothing here is retried: what was not sent is repeated for any method.
#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn a_call_after_the_server_said_goaway_is_made_on_a_new_connection() {
    let (_place, port) = reserved();
    let old = Server::at(port);
    let mut lab = lab(old.target(), calls().retry(RetryPolicy::OFF));
    lab.charge(asks("k", json!([{}]))).await.unwrap();
    assert_eq!(old.seen("k").await.len(), 1);
    let new = Server::at(port);
    old.stop(60).await;
    // Until it has said so, the old one may still be asked.
    while new.seen("k").await.is_empty() {
        lab.charge(asks("k", json!([{}]))).await.unwrap();
    }
    lab.charge(asks("k", json!([{}]))).await.unwrap();
    assert_eq!(new.seen("k").await.len(), 2);
}

/// What was under way when the server said `GOAWAY` is answered, and nothing else fails.
///
/// gRPC's core answers `CANCELLED` to what it has not begun with (grpc/grpc#41785), a code that
/// nobody retries unless he is told to: here by the policy.
#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn no_idempotent_call_fails_when_servers_are_replaced_under_load() {
    let backoff = Backoff::new(Duration::from_millis(20), Duration::from_millis(20)).unwrap();
    let policy = RetryPolicy::DEFAULT.with_max_attempts(5).unwrap().with_backoff(backoff);
    let policy = policy.with_codes(CodeSet::RETRYABLE.with(CoreCode::Cancelled));
    assert_eq!(replaced_under_load(policy).await, []);
}

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn by_default_nothing_fails_but_what_the_server_cancelled() {
    let failures = replaced_under_load(RetryPolicy::DEFAULT.with_max_attempts(5).unwrap()).await;
    // At most what each caller had under way each time.
    assert!(failures.len() <= CALLERS * TIMES, "{failures:?}");
    assert!(failures.iter().all(|code| *code == Code::Cancelled), "{failures:?}");
}

const CALLERS: usize = 8;
const TIMES: usize = 3;

/// Calls while the server is replaced, several times: the codes of those that failed.
async fn replaced_under_load(policy: RetryPolicy) -> Vec<Code> {
    let (_place, port) = reserved();
    let mut server = Server::at(port);
    let kit = kit(&[server.target()], calls().retry(policy));
    let (done, watch) = watch::channel(false);
    let caller = || tokio::spawn(keep_calling(Lab::new(kit.channel()), watch.clone()));
    let callers: Vec<_> = (0..CALLERS).map(|_| caller()).collect();
    let mut old = Vec::new();
    for _ in 0..TIMES {
        // The new one is there before the old one goes, as in any careful deployment.
        let new = tokio::task::spawn_blocking(move || Server::at(port)).await.unwrap();
        server.stop(30).await;
        eventually(async || new.count("/lab.v1.Lab/Echo").await >= 50).await;
        old.push(core::mem::replace(&mut server, new));
    }
    done.send_replace(true);
    let mut failures = Vec::new();
    for caller in callers {
        failures.extend(patiently(caller).await.unwrap());
    }
    assert!(kit.close(LONG).await, "nothing is left under way");
    failures
}

/// Calls until it is told to stop: the codes of those that failed.
async fn keep_calling(mut lab: Lab, done: watch::Receiver<bool>) -> Vec<Code> {
    let mut failures = Vec::new();
    while !*done.borrow() {
        match lab.echo(asks("load", json!([{ "text": "there" }]))).await {
            Ok(answer) => assert_eq!(answer.into_inner().text, "there"),
            Err(status) => failures.push(status.code()),
        }
    }
    failures
}

/// A kit of two, of which one dies in the middle of its calls.
#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn p11_one_of_two_dies_and_its_calls_go_to_the_other() {
    let (mut dies, lives) = (Server::start(), Server::start());
    let kit = kit(&[dies.target(), lives.target()], retried(3, Duration::from_millis(5)));
    let mut lab = Lab::new(kit.channel());
    for _ in 0..10 {
        lab.echo(asks("k", json!([{}]))).await.unwrap();
    }
    assert_eq!((dies.seen("k").await.len(), lives.seen("k").await.len()), (5, 5));
    dies.kill();
    for _ in 0..20 {
        lab.echo(asks("k", json!([{}]))).await.unwrap();
    }
    assert_eq!(lives.seen("k").await.len(), 25);
}

/// It may have been executed: a method that is not on the list is not repeated.
#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn g37_and_g69_a_server_that_dies_in_a_handler_is_asked_once() {
    let (_place, port) = reserved();
    let mut server = Server::at(port);
    let mut lab = lab(server.target(), retried(3, Duration::ZERO).wait_for_ready(true));
    let call = tokio::spawn(async move { lab.charge(asks("k", json!([{ "hang": true }]))).await });
    eventually(async || server.seen("k").await.len() == 1).await;
    server.kill();
    let new = Server::at(port);
    assert_eq!(outcome(call.await.unwrap()), Err(Code::Unavailable));
    assert!(new.seen("k").await.is_empty());
}
