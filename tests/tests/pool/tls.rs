//! TLS between a pool and its members: whom it trusts, what it shows, and what is refused when the
//! client is built.

use core::convert::Infallible;
use core::future::{Ready, ready};
use core::pin::Pin;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context, Poll};

use bytes::Bytes;
use evenkeel_core::Sent;
use evenkeel_tests::{Network, RawClient, RawCodec};
use evenkeel_tonic::pool::Tls;
use evenkeel_tonic::{BuildError, Pool, TransportError, cause};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tonic::body::Body;
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::transport::{Certificate, Identity, Server, ServerTlsConfig};
use tonic::{Code, Request, Response, Status};
use tower::Service;

use crate::lab::{ECHO, plain, text, timed};

/// Answers with its request.
#[derive(Clone)]
struct Echo;

impl UnaryService<Bytes> for Echo {
    type Response = Bytes;
    type Future = Ready<Result<Response<Bytes>, Status>>;

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        ready(Ok(Response::new(request.into_inner())))
    }
}

impl NamedService for Echo {
    const NAME: &'static str = "lab.v1.Lab";
}

impl Service<http::Request<Body>> for Echo {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<http::Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(async { Ok(Grpc::new(RawCodec).unary(Self, request).await) })
    }
}

/// How many authorities there were.
static MADE: AtomicUsize = AtomicUsize::new(0);

/// Vouches for servers and clients.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // A certificate names who vouches for it: two of one name would be one with a wrong key.
        let name = format!("authority {}", MADE.fetch_add(1, Ordering::Relaxed));
        params.distinguished_name.push(DnType::CommonName, name);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate for `name`, and its key.
    fn vouch_for(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        (params.signed_by(&key, &self.0).unwrap().pem(), key.serialize_pem())
    }

    /// Serves on the host `orders.internal` of a new network, under the name `name`.
    pub(crate) fn serve(&self, name: &str, clients: Option<&Self>) -> Network {
        let net = Network::new();
        self.serve_on(&net, name, clients);
        net
    }

    /// The same on the network there is.
    pub(crate) fn serve_on(&self, net: &Network, name: &str, clients: Option<&Self>) {
        let (certificate, key) = self.vouch_for(name);
        let mut tls = ServerTlsConfig::new().identity(Identity::from_pem(certificate, key));
        if let Some(clients) = clients {
            tls = tls.client_ca_root(Certificate::from_pem(clients.pem()));
        }
        let server = Server::builder().tls_config(tls).unwrap().add_service(Echo);
        tokio::spawn(server.serve_with_incoming(net.listen("orders.internal")));
    }
}

/// The same server without TLS.
pub(crate) fn in_the_clear() -> Network {
    let net = Network::new();
    let server = Server::builder().add_service(Echo);
    tokio::spawn(server.serve_with_incoming(net.listen("orders.internal")));
    net
}

async fn call(net: &Network, tls: Tls) -> Result<String, Status> {
    let pool = Pool::builder().connector(net.dialer()).tls(tls);
    let pool = pool.target("orders.internal:443").unwrap();
    let mut client = RawClient::of(ECHO, plain().build_pool(pool).unwrap());
    client.unary("ping").await.map(|response| text(response.into_inner()))
}

#[tokio::test(start_paused = true)]
async fn a_server_is_trusted_by_its_authority_and_its_name() {
    let authority = Authority::new();
    let net = authority.serve("orders.internal", None);
    assert_eq!(call(&net, Tls::new().ca(authority.pem())).await.unwrap(), "ping");
    // Among several authorities, too.
    let several = Tls::new().ca(Authority::new().pem()).ca(authority.pem());
    assert_eq!(call(&net, several).await.unwrap(), "ping");

    let stranger = call(&net, Tls::new().ca(Authority::new().pem())).await.unwrap_err();
    assert_eq!(stranger.code(), Code::Unavailable);
    let error = cause::<TransportError>(&stranger).unwrap();
    assert_eq!(error.sent(), Sent::NotConnected, "nothing was sent to it");

    let net = authority.serve("billing.internal", None);
    assert!(call(&net, Tls::new().ca(authority.pem())).await.is_err());
    let renamed = Tls::new().ca(authority.pem()).name("billing.internal");
    assert_eq!(call(&net, renamed).await.unwrap(), "ping");
}

