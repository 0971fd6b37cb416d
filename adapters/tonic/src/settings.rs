//! This file knows what a client was built with, and what that means for one method.

use core::hash::{Hash, Hasher};
use core::time::Duration;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock, RwLock};

use evenkeel_settings::{MethodConfig, ServiceConfig};
use evenkeel_tokio::core::{BreakerPolicy, CallPolicy, Clock, Micros, RetryPolicy};
use evenkeel_tokio::{AnyRule, Handle, SharedTable, SharedThrottle, TokioClock};
use hashbrown::Equivalent;
use http::Request;
use tonic::body::Body;

use crate::connect::Connectivity;
use crate::hedge::{Hedged, Hedges};
use crate::incoming::method_path;
use crate::observe::{Observing, View};
use crate::upstream::warn_of_a_full_table;
use crate::warn::Given;
use crate::{AllowList, BreakerKey, MethodKind, MethodTable};

/// What all clones of one client share.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) target: Arc<str>,
    pub(crate) call: CallPolicy,
    pub(crate) timeouts: HashMap<Box<str>, CallPolicy>,
    pub(crate) budget_reserve: Option<Micros>,
    pub(crate) ready: Option<Ready>,
    pub(crate) retry: Option<Retry>,
    pub(crate) replay_limit: usize,
    pub(crate) commit: Commit,
    pub(crate) hedges: Option<Hedges>,
    pub(crate) breaker: Option<(BreakerPolicy<AnyRule>, SharedTable<BreakerKey, AnyRule>)>,
    pub(crate) throttle: Option<SharedThrottle>,
    pub(crate) methods: MethodTable,
    pub(crate) connectivity: Option<Connectivity>,
    /// What some methods have otherwise.
    pub(crate) service_config: ServiceConfig,
    /// Whether calls go to the members of a pool.
    pub(crate) pooled: bool,
    pub(crate) observing: Option<Arc<Observing>>,
    pub(crate) warned: Given,
    /// What applies to each method of the table, from its first call on. Its keys are the
    /// program's own, so a quick hash will do.
    pub(crate) declared: hashbrown::HashMap<Box<str>, OnceLock<Arc<Method>>>,
    /// The same for methods that are in no table.
    pub(crate) met: RwLock<HashMap<Box<str>, Arc<Method>>>,
}

/// The wait-for-ready block.
#[derive(Clone, Debug)]
pub(crate) struct Ready {
    pub(crate) default: bool,
    /// `None` exempts a method.
    pub(crate) per_method: HashMap<Box<str>, Option<bool>>,
    pub(crate) require_deadline: bool,
}

/// The retry block.
#[derive(Clone, Debug)]
pub(crate) struct Retry {
    pub(crate) policy: RetryPolicy,
    /// `None`: no list was set, so every method may be repeated.
    pub(crate) idempotent: Option<AllowList>,
    pub(crate) streaming: bool,
}

/// When a call can no longer be retried.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Commit {
    /// As soon as response headers have come, unless they already carry the status (gRPC A6).
    OnHeaders,
    /// When a message has been handed to the caller. A unary response is held until its status is
    /// known, up to 4 MiB, so that a failure in the trailers is seen and may be retried. Needs the
    /// [`MethodTable`]: without it nobody knows that a response is unary, and A6's rule applies.
    #[default]
    OnMessageDelivered,
}

/// Everything the settings say about one method, worked out once.
#[derive(Debug)]
pub(crate) struct Method {
    pub(crate) path: Arc<str>,
    pub(crate) kind: Option<MethodKind>,
    pub(crate) policy: CallPolicy,
    /// Like `policy`, for a call that was told not to retry.
    pub(crate) without_retry: CallPolicy,
    /// The method's wait-for-ready; `None` leaves the call alone.
    pub(crate) ready: Option<bool>,
    /// How its attempts are hedged instead of retried.
    pub(crate) hedged: Option<Hedged>,
    /// Whether a second attempt is ever made, so that the request must be kept.
    pub(crate) repeats: bool,
    /// Whether a broken response stream is restarted.
    pub(crate) restarts: bool,
    /// Whether a response is held until its status is known.
    pub(crate) holds: bool,
    /// Whether there is nothing to do at all.
    pub(crate) passive: bool,
    /// Kept where the set of methods is closed; looked up anew otherwise.
    pub(crate) breaker: Option<Handle<AnyRule>>,
    /// Its place in the closed set, where the members of a pool keep their breakers for it.
    pub(crate) number: Option<usize>,
    /// What is told about its calls, where anybody wants to know.
    pub(crate) view: Option<Arc<View>>,
}

impl Settings {
    /// What applies to the method of `request`.
    pub(crate) fn method_of(&self, request: &Request<Body>) -> Arc<Method> {
        // No method of a table has a prefix before its name, so there none is looked for.
        let declared = self.declared(request.uri().path());
        declared.unwrap_or_else(|| self.method(method_path(request)))
    }

    /// What applies to the method with this full path.
    pub(crate) fn method(&self, path: &str) -> Arc<Method> {
        self.declared(path).unwrap_or_else(|| self.met(path))
    }

    fn declared(&self, path: &str) -> Option<Arc<Method>> {
        // Calls of a closed set share no lock, only a count of references.
        let place = self.declared.get(path)?;
        Some(Arc::clone(place.get_or_init(|| Arc::new(self.resolve(path)))))
    }

    fn met(&self, path: &str) -> Arc<Method> {
        let path = if is_name(path) { path } else { OTHER };
        let known = self.met.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(method) = known.get(path) {
            return Arc::clone(method);
        }
        let has_room = known.len() < MAX_MET;
        drop(known);
        let method = Arc::new(self.resolve(path));
        // Names come from callers, who may come by them anywhere: the map stays bounded.
        if has_room {
            let mut known = self.met.write().unwrap_or_else(|poisoned| poisoned.into_inner());
            known.insert(path.into(), Arc::clone(&method));
        }
        method
    }

