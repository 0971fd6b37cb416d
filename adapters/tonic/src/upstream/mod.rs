//! This file knows the upstream of one call: the client's shared state, as the core borrows it.

use std::sync::Arc;

use evenkeel_tokio::core::{
    Attempt, Call, CallPolicy, Clock, Deadline, Instant, Micros, Permit, Refusal, Report, Target,
    Tried, Upstream,
};
use evenkeel_tokio::{AnyRule, Handle, SharedThrottle, TokioClock, fresh_seed};

use crate::TransportError;
use crate::connect::Connectivity;
use crate::hedge::Hedged;
use crate::observe::Seen;
use crate::pool::{Member, Pool};
use crate::settings::{KeyRef, Method, Settings};
use crate::warn::named;

mod limits;
mod pooled;
mod route;
mod telling;
mod unready;

pub(crate) use limits::Bound;
pub(crate) use route::Route;
pub(crate) use unready::Unsent;

use pooled::{Pooled, Usable};

/// Where they go, the breakers there for one method, and the throttle all calls share.
pub(crate) struct MethodUpstream<S> {
    settings: Arc<Settings>,
    method: Arc<Method>,
    retries: Retries,
    way: Way<S>,
    /// The record of the call, where there is one, and until it knows how the call ended.
    seen: Option<Box<Seen>>,
    /// When the call must be over, which is what its record tells at each attempt.
    deadline: Deadline,
    bound: Bound,
}

/// The route as one call uses it.
enum Way<S> {
    One {
        service: S,
        /// Looked up for this call, where the method does not keep it.
        breaker: Option<Handle<AnyRule>>,
    },
    Pool(Pooled<S>),
}

/// Whether the call said that it wants none.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Retries {
    AsConfigured,
    Off,
}

/// Who tells of the connection an attempt needs.
pub(crate) enum Reports<S> {
    /// Nobody.
    None,
    Of(Connectivity),
    /// The members of a pool, each of its own.
    Pool {
        pool: Arc<Pool<S>>,
        /// Where the attempt is to go.
        member: Arc<Member<S>>,
        /// Which others would do.
        usable: Usable,
    },
}

impl<S> MethodUpstream<S> {
    pub(crate) fn new(
        settings: Arc<Settings>,
        method: Arc<Method>,
        retries: Retries,
        route: Route<S>,
    ) -> Self {
        let way = match route {
            Route::One(service) => Way::One { service, breaker: None },
            Route::Pool(pool) => Way::Pool(Pooled::new(pool)),
        };
        let (deadline, bound) = (Deadline::NONE, Bound::Timeout);
        Self { settings, method, retries, way, seen: None, deadline, bound }
    }

    /// With the time this call has, and of what it has it.
    pub(crate) const fn until(mut self, deadline: Deadline, bound: Bound) -> Self {
        (self.deadline, self.bound) = (deadline, bound);
        self
    }

    /// When the call must be over.
    pub(crate) const fn deadline(&self) -> Deadline {
        self.deadline
    }

    /// A call over it, with a seed of its own.
    pub(crate) fn call<const IN_FLIGHT: usize>(&self, deadline: Deadline) -> Call<IN_FLIGHT> {
        let call = Call::with_room(deadline, fresh_seed());
        match self.way {
            Way::One { .. } => call,
            // Nobody may be known yet; for how long that is waited for, the flow says.
            Way::Pool(_) => call.wait_for_ready(),
        }
    }

    pub(crate) const fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    pub(crate) const fn method(&self) -> &Arc<Method> {
        &self.method
    }

    /// How the call is hedged, if it is.
    pub(crate) fn hedged(&self) -> Option<&Hedged> {
        self.method.hedged.as_ref().filter(|_| self.retries == Retries::AsConfigured)
    }

    pub(crate) const fn pool(&self) -> Option<&Arc<Pool<S>>> {
        match &self.way {
            Way::One { .. } => None,
            Way::Pool(pooled) => Some(pooled.pool()),
        }
    }

    /// The member `attempt` goes to.
    pub(crate) fn member(&self, attempt: &Attempt) -> Option<&Arc<Member<S>>> {
        match &self.way {
            Way::One { .. } => None,
            Way::Pool(pooled) => pooled.member(attempt.target()),
        }
    }

    /// Whose breaker refused, of those that did whose time is over first.
    pub(crate) fn refused_by(&self) -> &Arc<str> {
        match &self.way {
            Way::One { .. } => &self.settings.target,
            Way::Pool(pooled) => pooled.refused_by().unwrap_or(&self.settings.target),
        }
    }

    /// Whether the last attempt that was asked for found nobody at all.
    pub(crate) const fn found_nobody(&self) -> bool {
        matches!(&self.way, Way::Pool(pooled) if pooled.found_nobody())
    }

    /// Whether it found nobody although it saw all.
    pub(crate) const fn nobody_is_there(&self) -> bool {
        matches!(&self.way, Way::Pool(pooled) if pooled.nobody_is_there())
    }

    /// Whether a member has an attempt under way.
    pub(crate) const fn is_trying(&self) -> bool {
        matches!(&self.way, Way::Pool(pooled) if pooled.is_trying())
    }

    /// Whether the connection of `attempt` was ended with its client.
    pub(crate) fn is_cut(&self, attempt: &Attempt) -> bool {
        self.member(attempt).is_some_and(|member| member.line.is_cut())
    }

