//! This file knows HTTP/2 from the server's side, frame by frame.
//!
//! Why not a real server? None sends a GOAWAY that goes back on its word, stops in the middle of a
//! handshake, or forgets to answer a ping. A peer here is a script: it reads until the request is
//! there, writes the frames it was told to, and is gone when the script ends.

use core::future::{Future, ready};
use std::io;

use evenkeel_tonic::TransportError;
use h2::Reason;
use http::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tonic::body::Body;
use tonic::transport::{Channel, Endpoint};
use tower::{Service, ServiceExt, service_fn};

/// The server's end of one connection.
pub(crate) struct Peer<Io = DuplexStream> {
    pub(crate) io: Io,
}

/// A channel whose every dial reaches a new peer that runs `script`, over a pipe in memory.
pub(crate) fn channel<S, F>(endpoint: Endpoint, mut script: S) -> Channel
where
    S: FnMut(Peer) -> F + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    endpoint.connect_with_connector_lazy(service_fn(move |_| {
        let (client, server) = duplex(64 * 1024);
        tokio::spawn(script(Peer { io: server }));
        ready(Ok::<_, io::Error>(TokioIo::new(client)))
    }))
}

/// The place all channels here claim to lead to.
pub(crate) fn endpoint() -> Endpoint {
    Endpoint::from_static("http://peer.test")
}

/// One call with an empty request stream, up to the headers of its response.
pub(crate) async fn call(channel: &Channel) -> Result<Response<Body>, TransportError> {
    let request = Request::post("/pkg.Service/Method")
        .header("content-type", "application/grpc")
        .body(Body::empty())
        .expect("a valid request");
    send(channel, request).await
}

/// Like [`call`], with a request of the caller's.
pub(crate) async fn send(
    channel: &Channel,
    request: Request<Body>,
) -> Result<Response<Body>, TransportError> {
    let mut channel = channel.clone();
    let ready = channel.ready().await.map_err(TransportError::before_headers)?;
    ready.call(request).await.map_err(TransportError::before_headers)
}

impl<Io: AsyncReadExt + AsyncWriteExt + Unpin> Peer<Io> {
    /// Reads the client's preface and sends the settings a connection begins with.
    pub(crate) async fn greet(&mut self, settings: &[u8]) {
        let mut preface = [0; 24];
        self.io.read_exact(&mut preface).await.expect("a preface");
        assert!(preface.starts_with(b"PRI * HTTP/2.0"));
        self.frame(SETTINGS, 0, 0, settings).await;
    }

    /// Greets, and reads until the headers of the first request are there. Answers its stream.
    pub(crate) async fn first_request(&mut self) -> u32 {
        self.greet(&[]).await;
        self.request().await
    }

    /// Reads until the headers of another request are there. Answers its stream.
    pub(crate) async fn request(&mut self) -> u32 {
        loop {
            let mut head = [0; 9];
            self.io.read_exact(&mut head).await.expect("a frame");
            let [_, l1, l0, kind, flags, stream @ ..] = head;
            let mut payload = vec![0; usize::from(u16::from_be_bytes([l1, l0]))];
            self.io.read_exact(&mut payload).await.expect("a payload");
            match kind {
                HEADERS => return u32::from_be_bytes(stream),
                SETTINGS if flags & ACK == 0 => self.frame(SETTINGS, ACK, 0, &[]).await,
                _ => {}
            }
        }
    }

    /// Sends `200` and a content type, without ending the stream.
    pub(crate) async fn headers(&mut self, stream: u32) {
        let mut block = vec![STATUS_200];
        literal(&mut block, "content-type", "application/grpc");
        self.frame(HEADERS, END_HEADERS, stream, &block).await;
    }

    /// Sends one empty message of a response.
    pub(crate) async fn message(&mut self, stream: u32) {
        self.frame(DATA, 0, stream, &[0; 5]).await;
    }

    /// Sends the trailers of a call that succeeded.
    pub(crate) async fn trailers(&mut self, stream: u32) {
        let mut block = Vec::new();
        literal(&mut block, "grpc-status", "0");
        self.frame(HEADERS, END_HEADERS | END_STREAM, stream, &block).await;
    }

    /// Sends `RST_STREAM`.
    pub(crate) async fn reset(&mut self, stream: u32, reason: Reason) {
        self.frame(RST_STREAM, 0, stream, &u32::from(reason).to_be_bytes()).await;
    }

    /// Sends GOAWAY: streams up to `last` were looked at.
    pub(crate) async fn go_away(&mut self, last: u32, reason: Reason) {
        let payload = [last.to_be_bytes(), u32::from(reason).to_be_bytes()].concat();
        self.frame(GOAWAY, 0, 0, &payload).await;
    }

    /// Reads whatever comes and answers nothing, until the client closes.
    pub(crate) async fn ignore(&mut self) {
        let _ = tokio::io::copy(&mut self.io, &mut tokio::io::sink()).await;
    }

    async fn frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let length = u32::try_from(payload.len()).expect("a small frame");
        let mut frame = length.to_be_bytes()[1..].to_vec();
        frame.extend([kind, flags]);
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        self.io.write_all(&frame).await.expect("the client reads");
    }
}

/// The setting that allows one stream at a time.
pub(crate) const ONE_STREAM: [u8; 6] = [0, 3, 0, 0, 0, 1];

/// A header field as HPACK writes it when it remembers and compresses nothing.
fn literal(block: &mut Vec<u8>, name: &str, value: &str) {
    block.push(0);
    for text in [name, value] {
        block.push(u8::try_from(text.len()).expect("a short text"));
        block.extend(text.as_bytes());
    }
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;

const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// `:status: 200`, an entry of HPACK's static table.
const STATUS_200: u8 = 0x88;
