//! This file knows the service under a generated client, and what is settled about a call before
//! its first attempt: method, options, deadline, budget, readiness.

use core::fmt;
use core::task::{Context, Poll};
use std::sync::Arc;

use bytes::Bytes;
use evenkeel_tokio::core::{Clock, Deadline, Instant, Micros};
use evenkeel_tokio::{Driven, TokioClock, current_budget, trim};
use http::{Request, Response};
use tonic::Status;
use tonic::body::Body;
use tower_service::Service;

use crate::attempt::PREVIOUS_ATTEMPTS;
use crate::below::Below;
use crate::builder::Builder;
use crate::error::{BoxError, BudgetExhausted, Closed, DeadlinePassed, TimeLimit};
use crate::flow::Flow;
use crate::future::ResponseFuture;
use crate::hedge::{Hedge, hedge};
use crate::incoming::{callers_deadline, forget_attempts};
use crate::observe::Seen;
use crate::options::RetryOwned;
use crate::reading::{Patience, Reading};
use crate::settings::{Method, Settings};
use crate::upstream::{Bound, MethodUpstream, Retries, Route};
use crate::warn::{Warning, named};
use crate::wire::{self, timeout};
use crate::{CallOptions, Snapshots};

/// One service under unchanged generated clients: deadline, request budget, wait-for-ready,
/// retries and circuit breakers, in that order, over any channel.
///
/// Clones are cheap and share everything.
///
/// ```
/// use core::time::Duration;
/// use evenkeel_tonic::core::{BreakerPolicy, RetryPolicy};
/// use evenkeel_tonic::{AllowList, Resilient};
/// use tonic::transport::Endpoint;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let channel = Endpoint::from_static("http://127.0.0.1:50051").connect_lazy();
/// let channel = Resilient::builder()
///     .timeout(Duration::from_secs(2))?
///     .retry(RetryPolicy::DEFAULT)
///     .idempotent(AllowList::new(["/orders.v1.Orders/Get"])?)
///     .breaker(BreakerPolicy::DEFAULT)
///     .build(channel)?;
/// // OrdersClient::new(channel)
/// # let _ = channel;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Resilient<S> {
    pub(crate) route: Route<S>,
    pub(crate) settings: Arc<Settings>,
}

impl Resilient<()> {
    /// A builder in which nothing is configured yet. What stays so is absent and costs nothing.
    ///
    /// With nothing configured at all, a call without a deadline is passed through. Of its response only
    /// the headers are made harmless, and not the trailers: tonic 0.14 panics at a
    /// `grpc-status-details-bin` there that is not base64. Any block, such as a timeout, guards against
    /// both.
    pub fn builder() -> Builder {
        Builder::new()
    }
}

impl<S> Resilient<S> {
    pub(crate) fn new(route: Route<S>, settings: Arc<Settings>) -> Self {
        settings.announce();
        Self { route, settings }
    }

    /// What every circuit breaker looks like now: target → method → snapshot.
    pub fn circuit_breaker_states(&self) -> Snapshots {
        let mut states = Snapshots::new();
        for (key, snapshot) in self.settings.breaker.iter().flat_map(|(_, table)| table.snapshots())
        {
            let target = states.entry(key.target.to_string()).or_default();
            target.insert(key.method.to_string(), snapshot);
        }
        states
    }

    /// The retry tokens left, in thousandths, if retries are throttled.
    pub fn throttle_millitokens(&self) -> Option<u32> {
        self.settings.throttle.as_ref().map(|throttle| throttle.millitokens())
    }
}

impl<S, B> Service<Request<Body>> for Resilient<S>
where
    S: Service<Request<Body>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = Status;
    type Future = ResponseFuture<S>;

    /// Always ready, and never an error: each attempt drives a clone of the inner service ready
    /// under the call's own deadline.
    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> ResponseFuture<S> {
        let route = self.route.clone();
        let method = self.settings.method_of(&request);
        let stands_down = self.stands_down(&request);
        let route = match route {
            Route::One(inner) if stands_down || is_idle(&method, &request) => {
                return ResponseFuture::passing(inner, request);
            }
            route => route,
        };
        // The outer one of two that are stacked tells of the call.
        let seen = Seen::begin(method.view.as_ref().filter(|_| !stands_down));
        match self.admit(&route, &method, &mut request) {
            Ok(admitted) if stands_down => {
                // A member must be chosen all the same, but only once.
                let admitted = Admitted { waits: false, retries: Retries::Off, ..admitted };
                self.start(route, method, admitted, request, seen)
            }
            Ok(admitted) => {
                forget_attempts(&mut request);
                self.start(route, method, admitted, request, seen)
            }
            Err(status) => {
                if let Some(mut seen) = seen {
                    seen.over(Err(&status), None);
                }
                ResponseFuture::refused(status)
            }
        }
    }
}

/// Of what it knows, what a person asks for: not pages of settings and of parts.
impl<S> fmt::Debug for Resilient<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resilient")
            .field("target", &self.settings.target)
            .field("circuit_breakers", &self.circuit_breaker_states())
            .field("throttle_millitokens", &self.throttle_millitokens())
            .finish_non_exhaustive()
    }
}

/// What is settled about a call before its first attempt.
struct Admitted {
    deadline: Deadline,
    bound: Bound,
    waits: bool,
    retries: Retries,
}

