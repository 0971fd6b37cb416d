//! Incidents of health checks, through the checker: F121 to F123. What happened is in
//! `docs/incidents.md`.

use evenkeel_tests::{Peer, Reply};
use evenkeel_tonic::health::HealthMode;
use tonic::{Code, Status};

use crate::lab::{Lab, asked, every, pass, says, unimplemented, watched};

/// A checker that has asked or watched one peer for `millis`: the verdict, and what it was asked.
async fn after(mode: HealthMode, replies: Vec<Reply>, millis: u64) -> (Option<bool>, Peer) {
    let lab = Lab::new(|builder| builder.targets(["a"]).policy(every(30_000)).mode(mode));
    let peer = lab.peer("a", replies);
    lab.checker.start();
    pass(millis).await;
    (lab.told_of("a").last().map(|told| told.1), peer)
}

#[tokio::test(start_paused = true)]
async fn f121_no_health_service_is_no_bad_news_and_no_such_service_is() {
    let not_found = Reply::status(Status::new(Code::NotFound, "no such service"));
    for mode in [HealthMode::Check, HealthMode::Watch] {
        let (healthy, peer) = after(mode, vec![unimplemented()], 3_600_000).await;
        assert_eq!(healthy, Some(true), "{mode:?}");
        assert!(mode == HealthMode::Check || peer.count() == 1, "it is watched no more");
        let (healthy, peer) = after(mode, vec![not_found.clone()], 3_600_000).await;
        assert_eq!(healthy, Some(false), "{mode:?}");
        assert!(peer.count() > 10, "{mode:?}: it may come yet");
    }
    // SERVICE_UNKNOWN on a stream, which stays open.
    let (healthy, peer) = after(HealthMode::Watch, vec![watched(&[3])], 3_600_000).await;
    assert_eq!((healthy, peer.count()), (Some(false), 1));
}

#[tokio::test(start_paused = true)]
async fn f122_an_answer_is_read_and_not_only_received() {
    // NOT_SERVING, UNKNOWN, and a number nobody has defined.
    for status in [2, 0, 7] {
        let (healthy, _) = after(HealthMode::Check, vec![says(status)], 1_000).await;
        assert_eq!(healthy, Some(false), "{status}");
        let (healthy, _) = after(HealthMode::Watch, vec![watched(&[status])], 1_000).await;
        assert_eq!(healthy, Some(false), "{status}, watched");
    }
}

#[tokio::test(start_paused = true)]
async fn f123_a_stream_that_opens_and_fails_is_opened_ever_more_slowly() {
    let broken = || Status::unavailable("the stream broke");
    let (_, peer) = after(HealthMode::Watch, vec![Reply::headers().end(broken())], 3_600_000).await;
    let gaps: Vec<u64> = asked(&peer).windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!((800..=1_201).contains(&gaps[0]), "{gaps:?}");
    assert!((25..60).contains(&gaps.len()), "an hour of pauses up to two minutes: {gaps:?}");
    assert!(gaps[12..].iter().all(|gap| *gap >= 96_000), "{gaps:?}");

    // One that speaks first is opened again at once, and then not before a second has passed.
    let (_, peer) = after(HealthMode::Watch, vec![watched(&[1]).end(broken())], 60_000).await;
    assert!((30..=130).contains(&peer.count()), "{} in a minute", peer.count());
}