#[tokio::test(start_paused = true)]
async fn a_client_shows_its_certificate() {
    let (servers, clients) = (Authority::new(), Authority::new());
    let net = servers.serve("orders.internal", Some(&clients));
    let (certificate, key) = clients.vouch_for("gateway");
    let known = Tls::new().ca(servers.pem()).identity(certificate, key);
    assert_eq!(call(&net, known).await.unwrap(), "ping");
    assert!(call(&net, Tls::new().ca(servers.pem())).await.is_err());
    let (certificate, key) = servers.vouch_for("gateway");
    let unknown = Tls::new().ca(servers.pem()).identity(certificate, key);
    assert!(call(&net, unknown).await.is_err());
}

/// Neither side speaks without it.
#[tokio::test(start_paused = true)]
async fn with_one_side_in_the_clear_nothing_is_said() {
    let authority = Authority::new();
    let net = authority.serve("orders.internal", None);
    let pool = Pool::builder().connector(net.dialer()).insecure();
    let pool = pool.target("orders.internal:443").unwrap();
    let mut client = RawClient::of(ECHO, plain().build_pool(pool).unwrap());
    assert!(client.unary("ping").await.is_err());

    let net = in_the_clear();
    assert!(call(&net, Tls::new().ca(authority.pem())).await.is_err());
}

/// A server that accepts and says nothing holds up no call for longer than a dial may take.
#[tokio::test(start_paused = true)]
async fn a_handshake_that_never_ends_is_a_failed_dial() {
    let net = Network::new();
    let _silent = net.listen("orders.internal");
    let pool = Pool::builder().connector(net.dialer()).tls(Tls::new().ca(Authority::new().pem()));
    let pool = pool.target("orders.internal:443").unwrap();
    let builder = plain().timeout(core::time::Duration::from_secs(60)).unwrap();
    let mut client = RawClient::of(ECHO, builder.build_pool(pool).unwrap());
    let (failed, took) = timed(client.unary("ping")).await;
    assert_eq!((failed.unwrap_err().code(), took), (Code::Unavailable, 20_000));
}

#[test]
fn what_cannot_be_right_is_refused_when_the_client_is_built() {
    let refused = |tls: Tls| {
        let pool = Pool::builder().tls(tls).target("orders.internal:443").unwrap();
        plain().build_pool(pool).unwrap_err()
    };
    let authority = Authority::new();
    // This build has no roots, so somebody must be named.
    let nobody = refused(Tls::new());
    assert!(matches!(nobody, BuildError::Refused { field: "channel.tls.ca_file", .. }), "{nobody}");
    assert!(nobody.to_string().contains("(ca_file, in code Tls::ca)"), "{nobody}");
    let trusted = || Tls::new().ca(authority.pem());
    let (certificate, key) = authority.vouch_for("gateway");
    let (_, other_key) = authority.vouch_for("gateway");
    let block = "-----BEGIN CERTIFICATE-----\nno base64!\n-----END CERTIFICATE-----\n";
    for (expected, tls) in [
        ("channel.tls.ca_file", Tls::new().ca("garbage")),
        ("channel.tls.ca_file", Tls::new().ca("")),
        // The file beside the one that was meant, and one of several.
        ("channel.tls.ca_file", Tls::new().ca(&key)),
        ("channel.tls.ca_file", trusted().ca("garbage")),
        ("channel.tls", Tls::new().ca(block)),
        ("channel.tls.cert_file", trusted().identity("garbage", "garbage")),
        ("channel.tls.cert_file", trusted().identity(&key, &certificate)),
        ("channel.tls.key_file", trusted().identity(&certificate, "garbage")),
        ("channel.tls", trusted().identity(&certificate, other_key)),
        ("channel.tls", trusted().name("not a name")),
        ("channel.tls", trusted().name("")),
    ] {
        let shown = format!("{tls:?}");
        assert!(!shown.contains("PRIVATE") && !shown.contains("garbage"), "{shown}");
        let error = refused(tls);
        let BuildError::Refused { field, .. } = &error else { panic!("{error}") };
        assert_eq!(*field, expected, "{error}");
    }
    // And where nobody is named yet whom it could be tried with.
    let (_keep, targets) = tokio::sync::watch::channel(Vec::new());
    let nobody_yet = Pool::builder().tls(Tls::new().ca("garbage")).watch(targets);
    let error = plain().build_pool(nobody_yet).unwrap_err();
    assert!(matches!(error, BuildError::Refused { field: "channel.tls.ca_file", .. }), "{error}");
    assert!(!format!("{:?}", trusted().identity(&certificate, &key)).contains("PRIVATE"));
}
