//! When targets are asked: H4 to H8, H21, H22, H24 to H26.

use evenkeel_tests::{Dial, Reply};
use evenkeel_tonic::core::HealthPolicy;
use evenkeel_tonic::health::HealthChecker;
use tonic::Status;

use crate::lab::{Lab, asked, err, every, millis, not_serving, pass, serving, timed};

#[tokio::test(start_paused = true)]
async fn h04_checks_that_fail_together_are_told_once() {
    let lab = Lab::new(|builder| builder.targets(["a"]));
    let peer = lab.peer("a", [err().after(millis(10))]);
    let check = || lab.checker.check_health("a");
    let (one, two, three, four, five) = tokio::join!(check(), check(), check(), check(), check());
    assert!([one, two, three, four, five].into_iter().all(|answer| !answer.unwrap()));
    assert_eq!((peer.count(), lab.told_of("a")), (5, vec![(10, false)]));
    // Counted five times: the schedule that begins now is that of a target long down.
    lab.checker.start();
    pass(700_000).await;
    assert_eq!(asked(&peer)[5..], [10, 300_020, 600_030]);
}

#[tokio::test(start_paused = true)]
async fn h05_pauses_double_from_the_interval() {
    let (_lab, peer) = Lab::asking(250, [err()]);
    pass(3_750).await;
    assert_eq!(asked(&peer), [0, 250, 750, 1_750, 3_750]);
}

#[tokio::test(start_paused = true)]
async fn h06_pauses_stay_at_the_cap() {
    let policy = every(1_000).with_max_backoff(millis(4_000)).unwrap();
    let lab = Lab::new(|builder| builder.targets(["a"]).policy(policy));
    let peer = lab.peer("a", [err()]);
    lab.checker.start();
    pass(15_000).await;
    assert_eq!(asked(&peer), [0, 1_000, 3_000, 7_000, 11_000, 15_000]);
}

#[tokio::test(start_paused = true)]
async fn h07_the_default_pauses_of_a_target_that_is_down() {
    let (_lab, peer) = Lab::asking(30_000, [err()]);
    pass(1_050_000).await;
    let seconds: Vec<u64> = asked(&peer).iter().map(|at| at / 1_000).collect();
    assert_eq!(seconds, [0, 30, 90, 210, 450, 750, 1_050]);
}

#[tokio::test(start_paused = true)]
async fn h08_one_good_answer_resets_the_pauses() {
    let (lab, peer) = Lab::asking(1_000, [err(), err(), err(), serving()]);
    pass(9_000).await;
    assert_eq!(asked(&peer), [0, 1_000, 3_000, 7_000, 8_000, 9_000]);
    assert_eq!(lab.told_of("a"), [(0, false), (7_000, true)]);
}

#[tokio::test(start_paused = true)]
async fn h21_an_interval_is_exact() {
    let (_lab, peer) = Lab::asking(1_500, [serving()]);
    pass(6_000).await;
    assert_eq!(asked(&peer), [0, 1_500, 3_000, 4_500, 6_000]);
}

#[tokio::test(start_paused = true)]
async fn h22_a_black_hole_is_given_up_and_a_pause_follows() {
    let lab = Lab::new(|builder| builder.targets(["a"]).policy(every(1_000)));
    lab.net.on_dial("a", [Dial::Hang]);
    lab.checker.start();
    let (ready, took) = timed(lab.checker.wait_until_ready(millis(2_000))).await;
    assert_eq!((ready, took), (false, 2_000));
    pass(4_000).await;
    assert_eq!(lab.told_of("a"), [(5_000, false)]);
    assert_eq!(lab.net.dials("a"), [millis(0), millis(6_000)]);
}

#[tokio::test(start_paused = true)]
async fn h24_a_failing_target_is_never_asked_more_often() {
    let policy = every(10_000).with_max_backoff(millis(4_000)).unwrap();
    let lab = Lab::new(|builder| builder.targets(["a", "b"]).policy(policy));
    let (failing, healthy) = (lab.peer("a", [err()]), lab.peer("b", [serving()]));
    lab.checker.start();
    pass(40_000).await;
    assert_eq!(asked(&failing), [0, 10_000, 20_000, 30_000, 40_000]);
    assert_eq!(asked(&failing), asked(&healthy));
}

#[tokio::test(start_paused = true)]
async fn h25_a_target_that_is_listed_twice_is_asked_once() {
    let lab = Lab::new(|builder| builder.targets(["a", "a"]).targets(["a"]).policy(every(1_000)));
    let peer = lab.peer("a", [serving()]);
    lab.checker.add("a");
    lab.checker.start();
    lab.checker.add("a");
    pass(2_000).await;
    assert_eq!((asked(&peer), lab.told_of("a")), (vec![0, 1_000, 2_000], vec![(0, true)]));
}

