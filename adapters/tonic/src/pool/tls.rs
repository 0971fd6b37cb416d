//! This file knows how connections are protected, in a build that can and in one that cannot.
//!
//! rustls comes with tonic, and only where a feature asks for it; without one nothing here can make
//! a connection safe, and a pool that was not told to do without is refused.

use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use tonic::transport::Endpoint;

/// What TLS trusts and shows: by default the roots of the features that are on
/// (`tls-native-roots`, `tls-webpki-roots`), no client certificate, and the target's own name.
///
/// ```
/// use evenkeel_tonic::pool::Tls;
///
/// # let (ca, certificate, key) = ("", "", "");
/// let tls = Tls::new().ca(ca).identity(certificate, key).name("orders.internal");
/// # let _ = tls;
/// ```
#[derive(Clone, Default, Eq, Hash, PartialEq)]
pub struct Tls {
    roots: Vec<Arc<[u8]>>,
    identity: Option<Identity>,
    name: Option<Arc<str>>,
}

/// A certificate of our own, in PEM.
#[derive(Clone, Eq, Hash, PartialEq)]
struct Identity {
    certificate: Arc<[u8]>,
    key: Arc<[u8]>,
}

impl Tls {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Trusts servers that this authority vouches for, given in PEM, and no others; may be given
    /// several times. Without a certificate in it the pool is refused.
    pub fn ca(mut self, pem: impl AsRef<[u8]>) -> Self {
        self.roots.push(pem.as_ref().into());
        self
    }

    /// Shows this certificate, with its chain, and holds its key; both in PEM.
    pub fn identity(mut self, certificate: impl AsRef<[u8]>, key: impl AsRef<[u8]>) -> Self {
        let (certificate, key) = (certificate.as_ref().into(), key.as_ref().into());
        self.identity = Some(Identity { certificate, key });
        self
    }

    /// Refuses what could protect no connection: the field, and what is missing there.
    pub(super) fn check(&self) -> Result<(), (&'static str, &'static str)> {
        if cfg!(not(any(feature = "tls-ring", feature = "tls-aws-lc"))) {
            return Err(("channel.tls", NO_TLS));
        }
        let any_roots = cfg!(any(feature = "tls-native-roots", feature = "tls-webpki-roots"));
        if self.roots.is_empty() && !any_roots {
            return Err(("channel.tls.ca_file", NO_ROOTS));
        }
        // rustls passes over what it cannot read, and then trusts nobody.
        if !self.roots.iter().all(|pem| has_block(pem, &CERTIFICATES)) {
            return Err(("channel.tls.ca_file", NO_CERTIFICATE));
        }
        let Some(Identity { certificate, key }) = &self.identity else { return Ok(()) };
        if !has_block(certificate, &CERTIFICATES) {
            return Err(("channel.tls.cert_file", NO_CERTIFICATE));
        }
        if !has_block(key, &KEYS) {
            return Err(("channel.tls.key_file", NO_KEY));
        }
        Ok(())
    }

    /// The name a server's certificate must have, instead of the target's.
    pub fn name(mut self, name: impl AsRef<str>) -> Self {
        self.name = Some(name.as_ref().into());
        self
    }
}

impl fmt::Debug for Tls {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("roots", &self.roots.len())
            .field("identity", &self.identity.is_some())
            .field("name", &self.name)
            .finish()
    }
}

/// Whether `pem` has a block with one of these labels.
fn has_block(pem: &[u8], labels: &[&str]) -> bool {
    let is_start = |line: &[u8]| {
        let label = line.strip_prefix(b"-----BEGIN ");
        let label = label.and_then(|label| label.trim_ascii_end().strip_suffix(b"-----"));
        label.is_some_and(|label| labels.iter().any(|known| known.as_bytes() == label))
    };
    pem.split(|byte| matches!(byte, b'\n' | b'\r')).any(is_start)
}

/// `endpoint` with TLS whose handshake takes at most `limit`; or what is missing.
#[cfg(any(feature = "tls-ring", feature = "tls-aws-lc"))]
pub(crate) fn protect(
    endpoint: Endpoint,
    tls: &Tls,
    limit: Duration,
) -> Result<Endpoint, (&'static str, String)> {
    use tonic::transport::{Certificate, ClientTlsConfig};

    let mut config = ClientTlsConfig::new().timeout(limit);
    if tls.roots.is_empty() {
        config = config.with_enabled_roots();
    }
    config = config.ca_certificates(tls.roots.iter().map(Certificate::from_pem));
    if let Some(Identity { certificate, key }) = &tls.identity {
        config = config.identity(tonic::transport::Identity::from_pem(certificate, key));
    }
    if let Some(name) = &tls.name {
        config = config.domain_name(&**name);
    }
    endpoint.tls_config(config).map_err(|error| {
        use core::error::Error as _;
        let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        ("channel.tls", why)
    })
}

/// `endpoint` with TLS whose handshake takes at most `limit`; or what is missing.
#[cfg(not(any(feature = "tls-ring", feature = "tls-aws-lc")))]
pub(crate) fn protect(
    _: Endpoint,
    _: &Tls,
    _: Duration,
) -> Result<Endpoint, (&'static str, String)> {
    Err(("channel.tls", NO_TLS.to_owned()))
}

const CERTIFICATES: [&str; 1] = ["CERTIFICATE"];

/// What rustls reads.
const KEYS: [&str; 3] = ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"];

const NO_CERTIFICATE: &str = "has no certificate in PEM, a block that begins with \
                              -----BEGIN CERTIFICATE-----";

const NO_KEY: &str = "has no private key in PEM, a block that begins with \
                      -----BEGIN PRIVATE KEY-----; an encrypted one cannot be read";

const NO_ROOTS: &str = "nobody is trusted; give an authority (ca_file, in code Tls::ca), or turn on \
                        the feature tls-native-roots or tls-webpki-roots";

const NO_TLS: &str = "this build has no TLS; turn on the feature tls-ring or tls-aws-lc, or say \
                      insecure() where the network is safe";
