//! Answers that no health service gives: nothing hangs, panics or is taken for good news.

use evenkeel_tests::{Greeting, Last, Peer, Reason, Reply};
use evenkeel_tonic::health::HealthMode;
use tonic::Status;

use crate::lab::{Lab, every, pass, serving, watched};

fn garbage() -> Vec<Reply> {
    vec![
        Reply::ok(vec![0xff; 3]),
        Reply::ok(vec![0x08]),
        Reply::ok(vec![0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01]),
        Reply::ok(vec![0u8; 5_000]),
        Reply::ok(vec![0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f]),
        Reply::headers().half(vec![0x08; 400]).close(),
        Reply::headers().half(vec![0x08; 400]).abort(),
        Reply::headers().half(vec![0x08; 400]).end_without_status(),
        Reply::http(200),
        Reply::http(418),
        Reply::status(Status::ok("no message")),
        Reply::status(Status::unknown("x".repeat(4_000))),
        Reply::status(Status::unavailable("bad")).trailer("grpc-status", "banana"),
        Reply::status(Status::unavailable("bad")).trailer("grpc-status-details-bin", "%%%"),
        Reply::hang().go_away(Last::Before, Reason::ENHANCE_YOUR_CALM).close(),
        Reply::hang().reset(Reason::REFUSED_STREAM),
        Reply::hang().flood(50),
        Reply::hang().abort(),
    ]
}

#[tokio::test(start_paused = true)]
async fn garbage_is_no_good_news_and_the_next_answer_is_read() {
    for mode in [HealthMode::Check, HealthMode::Watch] {
        for reply in garbage() {
            let told = format!("{mode:?} {reply:?}");
            let lab = Lab::new(|builder| builder.targets(["a"]).policy(every(1_000)).mode(mode));
            let good = if mode == HealthMode::Check { serving() } else { watched(&[1]) };
            // Twice, because a refused stream may be sent again below us.
            let peer = lab.peer("a", [reply.clone(), reply]);
            lab.checker.start();
            pass(7_000).await;
            assert_eq!(lab.checker.is_healthy("a"), Ok(false), "{told}");
            peer.replace([good]);
            pass(60_000).await;
            assert_eq!(lab.checker.is_healthy("a"), Ok(true), "{told}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn connections_that_greet_badly_are_failed_checks() {
    for mode in [HealthMode::Check, HealthMode::Watch] {
        for greeting in [Greeting::Close, Greeting::CloseAfterPreface, Greeting::Silent] {
            let lab = Lab::new(|builder| builder.targets(["a"]).policy(every(1_000)).mode(mode));
            let good = if mode == HealthMode::Check { serving() } else { watched(&[1]) };
            let peer = Peer::new([good]).greeting([greeting, greeting, Greeting::Serve]);
            let _peer = peer.listen(&lab.net, "a");
            lab.checker.start();
            pass(5_001).await;
            assert_eq!(lab.checker.is_healthy("a").map(drop), Ok(()), "{mode:?} {greeting:?}");
            assert_eq!(lab.told_of("a").first().map(|told| told.1), Some(false));
            pass(60_000).await;
            assert_eq!(lab.checker.is_healthy("a"), Ok(true), "{mode:?} {greeting:?}");
        }
    }
}
