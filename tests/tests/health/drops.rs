//! Every future that is handed out, dropped at every poll: nothing is left, and nothing is broken.

use evenkeel_tests::{drop_at_every_poll, poll_n};
use evenkeel_tonic::health::HealthMode;

use crate::lab::{Lab, err, every, millis, pass, serving, watched};

#[tokio::test(start_paused = true)]
async fn a_one_shot_check_dropped_anywhere_leaves_no_channel_and_no_verdict() {
    for (reply, answer) in [(serving(), true), (err(), false)] {
        let lab = Lab::new(|builder| builder);
        lab.peer("a", [reply]);
        let polls = drop_at_every_poll(
            || lab.checker.check_health("a"),
            async |_| {
                pass(1).await;
                assert_eq!((lab.channels("a").1, lab.net.connections("a")), (0, 0));
            },
        );
        assert!(polls.await > 1);
        assert_eq!((lab.checker.is_healthy("a"), lab.told().len()), (Ok(answer), 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_check_of_a_monitored_target_dropped_anywhere_leaves_its_loop_alone() {
    let (lab, peer) = Lab::asking(1_000, [serving()]);
    pass(1).await;
    drop_at_every_poll(
        || lab.checker.check_health("a"),
        async |_| {
            pass(1).await;
            assert_eq!((lab.channels("a"), lab.net.connections("a")), ((1, 1), 1));
        },
    )
    .await;
    let count = peer.count();
    pass(3_000).await;
    assert_eq!((peer.count() - count, lab.checker.is_healthy("a")), (3, Ok(true)));
}

#[tokio::test(start_paused = true)]
async fn a_stop_dropped_anywhere_has_stopped_once_it_was_polled() {
    for mode in [HealthMode::Check, HealthMode::Watch] {
        for polls in 0..4 {
            let lab =
                Lab::new(|builder| builder.targets(["a", "b"]).policy(every(1_000)).mode(mode));
            let reply = || if mode == HealthMode::Check { serving() } else { watched(&[1]) };
            let peers = [lab.peer("a", [reply()]), lab.peer("b", [reply()])];
            lab.checker.start();
            pass(1_500).await;
            let finished = poll_n(polls, lab.checker.stop()).await.is_some();
            assert_eq!(lab.checker.is_running(), polls == 0, "{mode:?} {polls} {finished}");
            let before: usize = peers.iter().map(|peer| peer.count()).sum();
            pass(10_000).await;
            let after: usize = peers.iter().map(|peer| peer.count()).sum();
            let goes_on = polls == 0 && mode == HealthMode::Check;
            assert_eq!(after > before, goes_on, "{mode:?} {polls}");
            let open = lab.net.connections("a") + lab.net.connections("b");
            assert_eq!(open, if polls == 0 { 2 } else { 0 }, "{mode:?} {polls}");
            // And what was stopped half way starts as a whole.
            lab.checker.start();
            pass(2_000).await;
            assert_eq!(lab.checker.is_healthy("b"), Ok(true));
            assert_eq!(lab.net.connections("b"), 1, "{mode:?} {polls}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn waiting_dropped_anywhere_loses_no_change() {
    let (lab, _peer) = Lab::asking(1_000, [err(), serving(), err(), serving()]);
    drop_at_every_poll(|| lab.checker.wait_until_ready(millis(60_000)), async |_| pass(0).await)
        .await;
    let mut changes = lab.checker.changes();
    for healthy in [true, false, true] {
        while poll_n(1, changes.changed()).await.is_none() {
            pass(10).await;
        }
        assert_eq!(lab.checker.is_healthy("a"), Ok(healthy));
    }
    assert_eq!(poll_n(1, changes.changed()).await, None, "and none is made up");
}
