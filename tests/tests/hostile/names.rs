//! Callers that ask for ever new methods: a proxy that passes on whatever it is asked, and somebody
//! who asks it everything.

use evenkeel_core::BreakerState;
use evenkeel_tests::{Reply, Stub};
use evenkeel_tonic::Pool;
use http::{Request, Response};
use tonic::Status;
use tonic::body::Body;
use tower::{Service, ServiceExt};

use crate::guarded;
use crate::memory::alone;

/// Asks for each method once, whatever comes of it.
async fn ask<S>(mut service: S, names: usize)
where
    S: Service<Request<Body>, Response = Response<Body>, Error: core::fmt::Debug>,
{
    for number in 0..names {
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
        ask(service.clone(), 3_000).await;
        let states = service.circuit_breaker_states();
        let open = states["a"].values().filter(|shown| shown.state == BreakerState::Open).count();
        assert!(open <= 400, "{turn}: {open}");
    }
}
