//! Which connections there are, and for how long: H2, H3, H18, H27.

use evenkeel_tonic::health::HealthChecker;
use std::sync::{Arc, Mutex};

use crate::lab::{Channels, Lab, asked, err, every, millis, not_serving, pass, serving, timed};

#[tokio::test(start_paused = true)]
async fn h02_a_channel_is_used_again_until_a_check_fails() {
    let (lab, peer) = Lab::asking(1_000, [serving(), serving(), serving(), err(), err()]);
    pass(2_500).await;
    assert_eq!((peer.count(), lab.channels("a")), (3, (1, 1)));
    pass(500).await;
    assert_eq!((peer.count(), lab.channels("a")), (4, (1, 0)));
    pass(1_000).await;
    assert_eq!((peer.count(), lab.channels("a")), (5, (2, 0)));
    assert_eq!(lab.net.connections("a"), 0, "and closed on the wire as well");
}

#[tokio::test(start_paused = true)]
async fn h02_checks_that_fail_together_close_their_own_channel_only() {
    let lab = Lab::new(|builder| builder.targets(["a"]).policy(every(60_000)));
    let peer = lab.peer("a", [err().after(millis(10)), err().after(millis(30)), serving()]);
    lab.checker.start();
    pass(1).await;
    // On the first channel, and it fails when the second one is in use.
    let (late, good) = tokio::join!(lab.checker.check_health("a"), async {
        pass(15).await;
        lab.checker.check_health("a").await
    });
    assert_eq!((late.unwrap(), good.unwrap()), (false, true));
    assert_eq!((peer.connections(), lab.channels("a")), (2, (2, 1)));
    pass(1).await;
    assert!(lab.checker.check_health("a").await.unwrap());
    assert_eq!(peer.connections(), 2, "the good one was kept");
}

#[tokio::test(start_paused = true)]
async fn h03_an_explicit_no_keeps_the_channel_and_feeds_the_backoff() {
    let (lab, peer) = Lab::asking(1_000, [not_serving()]);
    pass(15_000).await;
    assert_eq!(asked(&peer), [0, 1_000, 3_000, 7_000, 15_000]);
    assert_eq!((peer.connections(), lab.channels("a")), (1, (1, 1)));
}

#[tokio::test(start_paused = true)]
async fn h18_a_target_that_leaves_takes_its_channel_along() {
    let lab = Lab::new(|builder| builder.targets(["a", "b"]).policy(every(1_000)));
    let (gone, stays) = (lab.peer("a", [serving()]), lab.peer("b", [serving()]));
    lab.checker.start();
    pass(1_500).await;
    assert_eq!((lab.channels("a"), lab.net.connections("a")), ((1, 1), 1));
    assert!(lab.checker.remove("a"));
    pass(1).await;
    assert_eq!((lab.channels("a"), lab.net.connections("a")), ((1, 0), 0));
    pass(300_000).await;
    assert_eq!((gone.count(), stays.count()), (2, 302));
    // Asked out of turn, it is asked on a channel that is closed behind it.
    assert!(lab.checker.check_health("a").await.unwrap());
    assert_eq!(lab.channels("a"), (2, 0));
    pass(1).await;
    assert_eq!(lab.net.connections("a"), 0);
}

/// What a reader sees when the callback runs is what the callback is told.
#[tokio::test(start_paused = true)]
async fn h27_the_channel_goes_first_and_the_callback_is_told_last() {
    type Seen = (bool, Result<bool, ()>, Option<bool>, (usize, usize));
    let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
    let (note, checker) = (Arc::clone(&seen), Arc::new(Mutex::new(None::<HealthChecker>)));
    let (inside, channels) = (Arc::clone(&checker), Channels::default());
    let net = evenkeel_tests::Network::new();
    let count = channels.clone();
    let built = HealthChecker::builder(channels.maker(&net))
        .targets(["a"])
        .policy(every(1_000))
        .on_status_change(move |target, healthy| {
            let checker = inside.lock().unwrap().clone().unwrap();
            let verdict = checker.is_healthy(target).map_err(drop);
            let flag = checker.flag(target).unwrap().is_healthy();
            note.lock().unwrap().push((healthy, verdict, flag, count.count(target)));
        })
        .build();
    *checker.lock().unwrap() = Some(built.clone());
    let _peer = evenkeel_tests::Peer::new([serving(), err(), serving()]).listen(&net, "a");
    let mut changes = built.changes();
    built.start();
    timed(changes.changed()).await;
    pass(2_500).await;
    let expected = [
        (true, Ok(true), Some(true), (1, 1)),
        (false, Ok(false), Some(false), (1, 0)),
        (true, Ok(true), Some(true), (2, 1)),
    ];
    assert_eq!(*seen.lock().unwrap(), expected);
    *checker.lock().unwrap() = None;
}
