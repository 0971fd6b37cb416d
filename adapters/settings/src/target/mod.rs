//! This module knows how a target is written down, and which ways of writing one are refused.
//!
//! Why so strict? A target comes from a settings file or an environment variable, and what is wrong
//! with it should be said when the client is built, not by a resolver an hour later. gRPC's own
//! syntax lets most mistakes through: `orders` means port 443, `orders:8O80` is a scheme, and
//! `http://orders:80` is looked up as a host called `http`.

use core::fmt;
use core::str::FromStr;
use std::sync::Arc;

mod host;
mod invalid;
mod parse;

pub use host::Host;
pub use invalid::InvalidTarget;

/// Where calls can go, as people write it down.
///
/// | written | means |
/// |---|---|
/// | `orders:50051` | one target; the name is looked up anew by each dial |
/// | `10.0.0.1:50051`, `[2001:db8::1]:50051` | one target at this address |
/// | `dns:///orders:50051` | a target at every address the name has |
/// | `unix:/run/orders.sock` | the socket at this absolute path |
///
/// A port is 1 to 65535 and always written; IPv6 addresses are in brackets. What was written is
/// brought into one form (lower case, short addresses), so that equal targets are equal.
///
/// ```
/// use evenkeel_settings::target::TargetName;
///
/// let target: TargetName = "dns:///Orders.Internal:50051".parse()?;
/// assert_eq!(target.to_string(), "dns:///orders.internal:50051");
///
/// let refused = "orders".parse::<TargetName>().unwrap_err();
/// assert_eq!(
///     refused.to_string(),
///     "target \"orders\": has no port; write \"orders:443\" with the port the server listens on",
/// );
/// # Ok::<_, evenkeel_settings::target::InvalidTarget>(())
/// ```
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum TargetName {
    /// One place: a name or an address, and a port.
    Address {
        /// The machine.
        host: Host,
        /// 1 to 65535.
        port: u16,
    },
    /// Every address of a name.
    Dns {
        /// The name to look up.
        host: Host,
        /// 1 to 65535.
        port: u16,
    },
    /// A socket in the file system.
    Unix {
        /// Absolute.
        path: Arc<str>,
    },
}

impl FromStr for TargetName {
    type Err = InvalidTarget;

    fn from_str(text: &str) -> Result<Self, InvalidTarget> {
        parse::target(text).map_err(|rule| InvalidTarget::new(text, rule))
    }
}

impl TryFrom<&str> for TargetName {
    type Error = InvalidTarget;

    fn try_from(text: &str) -> Result<Self, InvalidTarget> {
        text.parse()
    }
}

impl TryFrom<String> for TargetName {
    type Error = InvalidTarget;

    fn try_from(text: String) -> Result<Self, InvalidTarget> {
        text.parse()
    }
}

impl TryFrom<&String> for TargetName {
    type Error = InvalidTarget;

    fn try_from(text: &String) -> Result<Self, InvalidTarget> {
        text.parse()
    }
}

impl From<core::net::SocketAddr> for TargetName {
    /// The target at this address. A scope, as link-local addresses have one, is lost, and without
    /// it they cannot be dialled.
    fn from(address: core::net::SocketAddr) -> Self {
        Self::Address { host: Host::Ip(address.ip()), port: address.port() }
    }
}

impl fmt::Display for TargetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address { host, port } => write!(f, "{host}:{port}"),
            Self::Dns { host, port } => write!(f, "dns:///{host}:{port}"),
            Self::Unix { path } => write!(f, "unix:{path}"),
        }
    }
}
