//! Servers that go away, and come back, while they are used.

use core::time::Duration;

use evenkeel_tonic::core::RetryPolicy;
use serde_json::json;
use tonic::Code;

use crate::lab::{Lab, asks, calls, kit, lab, outcome, retried};
use crate::python::{Server, reserved};

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn a_server_that_was_started_again_is_found_again() {
    let (_place, port) = reserved();
    let mut server = Server::at(port);
    let mut lab = lab(server.target(), calls().wait_for_ready(true));
    for round in 0..3 {
        let answer = lab.echo(asks("k", json!([{ "text": "there" }]))).await;
        assert_eq!(outcome(answer), Ok("there".to_owned()), "{round}");
        assert_eq!(server.seen("k").await.len(), 1, "{round}");
        server.kill();
        server = Server::at(port);
    }
}

/// The connection is known to be closed before the next call is made, and nobody waits for ready.
#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn a_call_after_the_server_said_goaway_is_made_on_a_new_connection() {
    let (_place, port) = reserved();
    let old = Server::at(port);
    // Nothing here is retried: what was not sent is repeated for any method.
    let mut lab = lab(old.target(), calls().retry(RetryPolicy::OFF));
    lab.charge(asks("k", json!([{}]))).await.unwrap();
    let new = Server::at(port);
    old.stop(60).await;
    // Until the old one has gone, both may be asked.
    let mut made = 0;
    while new.seen("k").await.is_empty() {
        lab.charge(asks("k", json!([{}]))).await.unwrap();
        made += 1;
    }
    assert!(made >= 1);
}

/// What was under way when the server said `GOAWAY` is answered, and nothing else fails.
#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn no_idempotent_call_fails_when_servers_are_replaced_under_load() {
    let (_place, port) = reserved();
    let mut server = Server::at(port);
    let kit = kit(&[server.target()], retried(5, Duration::from_millis(20)));
    let (done, watch) = tokio::sync::watch::channel(false);
    let workers: Vec<_> =
        (0..8).map(|_| tokio::spawn(work(Lab::new(kit.channel()), watch.clone()))).collect();
    let mut old = Vec::new();
    for _ in 0..3 {
        // The new one is there before the old one goes, as in any careful deployment.
        let new = Server::at(port);
        server.stop(30).await;
        // Everybody has moved on.
        crate::lab::eventually(async || new.count("/lab.v1.Lab/Echo").await >= 50).await;
        old.push(core::mem::replace(&mut server, new));
    }
    done.send(true).unwrap();
    let mut made = 0;
    for worker in workers {
        made += worker.await.unwrap();
    }
    assert!(made >= 150, "{made}");
    assert!(kit.close(crate::lab::LONG).await, "and nothing is left under way");
}

/// Calls until it is told to stop; how many.
async fn work(mut lab: Lab, done: tokio::sync::watch::Receiver<bool>) -> usize {
    let mut made = 0;
    while !*done.borrow() {
        let answer = lab.echo(asks("load", json!([{ "text": "there" }]))).await;
        assert_eq!(answer.expect("no call fails").into_inner().text, "there");
        made += 1;
    }
    made
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
    crate::lab::eventually(async || server.seen("k").await.len() == 1).await;
    server.kill();
    let new = Server::at(port);
    assert_eq!(outcome(call.await.unwrap()), Err(Code::Unavailable));
    assert!(new.seen("k").await.is_empty());
}
