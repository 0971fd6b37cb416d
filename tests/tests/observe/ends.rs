//! Ends that are easily forgotten: each is still one record, and none is taken for a caller who left.

use bytes::Bytes;
use evenkeel_tests::RawClient;
use evenkeel_tonic::{Pool, Resilient};
use http_body::Frame;
use http_body_util::StreamBody;
use tonic::body::Body;
use tonic::{Code, Status};
use tower::{Service, service_fn};

use crate::figures::Figures;
use crate::lab::{ECHO, Lab, busy, client, counted, millis, ok, retries};

const CALLS: &str = "resilience.calls";

/// How many calls ended in this kind and code, of how many.
fn ended(figures: &Figures, status: &str, code: &str) -> (f64, f64) {
    let read = figures.read();
    assert_eq!(read.of("resilience.calls.active", &[]), 0.0);
    let labels = [("status", status), ("grpc.status", code)];
    (read.of(CALLS, &labels), read.of(CALLS, &[]))
}

#[tokio::test(start_paused = true)]
async fn a_panic_below_is_an_error_of_unknown_kind() {
    let figures = Figures::new();
    let broken =
        service_fn(async |_: http::Request<Body>| -> Result<http::Response<Body>, Status> {
            panic!("the service below is broken")
        });
    let service = counted(&figures).retry(retries(3, 100)).build(broken).unwrap();
    let call = tokio::spawn(async move { RawClient::of(ECHO, service).unary("ping").await });
    assert!(call.await.unwrap_err().is_panic());
    assert_eq!(ended(&figures, "error", "UNKNOWN"), (1.0, 1.0));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_be_read_is_an_error() {
    let figures = Figures::new();
    let lab = Lab::new(counted(&figures).retry(retries(3, 100)), [ok()]);
    let broken = Err::<Frame<Bytes>, _>(Status::data_loss("the file is gone"));
    let body = Body::new(StreamBody::new(tokio_stream::iter([broken])));
    let request = http::Request::post(format!("http://a{ECHO}")).body(body).unwrap();
    let failed = lab.service.clone().call(request).await.unwrap_err();
    assert_eq!((failed.code(), lab.peer.count()), (Code::DataLoss, 0));
    assert_eq!(ended(&figures, "error", "DATA_LOSS"), (1.0, 1.0));
}

#[tokio::test(start_paused = true)]
async fn a_call_through_a_closed_client_is_an_error_of_this_sides() {
    let figures = Figures::new();
    let pool = Pool::of([("a", Lab::new(client(), [ok()]).service)]);
    let service = counted(&figures).build_pool(pool).unwrap();
    assert!(service.pool().unwrap().close(millis(10)).await);
    RawClient::of(ECHO, service).unary("ping").await.unwrap_err();
    assert_eq!(ended(&figures, "error", "UNAVAILABLE"), (1.0, 1.0));
    assert_eq!(figures.read().of(CALLS, &[("origin", "local")]), 1.0);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_of_zero_is_an_error_and_no_attempt() {
    let figures = Figures::new();
    let lab = Lab::new(counted(&figures), [ok()]);
    let mut request = tonic::Request::new("ping");
    request.set_timeout(millis(0));
    lab.client(ECHO).unary(request).await.unwrap_err();
    assert_eq!(ended(&figures, "error", "DEADLINE_EXCEEDED"), (1.0, 1.0));
    assert_eq!(figures.read().of("grpc.client.attempt.started", &[]), 0.0);
}

/// Of two that are stacked the outer one tells, and it tells of one call.
#[tokio::test(start_paused = true)]
async fn two_that_are_stacked_make_one_record() {
    let figures = Figures::new();
    let inner = Lab::new(counted(&figures).retry(retries(3, 100)), [busy(), ok()]);
    let outer: Resilient<_> =
        counted(&figures).retry(retries(3, 100)).build(inner.service.clone()).unwrap();
    RawClient::of(ECHO, outer).unary("ping").await.unwrap();
    assert_eq!(ended(&figures, "success", "OK"), (1.0, 1.0));
    assert_eq!(figures.read().of("grpc.client.attempt.started", &[]), 2.0);
}
