//! This file knows a network made of memory: names instead of addresses, and whether dialling one
//! succeeds, fails or hangs.
//!
//! # Why not loopback?
//! Under a paused clock a real socket is a lie: tokio sees a runtime with nothing to do and jumps
//! to the next timer, so that an answer which is microseconds away loses against a timeout of an
//! hour. In memory nothing is ever "on its way" unseen, and a call through tonic, hyper and h2
//! takes exactly the virtual time the test says.

mod pipe;

pub use pipe::Pipe;

use crate::clock::Start;
use crate::lock;
use core::fmt;
use core::future::{Future, pending};
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use http::Uri;
use hyper_util::rt::TokioIo;
use pipe::{Flow, Link};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, Weak};
use tokio::sync::mpsc;
use tonic::transport::{Channel, Endpoint};
use tower::Service;

/// A network with as many hosts as are named. A clone is the same network.
///
/// A name nobody listens on refuses connections, as a machine without the port open does.
///
/// ```
/// use core::time::Duration;
/// use evenkeel_tests::{Network, Peer, RawClient, Reply};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let net = Network::new();
/// let mut client = RawClient::new(net.channel("a"));
/// assert!(client.unary("ping").await.is_err());
///
/// let peer = Peer::new([Reply::ok("pong")]);
/// net.after(Duration::from_millis(400), move |net| drop(peer.listen(net, "a")));
/// tokio::time::sleep(Duration::from_millis(400)).await;
/// assert!(client.unary("ping").await.is_ok());
/// assert_eq!(net.dials("a"), [Duration::ZERO, Duration::from_millis(400)]);
/// # }
/// ```
#[derive(Clone)]
pub struct Network {
    started: Start,
    hosts: Arc<Mutex<HashMap<String, Host>>>,
}

/// What becomes of a dial.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Dial {
    /// It reaches whoever listens, and is refused if nobody does.
    #[default]
    Connect,
    /// The same, this much later.
    ConnectAfter(Duration),
    /// Nothing, for ever: a black hole.
    Hang,
    /// It is refused even if somebody listens.
    Refuse,
}

#[derive(Default)]
struct Host {
    listener: Option<mpsc::UnboundedSender<io::Result<Pipe>>>,
    plan: VecDeque<Dial>,
    dials: Vec<Duration>,
    links: Vec<Weak<Link>>,
}

impl Network {
    /// One on which nobody listens.
    pub fn new() -> Self {
        Self { started: Start::now(), hosts: Arc::default() }
    }

    /// Listens on `name`, in place of whoever did so far.
    pub fn listen(&self, name: &str) -> Listener {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.host(name, |host| host.listener = Some(sender));
        Listener(receiver)
    }

    /// Treats the next dials of `name` this way, one after the other, the last way for ever.
    pub fn on_dial(&self, name: &str, plan: impl IntoIterator<Item = Dial>) {
        self.host(name, |host| host.plan = plan.into_iter().collect());
    }

    /// Breaks off every connection to `name`: both ends see `ConnectionReset`.
    pub fn cut(&self, name: &str) {
        self.every_link(name, Flow::Broken);
    }

    /// Lets nothing pass on the connections to `name`: a cable pulled out. New ones do not care.
    pub fn freeze(&self, name: &str) {
        self.every_link(name, Flow::Frozen);
    }

    /// Lets pass what was held up by [`freeze`](Self::freeze).
    pub fn thaw(&self, name: &str) {
        self.every_link(name, Flow::Moving);
    }

    /// Does this to the network `span` from now, of the tokio clock.
    pub fn after(&self, span: Duration, change: impl FnOnce(&Self) + Send + 'static) {
        let network = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(span).await;
            change(&network);
        });
    }

    /// When `name` was dialled, counted from the making of the network.
    pub fn dials(&self, name: &str) -> Vec<Duration> {
        self.host(name, |host| host.dials.clone())
    }

    /// How many connections to `name` somebody holds an end of.
    pub fn connections(&self, name: &str) -> usize {
        self.host(name, |host| host.links.iter().filter(|link| link.strong_count() > 0).count())
    }

    /// A client of `name` that dials when it is first used.
    pub fn channel(&self, name: &str) -> Channel {
        self.endpoint(name).connect_with_connector_lazy(self.dialer())
    }

    /// The endpoint of `name`, to be tuned and then given [`dialer`](Self::dialer).
    pub fn endpoint(&self, name: &str) -> Endpoint {
        Endpoint::from_shared(format!("http://{name}")).expect("a name is a valid host")
    }

    /// A connector that takes the host of an address for the name.
    pub fn dialer(&self) -> Dialer {
        Dialer { network: self.clone() }
    }

    /// Dials `name`.
    ///
    /// # Errors
    /// `ConnectionRefused`.
    pub async fn dial(&self, name: &str) -> io::Result<Pipe> {
        let at = self.started.elapsed();
        match self.host(name, |host| host.next_dial(at)) {
            Dial::Connect => {}
            Dial::ConnectAfter(span) => tokio::time::sleep(span).await,
            Dial::Hang => pending().await,
            Dial::Refuse => return Err(io::ErrorKind::ConnectionRefused.into()),
        }
        self.host(name, Host::connect)
    }

    fn host<R>(&self, name: &str, change: impl FnOnce(&mut Host) -> R) -> R {
        change(lock(&self.hosts).entry(name.to_owned()).or_default())
    }

    fn every_link(&self, name: &str, flow: Flow) {
        // Not under the lock: this wakes tasks.
        let links = self.host(name, |host| host.links.clone());
        links.iter().filter_map(Weak::upgrade).for_each(|link| link.set(flow));
    }
}

impl Default for Network {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(lock(&self.hosts).keys()).finish()
    }
}

impl Host {
    fn next_dial(&mut self, at: Duration) -> Dial {
        self.dials.push(at);
        match self.plan.len() {
            0 | 1 => self.plan.front().copied().unwrap_or_default(),
            _ => self.plan.pop_front().unwrap_or_default(),
        }
    }

    fn connect(&mut self) -> io::Result<Pipe> {
        let listener = self.listener.as_ref().ok_or(io::ErrorKind::ConnectionRefused)?;
        let (ours, theirs, link) = Pipe::pair();
        if listener.send(Ok(theirs)).is_err() {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        self.links.retain(|link| link.strong_count() > 0);
        self.links.push(link);
        Ok(ours)
    }
}

/// Those who dialled a name; dropped, it refuses.
///
/// It is a stream, as `tonic::transport::Server::serve_with_incoming` wants.
#[derive(Debug)]
pub struct Listener(mpsc::UnboundedReceiver<io::Result<Pipe>>);

impl Listener {
    /// The next one; nothing after another has taken over the name.
    pub async fn accept(&mut self) -> Option<Pipe> {
        self.0.recv().await?.ok()
    }
}

impl tokio_stream::Stream for Listener {
    type Item = io::Result<Pipe>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx)
    }
}

/// The connector of a [`Network`].
#[derive(Clone, Debug)]
pub struct Dialer {
    network: Network,
}

impl Service<Uri> for Dialer {
    type Response = TokioIo<Pipe>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<TokioIo<Pipe>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, address: Uri) -> Self::Future {
        let network = self.network.clone();
        Box::pin(async move {
            let name = address.host().unwrap_or_default();
            network.dial(name).await.map(TokioIo::new)
        })
    }
}
