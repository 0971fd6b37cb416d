//! This file knows how a test sets up a gRPC server that misbehaves to order.
//!
//! # Why not a tonic server?
//! A tonic server can fail a call, but it cannot refuse a stream, send a GOAWAY in the middle of
//! one, lose the connection after it has read the request, or answer with half a message; and the
//! rules for what is safe to repeat hang on exactly these. A [`Peer`] is a small HTTP/2 server (on
//! `h2`) that does what its [`Reply`]s say and writes down every request it sees.

mod connection;
mod exchange;
mod frame;
mod tap;
mod transport;

pub use transport::Transport;

use crate::lock;
use crate::net::Network;
use crate::script::{Log, Reply, Seen};
use core::net::SocketAddr;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;

/// A gRPC server that does what it is told, over memory or TCP. A clone is the same peer.
///
/// ```
/// use evenkeel_tests::{Network, Peer, RawClient, Reply};
/// use tonic::{Code, Status};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let net = Network::new();
/// let replies = [Reply::status(Status::unavailable("busy")), Reply::ok("pong")];
/// let peer = Peer::new(replies).listen(&net, "a");
///
/// let mut client = RawClient::new(net.channel("a"));
/// assert_eq!(client.unary("ping").await.unwrap_err().code(), Code::Unavailable);
/// assert_eq!(client.unary("ping").await.unwrap().into_inner(), "pong");
/// assert_eq!(peer.requests()[1].messages(), [b"ping"]);
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Peer(Arc<Shared>);

/// What a peer does with a connection before its first request.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Greeting {
    /// Closes it at once.
    Close,
    /// Reads the client's preface, says nothing, and closes.
    CloseAfterPreface,
    /// Serves it.
    #[default]
    Serve,
    /// Reads for ever and says nothing, not even its settings.
    Silent,
}

#[derive(Debug)]
struct Shared {
    log: Arc<Log>,
    greetings: Mutex<VecDeque<Greeting>>,
    max_streams: AtomicU32,
    connections: AtomicUsize,
}

impl Peer {
    /// One that gives these replies in the order in which requests come, the last one for ever.
    /// With none it never answers.
    pub fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::with(Log::new(replies))
    }

    /// One that asks `rule` for each reply; it sees the headers, the body is still to come.
    pub fn answering(rule: impl FnMut(&Seen) -> Reply + Send + 'static) -> Self {
        Self::with(Log::ruled(rule))
    }

    fn with(log: Log) -> Self {
        Self(Arc::new(Shared {
            log: Arc::new(log),
            greetings: Mutex::default(),
            max_streams: AtomicU32::new(u32::MAX),
            connections: AtomicUsize::new(0),
        }))
    }

    /// Treats connections this way, in the order in which they come, the last way for ever.
    pub fn greeting(self, greetings: impl IntoIterator<Item = Greeting>) -> Self {
        *lock(&self.0.greetings) = greetings.into_iter().collect();
        self
    }

    /// Lets a client open `count` streams at a time on a connection; no limit unless told.
    pub fn max_streams(self, count: u32) -> Self {
        self.0.max_streams.store(count, Ordering::Relaxed);
        self
    }

    /// Serves everybody who dials `name`, in the background of the tokio runtime it is called in.
    pub fn listen(self, network: &Network, name: &str) -> Self {
        let mut listener = network.listen(name);
        let peer = self.clone();
        tokio::spawn(async move {
            while let Some(pipe) = listener.accept().await {
                peer.serve(pipe);
            }
        });
        self
    }

    /// The same for everybody who dials the returned address, over TCP on this machine.
    ///
    /// Not for a paused clock: tokio cannot see that a real socket is about to have data, and
    /// jumps ahead to the next timeout.
    ///
    /// # Errors
    /// When no port is to be had.
    pub async fn listen_tcp(&self) -> io::Result<SocketAddr> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let peer = self.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // Without it a reply in several writes waits 40 ms for a delayed ACK.
                let _ = stream.set_nodelay(true);
                peer.serve(stream);
            }
        });
        Ok(address)
    }

    /// The same for one connection.
    pub fn serve(&self, io: impl Transport) {
        let number = self.0.connections.fetch_add(1, Ordering::Relaxed);
        let greeting = self.next_greeting();
        let max_streams = self.0.max_streams.load(Ordering::Relaxed);
        let log = Arc::clone(&self.0.log);
        tokio::spawn(connection::run(io, greeting, max_streams, number, log));
    }

    /// Goes on with these replies instead of those not used so far.
    pub fn replace(&self, replies: impl IntoIterator<Item = Reply>) {
        self.0.log.replace(replies);
    }

    /// Every request so far, in the order in which their headers came.
    pub fn requests(&self) -> Vec<Seen> {
        self.0.log.requests()
    }

    /// How many requests came.
    pub fn count(&self) -> usize {
        self.0.log.count()
    }

    /// How many connections came.
    pub fn connections(&self) -> usize {
        self.0.connections.load(Ordering::Relaxed)
    }

    fn next_greeting(&self) -> Greeting {
        let mut greetings = lock(&self.0.greetings);
        match greetings.len() {
            0 | 1 => greetings.front().copied().unwrap_or_default(),
            _ => greetings.pop_front().unwrap_or_default(),
        }
    }
}
