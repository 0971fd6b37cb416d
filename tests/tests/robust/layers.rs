//! Between other layers: interceptors above and below, compression, another of ours, and the
//! bounds that generated clients have.

use crate::parts::{message, service, trailers};
use crate::{CHAT, ECHO, EXPORT, UPLOAD, circuit, guarded, opens_after};
use bytes::Bytes;
use core::time::Duration;
use evenkeel_core::{BreakerState, Code as Known, CodeSet, RetryPolicy};
use evenkeel_tests::pb::Msg;
use evenkeel_tests::pb::lab_client::LabClient;
use evenkeel_tests::pb::lab_server::LabServer;
use evenkeel_tests::{Network, Peer, RawClient, Reply, Stub, drain};
use evenkeel_tonic::{Builder, Resilient, ResponseFuture};
use http_body::Frame;
use http_body_util::BodyExt;
use tonic::body::Body;
use tonic::client::GrpcService;
use tonic::codec::CompressionEncoding;
use tonic::service::interceptor::{InterceptedService, InterceptorLayer};
use tonic::transport::{Channel, Server};
use tonic::{Code, Request, Status};
use tower::{ServiceBuilder, ServiceExt};

/// What a generated client, and whoever spawns its calls, needs.
const fn fits_under_clients<T: GrpcService<Body> + Clone + Send + Sync + 'static>() {}
const fn can_be_sent<T: Send>() {}

const _: () = {
    fits_under_clients::<Resilient<Channel>>();
    fits_under_clients::<Resilient<Resilient<Channel>>>();
    fits_under_clients::<Resilient<InterceptedService<Channel, fn(Request<()>) -> Intercepted>>>();
    can_be_sent::<ResponseFuture<Channel>>();
    can_be_sent::<ResponseFuture<Stub>>();
    can_be_sent::<LabClient<Resilient<Channel>>>();
    can_be_sent::<LabClient<InterceptedService<Resilient<Channel>, fn(Request<()>) -> Intercepted>>>(
    );
};

type Intercepted = Result<Request<()>, Status>;

fn with_token(mut request: Request<()>) -> Intercepted {
    request.metadata_mut().insert("x-token", "secret".parse().unwrap());
    Ok(request)
}

fn ok_after_busy() -> [Reply; 2] {
    [Reply::status(Status::unavailable("busy")), Reply::ok("")]
}

/// Below, it runs for each attempt; above, once for the call.
#[tokio::test(start_paused = true)]
async fn an_interceptor_above_or_below() {
    let stub = Stub::new(ok_after_busy());
    let below = guarded().build(InterceptedService::new(stub.clone(), with_token)).unwrap();
    LabClient::new(below).echo(Msg::default()).await.unwrap();
    let above = guarded().build(Stub::new(ok_after_busy())).unwrap();
    LabClient::with_interceptor(above.clone(), with_token).echo(Msg::default()).await.unwrap();
    for stub in [&stub, above.get_ref().unwrap()] {
        let tokens: Vec<_> =
            stub.requests().iter().map(|r| r.header("x-token").is_some()).collect();
        assert_eq!(tokens, [true, true]);
    }
}

/// Whatever is made by one layer is one client, and has one opinion on the server.
#[tokio::test(start_paused = true)]
async fn the_services_of_one_layer_share_their_circuit() {
    let stub = Stub::new([Reply::status(Status::unavailable("busy"))]);
    let layer = guarded().retry(RetryPolicy::OFF).breaker(opens_after(2, Duration::from_secs(9)));
    let layer = layer.layer().unwrap();
    let [first, second] = [(); 2].map(|()| {
        ServiceBuilder::new()
            .layer(layer.clone())
            .layer(InterceptorLayer::new(with_token))
            .service(stub.clone())
    });
    for service in [&first, &second, &first] {
        LabClient::new(service.clone()).echo(Msg::default()).await.unwrap_err();
    }
    assert_eq!((circuit(&second, ECHO).state, stub.count()), (BreakerState::Open, 2));
    assert!(stub.requests().iter().all(|request| request.header("x-token").is_some()));
    let wrong = guarded().max_methods(1).and_then(|builder| builder.method_timeout("Echo", None));
    assert!(wrong.and_then(Builder::layer).is_err());
}

