//! Connections made without a call, replaced, and lost.

use core::future::ready;

use evenkeel_tonic::connect::{self, DialError, DialPolicy, State};
use http::Uri;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
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

/// The server had said its settings, so it is in order: the call after it dials at once.
#[tokio::test(start_paused = true)]
async fn a_connection_that_ends_before_it_is_used_is_noticed() {
    let site = Site::new(UP);
    let (channel, connectivity) = site.channel();
    for dials in 1..=20 {
        connectivity.dial();
        sleep(millis(1)).await;
        assert!(connectivity.is_ready());
        site.hang_up();
        sleep(millis(1)).await;
        assert!(matches!(connectivity.state(), State::Idle), "{connectivity:?}");
        assert_eq!((site.served(), site.dials().len()), (0, dials));
    }
    call(&channel).await.unwrap();
    assert_eq!((site.served(), site.dials().len()), (1, 21));
}

/// One that ends without a word is a failed dial, used or not: it would be dialled in a loop.
#[tokio::test(start_paused = true)]
async fn a_server_that_only_accepts_is_dialled_on_schedule_without_calls_too() {
    let site = Site::new(Mood::Closing);
    let (_channel, connectivity) = site.channel();
    for _ in 0..1_000 {
        connectivity.dial();
        sleep(millis(10)).await;
    }
    assert_eq!(site.dials().len(), 5, "{:?}", site.dials());
    let State::TransientFailure(failure) = connectivity.state() else { panic!("{connectivity:?}") };
    assert!(matches!(failure.cause(), DialError::LostEarly { .. }));
}

/// What the server says before anybody reads is read by who comes, to the last byte; also where it
/// is so much that the rest was left where it was.
#[tokio::test(start_paused = true)]
async fn nothing_is_lost_of_what_a_server_says_unasked() {
    for length in [1, 255, 256, 257, 16_384, 16_385, 60_000] {
        let said: Vec<u8> = (0..length).map(|at: u32| at.to_le_bytes()[0] ^ 7).collect();
        let (ours, mut theirs) = tokio::io::duplex(64 * 1024);
        theirs.write_all(&said).await.unwrap();
        let mut once = Some(TokioIo::new(ours));
        let dial = tower::service_fn(move |_: Uri| ready(once.take().ok_or("dialled twice")));
        let target = Uri::from_static("http://site");
        let (mut connector, connectivity) =
            connect::connector(dial, target.clone(), DialPolicy::DEFAULT, 1);
        connectivity.dial();
        sleep(millis(1)).await;
        let mut connection = TokioIo::new(connector.call(target).await.unwrap());
        drop(theirs);
        let mut read = Vec::new();
        connection.read_to_end(&mut read).await.unwrap();
        assert!(read == said, "{} of {length}", read.len());
    }
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
