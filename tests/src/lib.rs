//! What the tests of the house stand on: a gRPC server that misbehaves to order, a network made of
//! memory, and a service without a network.
//!
//! # A test in five lines
//!
//! Inside `#[tokio::test(start_paused = true)] async fn a_refused_request_is_seen_once()`:
//!
//! ```
//! use evenkeel_tests::{Network, Peer, RawClient, Reason, Reply};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let net = Network::new();
//! let peer = Peer::new([Reply::hang().reset(Reason::REFUSED_STREAM)]).listen(&net, "a");
//! let refused = RawClient::new(net.channel("a")).unary("ping").await.unwrap_err();
//! assert_eq!(refused.code(), tonic::Code::Unavailable);
//! assert_eq!(peer.count(), 1);
//! # }
//! ```
//!
//! 1. Make a [`Network`]. Under a paused clock (`start_paused = true`) time passes only when
//!    everybody waits, so that a test over hours takes milliseconds and is the same each time.
//! 2. Make a [`Peer`], give it a [`Reply`] for each request, and let it listen under a name. A real
//!    tonic server listens too: `serve_with_incoming(net.listen("a"))`.
//! 3. Get a client: [`Network::channel`] is a real tonic `Channel`. Generated clients and layers go
//!    on top of it as they would elsewhere; [`RawClient`] is one for plain bytes.
//! 4. Call, and say what comes back.
//! 5. Say what the peer saw: [`Peer::requests`] has the path, the headers, the body, the time and
//!    the client's reset of every request.
//!
//! # Which one?
//!
//! | to test | use |
//! |---|---|
//! | what a client makes of a fault on the wire | [`Peer`] on a [`Network`] |
//! | the same, with the socket's own errors | [`Peer::listen_tcp`], on a clock that is not paused |
//! | dialling, losing connections, servers that come late | [`Network::on_dial`], [`Network::cut`], [`Network::freeze`], [`Network::after`] |
//! | that nothing is lost when a call is dropped | [`Stub::lazy`] under [`drop_at_every_poll`] |
//! | what it says aloud | [`Listening`] |
//! | what a layer costs | [`Stub::canned`] |

pub mod model;
mod pages;

// All that follows stands on what the feature brings.
#[cfg(feature = "services")]
pub mod answers;
#[cfg(feature = "services")]
pub mod pb;
#[cfg(feature = "services")]
pub mod replay;
#[cfg(feature = "services")]
pub mod worlds;

#[cfg(feature = "services")]
mod clock;
#[cfg(feature = "services")]
mod listening;
#[cfg(feature = "services")]
mod net;
#[cfg(feature = "services")]
mod peer;
#[cfg(feature = "services")]
mod polls;
#[cfg(feature = "services")]
mod raw;
#[cfg(feature = "services")]
mod script;
#[cfg(feature = "services")]
mod stub;

pub use pages::{ids_of, scenarios, tests_in};
#[cfg(feature = "services")]
pub use {
    h2::Reason,
    listening::Listening,
    net::{Dial, Dialer, Listener, Network, Pipe},
    peer::{Greeting, Peer, Transport},
    polls::{drop_at_every_poll, poll_n},
    raw::{IntoRaw, RawClient, RawCodec, drain},
    script::{Last, Reply, Seen},
    stub::Stub,
};

#[cfg(feature = "services")]
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks what a failed assertion in another thread may have left locked.
#[cfg(feature = "services")]
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The README's examples, compiled.
#[cfg(all(doctest, feature = "suites"))]
#[doc = include_str!("../../README.md")]
pub struct Readme;

/// The example of the page about metrics and spans, compiled.
#[cfg(all(doctest, feature = "suites"))]
#[doc = include_str!("../../docs/observability.md")]
pub struct Observability;

/// The guide's examples, compiled.
#[cfg(all(doctest, feature = "suites"))]
pub mod guide {
    #[doc = include_str!("../../docs/guide.md")]
    pub struct Start;

    #[doc = include_str!("../../docs/guide/breakers.md")]
    pub struct Breakers;

    #[doc = include_str!("../../docs/guide/deadlines.md")]
    pub struct Deadlines;

    #[doc = include_str!("../../docs/guide/members.md")]
    pub struct Members;

    #[doc = include_str!("../../docs/guide/retries.md")]
    pub struct Retries;

    #[doc = include_str!("../../docs/guide/service.md")]
    pub struct Service;

    #[doc = include_str!("../../docs/guide/streams.md")]
    pub struct Streams;
}

/// The examples for those who come from elsewhere, compiled.
#[cfg(all(doctest, feature = "suites"))]
#[doc = include_str!("../../docs/migrating.md")]
pub struct Migrating;
