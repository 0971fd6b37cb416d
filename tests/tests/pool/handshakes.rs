//! What is said of a handshake that failed: its own reason, by every call that suffers from it, and
//! not by the first alone.

use core::error::Error;
use core::time::Duration;

use evenkeel_core::RetryPolicy;
use evenkeel_tests::{Network, RawClient};
use evenkeel_tonic::connect::{self, DialError, DialPolicy, NotConnected};
use evenkeel_tonic::pool::Tls;
use evenkeel_tonic::{Builder, Kit, Pool, PoolBuilder, Resilient, cause};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Status};

use crate::lab::{ECHO, plain, retrying};
use crate::tls::{Authority, in_the_clear};

const STRANGER: &str = "invalid peer certificate: UnknownIssuer";

/// One way not to come to terms with a server, and words of its reason.
struct Case {
    net: Network,
    tls: Tls,
    reason: &'static str,
}

fn cases() -> Vec<Case> {
    let (authority, other) = (Authority::new(), Authority::new());
    let trusting = |authority: &Authority| Tls::new().ca(authority.pem());
    let net = || authority.serve("orders.internal", None);
    vec![
        Case { net: net(), tls: trusting(&other), reason: STRANGER },
        Case {
            net: authority.serve("billing.internal", None),
            tls: trusting(&authority),
            reason: "not valid for name \"orders.internal\"",
        },
        Case { net: in_the_clear(), tls: trusting(&authority), reason: "corrupt message" },
    ]
}

impl Case {
    fn pool(&self) -> PoolBuilder {
        let pool = Pool::builder().connector(self.net.dialer()).tls(self.tls.clone());
        pool.target("orders.internal:443").unwrap()
    }

    async fn call(&self, builder: Builder) -> Status {
        let service = builder.build_pool(self.pool()).unwrap();
        call(&service).await
    }
}

async fn call(service: &Resilient<Channel>) -> Status {
    RawClient::of(ECHO, service.clone()).unary("ping").await.unwrap_err()
}