/// tokio's clock is monotonic, and nothing here reads another: that a machine is far into its
/// uptime, and was suspended for a day, moves the next check no further than that.
#[tokio::test(start_paused = true)]
async fn h26_a_day_of_suspension_is_one_late_check() {
    let (_lab, peer) = Lab::asking(30_000, [serving()]);
    pass(1_000).await;
    tokio::time::advance(millis(24 * 3_600_000)).await;
    pass(30_000).await;
    let day = 24 * 3_600_000;
    assert_eq!(asked(&peer), [0, day + 1_000, day + 31_000]);
}

/// A slow target, a dead one and a hanging one cost the others nothing.
#[tokio::test(start_paused = true)]
async fn nobody_waits_for_anybody_else() {
    let names = ["slow", "dead", "hanging", "good"];
    let lab = Lab::new(|builder| builder.targets(names).policy(every(1_000)));
    let slow = lab.peer("slow", [serving().after(millis(4_000))]);
    lab.net.on_dial("hanging", [Dial::Hang]);
    let good = lab.peer("good", [serving()]);
    lab.checker.start();
    pass(10_000).await;
    assert_eq!(asked(&good), (0..=10).map(|second| second * 1_000).collect::<Vec<u64>>());
    assert_eq!(asked(&slow), [0, 5_000, 10_000]);
    let dialled = |name: &str| lab.net.dials(name).len();
    assert_eq!((dialled("dead"), dialled("hanging")), (4, 2));
}

#[tokio::test(start_paused = true)]
async fn a_check_out_of_turn_moves_the_next_one() {
    let (lab, peer) = Lab::asking(30_000, [serving()]);
    pass(20_000).await;
    assert!(lab.checker.check_health("a").await.unwrap());
    pass(30_000).await;
    assert_eq!(asked(&peer), [0, 20_000, 50_000]);

    // Also to an earlier time: it is well again, so the long pause is over.
    let (lab, peer) = Lab::asking(30_000, [err(), err(), err(), err(), not_serving(), serving()]);
    pass(460_000).await;
    assert!(lab.checker.check_health("a").await.unwrap());
    pass(30_000).await;
    let seconds: Vec<u64> = asked(&peer).iter().map(|at| at / 1_000).collect();
    assert_eq!(seconds, [0, 30, 90, 210, 450, 460, 490]);
}

/// A thousand targets, and each is asked at its own pace.
#[tokio::test(start_paused = true)]
async fn a_thousand_targets_keep_their_pace() {
    let names: Vec<String> = (0..1_000).map(|number| format!("t{number}")).collect();
    let lab = Lab::new(|builder| builder.targets(names.clone()).policy(every(10_000)));
    for name in names.iter().step_by(10) {
        lab.peer(name, [serving()]);
    }
    lab.checker.start();
    assert!(lab.checker.wait_until_ready(millis(1)).await);
    let healthy = lab.checker.verdicts().into_values().filter(|one| *one == Some(true)).count();
    assert_eq!(healthy, 100);
    pass(70_000).await;
    for (number, name) in names.iter().enumerate() {
        // On one connection all the time, or dialled at 0, 10, 30 and 70 s.
        assert_eq!(lab.net.dials(name).len(), if number % 10 == 0 { 1 } else { 4 }, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_shortest_interval_lets_others_run() {
    let shortest = HealthPolicy::DEFAULT.with_interval(core::time::Duration::from_nanos(1));
    let lab = Lab::new(|builder| builder.targets(["a"]).policy(shortest.unwrap()));
    let peer = lab.peer("a", [Reply::hang().reset(evenkeel_tests::Reason::CANCEL)]);
    lab.checker.start();
    pass(10).await;
    assert!(peer.count() > 1);
    lab.checker.stop().await;
}

/// The same on a clock that moves on by itself, where a pause may be over before it is looked at.
/// On its own thread, so that a loop that lets nobody else run is noticed.
#[test]
fn a_pause_that_is_always_over_lets_others_run() {
    let (done, is_done) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let open = |_: &str| Err::<tonic::transport::Channel, _>(Status::internal("none"));
            let shortest = every(1).with_interval(core::time::Duration::from_nanos(1)).unwrap();
            let shortest = shortest.with_max_backoff(core::time::Duration::ZERO).unwrap();
            let checker = HealthChecker::builder(open).targets(["a"]).policy(shortest).build();
            checker.start();
            for _ in 0..1_000 {
                tokio::task::yield_now().await;
            }
            checker.stop().await;
        });
        done.send(())
    });
    is_done.recv_timeout(core::time::Duration::from_secs(60)).unwrap();
}