/// An interceptor that refuses is a status like any other, for both.
#[tokio::test(start_paused = true)]
async fn an_interceptor_that_refuses() {
    let refuses = |_: Request<()>| Intercepted::Err(Status::unauthenticated("no token"));
    let stub = Stub::new([Reply::ok("pong")]);
    let below = guarded().build(InterceptedService::new(stub.clone(), refuses)).unwrap();
    let status = RawClient::of(ECHO, below.clone()).unary("ping").await.unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::Unauthenticated, "no token"));
    assert_eq!((circuit(&below, ECHO).failures, stub.count()), (0, 0));

    let above = guarded().build(stub.clone()).unwrap();
    let mut client = LabClient::with_interceptor(above.clone(), refuses);
    assert_eq!(client.echo(Msg::default()).await.unwrap_err().code(), Code::Unauthenticated);
    assert!(above.circuit_breaker_states().is_empty(), "it never heard of the call");
}

/// A layer below that refuses with an error of its own, as those of tower do, is the server's fault
/// and final. One that says it in a status is taken at its word.
#[tokio::test(start_paused = true)]
async fn a_layer_below_that_refuses() {
    let full = || service(async |_, _| Err("too many calls".into()));
    let unsaid = guarded().build(full()).unwrap();
    let said = |_| Status::resource_exhausted("too many calls");
    let said = guarded().build(ServiceBuilder::new().map_err(said).service(full())).unwrap();
    let status = RawClient::of(ECHO, unsaid.clone()).unary("ping").await.unwrap_err();
    assert_eq!((status.code(), circuit(&unsaid, ECHO).failures), (Code::Unknown, 1));
    let status = RawClient::of(ECHO, said.clone()).unary("ping").await.unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::ResourceExhausted, "too many calls"));
    assert_eq!(circuit(&said, ECHO).failures, 3, "of three attempts");
}

/// F66, R34: two of ours by accident are three attempts, not nine, and one opinion on the circuit.
#[tokio::test(start_paused = true)]
async fn f66_one_stacked_on_another_stands_down() {
    let stub = Stub::new([Reply::status(Status::unavailable("busy"))]);
    let retry = |attempts| RetryPolicy::DEFAULT.with_max_attempts(attempts).unwrap();
    let inner = guarded().retry(retry(4)).build(stub.clone()).unwrap();
    let outer = guarded().retry(retry(3)).build(inner.clone()).unwrap();
    let status = RawClient::of(ECHO, outer.clone()).unary("ping").await.unwrap_err();
    assert_eq!((status.code(), stub.count()), (Code::Unavailable, 3));
    let numbers: Vec<_> = stub
        .requests()
        .iter()
        .map(|seen| seen.header("grpc-previous-rpc-attempts").map(str::to_owned))
        .collect();
    assert_eq!(numbers, [None, Some("1".to_owned()), Some("2".to_owned())]);
    assert_eq!(circuit(&outer, ECHO).failures, 3);
    assert_eq!(circuit(&inner, ECHO).failures, 0);
}

/// Trap 1, through two of ours: the inner one's findings are the outer one's.
#[tokio::test(start_paused = true)]
async fn what_the_inner_one_knows_of_the_transport_reaches_the_outer() {
    let net = Network::new();
    let inner = Resilient::builder().build(net.channel("a")).unwrap();
    let outer = guarded().build(inner).unwrap();
    let status = RawClient::of(crate::CHARGE, outer).unary("ping").await.unwrap_err();
    assert_eq!(crate::sent(&status), Some(evenkeel_core::Sent::NotConnected));
    assert_eq!(net.dials("a").len(), 3);
}

/// Trap 9 and more: compressed messages are replayed, held and begun anew as they are.
#[tokio::test(start_paused = true)]
async fn compressed_messages() {
    let net = Network::new();
    let lab = LabServer::new(crate::streams::Echo)
        .accept_compressed(CompressionEncoding::Gzip)
        .send_compressed(CompressionEncoding::Gzip);
    tokio::spawn(Server::builder().add_service(lab).serve_with_incoming(net.listen("a")));
    // The first attempt of everything fails after its last message.
    let channel = net.channel("a");
    let flaky = service(move |call, request| {
        let channel = channel.clone();
        async move {
            let answer = channel.oneshot(request).await?;
            let fails = call % 2 == 0;
            Ok(answer.map(|body| {
                Body::new(body.map_frame(move |frame| match frame.into_trailers() {
                    Ok(_) if fails => trailers(&Status::unavailable("late")).unwrap(),
                    Ok(trailers) => Frame::trailers(trailers),
                    Err(data) => data,
                }))
            }))
        }
    });
    let service = guarded().retry_streaming().build(flaky).unwrap();
    let mut client = LabClient::new(service)
        .send_compressed(CompressionEncoding::Gzip)
        .accept_compressed(CompressionEncoding::Gzip);
    let blob = message(100_000).to_vec();
    let original = Msg { blob, n: 3, ..Msg::default() };
    let echo = client.echo(original.clone()).await.unwrap();
    assert_eq!(echo.metadata().get("grpc-encoding").unwrap(), "gzip");
    assert_eq!(echo.into_inner(), original);
    let stream = client.export(original).await.unwrap().into_inner();
    let (items, status) = drain(stream).await;
    assert!(status.is_none(), "{status:?}");
    assert_eq!(items.into_iter().map(|item| item.n).collect::<Vec<_>>(), [1, 2, 3, 1, 2, 3]);
}

