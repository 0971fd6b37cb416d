//! This file knows a control plane, and a channel that does what it says: where requests go, and
//! how often each is tried.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use tokio::sync::watch;
use tonic::body::Body;
use tonic::transport::{Channel, Endpoint};
use tower::util::BoxCloneSyncService;
use tower::{BoxError, ServiceExt, service_fn};

/// What `tonic_xds::XdsChannelGrpc` is another name of.
pub(crate) type PlaneChannel = BoxCloneSyncService<Request<Body>, Response<Body>, BoxError>;

/// What the control plane wants.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) endpoints: Vec<SocketAddr>,
    /// How often each request is tried, as a route's retry policy says.
    pub(crate) tries: u32,
}

/// Tells every channel of a change, as an xDS stream would.
pub(crate) struct ControlPlane(watch::Sender<World>);

impl ControlPlane {
    pub(crate) fn start(world: World) -> Self {
        Self(watch::Sender::new(world))
    }

    /// From now on, for all channels.
    pub(crate) fn becomes(&self, world: World) {
        self.0.send_replace(world);
    }

    /// A channel that follows it. It knows nothing of ours, which goes on top of it.
    pub(crate) fn channel(&self) -> PlaneChannel {
        let worlds = self.0.subscribe();
        let (turn, channels) = (AtomicUsize::new(0), Mutex::default());
        let following = Arc::new(Following { worlds, turn, channels });
        BoxCloneSyncService::new(service_fn(move |request| Arc::clone(&following).send(request)))
    }
}

/// What the clones of a channel share.
struct Following {
    worlds: watch::Receiver<World>,
    turn: AtomicUsize,
    /// One connection to each endpoint.
    channels: Mutex<HashMap<SocketAddr, Channel>>,
}

impl Following {
    /// Sends a request to one endpoint after the other, as often as it is to be tried.
    async fn send(self: Arc<Self>, request: Request<Body>) -> Result<Response<Body>, BoxError> {
        let (parts, body) = request.into_parts();
        let message: Bytes = body.collect().await?.to_bytes();
        let mut left = self.worlds.borrow().tries;
        loop {
            let again = Request::from_parts(parts.clone(), Body::new(Full::new(message.clone())));
            let response = self.next()?.oneshot(again).await?;
            left = left.saturating_sub(1);
            let is_busy = response.headers().get("grpc-status").is_some_and(|code| code == "14");
            if left == 0 || !is_busy {
                return Ok(response);
            }
        }
    }

    /// The channel to the endpoint whose turn it is.
    fn next(&self) -> Result<Channel, BoxError> {
        let world = self.worlds.borrow();
        let turn = self.turn.fetch_add(1, Ordering::Relaxed).checked_rem(world.endpoints.len());
        let endpoint = world.endpoints[turn.ok_or("the control plane names nobody")?];
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(channel) = channels.get(&endpoint) {
            return Ok(channel.clone());
        }
        let channel = Endpoint::from_shared(format!("http://{endpoint}"))?.connect_lazy();
        channels.insert(endpoint, channel.clone());
        Ok(channel)
    }
}
