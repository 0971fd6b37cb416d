//! This file knows how a circuit breaker is set by hand.

use core::fmt;
use std::sync::Arc;

use evenkeel_tokio::core::{Clock, Snapshot, Transition};
use evenkeel_tokio::{AnyRule, Handle, TokioClock};

use crate::observe::View;
use crate::settings::{KeyRef, is_name};
use crate::upstream::Route;
use crate::warn::named;
use crate::{BreakerKey, Resilient};

/// One circuit breaker of a client, for an operator's hand: found with
/// [`Resilient::circuit_breaker`].
///
/// What is forced stays so until it is [`reset`](Self::reset), and is never forgotten meanwhile.
///
/// ```
/// use evenkeel_tonic::core::{BreakerPolicy, BreakerState};
/// use evenkeel_tonic::{Pool, Resilient};
///
/// # fn example<S: Clone + Send + 'static>(service: S) -> Option<()> {
/// let pool = Pool::of([("orders-1", service)]);
/// let client = Resilient::builder().breaker(BreakerPolicy::DEFAULT).build_pool(pool).ok()?;
/// // Orders are to be placed elsewhere until this machine has its new disk.
/// let breaker = client.circuit_breaker("orders-1", "/orders.v1.Orders/Place")?;
/// breaker.force_open();
/// assert_eq!(breaker.snapshot().state, BreakerState::ForcedOpen);
/// # Some(()) }
/// # example(()).unwrap();
/// ```
#[derive(Clone)]
pub struct CircuitBreaker {
    key: BreakerKey,
    /// The client it is of.
    upstream: Arc<str>,
    handle: Handle<AnyRule>,
    view: Option<Arc<View>>,
    pooled: bool,
}

impl CircuitBreaker {
    /// Whose it is.
    pub const fn key(&self) -> &BreakerKey {
        &self.key
    }

    /// What it looks like now.
    pub fn snapshot(&self) -> Snapshot {
        self.handle.snapshot()
    }

    /// Refuses everything until it is reset.
    pub fn force_open(&self) {
        self.tell(|breaker| breaker.force_open());
    }

    /// Refuses nothing until it is reset, whatever happens.
    pub fn force_closed(&self) {
        self.tell(|breaker| breaker.force_closed());
    }

    /// Closes it, with nothing counted.
    pub fn reset(&self) {
        self.tell(|breaker| breaker.reset());
    }

    fn tell(&self, set: impl FnOnce(&Handle<AnyRule>) -> Option<Transition>) {
        let from = self.handle.snapshot().state;
        let Some(transition) = set(&self.handle) else { return };
        if let Some(view) = &self.view {
            view.set_by_hand(&self.key.target, from, transition);
        }
        let (upstream, method, state) =
            (named(&self.upstream), &*self.key.method, transition.state().name());
        // Where there are no members, it is the upstream's own.
        let member = Some(&*self.key.target).filter(|_| self.pooled);
        tracing::info!(
            target: "evenkeel", upstream, member, method, state, "circuit breaker, by hand",
        );
    }
}

impl<S> Resilient<S> {
    /// The circuit breaker of `method`, `/package.Service/Method`, at `target`, to look at and to
    /// set by hand; made if there was no call yet.
    ///
    /// `None` without a breaker block, for a target that is none of this client's, for what is no
    /// method's name, and where a full table has no room for another.
    pub fn circuit_breaker(&self, target: &str, method: &str) -> Option<CircuitBreaker> {
        let (_, table) = self.settings.breaker.as_ref().filter(|_| is_name(method))?;
        let target = match &self.route {
            Route::One(_) => {
                Some(&self.settings.target).filter(|known| ***known == *target).cloned()
            }
            Route::Pool(pool) => {
                let list = pool.list();
                let member = list.members().find(|member| *member.name == *target);
                member.map(|member| Arc::clone(&member.name))
            }
        }?;
        let key = BreakerKey { target, method: method.into() };
        let lookup = table.lookup(TokioClock.now(), &KeyRef::of(&key));
        let view = self.settings.method(method).view.clone();
        let (upstream, pooled) = (Arc::clone(&self.settings.target), self.settings.pooled);
        Some(CircuitBreaker { key, upstream, handle: lookup.handle?, view, pooled })
    }
}

impl fmt::Debug for CircuitBreaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CircuitBreaker")
            .field("key", &self.key)
            .field("snapshot", &self.snapshot())
            .finish()
    }
}
