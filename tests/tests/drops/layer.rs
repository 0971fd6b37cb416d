//! The server's layer: a handler, and its response stream, that the transport drops.

use core::convert::Infallible;
use core::time::Duration;
use std::sync::Arc;

use bytes::Bytes;
use evenkeel_core::Clock;
use evenkeel_tests::drop_at_every_poll;
use evenkeel_tokio::{TokioClock, current_budget};
use evenkeel_tonic::OpenBudgetLayer;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use tower::{Layer, ServiceExt, service_fn};

use crate::{Holding, steps};

fn request() -> Request<()> {
    Request::post("/lab.v1.Lab/Echo").header("grpc-timeout", "3S").body(()).unwrap()
}

fn inside() {
    let left = current_budget().map(|budget| budget.remaining(TokioClock.now()).as_duration());
    assert!(left.is_some_and(|left| left <= Duration::from_secs(3)));
}

#[tokio::test(start_paused = true)]
async fn a_handler_dropped_anywhere_leaves_its_budget() {
    let held = Arc::new(());
    let handler = service_fn(|_: Request<()>| {
        Holding::new(&held, async {
            inside();
            steps(()).await;
            inside();
            Ok::<_, Infallible>(Response::new(http_body_util::Empty::<Bytes>::new()))
        })
    });
    let service = OpenBudgetLayer::new().layer(handler);
    let start = || service.clone().oneshot(request());
    let polls = drop_at_every_poll(start, async |_| {
        assert!(current_budget().is_none());
        assert_eq!(Arc::strong_count(&held), 1);
    });
    assert!(polls.await >= 4);
}

#[tokio::test(start_paused = true)]
async fn a_response_body_dropped_anywhere_leaves_its_budget() {
    let held = Arc::new(());
    let handler = service_fn(|_: Request<()>| {
        let items =
            futures_util::stream::unfold((0, Arc::clone(&held)), |(sent, held)| async move {
                inside();
                steps(()).await;
                let frame = Ok::<_, Infallible>(Frame::data(Bytes::from_static(b"item")));
                (sent < 3).then_some((frame, (sent + 1, held)))
            });
        core::future::ready(Ok::<_, Infallible>(Response::new(StreamBody::new(Box::pin(items)))))
    });
    let service = OpenBudgetLayer::new().layer(handler);
    let start = || async {
        let body = service.clone().oneshot(request()).await.unwrap().into_body();
        body.collect().await.unwrap().to_bytes()
    };
    let polls = drop_at_every_poll(start, async |_| {
        assert!(current_budget().is_none());
        assert_eq!(Arc::strong_count(&held), 1);
    });
    assert!(polls.await >= 9);
}
