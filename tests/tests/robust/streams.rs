//! Streams of large, tiny, and a great many messages, restarted and not.

use crate::parts::message;
use crate::{CHAT, ECHO, EXPORT, UPLOAD, circuit, client_of, guarded};
use bytes::Bytes;
use core::pin::Pin;
use evenkeel_tests::pb::Msg;
use evenkeel_tests::pb::lab_client::LabClient;
use evenkeel_tests::pb::lab_server::{Lab, LabServer};
use evenkeel_tests::{Network, Peer, RawClient, Reply, drain};
use evenkeel_tonic::{Commit, Resilient};
use tokio_stream::{Stream, StreamExt};
use tonic::transport::{Channel, Server};
use tonic::{Code, Request, Response, Status, Streaming};

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

const LENGTHS: [usize; 10] =
    [0, 1, 5, 16 * KIB - 1, 16 * KIB, 16 * KIB + 1, 256 * KIB + 1, 4 * MIB, 4 * MIB + 1, 8 * MIB];

/// A client whose broken response streams begin anew.
fn restarting(replies: impl IntoIterator<Item = Reply>) -> (RawClient<Resilient<Channel>>, Peer) {
    let net = Network::new();
    let peer = Peer::new(replies).listen(&net, "a");
    let service = guarded().retry_streaming().build(net.channel("a")).unwrap();
    let client = RawClient::of(EXPORT, service);
    (client.tuned(|grpc| grpc.max_decoding_message_size(16 * MIB)), peer)
}

#[tokio::test(start_paused = true)]
async fn items_of_any_length_pass() {
    for length in LENGTHS {
        let item = message(length);
        let reply = Reply::headers().messages([item.clone(), item.clone()]).end(Status::ok(""));
        let (mut client, peer) = restarting([reply]);
        let stream = client.server_streaming("all").await.unwrap().into_inner();
        let (items, status) = drain(stream).await;
        assert!(status.is_none(), "{length} B: {status:?}");
        assert_eq!(items, [item.clone(), item], "{length} B");
        assert_eq!(peer.count(), 1);
    }
}

