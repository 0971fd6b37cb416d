//! Who holds a half-open circuit's only place, and when it is given back: C13 to C19, C51 and G74.

use evenkeel_tests::{RawClient, Reply, Stub, drain, drop_at_every_poll};
use evenkeel_tonic::core::{BreakerState, Snapshot};
use evenkeel_tonic::{CircuitOpen, Resilient, cause};
use tonic::{Code, Status};

use crate::lab::{ECHO, EXPORT, KINDS, Lab, busy, code, fails, method_of, ok, pass};
use crate::policies::{client, millis, opens_after, retries};

use BreakerState::{Closed, HalfOpen, Open};

/// A circuit that one failure has opened, at the end of its open time; what comes next is a trial.
async fn due(replies: impl IntoIterator<Item = Reply>) -> Lab {
    let opening = KINDS.map(|_| busy());
    let lab = Lab::new(client().breaker(opens_after(1)), opening.into_iter().chain(replies));
    for kind in KINDS {
        assert!(lab.call(kind).await.is_err());
    }
    pass(10_000).await;
    lab
}

/// State and trials under way.
fn shown(snapshot: Snapshot) -> (BreakerState, u8) {
    (snapshot.state, snapshot.trials)
}

/// Three items, one every 100 ms.
fn slow() -> Reply {
    let item = |reply: Reply, item| reply.message(item).wait(millis(100));
    ["1", "2", "3"].into_iter().fold(Reply::headers(), item)
}

#[tokio::test(start_paused = true)]
async fn c13_a_streams_verdict_comes_with_its_end() {
    let lab = Lab::new(
        client().breaker(opens_after(2)),
        [
            fails(Code::Unavailable),
            slow().end(Status::ok("")),
            Reply::headers().message("1").end(Status::internal("broken")),
        ],
    );
    assert!(lab.export().await.1.is_some());
    let mut stream = lab.client(EXPORT).server_streaming("ping").await.unwrap().into_inner();
    for _ in 0..3 {
        stream.message().await.unwrap().unwrap();
        assert_eq!(lab.circuit(EXPORT), (Closed, 1), "headers and items are no success");
    }
    assert!(stream.message().await.unwrap().is_none());
    assert_eq!(lab.circuit(EXPORT), (Closed, 0));
    assert_eq!(lab.export().await.0.len(), 1);
    assert_eq!(lab.circuit(EXPORT), (Closed, 1));
}

#[tokio::test(start_paused = true)]
async fn c15_a_failed_trial_opens_it_again_whatever_the_threshold() {
    let lab = Lab::new(client().breaker(opens_after(100)), [busy()]);
    for _ in 0..100 {
        assert!(lab.unary(ECHO).await.is_err());
    }
    pass(10_000).await;
    assert_eq!(lab.unary(ECHO).await.unwrap_err().message(), "the peer says so");
    let shown = lab.breaker(ECHO);
    assert_eq!((shown.state, shown.reopenings), (Open, 1));
    assert!(cause::<CircuitOpen>(&lab.unary(ECHO).await.unwrap_err()).is_some());
    assert_eq!(lab.peer.count(), 101);
}

#[tokio::test(start_paused = true)]
async fn c16_and_g74_one_trial_at_a_time() {
    for kind in KINDS {
        let lab = due([ok().after(millis(100)), ok()]).await;
        let second = async {
            pass(50).await;
            lab.call(kind).await
        };
        let (first, second) = tokio::join!(lab.call(kind), second);
        assert_eq!(first.unwrap(), ["pong"], "{kind:?}");
        assert!(cause::<CircuitOpen>(&second.unwrap_err()).is_some());
        assert_eq!(lab.circuit(method_of(kind)), (Closed, 0));
        assert!(lab.call(kind).await.is_ok());
    }
}

#[tokio::test(start_paused = true)]
async fn c17_and_g74_a_stream_on_trial_holds_its_place_to_its_last_item() {
    let lab = due([slow().end(Status::ok(""))]).await;
    let mut stream = lab.client(EXPORT).server_streaming("ping").await.unwrap().into_inner();
    for _ in 0..3 {
        stream.message().await.unwrap().unwrap();
        assert_eq!(shown(lab.breaker(EXPORT)), (HalfOpen, 1));
    }
    assert!(stream.message().await.unwrap().is_none());
    assert_eq!(shown(lab.breaker(EXPORT)), (Closed, 0));
}

