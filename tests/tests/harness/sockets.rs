//! The same faults on TCP, where the kernel makes the errors. No clock is involved.

use crate::cause;
use evenkeel_tests::{Greeting, Peer, RawClient, Reply, drain};
use std::io;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};

async fn client_of(replies: impl IntoIterator<Item = Reply>) -> (RawClient<Channel>, Peer) {
    let peer = Peer::new(replies);
    let address = peer.listen_tcp().await.unwrap();
    let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
    (RawClient::new(endpoint.connect_lazy()), peer)
}

#[tokio::test]
async fn it_answers() {
    let (mut client, peer) = client_of([Reply::ok("pong")]).await;
    assert_eq!(client.unary("ping").await.unwrap().into_inner(), "pong");
    assert_eq!(peer.requests()[0].messages(), [b"ping"]);
}

#[tokio::test]
async fn fin_and_rst_after_the_request() {
    for (reply, kind) in [
        (Reply::hang().close(), io::ErrorKind::BrokenPipe),
        (Reply::hang().abort(), io::ErrorKind::ConnectionReset),
    ] {
        let (mut client, peer) = client_of([reply, Reply::ok("pong")]).await;
        let status = client.unary("ping").await.unwrap_err();
        assert_eq!(status.code(), Code::Unknown);
        assert_eq!(cause::<io::Error>(&status).unwrap().kind(), kind);
        assert!(client.unary("ping").await.is_ok());
        assert_eq!(peer.connections(), 2);
    }
}

#[tokio::test]
async fn nobody_listens() {
    // Bound and closed again: a port that was free a moment ago.
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let endpoint = Endpoint::from_shared(format!("http://{free}")).unwrap();
    let status = RawClient::new(endpoint.connect_lazy()).unary("ping").await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    assert_eq!(cause::<io::Error>(&status).unwrap().kind(), io::ErrorKind::ConnectionRefused);
}

#[tokio::test]
async fn a_stream_ends_in_fin() {
    let (mut client, _peer) = client_of([Reply::headers().messages(["1", "2"]).close()]).await;
    let stream = client.server_streaming("watch").await.unwrap().into_inner();
    let (messages, status) = drain(stream).await;
    assert_eq!(messages, ["1", "2"]);
    assert_eq!(status.as_ref().map(Status::code), Some(Code::Unknown));
    assert!(cause::<h2::Error>(&status.unwrap()).unwrap().is_io());
}

/// A socket that is closed over unread data sends RST, which a client notices when it writes.
#[tokio::test]
async fn fin_over_unread_data() {
    let peer = Peer::new([]).greeting([Greeting::CloseAfterPreface]);
    let mut socket = TcpStream::connect(peer.listen_tcp().await.unwrap()).await.unwrap();
    socket.write_all(&[b'y'; 64 * 1024]).await.unwrap();
    assert_eq!(socket.read(&mut [0]).await.unwrap(), 0);
    socket.write_all(b"y").await.unwrap();
}
