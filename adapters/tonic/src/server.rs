//! This file knows where a request's budget begins on a server: at its `grpc-timeout`.
//!
//! Why a layer? A handler that must remember to read a header, subtract and pass the rest on will
//! one day not do it, and then works for callers that have long gone. Here the time a caller
//! leaves is the budget of everything done on its behalf, and a call that arrives without any is
//! answered before it costs something.

use core::task::{Context, Poll};
use core::time::Duration;
use std::sync::Arc;

use evenkeel_core::{BudgetPolicy, Invalid, Micros};
use evenkeel_tokio::in_budget;
use http::{Request, Response};
use tonic::Status;
use tonic::server::NamedService;
use tower::{Layer, Service};

mod body;
mod future;
mod rules;

pub use body::OpenBudgetBody;
pub use future::OpenBudgetFuture;

use rules::{Refused, Rules};

/// Opens a budget for each request that comes with a `grpc-timeout`.
///
/// Everything the request runs is inside it: interceptors, the handler, and the response stream
/// each time it is polled. [`current_budget`](evenkeel_tokio::current_budget) shows it, and
/// [`trim`](evenkeel_tokio::trim) bounds a call by it. A `tokio::spawn` leaves it behind;
/// [`evenkeel_tokio::spawn`] does not.
///
/// ```
/// use core::time::Duration;
/// use evenkeel_core::BudgetPolicy;
/// use evenkeel_tonic::OpenBudgetLayer;
/// use tonic::transport::Server;
///
/// # fn main() -> Result<(), evenkeel_core::Invalid> {
/// let margin = Duration::from_millis(20);
/// let budgets = OpenBudgetLayer::new()
///     .with_policy(BudgetPolicy::DEFAULT.with_safety_margin(margin)?)
///     .with_cap("/audit.v1.Audit/Write", Duration::from_millis(500))?
///     .without("/grpc.health.v1.Health/Watch");
/// let server = Server::builder().layer(budgets);
/// # let _ = server;
/// # Ok(()) }
/// ```
///
/// # What a request gets
///
/// - A `grpc-timeout` that leaves time, once the safety margin is off: a budget of that much. The
///   header stays where it is.
/// - One that leaves none: `DEADLINE_EXCEEDED` in the response's headers, with
///   [`BudgetExhausted`](crate::BudgetExhausted) as the status's source. Nothing inside
///   the layer is called.
/// - None, or one that the grammar does not allow (`82f`, nine digits): no budget, unless there is
///   a [total](Self::with_total) for them. No deadline is not a long one.
///
/// The budget of a task that calls the service itself, without a network between, is never
/// widened: it ends the new one early, and is kept where none is opened. So two of these layers
/// around one service do no harm either.
///
/// # Beside tonic's own timer
///
/// `tonic::transport::Server` reads the same header outside of all layers. When it runs out before
/// the response's headers are there, it drops the handler and answers `CANCELLED`, which a client
/// past its deadline is asked to call `DEADLINE_EXCEEDED`. This layer leaves that to it. Once the
/// headers are out nothing on the server stops a stream; its calls are refused when the budget is
/// spent, and a client that keeps to its deadline ends it.
///
/// Both begin when the request reaches them. What it waited before that, on the network or for a
/// `concurrency_limit_per_connection`, no server can see in the header; the safety margin is for
/// that too.
///
/// # Other entrances
///
/// A request that comes in by another way has its budget opened by hand:
///
/// ```
/// use core::time::Duration;
/// use std::sync::Arc;
/// use evenkeel_core::{BudgetPolicy, Invalid};
/// use evenkeel_tokio::{Budget, with_budget};
///
/// async fn on_message(message: Vec<u8>) -> Result<(), Invalid> {
///     let budget = Budget::new(Duration::from_secs(3), BudgetPolicy::DEFAULT)?;
///     with_budget(Some(Arc::new(budget)), handle(message)).await;
///     Ok(())
/// }
/// # async fn handle(_: Vec<u8>) {}
/// # let _ = on_message;
/// ```
#[derive(Clone, Debug, Default)]
pub struct OpenBudgetLayer {
    rules: Arc<Rules>,
}

impl OpenBudgetLayer {
    /// With [`BudgetPolicy::DEFAULT`], without caps, for all methods.
    pub fn new() -> Self {
        Self::default()
    }

