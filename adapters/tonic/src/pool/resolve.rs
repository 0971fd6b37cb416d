//! This file knows who is asked for the addresses of a name.

use core::net::SocketAddr;
use core::pin::Pin;
use std::io;

/// Finds every address of a name.
///
/// A pool asks at its start, and again when a connection to one of the addresses fails, or a call
/// would have gone to one that a health check is against; at most every 30 s. Whatever comes back is
/// treated with suspicion: answers that are empty, fail, panic or take longer than a dial may keep
/// the last good list, answers that are too long are cut.
///
/// A link-local IPv6 address (`fe80::1%eth0`) loses its scope, which no URI can have, and without it
/// the system does not know where to dial. Leave such addresses out: they make a member that is never
/// reached.
///
/// ```
/// use std::net::SocketAddr;
/// use evenkeel_tonic::pool::{Resolve, Resolving};
///
/// /// Everything is on this machine.
/// struct Here;
///
/// impl Resolve for Here {
///     fn resolve(&self, _host: &str, port: u16) -> Resolving {
///         Box::pin(async move { Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))]) })
///     }
/// }
/// # let _ = Here;
/// ```
pub trait Resolve: Send + Sync + 'static {
    /// The addresses of `host`, each with `port`.
    fn resolve(&self, host: &str, port: u16) -> Resolving;
}

/// The future of [`Resolve::resolve`].
pub type Resolving = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;

/// The operating system's resolver, as `getaddrinfo` asks it, on tokio's blocking threads.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, host: &str, port: u16) -> Resolving {
        let host = host.to_owned();
        Box::pin(async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) })
    }
}
