//! Which member an attempt goes to: P1 to P4, P7 to P9, P11, P13, P14, G85.

use core::time::Duration;

use evenkeel_core::{
    EjectionPolicy, FailurePercentage, OutlierPolicy, RetryPolicy, Strategy, checked,
};
use evenkeel_tests::{RawClient, Reply};
use evenkeel_tonic::{BuildError, Pool};
use tonic::Code;

use crate::lab::{
    CHARGE, ECHO, Lab, busy, code, fails, opens_after, pass, plain, pool_of, retrying, says, spread,
};

#[tokio::test(start_paused = true)]
async fn p01_one_after_the_other() {
    let lab = Lab::new(&["a", "b"], plain());
    assert_eq!(lab.calls(5).await, "ababa");
    let lab = Lab::new(&["a", "b", "c"], plain());
    assert_eq!(lab.calls(6).await, "abcabc");
}

/// However many clients there are, and however short they live.
#[tokio::test(start_paused = true)]
async fn p01_clones_and_request_scoped_clients_share_the_rotation() {
    let lab = Lab::new(&["a", "b", "c"], plain());
    let clone = lab.service.clone();
    let mut answers = String::new();
    for turn in 0..6 {
        // A client for one call, of either clone, and one that is made and never used.
        let service = if turn % 2 == 0 { lab.service.clone() } else { clone.clone() };
        let _unused = RawClient::of(ECHO, service.clone());
        let mut client = RawClient::of(ECHO, service);
        answers.push_str(&crate::lab::text(client.unary("ping").await.unwrap().into_inner()));
    }
    assert_eq!(answers, "abcabc");
}

#[tokio::test(start_paused = true)]
async fn p02_a_target_of_weight_zero_is_left_out() {
    let weights = [("a:1", 100.0), ("b:1", 0.0)];
    let lab = Lab::tuned(&["a", "b"], plain(), |pool| pool.weighted(weights).unwrap());
    assert_eq!(spread(&lab.calls(200).await), [('a', 200)]);
}

#[tokio::test(start_paused = true)]
async fn p02_load_follows_the_weights_and_a_missing_one_is_1() {
    let lab = Lab::tuned(&["a", "b"], plain(), |pool| pool.weighted([("a:1", 3.0)]).unwrap());
    let spread = spread(&lab.calls(2_000).await);
    assert!((1_390..=1_610).contains(&spread[0].1), "{spread:?}");
}

#[test]
fn p03_weights_that_cannot_be_right_are_refused() {
    let refused = |weights: &[(&str, f64)]| {
        let weighted = Pool::builder().weighted(weights.iter().copied());
        weighted.unwrap_err().to_string()
    };
    for weight in [-1.0, -0.001, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e12] {
        assert!(refused(&[("a:1", weight)]).starts_with("balancing.weights: "), "{weight}");
    }
    assert!(refused(&[]).starts_with("balancing.weights: must name a target"));

    let net = evenkeel_tests::Network::new();
    let built = |weights: &[(&str, f64)]| {
        let pool = pool_of(&net, &["a", "b"]).weighted(weights.iter().copied()).unwrap();
        plain().build_pool(pool).unwrap_err().to_string()
    };
    let zeros = built(&[("a:1", 0.0), ("b:1", 0.0)]);
    assert!(zeros.contains("balancing.weights") && zeros.contains("above zero"), "{zeros}");
    let stranger = built(&[("c:1", 1.0)]);
    assert!(stranger.contains("\"c:1\" is none of the targets"), "{stranger}");

    let pool = pool_of(&net, &["a"]).strategy(Strategy::Weighted);
    let refused = plain().build_pool(pool).unwrap_err();
    assert!(matches!(refused, BuildError::Refused { field: "balancing.weights", .. }));
}

#[tokio::test(start_paused = true)]
async fn p04_and_p06_only_members_with_a_good_verdict_are_used() {
    let lab = Lab::tuned(&["a", "b", "c"], plain(), |pool| pool.health_checked());
    lab.pool().set_healthy("a:1", false);
    lab.pool().set_healthy("b:1", true);
    // Nobody has said anything of c.
    assert_eq!(lab.calls(3).await, "bbb");
}

#[tokio::test(start_paused = true)]
async fn p07_a_member_that_is_out_leaves_the_draw_with_its_weight() {
    let weights = [("a:1", 1_000.0), ("b:1", 2.0), ("c:1", 1.0)];
    let lab = Lab::tuned(&["a", "b", "c"], plain(), |pool| {
        pool.weighted(weights).unwrap().health_checked()
    });
    for (member, healthy) in [("a:1", false), ("b:1", true), ("c:1", true)] {
        lab.pool().set_healthy(member, healthy);
    }
    let spread = spread(&lab.calls(3_000).await);
    assert_eq!(spread.len(), 2, "{spread:?}");
    assert!((1_850..=2_150).contains(&spread[0].1), "{spread:?}");
}

