//! This file knows the service as a layer, for whoever stacks services with `tower::ServiceBuilder`.

use core::fmt;
use std::sync::Arc;

use tower::Layer;

use crate::settings::Settings;
use crate::upstream::Route;
use crate::{BuildError, Builder, Resilient};

/// A [`Builder`] as a layer: a [`Resilient`] around each service it is given.
///
/// All of these are one client. They share settings, circuit breakers and throttle, so they should
/// lead to one server; where there are several, [`pool`](crate::pool) picks one for each attempt.
///
/// What stands above it in a stack sees each call once, and what stands below sees each attempt: an
/// interceptor below is asked for a fresh token whenever a call is repeated.
///
/// ```
/// use core::time::Duration;
/// use evenkeel_tonic::{Resilient, core::RetryPolicy};
/// use tonic::service::interceptor::InterceptorLayer;
/// use tonic::transport::Endpoint;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let signed = InterceptorLayer::new(|mut request: tonic::Request<()>| {
///     request.metadata_mut().insert("authorization", "Bearer fresh".parse().expect("is ASCII"));
///     Ok(request)
/// });
/// let channel = tower::ServiceBuilder::new()
///     .layer(Resilient::builder().timeout(Duration::from_secs(2))?.retry(RetryPolicy::DEFAULT).layer()?)
///     .layer(signed)
///     .service(Endpoint::from_static("http://127.0.0.1:50051").connect_lazy());
/// // OrdersClient::new(channel)
/// # fn takes<C>(_: C) where C: tonic::client::GrpcService<tonic::body::Body> {}
/// # takes(channel);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct ResilientLayer {
    settings: Arc<Settings>,
}

impl Builder {
    /// As a layer, for `tower::ServiceBuilder`.
    ///
    /// # Errors
    ///
    /// [`BuildError`] names what cannot be right.
    pub fn layer(self) -> Result<ResilientLayer, BuildError> {
        let settings = Arc::new(self.checked(false)?);
        // Here, and not for each service: they are one client.
        settings.announce();
        Ok(ResilientLayer { settings })
    }
}

impl<S> Layer<S> for ResilientLayer {
    type Service = Resilient<S>;

    fn layer(&self, inner: S) -> Resilient<S> {
        Resilient { route: Route::One(inner), settings: Arc::clone(&self.settings) }
    }
}

impl fmt::Debug for ResilientLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResilientLayer")
            .field("target", &self.settings.target)
            .finish_non_exhaustive()
    }
}