/// Trap 9: a decoder that was chosen by the first headers cannot read another encoding.
#[tokio::test(start_paused = true)]
async fn a_stream_that_comes_back_in_another_encoding_is_an_error() {
    let breaks = Reply::headers().message("1").end(Status::unavailable("gone"));
    let good = Reply::headers().message("1").end(Status::ok(""));
    let encoded = |reply: &Reply, with: Option<&str>| match with {
        Some(encoding) => reply.clone().header("grpc-encoding", encoding),
        None => reply.clone(),
    };
    for (first, second, fails) in [
        (None, Some("gzip"), true),
        (Some("gzip"), None, true),
        (Some("gzip"), Some("identity"), true),
        (Some("gzip"), Some("gzip"), false),
        // Two ways to say the same.
        (None, Some("identity"), false),
        (Some("identity"), None, false),
        (None, None, false),
    ] {
        let replies = [encoded(&breaks, first), encoded(&good, second)];
        let service = guarded().retry_streaming().build(Stub::new(replies)).unwrap();
        let mut client = RawClient::of(EXPORT, service.clone())
            .tuned(|grpc| grpc.accept_compressed(CompressionEncoding::Gzip));
        let stream = client.server_streaming("all").await.unwrap().into_inner();
        let (items, status) = drain(stream).await;
        let name = format!("{first:?}, then {second:?}");
        assert_eq!(status.map(|status| status.code()), fails.then_some(Code::Internal), "{name}");
        assert_eq!(items.len(), if fails { 1 } else { 2 }, "{name}");
    }
}

/// tonic's handle cancels what is still being sent. The caller did it, so nobody failed.
#[tokio::test(start_paused = true)]
async fn a_request_stream_that_is_cancelled_by_its_handle() {
    let net = Network::new();
    let peer = Peer::new([Reply::ok("pong")]).listen(&net, "a");
    let service = guarded().build(net.channel("a")).unwrap();
    for method in [UPLOAD, CHAT] {
        let mut request = Request::new(tokio_stream::pending::<Bytes>());
        let handle = request.cancellation_handle();
        let mut client = RawClient::of(method, service.clone());
        let call = tokio::spawn(async move { client.streaming(request).await.map(|_| ()) });
        tokio::time::sleep(Duration::from_secs(1)).await;
        handle.cancel();
        let status = call.await.unwrap().unwrap_err();
        assert_eq!(status.code(), Code::Cancelled, "{status:?}");
        assert_eq!(circuit(&service, method).failures, 0);
    }
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert!(peer.requests().iter().all(|seen| seen.reset.is_some()));
}

/// What the caller's own encoder refuses says nothing about the server: before it was sent it is
/// the call's end, and in the middle of a stream the call is given up.
#[tokio::test(start_paused = true)]
async fn a_request_the_encoder_refuses_is_the_callers_fault() {
    let net = Network::new();
    let peer = Peer::new([Reply::ok("pong")]).listen(&net, "a");
    let codes = CodeSet::RETRYABLE.with(Known::Internal);
    let builder = guarded().retry(RetryPolicy::DEFAULT.with_codes(codes));
    let breaker = opens_after(1, Duration::from_secs(60));
    let service = builder.breaker(breaker).build(net.channel("a")).unwrap();
    let client = |method| {
        RawClient::of(method, service.clone()).tuned(|grpc| grpc.max_encoding_message_size(10))
    };
    let status = client(ECHO).unary(message(11)).await.unwrap_err();
    assert_eq!(status.code(), Code::OutOfRange, "{status:?}");
    assert_eq!(peer.count(), 0);
    let requests = tokio_stream::iter([message(10), message(11)]);
    let status = client(UPLOAD).client_streaming(requests).await.unwrap_err();
    assert_eq!(status.code(), Code::Cancelled, "{status:?}");
    assert_eq!(peer.count(), 1);
    for method in [ECHO, UPLOAD] {
        assert_eq!(circuit(&service, method).state, BreakerState::Closed);
    }
    client(ECHO).unary(message(10)).await.unwrap();
}
