//! Starting, stopping, adding and removing: H14, H15, and what must be left of it.

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Waker};
use std::sync::{Arc, Mutex};

use evenkeel_tests::{Dial, Network, Peer, Reply};
use evenkeel_tonic::core::HealthPolicy;
use evenkeel_tonic::health::{HealthChecker, HealthMode};
use tonic::Status;

use crate::lab::{Channels, Lab, asked, err, every, millis, pass, serving, timed, watched};
use crate::logged::Log;

#[tokio::test(start_paused = true)]
async fn h14_the_last_verdicts_outlive_the_checker() {
    let lab = Lab::new(|builder| builder.targets(["a", "b", "c"]).policy(every(1_000)));
    let peers = [lab.peer("a", [serving()]), lab.peer("b", [err()])];
    lab.net.on_dial("c", [Dial::Hang]);
    lab.checker.start();
    pass(2_500).await;
    lab.checker.stop().await;
    assert_eq!((lab.channels("a").1, lab.channels("c").1), (0, 0));
    let counts = || peers.each_ref().map(|peer| peer.count());
    let before = counts();
    pass(3_600_000).await;
    assert_eq!((counts(), lab.net.connections("a")), (before, 0));
    assert_eq!([lab.checker.is_healthy("a"), lab.checker.is_healthy("b")], [Ok(true), Ok(false)]);
    assert!(lab.checker.is_healthy("c").is_err(), "it had no answer yet, and gets none");
    assert!(!lab.checker.wait_until_ready(millis(60_000)).await);
    assert!(!lab.checker.is_running());
    // Asked by hand it has no channel before and none after.
    assert!(lab.checker.check_health("a").await.unwrap());
    assert_eq!(lab.channels("a").1, 0);
}

