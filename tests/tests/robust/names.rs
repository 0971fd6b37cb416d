//! Names of methods that nobody registered: however many there are and whatever they look like,
//! what is kept of them is bounded.

use crate::{ECHO, guarded, opens_after};
use bytes::Bytes;
use core::time::Duration;
use evenkeel_core::RetryPolicy;
use evenkeel_tests::{RawClient, Reply, Stub};
use evenkeel_tonic::{Builder, CircuitOpen, Resilient, cause};
use http::Request;
use tonic::body::Body;
use tonic::{GrpcMethod, Status};
use tower::{Service, ServiceExt};

const MAX_METHODS: usize = 20;

fn small() -> Builder {
    guarded().retry(RetryPolicy::OFF).max_methods(MAX_METHODS).unwrap()
}

/// Calls `path` as a proxy would, which has no generated code.
async fn call<S>(service: &mut Resilient<S>, path: &str)
where
    Resilient<S>: Service<Request<Body>, Error = Status>,
{
    let mut request = Request::new(Body::empty());
    *request.uri_mut() = path.parse().unwrap();
    _ = service.ready().await.unwrap().call(request).await;
}

/// The names in the breaker table.
fn names<S>(service: &Resilient<S>) -> Vec<String> {
    let mut states = service.circuit_breaker_states();
    states.remove("").unwrap_or_default().into_keys().collect()
}

#[tokio::test(start_paused = true)]
async fn any_number_of_names_leaves_the_table_as_it_is() {
    let mut service = small().build(Stub::canned(Reply::ok("pong"))).unwrap();
    for number in 0..50_000 {
        call(&mut service, &format!("/junk.Junk/Call{number}")).await;
    }
    assert!(names(&service).len() <= MAX_METHODS);
    // What is registered is known all the same.
    call(&mut service, ECHO).await;
    assert!(names(&service).iter().any(|name| name == ECHO));
}

/// A table in which everything protects grows to four times its size and no further.
#[tokio::test(start_paused = true)]
async fn failing_names_fill_it_four_times_and_no_more() {
    let failing = Stub::canned(Reply::status(Status::internal("broken")));
    let breaker = opens_after(1, Duration::from_secs(60));
    let mut service = small().breaker(breaker).build(failing).unwrap();
    for number in 0..10_000 {
        call(&mut service, &format!("/junk.Junk/Call{number}")).await;
    }
    assert!(names(&service).len() <= 4 * MAX_METHODS);
    // The circuits of the first ones still protect.
    let mut client = RawClient::of("/junk.Junk/Call0", service.clone());
    let status = client.unary("ping").await.unwrap_err();
    assert!(cause::<CircuitOpen>(&status).is_some(), "{status:?}");
}

/// F101: what is no name of a method is one entry, however long and however many.
#[tokio::test(start_paused = true)]
async fn f101_junk_is_one_name() {
    let stub = Stub::new([Reply::status(Status::unimplemented(""))]);
    let mut service = small().build(stub.clone()).unwrap();
    call(&mut service, "/pkg.Svc/Known").await;
    let long = format!("/{}/{}", "a".repeat(30_000), "b".repeat(30_000));
    let mut junk: Vec<String> = (0..100).map(|n| format!("/.env{n}")).collect();
    junk.extend((0..100).map(|n| format!("{long}{n}")));
    junk.extend((0..100).map(|n| format!("/%ff%fe/{n}")));
    for path in ["/", "//", "/a/", "//a", "*", "/wp-login.php"] {
        junk.push(path.to_owned());
    }
    for path in &junk {
        call(&mut service, path).await;
    }
    assert_eq!(names(&service), ["/pkg.Svc/Known", "other"]);
    // What goes out is what came in.
    let sent: Vec<String> = stub.requests().into_iter().map(|seen| seen.path).collect();
    assert_eq!(sent[1..].len(), junk.len());
    assert_eq!(sent[101], format!("{long}0"));
}

/// F99: a query is no part of the name.
#[tokio::test(start_paused = true)]
async fn f99_a_query_is_not_part_of_the_name() {
    let stub = Stub::new([Reply::status(Status::internal("broken"))]);
    let mut service = small().build(stub.clone()).unwrap();
    for number in 0..10 {
        call(&mut service, &format!("/pkg.Svc/Get?x={number}")).await;
    }
    assert_eq!(names(&service), ["/pkg.Svc/Get"]);
    assert_eq!(stub.count(), 5, "it opened after five");
}

/// Trap 18: a client with an origin has a prefix in its path, its method has none.
#[tokio::test(start_paused = true)]
async fn a_prefix_of_the_origin_is_not_part_of_the_name() {
    let stub = Stub::new([Reply::status(Status::unavailable("busy")), Reply::ok("pong")]);
    let service = small().retry(RetryPolicy::DEFAULT).build(stub.clone()).unwrap();
    let origin = "http://host/a/b".parse().unwrap();
    let mut client =
        evenkeel_tests::pb::lab_client::LabClient::with_origin(service.clone(), origin);
    client.echo(evenkeel_tests::pb::Msg::default()).await.unwrap_err();
    assert_eq!(names(&service), [ECHO]);
    assert_eq!(stub.count(), 2, "it is on the list under its own name");
    let paths: Vec<_> = stub.requests().into_iter().map(|seen| seen.path).collect();
    assert_eq!(paths, [format!("/a/b{ECHO}"), format!("/a/b{ECHO}")]);
}

/// A layer may have changed the path under the extension: then the path counts.
#[tokio::test(start_paused = true)]
async fn an_extension_that_does_not_fit_the_path_is_not_believed() {
    let mut service = small().build(Stub::canned(Reply::ok("pong"))).unwrap();
    for (path, known) in [("/pkg.Svc/Get", ("Svc", "Get")), ("/x", ("a.B", "C")), (ECHO, ("", ""))]
    {
        let mut request = Request::new(Body::new(http_body_util::Full::new(Bytes::new())));
        *request.uri_mut() = path.parse().unwrap();
        let (name, method) = known;
        request.extensions_mut().insert(GrpcMethod::new(name, method));
        _ = service.ready().await.unwrap().call(request).await;
    }
    assert_eq!(names(&service), [ECHO, "/pkg.Svc/Get", "other"]);
}