    /// The transport to the place of `attempt` failed.
    pub(crate) fn lost(&self, attempt: &Attempt, error: &TransportError) {
        let Some(member) = self.member(attempt) else {
            if let Some(connectivity) = &self.settings.connectivity {
                connectivity.explained_by(error);
            }
            return;
        };
        member.line.explained_by(error);
        if let (true, Way::Pool(pooled)) = (error.asks_for_calm(), &self.way) {
            pooled.calm_down(attempt.target());
        }
        member.unreachable(TokioClock.now());
    }

    /// Looks the one breaker up, where the method does not keep it.
    fn look_up(&mut self, now: Instant) {
        let Way::One { breaker, .. } = &mut self.way else { return };
        let Some((_, table)) = &self.settings.breaker else { return };
        if self.method.breaker.is_some() || breaker.is_some() {
            return;
        }
        let key = KeyRef { target: &self.settings.target, method: &self.method.path };
        let lookup = table.lookup(now, &key);
        if lookup.overflowed {
            warn_of_a_full_table(&self.settings);
        }
        *breaker = lookup.handle;
    }

    /// The breaker of `target`, once it was looked up.
    fn breaker(&self, target: Target) -> Option<&Handle<AnyRule>> {
        match &self.way {
            Way::One { breaker, .. } => self.method.breaker.as_ref().or(breaker.as_ref()),
            Way::Pool(pooled) => pooled.breaker(&self.method, target),
        }
    }

    /// A target for the next attempt, whose breaker gives leave.
    fn choose(
        &mut self,
        now: Instant,
        lease: Deadline,
        tried: Tried,
    ) -> Result<(Target, Permit), Refusal> {
        self.look_up(now);
        let granted = match (&mut self.way, &self.settings.breaker) {
            (Way::Pool(pooled), _) => {
                pooled.admit(&self.settings, &self.method, now, lease, tried)?
            }
            (Way::One { .. }, None) => (Target::ONLY, Permit::UNTRACKED),
            (Way::One { .. }, Some((policy, _))) => match self.breaker(Target::ONLY) {
                Some(breaker) => (Target::ONLY, breaker.admit(now, lease, policy)?),
                None => (Target::ONLY, Permit::UNTRACKED),
            },
        };
        self.tell(granted.0, granted.1.transition());
        Ok(granted)
    }
}

impl<S: Clone + Send + 'static> MethodUpstream<S> {
    /// What `attempt` is sent through; `None` if it is none of this upstream's.
    pub(crate) fn service(&mut self, attempt: &Attempt) -> Option<S> {
        match &mut self.way {
            Way::One { service, .. } => Some(service.clone()),
            Way::Pool(pooled) => pooled.service(attempt.target()),
        }
    }

    /// Who tells of the connection it needs.
    pub(crate) fn reports(&self, attempt: &Attempt) -> Reports<S> {
        let connectivity = self.settings.connectivity.clone();
        let one = connectivity.map_or(Reports::None, Reports::Of);
        let Some((pool, member)) = self.pool().zip(self.member(attempt)) else { return one };
        if member.line.connectivity().is_none() {
            return Reports::None;
        }
        let usable = Usable::new(&self.settings, &self.method);
        Reports::Pool { pool: Arc::clone(pool), member: Arc::clone(member), usable }
    }
}

impl<S> Upstream for MethodUpstream<S> {
    fn policy(&self) -> &CallPolicy {
        match self.retries {
            Retries::AsConfigured => &self.method.policy,
            Retries::Off => &self.method.without_retry,
        }
    }

    fn admit(
        &mut self,
        now: Instant,
        lease: Deadline,
        tried: Tried,
    ) -> Result<(Target, Permit), Refusal> {
        let admitted = self.choose(now, lease, tried);
        self.look_at(now, &admitted);
        admitted
    }

    fn record(&mut self, now: Instant, target: Target, permit: Permit, report: &Report) {
        if let (Some((policy, _)), Some(breaker)) = (&self.settings.breaker, self.breaker(target)) {
            self.tell(target, breaker.record(now, permit, policy.verdict(report), policy));
        }
        if let Some(throttle) = &self.settings.throttle {
            throttle.record(report, self.method.policy.retry().codes());
        }
        self.look_back(now, target, report);
        if let Way::Pool(pooled) = &mut self.way {
            pooled.record(now, target, report);
        }
    }

    fn retry_allowed(&mut self, _now: Instant) -> bool {
        let allowed = self.settings.throttle.as_ref().is_none_or(SharedThrottle::allow);
        self.look_at_throttle(allowed);
        allowed
    }

    fn renew(&mut self, now: Instant, target: Target, permit: &Permit) {
        if let (Some((policy, _)), Some(breaker)) = (&self.settings.breaker, self.breaker(target)) {
            breaker.renew(now, permit, policy);
        }
    }

    fn hedge_after(&self) -> Micros {
        self.hedged().map_or(Micros::MAX, Hedged::delay)
    }
}

/// One warning for each time the table fills up; whoever's lookup did it gives it.
pub(crate) fn warn_of_a_full_table(settings: &Settings) {
    let size = settings.breaker.as_ref().map_or(0, |(_, table)| table.len());
    tracing::warn!(
        target: "evenkeel",
        upstream = named(&settings.target),
        size,
        "every circuit breaker in the table protects or is in use, and a new method needs one; \
         raise breaker.max_methods, or look where so many method names come from",
    );
}
