//! Watching instead of asking (gRFC A17): G78 to G80.

use evenkeel_tests::{Dial, Peer, Reply};
use evenkeel_tonic::core::{HealthPolicy, Unimplemented};
use evenkeel_tonic::health::HealthMode;
use tonic::Status;

use crate::lab::{Lab, asked, err, millis, pass, says, serving, timed, unimplemented, watched};
use crate::logged::Log;

/// A checker that watches `a`, which replies like this to one stream after the other.
fn watching(replies: impl IntoIterator<Item = Reply>) -> (Lab, Peer) {
    with_policy(HealthPolicy::DEFAULT, replies)
}

fn with_policy(policy: HealthPolicy, replies: impl IntoIterator<Item = Reply>) -> (Lab, Peer) {
    let lab = Lab::new(|builder| builder.targets(["a"]).mode(HealthMode::Watch).policy(policy));
    let peer = lab.peer("a", replies);
    lab.checker.start();
    (lab, peer)
}

fn broken() -> Status {
    Status::unavailable("broken")
}

#[tokio::test(start_paused = true)]
async fn g78_a_change_is_known_as_soon_as_it_is_said() {
    let changes = watched(&[1]).wait(millis(700)).message(vec![0x08, 2]).wait(millis(300));
    let (lab, peer) = watching([changes.message(vec![0x08, 1])]);
    let flag = lab.checker.flag("a").unwrap();
    assert!(lab.checker.wait_until_ready(millis(1)).await);
    assert_eq!(flag.is_healthy(), Some(true));
    let mut changes = lab.checker.changes();
    let ((), took) = timed(changes.changed()).await;
    assert_eq!((took, flag.is_healthy()), (700, Some(false)));
    let ((), took) = timed(changes.changed()).await;
    assert_eq!((took, flag.is_healthy()), (300, Some(true)));
    pass(3_600_000).await;
    assert_eq!(lab.told_of("a"), [(0, true), (700, false), (1_000, true)]);
    assert_eq!((peer.count(), lab.channels("a")), (1, (1, 1)), "one stream all the time");
    assert_eq!(peer.requests()[0].path, "/grpc.health.v1.Health/Watch");
    assert_eq!(peer.requests()[0].timeout(), None, "a watch has no deadline");
}

#[tokio::test(start_paused = true)]
async fn g79_without_a_health_service_it_is_healthy_for_ever() {
    let (log, _guard) = Log::listen();
    let (lab, peer) = watching([unimplemented()]);
    assert!(lab.checker.wait_until_ready(millis(1)).await);
    pass(24 * 3_600_000).await;
    assert_eq!((lab.checker.is_healthy("a"), peer.count()), (Ok(true), 1));
    assert_eq!((log.about("no health service"), lab.channels("a")), (1, (1, 0)));

    // The kit's reading of it: not healthy, and watched again.
    let kit = HealthPolicy::DEFAULT.with_unimplemented(Unimplemented::Unhealthy);
    let (lab, peer) = with_policy(kit, [unimplemented()]);
    pass(10_000).await;
    assert_eq!(lab.checker.is_healthy("a"), Ok(false));
    assert!(peer.count() > 2);
}

#[tokio::test(start_paused = true)]
async fn g79_an_unknown_service_is_not_healthy_and_watched_on() {
    // As the protocol says it: a message on a stream that stays.
    let (lab, peer) = watching([watched(&[3]).wait(millis(500)).message(vec![0x08, 1])]);
    pass(10_000).await;
    assert_eq!((lab.told_of("a"), peer.count()), (vec![(0, false), (500, true)], 1));
    // As tonic-health says it: a status.
    let not_found = Reply::status(Status::not_found("service not registered"));
    let (lab, peer) = watching([not_found.clone(), not_found, watched(&[1])]);
    pass(10_000).await;
    assert_eq!((lab.checker.is_healthy("a"), peer.count()), (Ok(true), 3));
}

