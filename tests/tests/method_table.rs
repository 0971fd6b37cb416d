//! Generated method tables against what generated clients send and what descriptors say.

use core::convert::Infallible;
use core::future::{Ready, ready};
use core::task::{Context, Poll};
use std::path::Path;
use std::sync::{Arc, Mutex};

use evenkeel_tests::pb::lab_client::LabClient;
use evenkeel_tests::pb::{self, Msg};
use evenkeel_tests::{RawClient, Reply, Stub};
use evenkeel_tonic::core::RetryPolicy;
use evenkeel_tonic::{MethodInfo, MethodTable, Resilient};
use futures_util::{FutureExt, stream};
use prost::Message;
use tonic::body::Body;
use tonic::codegen::{Service, http};
use tonic::{GrpcMethod, Status};

#[path = "../../adapters/tonic/examples/payments_lab/pb.rs"]
mod payments;

#[test]
fn static_tables_say_what_descriptors_say() {
    let example = "../adapters/tonic/examples/payments_lab/proto";
    for (table, dir, proto) in
        [(&pb::METHODS, "proto", "lab.proto"), (&payments::METHODS, example, "payments.proto")]
    {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join(dir);
        let bytes = protox::compile([proto], [dir]).unwrap().encode_to_vec();
        let read = MethodTable::from_descriptor_bytes(&bytes).unwrap();
        assert_eq!(read.methods(), table.methods());
    }
    assert_eq!((pb::METHODS.methods().len(), payments::METHODS.methods().len()), (6, 8));
}

/// There is one for each package. What is in none of those that a client was given is not repeated.
#[tokio::test(start_paused = true)]
async fn the_tables_of_several_packages_add_up() {
    for (method, attempts) in
        [("/lab.v1.Lab/Echo", 2), ("/payments.v1.Payments/GetQuote", 2), ("/other.v1.Other/Get", 1)]
    {
        let stub = Stub::new([Reply::status(Status::unavailable("busy")), Reply::ok("")]);
        let tables = Resilient::builder().methods(&pb::METHODS).methods(&payments::METHODS);
        let service = tables.retry(RetryPolicy::DEFAULT).build(stub.clone()).unwrap();
        let answer = RawClient::of(method, service).unary("ping").await;
        assert_eq!((answer.is_ok(), stub.count()), (attempts == 2, attempts), "{method}");
    }
}

#[test]
fn the_path_of_every_call_is_in_the_table() {
    let spy = Spy::default();
    call_everything(LabClient::new(spy.clone()));

    let seen = spy.seen.lock().unwrap();
    let mut paths: Vec<_> = seen.iter().map(|(path, _)| path.as_str()).collect();
    paths.sort_unstable();
    assert!(paths.into_iter().eq(pb::METHODS.methods().iter().map(MethodInfo::path)));
    assert!(seen.iter().all(|(path, extension)| path == extension));
}

/// The path alone does not say where the prefix ends, the extension does not have one.
#[test]
fn an_origin_changes_the_path_and_not_the_extension() {
    let spy = Spy::default();
    let origin = http::Uri::from_static("http://host/prefix");
    call_everything(LabClient::with_origin(spy.clone(), origin));

    let seen = spy.seen.lock().unwrap();
    assert_eq!(seen.len(), 6);
    for (path, extension) in seen.iter() {
        assert_eq!(*path, format!("/prefix{extension}"));
        assert!(pb::METHODS.get(path).is_none());
        assert!(pb::METHODS.get(extension).is_some());
    }
}

fn call_everything(mut client: LabClient<Spy>) {
    let message = Msg::default;
    client.echo(message()).now_or_never().unwrap().unwrap_err();
    client.put(message()).now_or_never().unwrap().unwrap_err();
    client.charge(message()).now_or_never().unwrap().unwrap_err();
    client.export(message()).now_or_never().unwrap().unwrap_err();
    client.upload(stream::iter([message()])).now_or_never().unwrap().unwrap_err();
    client.chat(stream::iter([message()])).now_or_never().unwrap().unwrap_err();
}

/// Answers UNIMPLEMENTED, and notes the path of every request and the one its extension spells.
#[derive(Clone, Default)]
struct Spy {
    seen: Arc<Mutex<Vec<(String, String)>>>,
}

impl Service<http::Request<Body>> for Spy {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let method = request.extensions().get::<GrpcMethod<'_>>().unwrap();
        let extension = format!("/{}/{}", method.service(), method.method());
        self.seen.lock().unwrap().push((request.uri().path().to_owned(), extension));
        ready(Ok(Status::unimplemented("").into_http()))
    }
}
