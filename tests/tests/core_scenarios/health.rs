//! When a target is asked for its health, and what its answers change: H1 to H26, G79 and G80.

use core::time::Duration;

use evenkeel_core::{
    Answer, Health, HealthChange, HealthPolicy, HealthWatch, Instant, Micros, Unimplemented,
};

use crate::policies::millis;
use crate::probed::{ERR, NONE, NOT, OK, Probed, every, seconds, times};

/// The verdict on a target that has given one answer.
fn verdict_on(answer: Answer, policy: &HealthPolicy) -> Option<bool> {
    let mut health = Health::new();
    health.record(Instant::ZERO, answer, policy);
    health.is_healthy()
}

#[test]
fn h01_only_serving_is_healthy() {
    let verdicts = [OK, NOT, ERR].map(|answer| verdict_on(answer, &HealthPolicy::DEFAULT));
    assert_eq!(verdicts, [Some(true), Some(false), Some(false)]);
    assert_eq!(Health::new().is_healthy(), None, "no evidence is no verdict");
}

#[test]
fn h03_an_explicit_no_proves_the_connection_and_feeds_the_backoff() {
    assert_eq!([OK, NOT, NONE, ERR].map(Answer::proves_connection), [true, true, true, false]);
    let mut probed = Probed::new(every(1_000, 300_000));
    probed.ask(&times(5, NOT));
    assert_eq!(probed.gaps(), [1_000, 2_000, 4_000, 8_000]);
}

#[test]
fn h04_checks_that_fail_together_are_counted_and_told_once() {
    let mut probed = Probed::new(HealthPolicy::DEFAULT);
    (0..5).for_each(|_| probed.record(ERR));
    assert_eq!((probed.health.failures(), probed.changed), (5, vec![(0, false)]));
}

#[test]
fn h05_pauses_double_from_the_interval() {
    let mut probed = Probed::new(every(250, 300_000));
    probed.ask(&times(5, ERR));
    assert_eq!(probed.gaps(), [250, 500, 1_000, 2_000]);
}

#[test]
fn h06_pauses_stay_at_the_cap() {
    let mut probed = Probed::new(every(1_000, 4_000));
    probed.ask(&times(6, ERR));
    assert_eq!(probed.asked, [0, 1_000, 3_000, 7_000, 11_000, 15_000]);
}

#[test]
fn h07_the_default_pauses_of_a_target_that_is_down() {
    let mut probed = Probed::new(HealthPolicy::DEFAULT);
    probed.ask(&times(7, ERR));
    let seconds: Vec<u64> = probed.asked.iter().map(|at| at / 1_000).collect();
    assert_eq!(seconds, [0, 30, 90, 210, 450, 750, 1_050]);
}

#[test]
fn h08_one_good_answer_resets_the_pauses() {
    let mut probed = Probed::new(every(1_000, 300_000));
    probed.ask(&[times(3, ERR), times(3, OK)].concat());
    assert_eq!(probed.asked, [0, 1_000, 3_000, 7_000, 8_000, 9_000]);
    assert_eq!(probed.changed, [(0, false), (7_000, true)]);
}

#[test]
fn h09_only_a_changed_verdict_is_told() {
    let mut probed = Probed::new(every(1_000, 300_000));
    probed.ask(&[times(2, OK), times(2, ERR), times(2, OK)].concat());
    let told: Vec<bool> = probed.changed.iter().map(|(_, healthy)| *healthy).collect();
    assert_eq!(told, [true, false, true]);

    let mut probed = Probed::new(every(1_000, 300_000));
    probed.ask(&times(4, NOT));
    assert_eq!(probed.changed, [(0, false)]);
}

#[test]
fn h21_an_interval_is_exact() {
    let mut probed = Probed::new(every(1_500, 300_000));
    probed.ask(&times(4, OK));
    assert_eq!(probed.asked, [0, 1_500, 3_000, 4_500]);
}

#[test]
fn h22_a_pause_begins_when_the_check_has_ended() {
    let mut probed = Probed::new(every(1_000, 300_000));
    probed.ask(&[(60_000, ERR), (0, ERR)]);
    assert_eq!(probed.asked, [0, 6_000], "given up after 5 s, and 1 s later");
    let start = Instant::from_micros(3);
    assert_eq!(probed.policy.deadline(start).remaining(start), seconds(5));
}

#[test]
fn h23_what_a_missing_health_service_means_is_a_policy() {
    let kit = HealthPolicy::DEFAULT.with_unimplemented(Unimplemented::Unhealthy);
    assert_eq!(verdict_on(NONE, &HealthPolicy::DEFAULT), Some(true));
    assert_eq!(verdict_on(NONE, &kit), Some(false));
}

#[test]
fn h24_a_failing_target_is_never_asked_more_often() {
    let mut probed = Probed::new(every(10_000, 4_000));
    probed.ask(&[times(3, ERR), times(3, OK)].concat());
    assert_eq!(probed.gaps(), [10_000; 5]);
}

