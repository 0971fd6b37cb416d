//! What an answer means, and what is known before there is one: H1, H9, H11 to H13, H23, G81.

use evenkeel_tests::Reply;
use evenkeel_tonic::core::{HealthPolicy, Unimplemented};
use tonic::Status;

use crate::lab::{Lab, err, every, millis, not_serving, pass, says, serving, unimplemented};
use crate::logged::Log;

/// The verdict after one answer.
async fn verdict(policy: HealthPolicy, reply: Reply) -> bool {
    let lab = Lab::new(|builder| builder.targets(["a"]).policy(policy));
    lab.peer("a", [reply]);
    lab.checker.start();
    assert!(lab.checker.wait_until_ready(millis(60_000)).await);
    lab.checker.is_healthy("a").unwrap()
}

#[tokio::test(start_paused = true)]
async fn h01_only_serving_is_healthy() {
    let policy = HealthPolicy::DEFAULT;
    assert!(verdict(policy, serving()).await);
    // NOT_SERVING, SERVICE_UNKNOWN, and a number that nobody has defined yet.
    for status in [2, 3, 7, 127] {
        assert!(!verdict(policy, says(status)).await, "{status}");
    }
    // UNKNOWN is the number zero, which is not sent.
    assert!(!verdict(policy, Reply::ok("")).await);
    for odd in [
        err(),
        Reply::status(Status::internal("odd")),
        Reply::status(Status::not_found("no such service")),
        Reply::http(503),
        Reply::hang().close(),
        Reply::hang().reset(evenkeel_tests::Reason::INTERNAL_ERROR),
        Reply::headers().end(Status::ok("and no message")),
        Reply::headers().message(vec![0x08, 1]).end(Status::unavailable("after the message")),
        Reply::headers().message(vec![0x08, 1]).end_without_status(),
        Reply::hang(),
    ] {
        let told = format!("{odd:?}");
        assert!(!verdict(policy, odd).await, "{told}");
    }
}

#[tokio::test(start_paused = true)]
async fn h01_nobody_to_connect_to_is_not_healthy() {
    let lab = Lab::new(|builder| builder.targets(["nobody"]));
    lab.checker.start();
    assert!(lab.checker.wait_until_ready(millis(1)).await);
    assert_eq!(lab.checker.is_healthy("nobody"), Ok(false));
}

#[tokio::test(start_paused = true)]
async fn h09_only_a_changed_verdict_is_told() {
    let replies = [serving(), serving(), err(), not_serving(), serving(), serving()];
    let (lab, _peer) = Lab::asking(1_000, replies);
    pass(20_000).await;
    let told: Vec<bool> = lab.told_of("a").into_iter().map(|(_, healthy)| healthy).collect();
    assert_eq!(told, [true, false, true]);

    let (lab, peer) = Lab::asking(1_000, [serving()]);
    pass(3_500).await;
    assert_eq!((peer.count(), lab.told_of("a")), (4, vec![(0, true)]));
}

#[tokio::test(start_paused = true)]
async fn h11_a_target_that_is_not_monitored_is_not_healthy() {
    let (lab, _peer) = Lab::asking(1_000, [serving()]);
    let stranger = lab.peer("b", [serving()]);
    pass(5_000).await;
    assert_eq!(lab.checker.is_healthy("b"), Ok(false));
    assert_eq!((stranger.count(), lab.net.dials("b").len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn h12_what_never_runs_is_an_error_that_names_the_target() {
    let (log, _guard) = Log::listen();
    let lab = Lab::new(|builder| builder.targets(["a", "b"]));
    let peer = lab.peer("a", [serving()]);
    pass(100_000).await;
    for target in ["a", "b", "c", "a"] {
        let error = lab.checker.is_healthy(target).unwrap_err();
        assert_eq!(&*error.target, target);
        assert!(error.to_string().contains(&format!("of {target}:")), "{error}");
    }
    assert_eq!((peer.count(), log.about("does not run")), (0, 1));
    // A one-shot check is evidence.
    assert!(lab.checker.check_health("a").await.unwrap());
    assert_eq!(lab.checker.is_healthy("a"), Ok(true));
    assert!(lab.checker.is_healthy("b").is_err());
}

#[tokio::test(start_paused = true)]
async fn h13_before_the_first_answer_nothing_is_healthy_or_ready() {
    let (lab, _peer) = Lab::asking(30_000, [serving().after(millis(3_000))]);
    assert!(!lab.checker.wait_until_ready(millis(2_000)).await);
    assert_eq!((lab.now(), lab.checker.is_healthy("a")), (2_000, Ok(false)));
    assert!(lab.checker.wait_until_ready(millis(2_000)).await);
    assert_eq!((lab.now(), lab.checker.is_healthy("a")), (3_000, Ok(true)));
}

#[tokio::test(start_paused = true)]
async fn h23_what_a_missing_health_service_means_is_a_policy() {
    assert!(verdict(HealthPolicy::DEFAULT, unimplemented()).await);
    let kit = HealthPolicy::DEFAULT.with_unimplemented(Unimplemented::Unhealthy);
    assert!(!verdict(kit, unimplemented()).await);
}

/// The checker's half: nothing is healthy on a cold start, and it is ready after the first pass.
#[tokio::test(start_paused = true)]
async fn g81_a_cold_start_is_over_with_the_first_pass() {
    let lab = Lab::new(|builder| builder.targets(["a", "b", "c"]));
    lab.peer("a", [serving().after(millis(10))]);
    lab.peer("b", [err().after(millis(20))]);
    // Of the third there is not even a machine.
    lab.net.on_dial("c", [evenkeel_tests::Dial::Hang]);
    lab.checker.start();
    let verdicts = |lab: &Lab| lab.checker.verdicts().into_values().collect::<Vec<_>>();
    assert_eq!(verdicts(&lab), [None, None, None]);
    assert!(lab.checker.wait_until_ready(millis(5_001)).await);
    assert_eq!((lab.now(), verdicts(&lab)), (5_000, vec![Some(true), Some(false), Some(false)]));
}

#[tokio::test(start_paused = true)]
async fn as_many_answers_flip_it_as_the_policy_says() {
    let policy = every(1_000).with_counts(2, 3).unwrap().with_max_backoff(millis(0)).unwrap();
    let lab = Lab::new(|builder| builder.targets(["a"]).policy(policy));
    let replies =
        [serving(), err(), serving(), err(), err(), serving(), err(), err(), err(), serving()];
    lab.peer("a", replies);
    lab.checker.start();
    pass(30_000).await;
    assert_eq!(lab.told_of("a"), [(0, true), (8_000, false), (10_000, true)]);
}

#[tokio::test(start_paused = true)]
async fn the_service_that_is_asked_about_is_named_and_the_time_is_told() {
    let lab = Lab::new(|builder| builder.targets(["a"]).service("shop.v1.Orders"));
    let peer = lab.peer("a", [serving()]);
    lab.checker.start();
    pass(1).await;
    let seen = &peer.requests()[0];
    assert_eq!(seen.path, "/grpc.health.v1.Health/Check");
    assert_eq!(seen.messages(), [b"\x0a\x0eshop.v1.Orders"]);
    assert_eq!(seen.timeout(), Some(millis(5_000)));
}
