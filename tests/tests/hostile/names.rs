//! Callers that ask for ever new methods: a proxy that passes on whatever it is asked, and somebody
//! who asks it everything.

use core::ops::Range;

use evenkeel_core::BreakerState;
use evenkeel_tests::{Reply, Stub};
use evenkeel_tonic::Pool;
use http::{Request, Response};
use tonic::Status;
use tonic::body::Body;
use tower::{Service, ServiceExt};

use crate::guarded;
use crate::memory::{KIB, alone, asked_for, at_most, in_use};

/// Asks for each method once, whatever comes of it.
async fn ask<S>(mut service: S, names: Range<usize>)
where
    S: Service<Request<Body>, Response = Response<Body>, Error: core::fmt::Debug>,
{
    for number in names {
        let path = format!("/evil.v1.S{}/M{number}", number % 1_000);
        let request = Request::post(path).body(Body::empty()).unwrap();
        let ready = service.ready().await.unwrap();
        _ = ready.call(request).await;
    }
}

fn fails() -> Stub {
    Stub::canned(Reply::status(Status::internal("broken")))
}

/// Each name opens its circuit: none may be forgotten while it protects, so that the table grows to
/// its bound, and newcomers beyond it are let through uncounted.
#[tokio::test(start_paused = true)]
async fn names_that_all_open_their_circuit_cost_four_tables() {
    let _alone = alone().await;
    let service = guarded().max_methods(100).unwrap().build_pool(Pool::of([("a", fails())]));
    let service = service.unwrap();
    for turn in 0..3 {
        ask(service.clone(), 0..3_000).await;
        let states = service.circuit_breaker_states();
        let open = states["a"].values().filter(|shown| shown.state == BreakerState::Open).count();
        assert!(open <= 400, "{turn}: {open}");
    }
}

/// Names that nobody has heard of, each of which is answered: what is kept after the first thousands
/// is all that is ever kept, and the last calls ask for no more than the first.
#[tokio::test(start_paused = true)]
async fn names_without_end_cost_no_more_than_some_thousands() {
    each_once(60_000).await;
}

/// The same with as many as anybody sends.
#[tokio::test(start_paused = true)]
#[ignore = "a minute or two, even if optimised: `tests/deep flood` runs it"]
async fn a_million_names_cost_no_more_than_some_thousands() {
    each_once(1_000_000).await;
}

/// So many names, half of them through one connection, half through a pool.
async fn each_once(names: usize) {
    let _alone = alone().await;
    let answers = || Stub::canned(Reply::ok("pong"));
    let single = guarded().build(answers()).unwrap();
    let pool = guarded().build_pool(Pool::of([("a", answers()), ("b", answers())])).unwrap();
    steady(single, 0..names / 2).await;
    steady(pool, names / 2..names).await;
}

/// Asks for each name of `numbers` once, and refuses that it costs more and more.
async fn steady<S>(service: S, numbers: Range<usize>)
where
    S: Service<Request<Body>, Response = Response<Body>, Error: core::fmt::Debug> + Clone,
{
    let (from, to) = (numbers.start, numbers.end);
    // Every table is full by then, and has turned over.
    ask(service.clone(), from..from + 10_000).await;
    let before = in_use();
    let first = cost(ask(service.clone(), from + 10_000..from + 15_000)).await;
    ask(service.clone(), from + 15_000..to - 5_000).await;
    let last = cost(ask(service, to - 5_000..to)).await;
    at_most(64 * KIB, before);
    assert!(last.0 <= first.0 + first.0 / 50, "{last:?} bytes, and {first:?} before");
    assert!(last.1 <= first.1 + first.1 / 50, "{last:?} allocations, and {first:?} before");
}

/// The bytes and allocations that `work` asks for.
async fn cost(work: impl Future<Output = ()>) -> (usize, usize) {
    let before = asked_for();
    work.await;
    let after = asked_for();
    (after.0 - before.0, after.1 - before.1)
}