impl<S> Resilient<S> {
    /// Two of our services stacked by accident would multiply their attempts: the inner one lets
    /// the outer one decide.
    fn stands_down(&self, request: &Request<Body>) -> bool {
        let warned = &self.settings.warned;
        if request.extensions().get::<RetryOwned>().is_some() {
            if warned.first(Warning::Stacked) {
                tracing::warn!(
                    target: "evenkeel",
                    upstream = named(&self.settings.target),
                    "a resilient service is stacked on another: the inner one stands down; \
                     take one of them out",
                );
            }
            return true;
        }
        if self.settings.retry.is_some()
            && wire::find(request.headers(), &PREVIOUS_ATTEMPTS).is_some()
            && warned.first(Warning::ForeignRetries)
        {
            tracing::warn!(
                target: "evenkeel",
                upstream = named(&self.settings.target),
                "something above this client retries too, and attempts multiply; keep one retry \
                 loop",
            );
        }
        false
    }

    /// Timeout, then budget, then wait-for-ready.
    fn admit(
        &self,
        route: &Route<S>,
        method: &Arc<Method>,
        request: &mut Request<Body>,
    ) -> Result<Admitted, Status> {
        if matches!(route, Route::Pool(pool) if pool.is_closed()) {
            let upstream = Arc::clone(&self.settings.target);
            return Err(Closed { upstream, attempts: 0, last: None }.into());
        }
        let options = request.extensions_mut().remove::<CallOptions>().unwrap_or_default();
        let now = TokioClock.now();
        let own = method.policy.deadline(now, Deadline::NONE);
        let asked = own.earlier(callers_deadline(now, request, &self.settings));
        if asked.is_over(now) {
            // Zero is not none: nothing is sent. A timeout of ours is never zero.
            let method = Arc::clone(&method.path);
            return Err(DeadlinePassed::before_any_attempt(method, TimeLimit::Caller).into());
        }
        let deadline = match self.settings.budget_reserve {
            Some(reserve) => budgeted(now, &method.path, asked, reserve)?,
            None => asked,
        };
        let bound = match deadline {
            deadline if deadline == own => Bound::Timeout,
            deadline if deadline == asked => Bound::Caller,
            _ => Bound::Budget,
        };
        let waits = self.waits(method, options, deadline);
        let retries = if options.retries_off() { Retries::Off } else { Retries::AsConfigured };
        Ok(Admitted { deadline, bound, waits, retries })
    }

    /// The call's own wish wins over the method's setting, and that over the default.
    fn waits(&self, method: &Method, options: CallOptions, deadline: Deadline) -> bool {
        if let Some(wish) = options.ready() {
            return wish;
        }
        let Some(block) = &self.settings.ready else { return false };
        match method.ready {
            Some(true) if block.require_deadline && deadline.is_none() => {
                if self.settings.warned.first(Warning::ReadyWithoutDeadline) {
                    let (upstream, method) = (named(&self.settings.target), &*method.path);
                    tracing::warn!(
                        target: "evenkeel",
                        upstream,
                        method,
                        "wait-for-ready without a deadline could wait for ever, so the call fails \
                         fast; give the method a timeout, or switch require_deadline off",
                    );
                }
                false
            }
            ready => ready.unwrap_or(false),
        }
    }

    fn start(
        &self,
        route: Route<S>,
        method: Arc<Method>,
        admitted: Admitted,
        mut request: Request<Body>,
        seen: Option<Box<Seen>>,
    ) -> ResponseFuture<S>
    where
        S: Below,
    {
        let Admitted { deadline, bound, waits, retries } = admitted;
        if let Route::Pool(pool) = &route {
            pool.start();
        }
        let (kind, repeats) = (method.kind, method.repeats);
        let upstream = MethodUpstream::new(Arc::clone(&self.settings), method, retries, route)
            .until(deadline, bound)
            .seen_by(seen);
        let patience = if kind.is_some() { Patience::Message } else { Patience::Unknown };
        let limit = self.settings.replay_limit;
        let streams = kind.is_some_and(|kind| kind.client_streaming());
        if upstream.hedged().is_some() && !streams {
            let reading = Reading::new(limit, patience, deadline);
            let hedged = Hedge { upstream, deadline, waits };
            return ResponseFuture::boxed(Box::pin(hedge(hedged, request, reading)));
        }
        let call = upstream.call(deadline);
        let mut flow = Flow::new(Driven::new(call, upstream), waits);

        if !repeats && !waits {
            flow.driven.call_mut().forbid_repeats();
            return ResponseFuture::once(flow, request);
        }
        if streams {
            flow.lend(&mut request);
            return ResponseFuture::once(flow, request);
        }
        ResponseFuture::reading(flow, request, Reading::new(limit, patience, deadline))
    }
}

/// Whether neither the settings, nor the task, nor the call itself want anything. A deadline is
/// something: below us nobody keeps it beyond the headers.
fn is_idle(method: &Method, request: &Request<Body>) -> bool {
    method.passive
        && current_budget().is_none()
        && wire::find(request.headers(), &timeout::GRPC_TIMEOUT).is_none()
        && request.extensions().get::<CallOptions>().is_none()
}

fn budgeted(
    now: Instant,
    method: &Arc<str>,
    deadline: Deadline,
    reserve: Micros,
) -> Result<Deadline, Status> {
    trim(now, method, deadline, reserve).map_err(|spent| {
        let method = Arc::clone(method);
        let (elapsed, total) = (spent.elapsed, spent.total);
        BudgetExhausted { method, elapsed, total }.into()
    })
}

/// What is kept of a message for replay, unless the builder says otherwise.
pub(crate) const DEFAULT_REPLAY_LIMIT: usize = 256 * 1024;