#[tokio::test(start_paused = true)]
async fn c18_a_stream_that_fails_on_trial_opens_it_again() {
    for end in [slow().end(Status::unavailable("broken")), slow().abort()] {
        let lab = due([end]).await;
        assert_eq!(lab.export().await.0.len(), 3);
        assert_eq!(shown(lab.breaker(EXPORT)), (Open, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn c19_and_g74_a_trial_that_is_dropped_gives_its_place_back() {
    for kind in KINDS {
        let lab = due([ok().after(millis(100)), ok()]).await;
        assert!(tokio::time::timeout(millis(50), lab.call(kind)).await.is_err());
        let method = method_of(kind);
        assert_eq!(shown(lab.breaker(method)), (HalfOpen, 0), "{kind:?}");
        assert_eq!(lab.call(kind).await.unwrap(), ["pong"]);
        assert_eq!(shown(lab.breaker(method)), (Closed, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn c19_and_g74_a_stream_that_is_dropped_on_trial_gives_its_place_back() {
    let lab = due([slow(), ok()]).await;
    let response = lab.client(EXPORT).server_streaming("ping").await.unwrap();
    let mut stream = response.into_inner();
    stream.message().await.unwrap().unwrap();
    assert_eq!(shown(lab.breaker(EXPORT)), (HalfOpen, 1));
    drop(stream);
    assert_eq!(shown(lab.breaker(EXPORT)), (HalfOpen, 0));
    // Not even looked at is dropped too.
    let response = lab.client(EXPORT).server_streaming("ping").await.unwrap();
    assert_eq!(shown(lab.breaker(EXPORT)), (HalfOpen, 1));
    drop(response);
    assert_eq!(shown(lab.breaker(EXPORT)), (HalfOpen, 0));
    assert!(lab.export().await.1.is_none());
    assert_eq!(shown(lab.breaker(EXPORT)), (Closed, 0));
}

/// Wherever a call is dropped.
#[tokio::test(start_paused = true)]
async fn c19_at_every_poll_of_a_call_its_place_comes_back() {
    let lab = due([Reply::headers().message("pong").end(Status::ok(""))]).await;
    let polls = drop_at_every_poll(
        || lab.unary(ECHO),
        async |_| {
            // What was sent on the wire has its turn too.
            pass(1).await;
            let (state, trials) = shown(lab.breaker(ECHO));
            assert!(trials == 0 && state != Closed || state == Closed);
        },
    );
    assert!(polls.await > 1);
    assert_eq!(shown(lab.breaker(ECHO)), (Closed, 0));
}

/// Wherever a call is dropped that fails, is repeated, breaks, and begins anew: here on a service
/// that is never ready at once, so that it waits in every place there is.
#[tokio::test(start_paused = true)]
async fn c19_at_every_poll_of_a_restarted_stream_its_place_comes_back() {
    let at_once = opens_after(1).with_open_for(millis(0)).unwrap();
    let polls = drop_at_every_poll(
        || {
            let broken = Reply::headers().message("1").end(Status::unavailable("broken"));
            let whole = Reply::headers().messages(["1", "2"]).end(Status::ok(""));
            let stub = Stub::new([busy(), broken, whole]).lazy();
            let builder = client().retry(retries(3, 100)).retry_streaming().breaker(at_once);
            let service = builder.build(stub).unwrap();
            // The first failure opens it, and every attempt after that is a trial.
            let watched = Watched(service.clone());
            async move {
                let mut client = RawClient::of(EXPORT, watched.0.clone());
                let stream = client.server_streaming("ping").await.unwrap().into_inner();
                let (items, status) = drain(stream).await;
                assert_eq!((items.concat(), status.is_none()), (b"112".to_vec(), true));
                drop(watched);
            }
        },
        async |_| {},
    );
    assert!(polls.await > 10);
}

/// Looks at the breaker when everything else of the call is gone.
struct Watched(Resilient<Stub>);

impl Drop for Watched {
    fn drop(&mut self) {
        let states = self.0.circuit_breaker_states();
        let shown = states.get("lab").and_then(|methods| methods.get(EXPORT));
        assert_eq!(shown.map_or(0, |shown| shown.trials), 0);
    }
}

/// A stream that hangs without a deadline holds its place for the open time, and for as long again
/// with every item; then the place is given to another, and whatever it says later changes nothing.
#[tokio::test(start_paused = true)]
async fn a_stream_on_trial_without_a_deadline_holds_its_place_while_it_speaks() {
    let item = |reply: Reply, _| reply.message("tick").wait(millis(9_000));
    let ticks = (0..3).fold(Reply::headers(), item).wait(millis(60_000));
    let lab = due([ticks.end(Status::unavailable("late")), ok()]).await;
    let mut stream = lab.client(EXPORT).server_streaming("ping").await.unwrap().into_inner();
    for _ in 0..3 {
        stream.message().await.unwrap().unwrap();
        assert!(cause::<CircuitOpen>(&lab.export().await.1.unwrap()).is_some());
    }
    // 18 s after its start, and 10 s after its last word.
    pass(10_000).await;
    assert!(lab.export().await.1.is_none());
    assert_eq!(lab.circuit(EXPORT), (Closed, 0));
    assert_eq!(drain(stream).await.1.unwrap().message(), "late");
    assert_eq!(lab.circuit(EXPORT), (Closed, 0), "it belongs to an ended period");
}

/// 120 at once, every third dropped somewhere on its way.
#[tokio::test(start_paused = true)]
async fn c51_dropping_calls_costs_nothing() {
    let lab = due([ok().after(millis(10))]).await;
    lab.unary(ECHO).await.unwrap();
    let calls = (0..120).map(|number| {
        let lab = &lab;
        async move {
            let patience = if number % 3 == 0 { number % 10 } else { 1_000 };
            tokio::time::timeout(millis(patience), lab.unary(ECHO)).await.map(|end| code(&end))
        }
    });
    let ended = futures_util::future::join_all(calls).await;
    assert_eq!(ended.iter().filter(|end| **end == Ok(Code::Ok)).count(), 80);
    assert_eq!(ended.iter().filter(|end| end.is_err()).count(), 40);
    assert_eq!((lab.circuit(ECHO), lab.breaker(ECHO).trials), ((Closed, 0), 0));
    assert_eq!(lab.unary(ECHO).await.unwrap(), "pong");
}