#[tokio::test(start_paused = true)]
async fn p08_a_member_that_is_back_is_in_the_same_rotation() {
    let lab = Lab::tuned(&["a", "b", "c"], plain(), |pool| pool.health_checked());
    ["a:1", "b:1", "c:1"].iter().for_each(|member| lab.pool().set_healthy(member, true));
    assert_eq!(lab.calls(3).await, "abc");
    lab.pool().set_healthy("b:1", false);
    assert_eq!(lab.calls(4).await, "acac");
    lab.pool().set_healthy("b:1", true);
    assert_eq!(lab.calls(6).await, "abcabc");
}

#[tokio::test(start_paused = true)]
async fn p09_a_member_that_fails_is_left_alone_for_5_s() {
    for failure in [Code::Unavailable, Code::DeadlineExceeded] {
        let mut lab = Lab::new(&["a", "b", "c"], plain());
        lab.warm_up().await;
        lab.serve_with("b", [fails(failure), says("b")]);
        assert_eq!(lab.calls(3).await, "a!c");
        assert_eq!(lab.calls(4).await, "acac");
        pass(4_990).await;
        assert_eq!(lab.calls(2).await, "ac");
        pass(10).await;
        assert_eq!(lab.calls(3).await, "abc");
    }
}

/// Any other failure is the caller's business.
#[tokio::test(start_paused = true)]
async fn p09_other_failures_take_nobody_out() {
    for failure in [Code::NotFound, Code::Internal, Code::ResourceExhausted, Code::Unknown] {
        let mut lab = Lab::new(&["a", "b"], plain());
        lab.serve_with("b", [fails(failure)]);
        assert_eq!(lab.calls(4).await, "a!a!", "{failure:?}");
    }
}

/// What a caller in a hurry did not wait for says nothing about the member.
#[tokio::test(start_paused = true)]
async fn p09_a_deadline_far_below_what_is_usual_takes_nobody_out() {
    for (hurry, next) in [(99, "ab"), (100, "aa")] {
        let mut lab = Lab::new(&["a", "b"], plain());
        lab.warm_up().await;
        lab.serve_with("b", [Reply::hang(), says("b")]);
        assert_eq!(lab.calls(1).await, "a");
        let mut request = tonic::Request::new("ping");
        request.set_timeout(Duration::from_millis(hurry));
        let mut client = RawClient::of(ECHO, lab.service.clone());
        let late = client.unary(request).await.unwrap_err();
        assert_eq!(late.code(), Code::DeadlineExceeded);
        assert_eq!(lab.calls(2).await, next, "{hurry} ms");
    }
}

/// A quarantine that would leave nobody is none.
#[tokio::test(start_paused = true)]
async fn p09_the_last_one_is_used_whatever_it_did() {
    let mut lab = Lab::new(&["a", "b"], plain());
    lab.serve_with("a", [busy(), busy(), says("a")]);
    lab.serve_with("b", [busy(), says("b")]);
    assert_eq!(lab.calls(2).await, "!!");
    assert_eq!(lab.calls(3).await, "!ba");
}

#[tokio::test(start_paused = true)]
async fn p11_one_of_two_is_killed() {
    let lab = Lab::new(&["a", "b"], plain());
    lab.warm_up().await;
    lab.kill("a");
    let answers = lab.calls(20).await;
    let failed = answers.matches('!').count();
    assert!(failed <= 2, "{answers}");
}

/// With retries nobody notices, also those whose method may not be executed twice: a member that is
/// gone has executed nothing.
#[tokio::test(start_paused = true)]
async fn p11_one_of_two_is_killed_and_nobody_notices() {
    let mut lab = Lab::new(&["a", "b"], retrying(3));
    lab.warm_up().await;
    lab.kill("a");
    assert_eq!(lab.calls(20).await, "b".repeat(20));
    assert_eq!(lab.calls_of(CHARGE, 20).await, "b".repeat(20));
    lab.serve("a");
    pass(10_000).await;
    // The calls that pass it over have it dialled.
    lab.calls(2).await;
    pass(10_000).await;
    lab.calls(2).await;
    pass(1).await;
    assert_eq!(spread(&lab.calls(20).await), [('a', 10), ('b', 10)]);
}