    /// With what the section `[budget]` of a settings file says: margin, floor, mode, caps, and the
    /// total of requests that come without a deadline.
    ///
    /// # Errors
    ///
    /// As the methods of this layer, of which none refuses what a settings file may say.
    pub fn configured(block: &evenkeel_settings::Budget) -> Result<Self, Invalid> {
        let mut layer = Self::new().with_policy(block.policy());
        if let Some(total) = block.total() {
            layer = layer.with_total(total)?;
        }
        for (method, cap) in block.call_caps() {
            layer = layer.with_cap(method, cap)?;
        }
        Ok(layer)
    }

    /// With a budget of this much, less the safety margin, for requests that come without a
    /// `grpc-timeout`, or with one that the grammar does not allow. Without this they get none.
    ///
    /// # Errors
    ///
    /// Refuses a total of zero and of 2^48 µs (8.9 years) or more.
    pub fn with_total(mut self, total: Duration) -> Result<Self, Invalid> {
        self.rules_mut().total = Some(Micros::positive_setting("budget.total", total)?);
        Ok(self)
    }

    /// With this policy for the budgets it opens.
    pub fn with_policy(mut self, policy: BudgetPolicy) -> Self {
        self.rules_mut().policy = policy;
        self
    }

    /// With at most `cap` for each call of `method` that a handler makes, given as
    /// `/package.Service/Method`. A cap under any other name applies to nothing.
    ///
    /// # Errors
    ///
    /// Refuses a cap of zero or of 2^48 µs (8.9 years) and more.
    pub fn with_cap(mut self, method: &str, cap: Duration) -> Result<Self, Invalid> {
        self.rules_mut().cap(method, cap)?;
        Ok(self)
    }

    /// Without a budget for the incoming calls of `method`, given as `/package.Service/Method`:
    /// they are passed on as if this layer was not there, even those that arrive too late. Any
    /// other name exempts nothing.
    pub fn without(mut self, method: &str) -> Self {
        self.rules_mut().exempt.insert(method.into());
        self
    }

    fn rules_mut(&mut self) -> &mut Rules {
        Arc::make_mut(&mut self.rules)
    }
}

impl<S> Layer<S> for OpenBudgetLayer {
    type Service = OpenBudget<S>;

    fn layer(&self, inner: S) -> Self::Service {
        OpenBudget { inner, rules: Arc::clone(&self.rules) }
    }
}

/// A service inside an [`OpenBudgetLayer`].
///
/// ```
/// use evenkeel_tonic::OpenBudgetLayer;
/// use tonic::server::NamedService;
/// use tonic::transport::Server;
/// use tower::Layer;
///
/// # async fn run<S>(payments: S, health: S) where
/// #     S: tower::Service<
/// #             http::Request<tonic::body::Body>,
/// #             Response = http::Response<tonic::body::Body>,
/// #             Error = core::convert::Infallible,
/// #             Future: Send,
/// #         > + NamedService + Clone + Send + Sync + 'static,
/// # {
/// // For one service of a server only.
/// let payments = OpenBudgetLayer::new().layer(payments);
/// let server = Server::builder().add_service(payments).add_service(health);
/// # let _ = server;
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct OpenBudget<S> {
    inner: S,
    rules: Arc<Rules>,
}

impl<S, In, Out> Service<Request<In>> for OpenBudget<S>
where
    S: Service<Request<In>, Response = Response<Out>>,
{
    type Response = Response<OpenBudgetBody<Out>>;
    type Error = S::Error;
    type Future = OpenBudgetFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    /// Calls the instance that was asked whether it is ready, never a clone of it. When the
    /// request is refused it stays ready for the next.
    fn call(&mut self, request: Request<In>) -> Self::Future {
        match self.rules.open(request.uri().path(), request.headers()) {
            Ok(budget) => {
                // A service may work before its future does: tonic's interceptors run here.
                let future = in_budget(budget.clone(), || self.inner.call(request));
                OpenBudgetFuture::run(budget, future)
            }
            Err(refused) => OpenBudgetFuture::refuse(refused.into()),
        }
    }
}

impl<S: NamedService> NamedService for OpenBudget<S> {
    const NAME: &'static str = S::NAME;
}

impl From<Refused> for Status {
    fn from(Refused { left, margin, exhausted }: Refused) -> Self {
        let method = &exhausted.method;
        let message = format!(
            "no time for {method}: {left} left of the caller's deadline, safety margin {margin}"
        );
        let mut status = Self::deadline_exceeded(message);
        status.set_source(Arc::new(exhausted));
        status
    }
}