#[test]
fn h26_a_clock_that_goes_back_moves_no_schedule() {
    let mut probed = Probed::new(every(1_000, 300_000));
    probed.now = Instant::ZERO + seconds(100);
    probed.ask(&times(1, OK));
    probed.now = Instant::ZERO + seconds(40);
    probed.record(OK);
    assert_eq!(probed.health.due(), Instant::ZERO + seconds(101));
}

/// F132 says the same of three in a row; here both counts, from both sides.
#[test]
fn a_flip_takes_as_many_equal_answers_as_the_policy_says() {
    let mut probed = Probed::new(every(1_000, 0).with_counts(2, 3).unwrap());
    probed.ask(&[(0, ERR), (0, OK), (0, ERR), (0, OK), (0, OK), (0, NOT), (0, ERR), (0, NOT)]);
    assert_eq!(probed.changed, [(0, false), (4_000, true), (7_000, false)]);
}

#[test]
fn wrong_settings_are_refused_by_name() {
    let policy = HealthPolicy::DEFAULT;
    let refused = [
        policy.with_interval(Duration::ZERO),
        policy.with_interval(Duration::MAX),
        policy.with_timeout(Duration::ZERO),
        policy.with_max_backoff(Duration::MAX),
        policy.with_counts(0, 1),
        policy.with_counts(1, 0),
    ];
    let fields = refused.map(|policy| policy.unwrap_err().field());
    assert_eq!(
        fields,
        [
            "health.check_interval",
            "health.check_interval",
            "health.timeout",
            "health.max_backoff",
            "health.rise",
            "health.fall",
        ]
    );
    assert!(policy.with_max_backoff(Duration::ZERO).is_ok(), "it means: never longer");
}

#[test]
fn g79_without_a_health_service_it_is_healthy_for_ever() {
    let (policy, now) = (HealthPolicy::DEFAULT, Instant::from_micros(9));
    let mut watch = HealthWatch::new(1);
    assert_eq!(watch.ended(now, NONE, &policy), Some(HealthChange::Healthy));
    assert_eq!((watch.is_healthy(), watch.due()), (Some(true), Instant::MAX));

    // An unknown service is news about that service: not healthy, and watched on.
    let mut watch = HealthWatch::new(1);
    assert_eq!(watch.message(NOT, &policy), Some(HealthChange::Unhealthy));
    let mut watch = HealthWatch::new(1);
    assert_eq!(watch.ended(now, ERR, &policy), Some(HealthChange::Unhealthy));
    assert!(watch.due() > now && watch.due() < Instant::MAX);

    // The kit's reading of UNIMPLEMENTED: not healthy, and asked again.
    let kit = policy.with_unimplemented(Unimplemented::Unhealthy);
    let mut watch = HealthWatch::new(1);
    assert_eq!(watch.ended(now, NONE, &kit), Some(HealthChange::Unhealthy));
    assert!(watch.due() > now && watch.due() < Instant::MAX);
}

#[test]
fn g80_a_watch_is_opened_again_at_once_after_a_message_and_slower_without() {
    let policy = HealthPolicy::DEFAULT;
    let mut watch = HealthWatch::new(1);
    let mut now = Instant::ZERO + seconds(1);
    watch.message(OK, &policy);
    watch.ended(now, ERR, &policy);
    assert_eq!(watch.due(), now, "at once, after a message");

    for raw in [1_000, 1_600, 2_560, 4_096] {
        watch.ended(now, ERR, &policy);
        assert!(near(raw, watch.due().since(now)), "{raw}");
        now = watch.due();
    }
    for _ in 0..20 {
        watch.ended(now, ERR, &policy);
    }
    assert!(near(120_000, watch.due().since(now)));
    // A message, and not the opening of a stream, begins anew.
    now = watch.due();
    watch.message(NOT, &policy);
    watch.ended(now, ERR, &policy);
    assert_eq!(watch.due(), now);
    watch.ended(now, ERR, &policy);
    assert!(near(1_000, watch.due().since(now)));
}

#[test]
fn a_check_beside_an_open_stream_does_not_speak_against_it() {
    let policy = HealthPolicy::DEFAULT;
    let mut watch = HealthWatch::new(1);
    assert_eq!(watch.checked(OK, &policy), Some(HealthChange::Healthy), "nobody else has spoken");
    assert_eq!(watch.message(OK, &policy), None);
    assert_eq!((watch.checked(ERR, &policy), watch.is_healthy()), (None, Some(true)));
    watch.ended(Instant::ZERO, ERR, &policy);
    assert_eq!(watch.checked(OK, &policy), Some(HealthChange::Healthy), "it is alive again");
    assert_eq!(watch.checked(ERR, &policy), Some(HealthChange::Unhealthy));
}

/// Within 20 %, and no longer than 120 s.
fn near(raw: u64, wait: Micros) -> bool {
    let wait = wait.as_duration();
    millis(raw * 8 / 10) <= wait && wait <= millis(raw * 12 / 10).min(millis(120_000))
}