#[tokio::test(start_paused = true)]
async fn p13_a_retry_goes_to_a_member_that_was_not_tried() {
    let off = |pool: evenkeel_tonic::PoolBuilder| pool.outliers(OutlierPolicy::OFF);
    let mut lab = Lab::tuned(&["a", "b", "c"], retrying(3), off);
    lab.serve_with("a", [busy()]);
    lab.serve_with("b", [busy()]);
    assert_eq!(lab.calls(4).await, "cccc");
    let counts = ["a", "b", "c"].map(|name| lab.count(name));
    // They began at a, b, c and a, whatever the retries did in between.
    assert_eq!(counts, [3, 3, 4]);
}

/// When all were tried it begins anew.
#[tokio::test(start_paused = true)]
async fn p13_with_nobody_left_untried_a_retry_goes_to_somebody() {
    let mut lab = Lab::new(&["a", "b"], retrying(5));
    lab.serve_with("a", [busy()]);
    lab.serve_with("b", [busy()]);
    assert_eq!(code(&lab.call().await), Code::Unavailable);
    assert_eq!(lab.count("a") + lab.count("b"), 5);
    assert!(lab.count("a").abs_diff(lab.count("b")) <= 1);
}

#[tokio::test(start_paused = true)]
async fn p14_a_refusal_of_the_breaker_is_no_quarantine() {
    let off = |pool: evenkeel_tonic::PoolBuilder| pool.outliers(OutlierPolicy::DEFAULT);
    let mut lab = Lab::tuned(&["a", "b"], plain().breaker(opens_after(1)), off);
    // Not a code that quarantines, but one that opens the circuit.
    lab.serve_with("a", [fails(Code::Internal), says("a")]);
    assert_eq!(lab.calls(4).await, "!bbb");
    // For another method a is as good as ever.
    assert_eq!(lab.calls_of(CHARGE, 4).await, "abab");
}

#[tokio::test(start_paused = true)]
async fn any_strategy_spreads_over_all() {
    for strategy in [Strategy::Random, Strategy::LeastRequest, Strategy::RoundRobin] {
        let lab = Lab::tuned(&["a", "b", "c", "d"], plain(), |pool| pool.strategy(strategy));
        let spread = spread(&lab.calls(1_000).await);
        assert_eq!(spread.len(), 4, "{strategy:?}: {spread:?}");
        for (name, count) in spread {
            assert!((175..=325).contains(&count), "{strategy:?}: {name} {count}");
        }
    }
}

/// What is in flight counts to the end of the response body.
#[tokio::test(start_paused = true)]
async fn least_request_avoids_who_is_busy() {
    let mut lab = Lab::tuned(&["a", "b"], plain(), |pool| pool.strategy(Strategy::LeastRequest));
    lab.serve_with("a", [Reply::headers().message("a").wait(Duration::from_secs(5)).message("z")]);
    lab.serve("b");
    let mut client = RawClient::of(crate::lab::EXPORT, lab.service.clone());
    let mut streams = Vec::new();
    while lab.count("a") == 0 {
        streams.push(client.server_streaming("all").await.unwrap());
    }
    // Those of b are over when they are read to their end.
    for stream in &mut streams {
        while stream.get_mut().message().await.unwrap().is_some_and(|message| message != "a") {}
    }
    let busy = lab.calls(50).await;
    assert_eq!(busy, "b".repeat(50));
    drop(streams);
    assert_eq!(lab.pool().in_flight(), 0);
    assert!(spread(&lab.calls(50).await).len() == 2 || lab.count("a") > 1);
}

/// More than 85 of 100 is meant, not 85.
#[tokio::test(start_paused = true)]
async fn g85_the_share_of_failures_at_the_limit() {
    const RULE: FailurePercentage = checked!(FailurePercentage::new(85, 1, 50));
    const EJECT: EjectionPolicy =
        EjectionPolicy::DEFAULT.without_success_rate().with_failure_percentage(RULE);
    for (failures, ejected) in [(85, false), (86, true)] {
        let outliers = OutlierPolicy::OFF.with_ejection(EJECT);
        let mut lab =
            Lab::tuned(&["a", "b"], plain().retry(RetryPolicy::OFF), |p| p.outliers(outliers));
        let replies =
            (0..100).map(|n| if n < failures { fails(Code::Internal) } else { says("a") });
        lab.serve_with("a", replies.chain([says("a")]));
        lab.calls(200).await;
        pass(10_000).await;
        let after = lab.calls(10).await;
        assert_eq!(after == "b".repeat(10), ejected, "{failures}: {after}");
        // 30 s, and then it is back.
        pass(30_000).await;
        lab.calls(1).await;
        assert_eq!(spread(&lab.calls(10).await), [('a', 5), ('b', 5)]);
    }
}
