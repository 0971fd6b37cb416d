//! This module knows how a channel gets its connection: when the target is dialled, what is known
//! of it, and how a call waits for it.
//!
//! Why not leave that to tonic? Because tonic has no backoff (200 calls against a dead port are 200
//! dials), tells nobody whether a channel is connected, and bounds a dial by none of its timeouts.
//! What it has is a place for a connector, and so all of it is here, below TLS and HTTP/2.
//!
//! ```
//! use evenkeel_tokio::core::Deadline;
//! use evenkeel_tonic::connect::{self, DialPolicy};
//! use tonic::transport::Endpoint;
//!
//! # async fn example() -> Result<(), Box<dyn core::error::Error>> {
//! let endpoint = Endpoint::from_static("http://[::1]:50051");
//! let target = endpoint.uri().clone();
//! let seed = evenkeel_tokio::fresh_seed();
//! let (connector, connectivity) =
//!     connect::connector(connect::tcp(), target, DialPolicy::DEFAULT, seed);
//! let channel = endpoint.connect_with_connector_lazy(connector);
//!
//! connectivity.wait(Deadline::NONE).await?;
//! // Connected: send the call through `channel`.
//! # drop(channel);
//! # Ok(())
//! # }
//! ```
//!
//! - A call that finds no connection dials, or joins the dial on its way. Inside the pause after a
//!   failed dial it ends at once, in [`NotConnected`].
//! - A call that would rather wait does so in [`Connectivity::wait`], before it is handed to the
//!   channel.
//! - A dial goes on when the call that caused it is dropped; [`DialPolicy`] bounds it.
//! - A connection counts as good once the server has said something; one lost before that is a
//!   failed dial.

use std::sync::Arc;

use http::Uri;
use hyper::rt::Read;
use hyper_util::client::legacy::connect::HttpConnector;
use tower_service::Service;

mod connection;
mod connectivity;
mod connector;
mod error;
mod link;
mod lost;
mod policy;
mod schedule;
mod why;

pub use connection::Connection;
pub use connectivity::{Connectivity, State};
pub use connector::Connector;
pub use error::{DeadlinePassed, DialError, NotConnected};
pub use policy::DialPolicy;
pub use why::Why;

pub(crate) use lost::Lost;

/// A connector to `target` over `inner`, and the handle that tells of it.
///
/// `target` is the endpoint's `uri()`: a waiting call dials before the channel has ever asked.
/// `inner` is [`tcp`] or any connector that tonic would accept. `seed` spreads the pauses; take a
/// different one in every process and never the time.
pub fn connector<C>(
    inner: C,
    target: Uri,
    policy: DialPolicy,
    seed: u32,
) -> (Connector<C>, Connectivity)
where
    C: Service<Uri, Error: Into<BoxError>, Future: Send, Response: Read + Send + Unpin>
        + Send
        + 'static,
{
    let secure = target.scheme() == Some(&http::uri::Scheme::HTTPS);
    let link = Arc::new(link::Link::new(schedule::Schedule::new(policy, secure, seed)));
    let limit = policy.connect_timeout();
    let dialer = Arc::new(connector::Dialer::new(Arc::clone(&link), inner, target, limit));
    (Connector::new(Arc::clone(&dialer)), Connectivity::new(link, dialer))
}

/// Plain TCP as tonic makes it: all addresses of the name, without Nagle's delay, and whatever
/// scheme the target has, because TLS comes above it.
pub fn tcp() -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp
}

type BoxError = Box<dyn core::error::Error + Send + Sync>;
