//! Connections made without a call, replaced, and lost.

use evenkeel_tonic::connect::{self, DialPolicy, State};
use http::Uri;
use tokio::net::TcpListener;
use tokio::time::sleep;
use tower::Service;

use crate::lab::{Mood, Site, UP, call, millis};

#[tokio::test(start_paused = true)]
async fn f125_a_dial_without_a_call_finds_out_and_the_next_call_uses_it() {
    // A member that was down is tried without risking a call on it.
    let site = Site::new(UP);
    let (channel, mut connectivity) = site.channel();
    connectivity.dial();
    connectivity.dial();
    assert!(matches!(connectivity.changed().await, State::Connecting));
    assert!(matches!(connectivity.changed().await, State::Ready));
    call(&channel).await.unwrap();
    assert_eq!((site.served(), site.dials().len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_nobody_uses_is_closed_again() {
    let site = Site::new(UP);
    let (channel, connectivity) = site.channel();
    connectivity.dial();
    sleep(millis(4_999)).await;
    assert!(connectivity.is_ready());
    sleep(millis(2)).await;
    assert!(matches!(connectivity.state(), State::Idle));
    call(&channel).await.unwrap();
    // In use, it stays.
    sleep(millis(60_000)).await;
    assert!(connectivity.is_ready());
    assert_eq!(site.dials().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn dials_without_calls_keep_the_schedule() {
    let site = Site::new(Mood::Refusing);
    let (_channel, connectivity) = site.channel();
    for _ in 0..1_000 {
        connectivity.dial();
        sleep(millis(10)).await;
    }
    assert_eq!(site.dials().len(), 5, "{:?}", site.dials());
}

#[test]
fn a_dial_outside_a_runtime_is_a_failed_one() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (_connector, connectivity) = {
        let _inside = runtime.enter();
        Site::new(UP).connector(Uri::from_static("http://site"), DialPolicy::DEFAULT)
    };
    connectivity.dial();
    assert!(matches!(connectivity.state(), State::TransientFailure(_)));
}

#[tokio::test(start_paused = true)]
async fn a_connection_being_drained_is_replaced_and_its_end_changes_nothing() {
    let site = Site::new(UP);
    let target = Uri::from_static("http://site");
    let (mut connector, connectivity) = site.connector(target.clone(), DialPolicy::DEFAULT);
    let mut drained = connector.call(target.clone()).await.unwrap();
    hear(&mut drained).await;
    let fresh = connector.call(target).await.unwrap();
    assert_eq!(site.dials().len(), 2);
    drop(drained);
    assert!(connectivity.is_ready());
    drop(fresh);
    assert!(!connectivity.is_ready());
}

/// A dial that nobody can want any more is given up, and so is a connection that nobody can come
/// for: the one would take 20 s, the other 5.
#[tokio::test(start_paused = true)]
async fn with_the_last_who_could_want_it_a_dial_ends() {
    for mood in [Mood::Hanging, UP] {
        let site = Site::new(mood);
        let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
        let before = tasks();
        let (channel, connectivity) = site.channel();
        let another = connectivity.clone();
        connectivity.dial();
        sleep(millis(10)).await;
        assert_eq!(site.dials().len(), 1);
        drop((channel, connectivity));
        sleep(millis(10)).await;
        assert!(tasks() > before, "one is still there who may come for it");
        drop(another);
        sleep(millis(10)).await;
        assert_eq!(tasks(), before, "{mood:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_the_channel_ends_the_connection() {
    let site = Site::new(UP);
    let (channel, mut connectivity) = site.channel();
    call(&channel).await.unwrap();
    assert!(connectivity.is_ready());
    drop(channel);
    while connectivity.is_ready() {
        connectivity.changed().await;
    }
    assert!(matches!(connectivity.state(), State::Idle));
}

#[tokio::test]
async fn plain_tcp_reaches_a_listener() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = format!("https://{}", listener.local_addr().unwrap()).parse::<Uri>().unwrap();
    let (mut connector, connectivity) =
        connect::connector(connect::tcp(), target.clone(), DialPolicy::DEFAULT, 1);
    let (connection, accepted) = tokio::join!(connector.call(target), listener.accept());
    assert!(connectivity.is_ready());
    drop((connection.unwrap(), accepted.unwrap()));
    assert!(!connectivity.is_ready());
}

/// Reads until the first bytes have come.
async fn hear(io: &mut (impl hyper::rt::Read + Unpin)) {
    let mut bytes = [0; 64];
    let mut bytes = hyper::rt::ReadBuf::new(&mut bytes);
    core::future::poll_fn(|cx| core::pin::Pin::new(&mut *io).poll_read(cx, bytes.unfilled()))
        .await
        .unwrap();
    assert!(!bytes.filled().is_empty());
}
