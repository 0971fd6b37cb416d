//! This module knows the places a client's calls can go: each with a channel of its own, chosen
//! anew for every attempt.
//!
//! Why not tonic's own balancing? It takes a member that cannot be reached for a ready one, so that
//! with one of two servers dead two calls in five fail; it knows nothing of health checks and
//! breakers; and its members cannot have a connector, so that nobody paces their dials.
//!
//! ```
//! use core::time::Duration;
//! use evenkeel_tonic::core::{BreakerPolicy, RetryPolicy};
//! use evenkeel_tonic::{Pool, Resilient};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let pool = Pool::builder().targets(["orders-1:50051", "orders-2:50051"])?.insecure();
//! let channel = Resilient::builder()
//!     .timeout(Duration::from_secs(2))?
//!     .retry(RetryPolicy::DEFAULT)
//!     .breaker(BreakerPolicy::DEFAULT)
//!     .build_pool(pool)?;
//! // OrdersClient::new(channel.clone()), as often as you like: they all balance together.
//! # drop(channel);
//! # Ok(()) }
//! ```
//!
//! - The pick is made per attempt, by one balancer for all clones of a client. A retry prefers a
//!   member the call has not tried.
//! - Members that a health check is against are not used. Those whose calls fail, or whose
//!   connection does, are passed over while there are others.
//! - A member whose circuit for the method is open is passed over; if all are, the call is refused.
//! - Members come and go: from a name's addresses, or from a discovery of your own. Who is removed
//!   finishes the calls it has.

use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

use evenkeel_tokio::TokioClock;
use evenkeel_tokio::core::{Clock, Deadline};
use portable_atomic::{AtomicBool, AtomicUsize};
use tokio::sync::{Notify, watch};
use tonic::transport::Channel;

use crate::target::TargetName;

mod balance;
mod builder;
mod closing;
mod cut;
mod dialling;
mod directory;
mod discovery;
mod herald;
mod line;
mod lookup;
mod member;
mod options;
mod origin;
mod place;
mod ready;
mod resolve;
mod task;
mod tls;
mod transport;
mod usage;
mod waking;
mod wanted;
mod weights;

pub use builder::PoolBuilder;
pub use options::ChannelOptions;
pub use resolve::{Resolve, Resolving, SystemResolver};
pub use tls::Tls;

pub(crate) use dialling::{Channels, Connectors, Dialling};
pub(crate) use member::{List, Member};
pub(crate) use ready::Connected;
pub(crate) use task::{First, Task, first};
pub(crate) use usage::Usage;
pub(crate) use waking::Attachment;

use balance::Balance;
use directory::Directory;
use discovery::Discovery;
use herald::Herald;
use member::Verdict;
use waking::Waking;
use weights::Weights;

/// The members of one client, and what all its clones share of them.
///
/// It is made by [`Builder::build_pool`](crate::Builder::build_pool) and found again with
/// [`Resilient::pool`](crate::Resilient::pool). When the last clone of the client is gone, its
/// lookups and its discovery end.
pub struct Pool<S = Channel> {
    me: Weak<Self>,
    pub(crate) balance: Balance,
    list: RwLock<Arc<List<S>>>,
    directory: Mutex<Directory<S>>,
    discovery: Mutex<Option<Discovery>>,
    waking: Waking,
    closed: AtomicBool,
    in_flight: AtomicUsize,
    drained: Notify,
    /// Watches for calls that wait for a connection.
    herald: Herald,
    /// Told when a call that found nobody may find somebody.
    changes: watch::Sender<()>,
}

impl Pool {
    /// A pool without members, of TLS channels, in round robin.
    pub fn builder() -> PoolBuilder {
        PoolBuilder::dialled()
    }
}

impl<S> Pool<S> {
    /// A pool of these services, each with its name: for channels of your own, which nobody dials
    /// and nobody closes.
    pub fn of<N: Into<String>>(members: impl IntoIterator<Item = (N, S)>) -> PoolBuilder<S> {
        PoolBuilder::given(members)
    }