/// Items longer than a decoder takes by default cannot be told apart any more: from then on the
/// stream is passed through, and its end is its end.
#[tokio::test(start_paused = true)]
async fn a_broken_stream_begins_anew_up_to_the_longest_item() {
    // How much longer it may be depends on the frames it comes in.
    for length in LENGTHS.into_iter().filter(|length| *length != 4 * MIB + 1) {
        let item = message(length);
        let breaks = Reply::headers().message(item.clone()).end(Status::unavailable("gone"));
        let whole = Reply::headers().messages([item.clone(), item.clone()]).end(Status::ok(""));
        let (mut client, peer) = restarting([breaks, whole]);
        let stream = client.server_streaming("all").await.unwrap().into_inner();
        let (items, status) = drain(stream).await;
        if length <= 4 * MIB {
            assert!(status.is_none(), "{length} B: {status:?}");
            assert_eq!(items, [item.clone(), item.clone(), item], "{length} B");
            assert_eq!(peer.count(), 2);
        } else {
            assert_eq!(status.unwrap().code(), Code::Unavailable, "{length} B");
            assert_eq!(items, [item], "{length} B");
            assert_eq!(peer.count(), 1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn requests_of_any_length_stream() {
    for length in LENGTHS {
        for method in [UPLOAD, CHAT] {
            let item = message(length);
            let (mut client, peer) = client_of(method, [Reply::ok("pong")]);
            let requests = tokio_stream::iter([item.clone(), item.clone(), item.clone()]);
            if method == UPLOAD {
                client.client_streaming(requests).await.unwrap();
            } else {
                let answers = client.streaming(requests).await.unwrap().into_inner();
                assert_eq!(drain(answers).await.0, ["pong"]);
            }
            assert_eq!(peer.count(), 1);
            let seen = &peer.requests()[0];
            assert_eq!(seen.messages(), [&item[..], &item, &item], "{length} B of {method}");
        }
    }
}

/// F55, G47: what was read from a stream is never sent a second time, not even one message.
#[tokio::test(start_paused = true)]
async fn f55_a_request_stream_fails_with_the_servers_own_words() {
    for method in [UPLOAD, CHAT] {
        let (mut client, peer) =
            client_of(method, [Reply::status(Status::unavailable("busy")), Reply::ok("pong")]);
        let requests = tokio_stream::iter([Bytes::from_static(b"one")]);
        let status = if method == UPLOAD {
            client.client_streaming(requests).await.unwrap_err()
        } else {
            client.streaming(requests).await.unwrap_err()
        };
        assert_eq!((status.code(), status.message()), (Code::Unavailable, "busy"));
        assert_eq!(peer.count(), 1);
    }
}

/// A6's rule is about every response, and the opt-in for streams about streams.
#[tokio::test(start_paused = true)]
async fn a_unary_call_committed_by_its_headers_is_not_restarted() {
    let net = Network::new();
    let fails = Reply::headers().end(Status::unavailable("late"));
    let peer = Peer::new([fails, Reply::ok("pong")]).listen(&net, "a");
    let service = guarded().retry_streaming().commit(Commit::OnHeaders);
    let service = service.build(net.channel("a")).unwrap();
    let status = RawClient::of(ECHO, service).unary("ping").await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    assert_eq!(peer.count(), 1);
}

/// Answers with what it is asked.
pub(crate) struct Echo;

type Items = Pin<Box<dyn Stream<Item = Result<Msg, Status>> + Send>>;

#[tonic::async_trait]
impl Lab for Echo {
    type ExportStream = Items;
    type ChatStream = Items;

    async fn echo(&self, request: Request<Msg>) -> Result<Response<Msg>, Status> {
        Ok(Response::new(request.into_inner()))
    }

    async fn put(&self, request: Request<Msg>) -> Result<Response<Msg>, Status> {
        Ok(Response::new(request.into_inner()))
    }

    async fn charge(&self, request: Request<Msg>) -> Result<Response<Msg>, Status> {
        Ok(Response::new(request.into_inner()))
    }

    async fn export(&self, request: Request<Msg>) -> Result<Response<Items>, Status> {
        let items = (1..=request.into_inner().n).map(|n| Ok(Msg { n, ..Msg::default() }));
        Ok(Response::new(Box::pin(tokio_stream::iter(items))))
    }

    async fn upload(&self, mut request: Request<Streaming<Msg>>) -> Result<Response<Msg>, Status> {
        let mut n = 0;
        while let Some(item) = request.get_mut().message().await? {
            n = item.n;
        }
        Ok(Response::new(Msg { n, ..Msg::default() }))
    }

    async fn chat(&self, request: Request<Streaming<Msg>>) -> Result<Response<Items>, Status> {
        Ok(Response::new(Box::pin(request.into_inner())))
    }
}

/// A million of them, in order and without a gap, through the code that looks for their edges.
#[tokio::test(start_paused = true)]
async fn a_million_tiny_items_there_and_back() {
    const COUNT: i32 = 1_000_000;
    let net = Network::new();
    let incoming = net.listen("a");
    tokio::spawn(Server::builder().add_service(LabServer::new(Echo)).serve_with_incoming(incoming));
    let builder = guarded().retry_streaming().method_timeout(CHAT, None).unwrap();
    let service = builder.method_timeout(EXPORT, None).unwrap().build(net.channel("a")).unwrap();
    let mut client = LabClient::new(service.clone());

    let mut next = 1;
    let export = Msg { n: COUNT, ..Msg::default() };
    let mut items = client.export(export).await.unwrap().into_inner();
    while let Some(item) = items.message().await.unwrap() {
        assert_eq!(item.n, next);
        next += 1;
    }
    assert_eq!(next, COUNT + 1);

    let mut next = 1;
    let requests = tokio_stream::iter(1..=COUNT).map(|n| Msg { n, ..Msg::default() });
    let mut items = client.chat(requests).await.unwrap().into_inner();
    while let Some(item) = items.message().await.unwrap() {
        assert_eq!(item.n, next);
        next += 1;
    }
    assert_eq!(next, COUNT + 1);
    assert_eq!((circuit(&service, EXPORT).failures, circuit(&service, CHAT).failures), (0, 0));
}