/// The last of its sources.
fn root(status: &Status) -> String {
    let mut error: &dyn Error = status;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

fn lost_early(status: &Status) -> bool {
    NotConnected::of(status).is_some_and(|it| matches!(it.cause(), DialError::LostEarly { .. }))
}

#[tokio::test(start_paused = true)]
async fn whoever_comes_in_the_pause_after_it_hears_why() {
    for case in cases() {
        let service = plain().build_pool(case.pool()).unwrap();
        let first = call(&service).await;
        assert!(root(&first).contains(case.reason), "{first:?}");
        let second = call(&service).await;
        assert!(lost_early(&second), "{second:?}");
        assert!(root(&second).contains(case.reason), "{second:?}");
        assert!(second.message().ends_with(&root(&second)), "{second:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn so_does_the_call_itself_after_its_last_attempt() {
    for case in cases() {
        let failed = case.call(retrying(3)).await;
        assert_eq!(failed.code(), Code::Unavailable);
        assert!(failed.message().contains(case.reason), "{failed:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn so_does_a_call_that_waited_to_the_end() {
    for case in cases() {
        let failed = case.call(plain().wait_for_ready(true)).await;
        assert!(failed.message().contains(case.reason), "{failed:?}");
    }
}

/// All of them together, of which one alone came for the connection.
#[tokio::test(start_paused = true)]
async fn so_do_all_that_came_at_once() {
    let case = cases().swap_remove(0);
    let service = plain().build_pool(case.pool()).unwrap();
    let calls = (0..20).map(|_| call(&service));
    let failed = futures_util::future::join_all(calls).await;
    assert!(failed.iter().filter(|status| lost_early(status)).count() >= 19);
    for status in &failed {
        assert_eq!(root(status), STRANGER, "{status:?}");
    }
}

/// Of TLS that only the server speaks each call hears for itself: its answer is no HTTP/2.
#[tokio::test(start_paused = true)]
async fn without_tls_the_answer_is_not_understood() {
    let net = Authority::new().serve("orders.internal", None);
    let pool = Pool::builder().connector(net.dialer()).insecure();
    let pool = pool.target("orders.internal:443").unwrap();
    let service = plain().build_pool(pool).unwrap();
    for _ in 0..2 {
        let failed = call(&service).await;
        assert!(!failed.message().contains("connection lost"), "{failed:?}");
    }
}

/// A client's certificate that is not accepted is told above the handshake, and to nobody: then a
/// connection that was lost is all that is said.
#[tokio::test(start_paused = true)]
async fn what_is_not_known_is_not_made_up() {
    let (servers, clients) = (Authority::new(), Authority::new());
    let net = servers.serve("orders.internal", Some(&clients));
    let case = Case { net, tls: Tls::new().ca(servers.pem()), reason: "connection lost after " };
    let failed = case.call(retrying(3)).await;
    assert!(root(&failed).starts_with(case.reason), "{failed:?}");
}

/// And over one channel, whose TLS is tonic's own.
#[tokio::test(start_paused = true)]
async fn one_channel_tells_the_same() {
    let authority = Authority::new();
    let net = authority.serve("orders.internal", None);
    let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(Authority::new().pem()));
    let endpoint = Endpoint::from_static("https://orders.internal").tls_config(tls).unwrap();
    let target = endpoint.uri().clone();
    let (connector, connectivity) =
        connect::connector(net.dialer(), target, DialPolicy::DEFAULT, 1);
    let channel = endpoint.connect_with_connector_lazy(connector);
    let builder = plain().retry(RetryPolicy::DEFAULT).connectivity(connectivity);
    let service = builder.build(channel).unwrap();
    let failed = call(&service).await;
    assert!(failed.message().ends_with(STRANGER), "{failed:?}");
    assert!(lost_early(&failed), "of the last attempt, which dialled no more: {failed:?}");
    assert_eq!(net.dials("orders.internal").len(), 1);
}

/// A good connection after it knows nothing of it.
#[tokio::test(start_paused = true)]
async fn what_was_learnt_is_forgotten_with_the_failure() {
    let authority = Authority::new();
    let case = Case {
        net: authority.serve("billing.internal", None),
        tls: Tls::new().ca(authority.pem()),
        reason: "",
    };
    let service = plain().build_pool(case.pool()).unwrap();
    call(&service).await;
    authority.serve_on(&case.net, "orders.internal", None);
    tokio::time::sleep(Duration::from_secs(2)).await;
    RawClient::of(ECHO, service.clone()).unary("ping").await.unwrap();
    drop(case.net.listen("orders.internal"));
    case.net.cut("orders.internal");
    tokio::time::sleep(Duration::from_secs(2)).await;
    let gone = call(&service).await;
    assert!(root(&gone).contains("refused"), "{gone:?}");
}

/// A connection is no handshake: who wants to know of that when a program starts has the health of
/// the members checked.
#[tokio::test(start_paused = true)]
async fn only_a_health_check_waits_for_the_handshake() {
    let case = cases().swap_remove(0);
    let kit = Kit::builder("orders").pool(case.pool()).calls(plain()).build().unwrap();
    assert!(kit.wait_until_ready(Duration::from_secs(1)).await);
    let failed = call(&kit.channel()).await;
    assert!(failed.message().ends_with(STRANGER), "{failed:?}");
    let checked = Kit::builder("orders").pool(case.pool()).calls(plain()).health(|checks| checks);
    assert!(!checked.build().unwrap().wait_until_ready(Duration::from_secs(1)).await);
}

/// A health check tells it as well: it is the first to come for its connection.
#[tokio::test(start_paused = true)]
async fn a_health_check_says_why() {
    let case = cases().swap_remove(0);
    let kit = Kit::builder("orders").pool(case.pool()).calls(plain()).health(|checker| checker);
    let kit = kit.build().unwrap();
    assert!(!kit.wait_until_ready(Duration::from_secs(1)).await);
    let failed = call(&kit.channel()).await;
    assert!(failed.message().contains(STRANGER), "{failed:?}");
    assert!(cause::<evenkeel_tonic::NoHealthyTargets>(&failed).is_some(), "{failed:?}");
}
