//! The same over the operating system's sockets: no connector of ours, no virtual clock, and so
//! nothing is measured.

use core::time::Duration;

use evenkeel_tests::{Peer, RawClient};
use evenkeel_tonic::{Pool, Resilient};
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
