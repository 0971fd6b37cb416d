//! The same over the operating system's sockets: no connector of ours, no virtual clock, and so
//! nothing is measured.

use core::net::SocketAddr;
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::Arc;

use evenkeel_tests::{Peer, RawClient, Reply, Seen};
use evenkeel_tonic::pool::{Resolve, Resolving};
use evenkeel_tonic::target::TargetName;
use evenkeel_tonic::{Kit, Pool, Resilient};
use tokio::sync::watch;
use tonic::transport::Channel;

use crate::lab::{ECHO, plain, retrying, says, spread, text};

async fn calls(service: &Resilient<Channel>, count: usize) -> String {
    let mut answers = String::new();
    for _ in 0..count {
        let mut client = RawClient::of(ECHO, service.clone());
        answers.push_str(&text(client.unary("ping").await.unwrap().into_inner()));
    }
    answers
}

#[tokio::test]
async fn members_over_tcp() {
    let peers = ["a", "b"].map(|name| Peer::new([says(name)]));
    let mut targets = Vec::new();
    for peer in &peers {
        targets.push(peer.listen_tcp().await.unwrap().to_string());
    }
    let pool = Pool::builder().insecure().targets(targets).unwrap();
    let service = retrying(3).build_pool(pool).unwrap();
    assert!(service.pool().unwrap().wait_until_ready(Duration::from_secs(30)).await);
    assert_eq!(spread(&calls(&service, 100).await), [('a', 50), ('b', 50)]);
    assert!(service.pool().unwrap().close(Duration::from_secs(30)).await);
}

/// A client that is kept in a static is used in one runtime after the other, as tests do it.
#[test]
fn a_client_outlives_the_runtime_it_was_first_used_in() {
    let peers = tokio::runtime::Runtime::new().unwrap();
    let address = peers.block_on(async { Peer::new([says("a")]).listen_tcp().await.unwrap() });
    let pool = Pool::builder().insecure().target(address.to_string()).unwrap();
    let service = plain().build_pool(pool).unwrap();
    for _ in 0..3 {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        assert_eq!(runtime.unwrap().block_on(calls(&service, 3)), "aaa");
    }
}

/// So do its lookups, its discovery and its health checks, each of which was a task of that runtime.
#[test]
fn what_a_kit_has_begun_goes_on_in_the_next_runtime() {
    let rule = |name: &'static str| {
        move |seen: &Seen| match seen.path.rsplit('/').next() {
            Some("Check") => Reply::ok([8, 1].as_slice()),
            _ => says(name),
        }
    };
    let peers = tokio::runtime::Runtime::new().unwrap();
    let listen = async |name| Peer::answering(rule(name)).listen_tcp().await.unwrap();
    let (a, b) = peers.block_on(async { (listen("a").await, listen("b").await) });
    let named: TargetName = format!("dns:///orders.internal:{}", a.port()).parse().unwrap();
    let (sender, receiver) = watch::channel(vec![named]);
    let known = Arc::new(AtomicBool::new(false));
    let pool = Pool::builder().insecure().resolver(Late(Arc::clone(&known), a)).watch(receiver);
    let kit = Kit::builder("lab").pool(pool).calls(plain()).health(|checker| checker);
    let kit = kit.build().unwrap();
    let in_a_runtime = |steps: Pin<Box<dyn Future<Output = ()> + '_>>| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(steps);
        assert!(!kit.health().unwrap().is_running());
    };
    let long = Duration::from_secs(60);
    let ready = async || {
        assert!(kit.wait_until_ready(long).await && kit.health().unwrap().is_running());
        let mut client = RawClient::of(ECHO, kit.channel());
        text(client.unary("ping").await.unwrap().into_inner())
    };
    in_a_runtime(Box::pin(async {
        assert!(!kit.wait_until_ready(Duration::from_millis(50)).await, "a lookup that hangs");
    }));
    known.store(true, Ordering::Release);
    in_a_runtime(Box::pin(async { assert_eq!(ready().await, "a") }));
    in_a_runtime(Box::pin(async {
        assert_eq!(ready().await, "a");
        sender.send(vec![b.to_string().parse().unwrap()]).unwrap();
        while kit.members() != [b.to_string()] {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(ready().await, "b");
    }));
    // Nothing of one that was closed.
    in_a_runtime(Box::pin(async { assert!(kit.close(long).await) }));
    in_a_runtime(Box::pin(async { assert!(!kit.wait_until_ready(Duration::ZERO).await) }));
}

/// Hangs for as long as the name is not known.
struct Late(Arc<AtomicBool>, SocketAddr);

impl Resolve for Late {
    fn resolve(&self, _: &str, _: u16) -> Resolving {
        let (known, address) = (self.0.load(Ordering::Acquire), self.1);
        Box::pin(async move {
            if !known {
                core::future::pending::<()>().await;
            }
            Ok(vec![address])
        })
    }
}

/// The system's resolver, on the one name every machine has.
#[tokio::test]
async fn a_name_by_the_systems_resolver() {
    let peer = Peer::new([says("a")]);
    let port = peer.listen_tcp().await.unwrap().port();
    let pool = Pool::builder().insecure().target(format!("dns:///localhost:{port}")).unwrap();
    let service = retrying(3).build_pool(pool).unwrap();
    assert_eq!(calls(&service, 3).await, "aaa");
    let members = service.pool().unwrap().members();
    assert!(members.contains(&format!("127.0.0.1:{port}")), "{members:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_socket_in_the_file_system() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("orders.sock");
    let listener = tokio::net::UnixListener::bind(&path).unwrap();
    let peer = Peer::new([says("a")]);
    let served = peer.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            served.serve(stream);
        }
    });
    let target = format!("unix:{}", path.display());
    let pool = Pool::builder().insecure().target(&target).unwrap();
    let service = plain().build_pool(pool).unwrap();
    assert_eq!(calls(&service, 3).await, "aaa");
    assert_eq!(service.pool().unwrap().members(), [target]);
    assert_eq!(peer.requests()[0].authority.as_deref(), Some("localhost"));
}