#[tokio::test(start_paused = true)]
async fn g80_after_a_message_at_once_and_without_one_slower_and_slower() {
    let breaks = watched(&[1]).wait(millis(100)).end(broken());
    let (lab, peer) = watching([breaks, Reply::hang().reset(evenkeel_tests::Reason::CANCEL)]);
    pass(3_600_000).await;
    assert_eq!(lab.told_of("a"), [(0, true), (100, false)]);
    let at = asked(&peer);
    assert_eq!(at[..2], [0, 100], "at once");
    let gaps: Vec<u64> = at[1..].windows(2).map(|pair| pair[1] - pair[0]).collect();
    for (gap, raw) in gaps.iter().zip([1_000.0, 1_600.0, 2_560.0, 4_096.0, 6_553.0, 10_485.0]) {
        let gap = *gap as f64;
        assert!((raw * 0.8..=raw * 1.2 + 1.0).contains(&gap), "{gap} around {raw}");
    }
    assert!(gaps.iter().all(|gap| *gap <= 120_001), "{gaps:?}");
    assert!(gaps.iter().rev().take(5).all(|gap| *gap >= 96_000), "{gaps:?}");
}

#[tokio::test(start_paused = true)]
async fn g80_a_message_and_not_an_open_stream_resets_the_pauses() {
    let opens = || Reply::headers().wait(millis(10)).end(broken());
    let mut replies: Vec<Reply> = (0..8).map(|_| opens()).collect();
    replies.extend([watched(&[2]).end(broken()), opens(), opens()]);
    let (_lab, peer) = watching(replies);
    pass(600_000).await;
    let at = asked(&peer);
    let gap = |number: usize| at[number + 1] - at[number];
    assert!(gap(7) > 20_000, "the eighth pause is a long one: {at:?}");
    assert_eq!(gap(8), 0, "at once after the message");
    assert!((800..=1_211).contains(&gap(9)), "and then from the beginning: {at:?}");
}

/// A server that says one thing and hangs up, again and again: tonic-health does so when a status
/// is cleared. Each time "at once" would be as fast as the machines can go.
#[tokio::test(start_paused = true)]
async fn a_stream_that_always_ends_is_not_opened_in_a_loop() {
    let (lab, peer) = watching([says(1)]);
    pass(60_000).await;
    assert!((50..=160).contains(&peer.count()), "{} streams in a minute", peer.count());
    assert_eq!(lab.net.connections("a"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_says_nothing_has_failed_after_the_timeout() {
    for silent in [Reply::hang(), Reply::headers()] {
        let (lab, peer) = watching([silent, watched(&[1])]);
        let (ready, took) = timed(lab.checker.wait_until_ready(millis(60_000))).await;
        assert_eq!((ready, took, lab.checker.is_healthy("a")), (true, 5_000, Ok(false)));
        pass(2_000).await;
        assert_eq!((peer.count(), lab.checker.is_healthy("a")), (2, Ok(true)));
        // The first message is what has a time limit; silence after it is a server that is well.
        pass(600_000).await;
        assert_eq!((peer.count(), lab.checker.is_healthy("a")), (2, Ok(true)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_connection_is_not_healthy_and_a_new_one_is_dialled() {
    let (lab, peer) = watching([watched(&[1])]);
    pass(1_000).await;
    lab.net.cut("a");
    pass(1).await;
    assert_eq!(lab.told_of("a"), [(0, true), (1_000, false), (1_000, true)]);
    assert_eq!((peer.connections(), lab.channels("a")), (2, (2, 1)));
    // Nobody there for a while.
    lab.net.on_dial("a", [Dial::Refuse]);
    lab.net.cut("a");
    pass(10_000).await;
    assert_eq!(lab.checker.is_healthy("a"), Ok(false));
    lab.net.on_dial("a", []);
    pass(20_000).await;
    assert_eq!(lab.checker.is_healthy("a"), Ok(true));
}

/// A check beside the stream that is lost on its way must not speak against the stream.
#[tokio::test(start_paused = true)]
async fn a_lost_check_does_not_silence_a_stream() {
    let (lab, peer) = watching([watched(&[1]), err(), serving()]);
    pass(100).await;
    assert!(!lab.checker.check_health("a").await.unwrap());
    assert_eq!((lab.checker.is_healthy("a"), lab.told_of("a")), (Ok(true), vec![(0, true)]));
    assert_eq!(peer.requests()[1].path, "/grpc.health.v1.Health/Check");
}
