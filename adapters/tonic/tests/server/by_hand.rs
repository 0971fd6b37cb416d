//! This file knows the layer around services that are not tonic's, called without a network.

use core::convert::Infallible;
use core::fmt;
use core::future::{Ready, ready};
use core::task::{Context, Poll};
use core::time::Duration;
use std::sync::Arc;

use evenkeel_core::BudgetPolicy;
use evenkeel_tokio::{Budget, SharedBudget, with_budget};
use evenkeel_tonic::OpenBudgetLayer;
use http::{Request, Response};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::{FETCH, pass, seconds_left};

/// A request whose body is not a body.
pub(crate) fn request(timeout: Option<&str>) -> Request<&'static str> {
    let mut request = Request::post(FETCH);
    if let Some(timeout) = timeout {
        request = request.header("grpc-timeout", timeout);
    }
    request.body("anything").expect("a valid request")
}

/// Answers what is left where it runs.
async fn look(_: Request<&'static str>) -> Result<Response<()>, Infallible> {
    let mut response = Response::new(());
    response.extensions_mut().insert(Seen(seconds_left()));
    Ok(response)
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Seen(Option<f64>);

/// What [`look`] saw; `None` when it did not run.
async fn seen<S, B>(service: S, request: Request<&'static str>) -> Option<Seen>
where
    S: Service<Request<&'static str>, Response = Response<B>, Error = Infallible>,
{
    let Ok(response) = service.oneshot(request).await;
    response.extensions().get().copied()
}

fn budget(seconds: u64) -> SharedBudget {
    let total = Duration::from_secs(seconds);
    Arc::new(Budget::new(total, BudgetPolicy::DEFAULT).expect("a valid budget"))
}

#[tokio::test(start_paused = true)]
async fn two_layers_are_as_good_as_one() {
    let inner = OpenBudgetLayer::new().layer(service_fn(look));
    let slow = service_fn(move |request| {
        let inner = inner.clone();
        async move {
            pass(1_000).await;
            inner.oneshot(request).await
        }
    });
    let service = OpenBudgetLayer::new().layer(slow);
    assert_eq!(seen(service.clone(), request(Some("3S"))).await, Some(Seen(Some(2.0))));
    assert_eq!(seen(service, request(None)).await, Some(Seen(None)));
}

#[tokio::test(start_paused = true)]
async fn the_budget_of_the_calling_task_is_never_widened() {
    let service = OpenBudgetLayer::new().layer(service_fn(look));
    let exempting = OpenBudgetLayer::new().without(FETCH).layer(service_fn(look));
    let inside = with_budget(Some(budget(2)), async {
        let longer = seen(service.clone(), request(Some("3S"))).await;
        let shorter = seen(service.clone(), request(Some("1S"))).await;
        let none = seen(service.clone(), request(None)).await;
        let malformed = seen(service.clone(), request(Some("82f"))).await;
        let exempt = seen(exempting, request(Some("1S"))).await;
        pass(2_000).await;
        let spent = seen(service.clone(), request(Some("3S"))).await;
        [longer, shorter, none, malformed, exempt, spent]
    });
    let left = [2.0, 1.0, 2.0, 2.0, 2.0].map(|left| Some(Seen(Some(left))));
    assert_eq!(inside.await[..], [&left[..], &[None]].concat());
}

/// Over a network tonic's timer, which is outside, may still win.
#[tokio::test(start_paused = true)]
async fn an_exempt_method_is_called_without_time() {
    let service = OpenBudgetLayer::new().without(FETCH).layer(service_fn(look));
    assert_eq!(seen(service, request(Some("0n"))).await, Some(Seen(None)));
}

/// An interceptor around a single service runs there.
#[tokio::test(start_paused = true)]
async fn what_a_service_does_before_its_future_is_inside() {
    let eager = service_fn(|_| {
        let mut response = Response::new(());
        response.extensions_mut().insert(Seen(seconds_left()));
        ready(Ok::<_, Infallible>(response))
    });
    let service = OpenBudgetLayer::new().layer(eager);
    assert_eq!(seen(service, request(Some("3S"))).await, Some(Seen(Some(3.0))));
}

/// The task that polls need not be the one that called.
#[tokio::test(start_paused = true)]
async fn a_request_keeps_its_budget_wherever_it_is_polled() {
    let mut service = OpenBudgetLayer::new().layer(service_fn(look));
    let with = service.ready().await.expect("ready").call(request(Some("3S")));
    let without = service.ready().await.expect("ready").call(request(None));
    let elsewhere = with_budget(Some(budget(1)), async {
        let Ok(with) = with.await;
        let Ok(without) = without.await;
        [with, without].map(|response| response.extensions().get::<Seen>().copied())
    });
    assert_eq!(elsewhere.await, [Some(Seen(Some(3.0))), Some(Seen(None))]);
}

/// A service of which only the instance that was ready may be called, and only once.
#[derive(Debug, Default)]
struct Strict {
    ready: bool,
}

impl Clone for Strict {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Service<Request<&'static str>> for Strict {
    type Response = Response<()>;
    type Error = Broken;
    type Future = Ready<Result<Self::Response, Broken>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        self.ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<&'static str>) -> Self::Future {
        assert!(self.ready, "called without being ready");
        self.ready = false;
        ready(Err(Broken))
    }
}

#[derive(Debug, PartialEq)]
struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("broken")
    }
}

impl core::error::Error for Broken {}

#[tokio::test(start_paused = true)]
async fn the_instance_that_was_ready_is_called() {
    let mut service = OpenBudgetLayer::new().layer(Strict::default());
    for timeout in [Some("3S"), None, Some("82f")] {
        let called = service.ready().await.expect("ready").call(request(timeout));
        assert_eq!(called.await.expect_err("an error of the service's"), Broken, "{timeout:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_does_not_use_readiness_up() {
    let mut service = OpenBudgetLayer::new().layer(Strict::default());
    let service = service.ready().await.expect("ready");
    let refused = service.call(request(Some("0n"))).await.expect("a refusal is a response");
    assert_eq!(refused.headers()["grpc-status"], "4");
    let called = service.call(request(Some("3S"))).await;
    assert_eq!(called.expect_err("an error of the service's"), Broken);
}