    /// The names of the members, as in errors, logs and breaker keys: what was written for targets
    /// that are one place, and `address:port` for the addresses of a name.
    pub fn members(&self) -> Vec<String> {
        self.list().members().map(|member| member.name.to_string()).collect()
    }

    /// What a health check of your own says of the member with this name, for as long as it is one.
    ///
    /// In a [`Kit`](crate::Kit) that checks its members too, a "no" keeps calls away until a "yes"
    /// takes it back; a "yes" does nothing else there. Of no effect where the pool was not told that
    /// there are health checks, by a kit or by [`PoolBuilder::health_checked`].
    pub fn set_healthy(&self, member: &str, healthy: bool) {
        let list = self.list();
        let Some(member) = list.members().find(|known| *known.name == *member) else { return };
        if healthy && member.verdict() != Verdict::Healthy {
            // Before a call can see that it may go there.
            member.line.reached();
        }
        if member.judge(healthy) {
            self.changes.send_replace(());
        }
    }

    /// The members as they are now.
    pub(crate) fn list(&self) -> Arc<List<S>> {
        Arc::clone(&self.list.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Tells when a call that found nobody may find somebody.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Tells whoever waits for a member that one may be there.
    pub(crate) fn tell_of_change(&self) {
        self.changes.send_replace(());
    }

    fn lock(&self) -> MutexGuard<'_, Directory<S>> {
        self.directory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, list: List<S>) {
        let mut place = self.list.write().unwrap_or_else(PoisonError::into_inner);
        let old = core::mem::replace(&mut *place, Arc::new(list));
        drop(place);
        // Not while calls wait for the list: with the old one channels may go.
        drop(old);
        self.changes.send_replace(());
    }
}

impl<S: Clone + Send + 'static> Pool<S> {
    /// Asks for these targets from now on. Members that are in both lists keep their connections
    /// and all that is known of them; those that are not finish the calls they have. An address of
    /// several names is one member, asked for by the first of them; when that no longer has it, a
    /// new one takes its place, with a connection and a health check of its own.
    ///
    /// A pool with a [discovery](PoolBuilder::discover) is told again by it. One
    /// [of given services](Self::of) has no others: the names of these alone are of effect.
    pub fn set_targets(&self, targets: impl IntoIterator<Item = TargetName>) {
        self.update(|directory| directory.ask_for(targets));
    }

    /// Waits until a member that may be used is connected, and dials for it; `false` when
    /// `timeout` is over before, and when the pool is closed. A `timeout` of zero asks whether it is
    /// ready now, and dials nobody.
    ///
    /// Connected is the transport, as in [`State::Ready`](crate::connect::State::Ready). The
    /// handshake of TLS is tonic's, which begins one for a call and for nothing else: after `true`
    /// the first call may still find that the certificate is not trusted, or is for another name.
    pub async fn wait_until_ready(&self, timeout: Duration) -> bool {
        self.start();
        self.ready(Deadline::after(TokioClock.now(), timeout)).await
    }

    fn resolved(&self, target: &TargetName, addresses: &[SocketAddr]) {
        self.update(|directory| directory.answer(target, Ok(addresses)));
    }

    fn not_resolved(&self, target: &TargetName, why: &str) {
        self.update(|directory| directory.answer(target, Err(why)));
    }

    fn update(&self, change: impl FnOnce(&mut Directory<S>)) {
        let mut directory = self.lock();
        if self.is_closed() {
            return;
        }
        change(&mut directory);
        directory.look_up(&self.me);
        let sleeping = directory.has_idle_lookups();
        // Under the lock, so that lists are published in the order they came about.
        let list = directory.list();
        self.publish(list);
        drop(directory);
        if sleeping {
            self.waking.fall_asleep();
        }
    }
}

impl<S> fmt::Debug for Pool<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = self.list();
        f.debug_struct("Pool")
            .field("members", &list.members().collect::<Vec<_>>())
            .field("closed", &self.is_closed())
            .field("in_flight", &self.in_flight())
            .finish_non_exhaustive()
    }
}