    fn resolve(&self, path: &str) -> Method {
        let kind = self.methods.get(path).map(|method| method.kind());
        let config = self.service_config.method(path);
        let call = self.timeouts.get(path).copied().unwrap_or(self.call);
        let call = trimmed(call, config.and_then(MethodConfig::timeout));
        let own_policy = config.and_then(MethodConfig::retry);
        let retry = match &self.retry {
            Some(retry) if retry.may_repeat(path) => {
                own_policy.unwrap_or(&retry.policy).idempotent()
            }
            Some(retry) => own_policy.unwrap_or(&retry.policy).not_idempotent(),
            None => RetryPolicy::OFF,
        };
        let hedge = self.hedges.as_ref().and_then(|hedges| hedges.of(path, config));
        let hedged = hedge.is_some();
        let unary_response = kind.is_some_and(|kind| !kind.server_streaming());
        let restarts = |retry: &Retry| !unary_response && hedge.is_none() && retry.restarts(path);
        let ready = config.and_then(MethodConfig::wait_for_ready);
        let ready = ready.or_else(|| self.ready.as_ref().and_then(|ready| ready.of(path)));
        let holds =
            self.commit == Commit::OnMessageDelivered && (self.retry.is_some() || hedge.is_some());
        Method {
            path: path.into(),
            kind,
            policy: hedge.map_or_else(|| call.with_retry(retry), |hedge| hedge.over(call)),
            without_retry: call.with_retry(RetryPolicy::OFF),
            ready,
            hedged: hedge.as_ref().map(Hedged::new),
            repeats: self.retry.is_some() || self.ready.is_some() || hedge.is_some(),
            restarts: self.retry.as_ref().is_some_and(restarts),
            holds: unary_response && holds,
            passive: self.is_passive() && hedge.is_none() && call.timeout() == Micros::MAX,
            breaker: self.lasting_breaker(path),
            number: self.methods.methods().iter().position(|method| method.path() == path),
            view: View::of(self, path, retry.max_attempts() > 1 || hedged, hedged),
        }
    }

    /// A method of a closed set keeps its breaker for good, so that a call need not look it up. Any
    /// other gives it back, or the table could never forget one.
    fn lasting_breaker(&self, path: &str) -> Option<Handle<AnyRule>> {
        let (_, table) = self.breaker.as_ref().filter(|_| !self.pooled)?;
        self.methods.get(path).filter(|_| self.methods.methods().len() <= table.max())?;
        let key = KeyRef { target: &self.target, method: &path.into() };
        let lookup = table.lookup(TokioClock.now(), &key);
        if lookup.overflowed {
            warn_of_a_full_table(self);
        }
        lookup.handle
    }

    fn is_passive(&self) -> bool {
        !self.pooled
            && self.observing.is_none()
            && self.ready.is_none()
            && self.retry.is_none()
            && self.breaker.is_none()
            && self.throttle.is_none()
            && self.call.attempt_timeout() == Micros::MAX
    }
}

impl Ready {
    fn of(&self, path: &str) -> Option<bool> {
        self.per_method.get(path).copied().unwrap_or(Some(self.default))
    }
}

impl Retry {
    fn may_repeat(&self, path: &str) -> bool {
        self.idempotent.as_ref().is_none_or(|list| list.contains(path))
    }

    /// Restarting a stream repeats items, so it takes both: the opt-in, and the method's name on
    /// a list.
    fn restarts(&self, path: &str) -> bool {
        self.streaming && self.idempotent.as_ref().is_some_and(|list| list.contains(path))
    }
}

/// A configured timeout shortens a call, and never lengthens it.
fn trimmed(call: CallPolicy, timeout: Option<Duration>) -> CallPolicy {
    match timeout {
        Some(timeout) if Micros::from_duration(timeout) < call.timeout() => {
            // Zero and what is too long were refused when the config was read.
            call.with_timeout(timeout).unwrap_or(call)
        }
        _ => call,
    }
}

/// A [`BreakerKey`] that is only looked up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyRef<'a> {
    pub(crate) target: &'a Arc<str>,
    pub(crate) method: &'a Arc<str>,
}

impl<'a> KeyRef<'a> {
    pub(crate) const fn of(key: &'a BreakerKey) -> Self {
        Self { target: &key.target, method: &key.method }
    }
}

impl Hash for KeyRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // As `BreakerKey` derives it.
        self.target.hash(state);
        self.method.hash(state);
    }
}

impl Equivalent<BreakerKey> for KeyRef<'_> {
    fn equivalent(&self, key: &BreakerKey) -> bool {
        *self.method == key.method && *self.target == key.target
    }
}

impl From<&KeyRef<'_>> for BreakerKey {
    fn from(key: &KeyRef<'_>) -> Self {
        Self { target: Arc::clone(key.target), method: Arc::clone(key.method) }
    }
}

/// Whether a path can be that of a method. Others come from scanners and from mistakes, and what is
/// kept of a client's calls must not grow with them.
pub(crate) fn is_name(path: &str) -> bool {
    let parts = path.strip_prefix('/').and_then(|path| path.split_once('/'));
    parts.is_some_and(|(service, method)| !service.is_empty() && !method.is_empty())
        && path.len() <= LONGEST_NAME
        && !path.contains('%')
}

/// Stands for every path that names no method: one entry, one breaker.
const OTHER: &str = "other";

/// Far above what people call their methods.
const LONGEST_NAME: usize = 512;

/// As many as breakers are kept by default; a race may add as many as there are threads.
const MAX_MET: usize = 1_000;