/// The user's function that makes channels may do anything, such as stopping the checker.
#[tokio::test(start_paused = true)]
async fn a_channel_that_is_made_while_the_checker_stops_is_not_kept() {
    let (net, channels) = (Network::new(), Channels::default());
    let peer = Peer::new([serving()]).listen(&net, "a");
    let stopped: Arc<Mutex<Option<HealthChecker>>> = Arc::default();
    let (stops, make) = (Arc::clone(&stopped), channels.maker(&net));
    let checker = HealthChecker::builder(move |target: &str| {
        let channel = make(target);
        if let Some(checker) = stops.lock().unwrap().take() {
            let stop = pin!(checker.stop());
            assert!(stop.poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
        channel
    });
    let checker = checker.targets(["a"]).build();
    *stopped.lock().unwrap() = Some(checker.clone());
    checker.start();
    pass(100).await;
    assert_eq!((checker.is_running(), peer.count(), channels.count("a")), (false, 0, (1, 0)));
    assert!(checker.is_healthy("a").is_err());
}

#[tokio::test(start_paused = true)]
async fn h15_a_second_start_is_ignored_with_a_warning() {
    let (log, _guard) = Log::listen();
    let (lab, peer) = Lab::asking(1_000, [serving()]);
    pass(500).await;
    lab.checker.start();
    pass(2_000).await;
    assert_eq!((asked(&peer), log.about("runs already")), (vec![0, 1_000, 2_000], 1));
    // One start after a stop is no second one.
    lab.checker.stop().await;
    lab.checker.start();
    assert_eq!(log.about("runs already"), 1);
}

#[tokio::test(start_paused = true)]
async fn after_a_stop_it_starts_again_at_once_and_keeps_what_it_knew() {
    for mode in [HealthMode::Check, HealthMode::Watch] {
        let lab = Lab::new(|builder| builder.targets(["a"]).policy(every(30_000)).mode(mode));
        let check = mode == HealthMode::Check;
        let reply = if check { serving() } else { watched(&[1]) };
        let peer = lab.peer("a", [reply]);
        lab.checker.start();
        pass(100).await;
        lab.checker.stop().await;
        pass(100).await;
        assert_eq!((lab.channels("a"), lab.net.connections("a")), ((1, 0), 0), "{mode:?}");
        lab.checker.start();
        assert_eq!(lab.checker.is_healthy("a"), Ok(true));
        assert!(lab.checker.wait_until_ready(millis(0)).await, "it was, and nothing else is known");
        pass(100).await;
        assert_eq!((asked(&peer), lab.told_of("a")), (vec![0, 200], vec![(0, true)]), "{mode:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn targets_come_and_go_while_it_runs() {
    let (lab, a) = Lab::asking(1_000, [serving()]);
    let b = lab.peer("b", [serving()]);
    pass(500).await;
    let flag = lab.checker.add("b");
    assert_eq!((flag.is_healthy(), lab.checker.is_healthy("b")), (None, Ok(false)));
    assert!(lab.checker.wait_until_ready(millis(1)).await);
    assert_eq!(flag.is_healthy(), Some(true));
    pass(2_000).await;
    assert!(lab.checker.remove("b"));
    assert!(!lab.checker.remove("b"), "it is gone");
    assert_eq!((flag.is_healthy(), lab.checker.is_healthy("b")), (None, Ok(false)));
    pass(10_000).await;
    assert_eq!((asked(&b), a.count()), (vec![500, 1_500, 2_500], 13));

    // Back again, it is a new one.
    let anew = lab.checker.add("b");
    pass(1).await;
    assert_eq!((anew.is_healthy(), flag.is_healthy()), (Some(true), None));
    assert_eq!(lab.told_of("b"), [(500, true), (12_500, true)]);
}

/// What a check says after its target has left, or after a stop, is nobody's verdict.
#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_too_late_is_not_published() {
    let lab = Lab::new(|builder| builder.targets(["a", "b"]));
    for name in ["a", "b"] {
        lab.peer(name, [serving().after(millis(1_000))]);
    }
    lab.checker.start();
    let removes = async {
        pass(500).await;
        lab.checker.remove("a");
        lab.checker.stop().await;
    };
    let (a, b, ()) =
        tokio::join!(lab.checker.check_health("a"), lab.checker.check_health("b"), removes);
    assert_eq!((a.unwrap(), b.unwrap()), (true, true), "but it is an answer to whoever asked");
    assert_eq!(lab.told(), []);
    assert!(lab.checker.is_healthy("a").is_err() && lab.checker.is_healthy("b").is_err());
}

#[tokio::test(start_paused = true)]
async fn the_last_handle_takes_the_tasks_along() {
    for mode in [HealthMode::Check, HealthMode::Watch] {
        let lab = Lab::new(|builder| builder.targets(["a"]).policy(every(1_000)).mode(mode));
        let check = mode == HealthMode::Check;
        let peer = lab.peer("a", [if check { serving() } else { watched(&[1]) }]);
        lab.checker.start();
        pass(1_500).await;
        let count = peer.count();
        let Lab { net, checker, .. } = lab;
        let clone = checker.clone();
        drop(checker);
        pass(1_000).await;
        assert_eq!(peer.count(), count + usize::from(check), "{mode:?}: a clone is the checker");
        drop(clone);
        pass(100_000).await;
        assert_eq!((peer.count(), net.connections("a")), (count + usize::from(check), 0));
    }
}

#[tokio::test(start_paused = true)]
async fn waiting_for_readiness_ends_with_a_stop_and_with_the_last_missing_target() {
    let (lab, _peer) = Lab::asking(1_000, [Reply::hang()]);
    let stops = async {
        pass(300).await;
        lab.checker.stop().await;
    };
    let (waited, ()) = tokio::join!(timed(lab.checker.wait_until_ready(millis(60_000))), stops);
    assert_eq!(waited, (false, 300));

    let (lab, _peer) = Lab::asking(1_000, [Reply::hang()]);
    let removes = async {
        pass(300).await;
        lab.checker.remove("a");
    };
    let (waited, ()) = tokio::join!(timed(lab.checker.wait_until_ready(millis(60_000))), removes);
    assert_eq!(waited, (true, 300), "nobody is missing");
}

/// Asking for any number of strangers by hand leaves a bounded trace.
#[tokio::test(start_paused = true)]
async fn strangers_are_remembered_for_a_while() {
    let lab = Lab::new(|builder| builder.targets(["a"]));
    lab.peer("b", [serving()]);
    assert!(lab.checker.check_health("b").await.unwrap());
    for number in 0..999 {
        assert!(!lab.checker.check_health(&format!("t{number}")).await.unwrap());
    }
    assert_eq!(lab.checker.is_healthy("b"), Ok(true));
    assert!(!lab.checker.check_health("one more").await.unwrap());
    assert!(lab.checker.is_healthy("b").is_err(), "the oldest went");
    assert_eq!(lab.checker.is_healthy("t0"), Ok(false));
    assert_eq!(lab.checker.verdicts().len(), 1, "and none of them is monitored");
    assert_eq!(lab.told_of("b"), [(0, true)]);
    // One that is added is monitored from then on, with what is known of it, and stays.
    assert_eq!(lab.checker.add("t0").is_healthy(), Some(false));
    for number in 0..1_001 {
        assert!(!lab.checker.check_health(&format!("u{number}")).await.unwrap());
    }
    assert_eq!((lab.checker.verdicts().len(), lab.checker.is_healthy("t0")), (2, Ok(false)));
}

#[test]
fn without_a_runtime_it_can_be_built_and_asked() {
    let open = |_: &str| Err::<tonic::transport::Channel, _>(Status::internal("none"));
    let checker = HealthChecker::builder(open).targets(["a"]).policy(HealthPolicy::DEFAULT).build();
    assert!(checker.is_healthy("a").is_err());
    let target: Arc<str> = "b".into();
    checker.add(target);
    assert_eq!(checker.verdicts().len(), 2);
    assert!(format!("{checker:?}").contains("is_running: false"));
}

/// Targets may be added from a thread that knows no runtime, a discovery of the user's own say.
#[tokio::test(start_paused = true)]
async fn targets_may_be_added_from_outside_the_runtime() {
    let (lab, _peer) = Lab::asking(1_000, [serving()]);
    let b = lab.peer("b", [serving()]);
    let checker = lab.checker.clone();
    std::thread::spawn(move || checker.add("b")).join().unwrap();
    pass(500).await;
    assert_eq!((b.count(), lab.checker.is_healthy("b")), (1, Ok(true)));
}
