//! Incidents of pools: F125 to F127, and F131. What happened is in `docs/incidents.md`.

use core::time::Duration;

use evenkeel_core::Strategy;
use evenkeel_tests::Dial;
use tonic::Code;

use crate::lab::{ECHO, Lab, busy, code, pass, plain, retrying, says, spread, timed};

/// Two members, one of which refuses connections: no call finds that out but the first ones, and
/// nobody has to find out that it is back.
#[tokio::test(start_paused = true)]
async fn f125_a_member_in_its_pause_between_dials_is_chosen_by_nobody() {
    let mut lab = Lab::new(&["a", "b"], plain());
    lab.kill("a");
    lab.calls(2).await;
    let mut answers = String::new();
    for _ in 0..1_000 {
        answers.push_str(&lab.calls(1).await);
        pass(60).await;
    }
    assert_eq!(answers, "b".repeat(1_000));
    lab.serve("a");
    // The pauses of a minute reach 1.6^6 s, and what is under way may be the whole of one.
    let mut waited = 0;
    while !lab.calls(2).await.contains('a') {
        waited += 100;
        assert!(waited < 35_000, "it is not found");
        pass(100).await;
    }
    assert_eq!(spread(&lab.calls(100).await), [('a', 50), ('b', 50)]);
}

/// Members that become ready one after another, and few calls: all are used within a second.
#[tokio::test(start_paused = true)]
async fn f126_members_that_come_late_are_driven_too() {
    for strategy in [Strategy::RoundRobin, Strategy::Random, Strategy::LeastRequest] {
        let names = ["a", "b", "c", "d"];
        let lab = Lab::tuned(&names, plain(), |pool| pool.strategy(strategy));
        for (name, at) in names.iter().zip([10, 20, 30, 40]) {
            lab.net.on_dial(name, [Dial::ConnectAfter(Duration::from_millis(at))]);
        }
        let mut answers = String::new();
        // Sixty in a second: that chance alone leaves one of four out is one in ten million.
        for _ in 0..60 {
            let (answer, took) = timed(lab.call()).await;
            answers.push_str(&answer.unwrap());
            pass(16_u64.saturating_sub(u64::try_from(took).unwrap())).await;
        }
        assert_eq!(spread(&answers).len(), 4, "{strategy:?}: {answers}");
    }
}

/// One fails in a tenth of a millisecond, two succeed in 100 ms: the first draws no traffic, and its
/// failures are not retried on it.
#[tokio::test(start_paused = true)]
async fn f127_who_fails_fast_draws_no_traffic() {
    let least = |pool: evenkeel_tonic::PoolBuilder| pool.strategy(Strategy::LeastRequest);
    let mut lab = Lab::tuned(&["a", "b", "c"], retrying(2), least);
    lab.serve_with("a", [busy().after(Duration::from_micros(100))]);
    for name in ["b", "c"] {
        lab.serve_with(name, [says(name).after(Duration::from_millis(100))]);
    }
    let (callers, rounds) = (8, 100);
    for _ in 0..rounds {
        let calls = futures_util::future::join_all((0..callers).map(|_| lab.call()));
        assert!(calls.await.iter().all(Result::is_ok), "a retry goes to another");
    }
    let share = lab.count("a") * 100 / (callers * rounds);
    assert!(share < 10, "{share} %");
}

/// With none, some or all of four members up: those that are down stay out, and none is an answer
/// and no hang.
#[tokio::test(start_paused = true)]
async fn f131_those_that_are_down_stay_out_however_few_are_left() {
    let names = ["a", "b", "c", "d"];
    for up in 0..=4 {
        let lab = Lab::tuned(&names, plain(), |pool| pool.health_checked());
        for (number, name) in names.iter().enumerate() {
            lab.pool().set_healthy(&format!("{name}:1"), number < up);
        }
        let (answers, took) = timed(lab.calls(8)).await;
        let expected = names[..up].concat().repeat(8);
        assert_eq!(answers, if up == 0 { "!".repeat(8) } else { expected[..8].to_owned() });
        assert_eq!(took, 0, "at once");
    }
    // And a set that empties while calls wait: they end with the last word there is, at the deadline.
    let builder = plain().timeout(Duration::from_secs(3)).unwrap().wait_for_ready(true);
    let lab = Lab::tuned(&names, builder, |pool| pool.health_checked());
    let emptied = async {
        pass(1_000).await;
        names.iter().for_each(|name| lab.pool().set_healthy(&format!("{name}:1"), false));
    };
    let ((answer, took), ()) = tokio::join!(timed(lab.call_of(ECHO)), emptied);
    assert!(matches!(code(&answer), Code::Unavailable | Code::DeadlineExceeded), "{answer:?}");
    assert_eq!(took, 3_000);
}
