//! The connections of members: how many, how they are dialled again, and when they are closed: G86
//! and P20.

use core::time::Duration;

use evenkeel_tests::{Dial, Last, Reason, Reply};
use evenkeel_tonic::Pool;
use evenkeel_tonic::connect::DialPolicy;
use evenkeel_tonic::pool::ChannelOptions;
use tonic::Code;

use crate::lab::{CHARGE, EMPTY, Lab, code, pass, plain, pool_of, retrying, says, spread};

#[tokio::test(start_paused = true)]
async fn a_member_has_one_connection() {
    let lab = Lab::new(&["a", "b"], plain());
    for _ in 0..3 {
        let calls = (0..100).map(|_| lab.call());
        assert!(futures_util::future::join_all(calls).await.iter().all(Result::is_ok));
    }
    for name in ["a", "b"] {
        assert_eq!((lab.peer(name).connections(), lab.net.dials(name).len()), (1, 1));
        assert_eq!(lab.count(name), 150);
    }
}

/// Nothing is dialled before it is needed.
#[tokio::test(start_paused = true)]
async fn a_pool_that_nobody_calls_dials_nobody() {
    let lab = Lab::new(&["a", "b"], plain());
    pass(60_000).await;
    assert!(lab.net.dials("a").is_empty() && lab.net.dials("b").is_empty());
}

#[tokio::test(start_paused = true)]
async fn p20_a_connection_nobody_uses_for_300_s_is_closed_and_made_again() {
    let lab = Lab::new(&["a"], plain());
    assert_eq!(lab.calls(1).await, "a");
    pass(299_000).await;
    assert_eq!(lab.calls(1).await, "a");
    pass(299_000).await;
    assert_eq!((lab.calls(1).await.as_str(), lab.net.dials("a").len()), ("a", 1));
    pass(301_000).await;
    assert_eq!((lab.calls(1).await.as_str(), lab.net.dials("a").len()), ("a", 2));
    assert_eq!(lab.peer("a").connections(), 2);
}

#[tokio::test(start_paused = true)]
async fn p20_another_idle_time_wins_and_none_is_none() {
    let idle = ChannelOptions::DEFAULT.with_idle(Duration::from_secs(120)).unwrap();
    let lab = Lab::tuned(&["a"], plain(), |pool| pool.options(idle));
    lab.calls(1).await;
    pass(121_000).await;
    lab.calls(1).await;
    assert_eq!(lab.net.dials("a").len(), 2);

    let never = ChannelOptions::DEFAULT.without_idle();
    let lab = Lab::tuned(&["a"], plain(), |pool| pool.options(never));
    lab.calls(1).await;
    pass(24 * 3_600_000).await;
    lab.calls(1).await;
    assert_eq!(lab.net.dials("a").len(), 1);
    assert!(ChannelOptions::DEFAULT.with_idle(Duration::ZERO).is_err());
}

/// A call of ten minutes is a use.
#[tokio::test(start_paused = true)]
async fn a_connection_with_a_call_is_not_idle() {
    let builder = plain().timeout(Duration::from_secs(3_600)).unwrap();
    let mut lab = Lab::new(&["a"], builder);
    lab.serve_with("a", [says("late").after(Duration::from_secs(900)), says("a")]);
    let late = lab.call();
    assert_eq!(late.await.unwrap(), "late");
    assert_eq!(lab.net.dials("a").len(), 1);
    pass(299_000).await;
    assert_eq!((lab.calls(1).await.as_str(), lab.net.dials("a").len()), ("a", 1));
}

/// 1 s × 1.6 ± 20 % between dials while nobody waits, and from the start again after a success.
#[tokio::test(start_paused = true)]
async fn g86_a_member_that_is_gone_is_dialled_on_its_schedule() {
    let lab = Lab::new(&["a"], plain());
    lab.kill("a");
    for _ in 0..4_000 {
        assert_eq!(code(&lab.call().await), Code::Unavailable);
        pass(5).await;
    }
    let dials = lab.net.dials("a");
    let pauses: Vec<f64> = dials.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect();
    assert!(pauses.len() >= 4, "{pauses:?}");
    for (pause, expected) in pauses.iter().zip([1.0, 1.6, 2.56, 4.096, 6.55]) {
        assert!((expected * 0.8..=expected * 1.2 + 0.01).contains(pause), "{pauses:?}");
    }
}

/// Who is away is dialled in the background, once for each pause; calls do not find it out.
#[tokio::test(start_paused = true)]
async fn g86_a_member_that_is_away_costs_no_call_until_it_is_back() {
    let mut lab = Lab::new(&["a", "b"], plain());
    lab.warm_up().await;
    lab.kill("a");
    assert!(lab.calls(4).await.matches('!').count() <= 1);
    for _ in 0..60 {
        assert_eq!(lab.calls(2).await, "bb");
        pass(500).await;
    }
    let dials = lab.net.dials("a").len();
    assert!((4..=8).contains(&dials), "30 s are a handful of pauses, not {dials}");
    lab.serve("a");
    // The longest pause that may be under way, and its end.
    for _ in 0..40 {
        lab.calls(2).await;
        pass(500).await;
    }
    assert_eq!(spread(&lab.calls(20).await), [('a', 10), ('b', 10)]);
}

#[tokio::test(start_paused = true)]
async fn g86_the_schedule_is_a_setting() {
    let dial = DialPolicy::new(Duration::from_secs(10), Duration::from_secs(10)).unwrap();
    let options = ChannelOptions::DEFAULT.with_dial(dial);
    let lab = Lab::tuned(&["a"], plain(), |pool| pool.options(options));
    lab.kill("a");
    for _ in 0..100 {
        assert_eq!(code(&lab.call().await), Code::Unavailable);
        pass(100).await;
    }
    assert!(lab.net.dials("a").len() <= 2, "{:?}", lab.net.dials("a"));
}

/// A member that does not answer the dial is passed over while others are there.
#[tokio::test(start_paused = true)]
async fn a_black_hole_costs_one_call_its_time_and_no_more() {
    let lab = Lab::new(&["a", "b"], plain());
    lab.net.on_dial("a", [Dial::Hang]);
    let stuck = lab.call();
    let others = async {
        pass(1).await;
        lab.calls(10).await
    };
    let (stuck, others) = tokio::join!(stuck, others);
    assert_eq!(code(&stuck), Code::DeadlineExceeded);
    assert_eq!(others, "b".repeat(10));
}

/// The pings of a connection that was cut without a word end its calls.
#[tokio::test(start_paused = true)]
async fn a_cable_that_was_pulled_is_found_out_by_keepalive() {
    let mut lab = Lab::new(&["a", "b"], retrying(2).timeout(Duration::from_secs(300)).unwrap());
    lab.warm_up().await;
    lab.serve_with("a", [Reply::hang()]);
    lab.net.freeze("a");
    let (answer, took) = crate::lab::timed(lab.call()).await;
    // 30 s without a word, 10 s for the answer to a ping.
    assert_eq!(answer.unwrap(), "b");
    assert!((39_000..=41_000).contains(&took), "{took} ms");
}

/// Servers take offence at pings without calls, so there are none: nobody finds out that the cable
/// was pulled, until somebody calls.
#[tokio::test(start_paused = true)]
async fn a_connection_without_calls_is_not_pinged() {
    let lab = Lab::new(&["a"], retrying(2).timeout(Duration::from_secs(300)).unwrap());
    lab.warm_up().await;
    lab.net.freeze("a");
    pass(290_000).await;
    assert_eq!((lab.net.connections("a"), lab.net.dials("a").len()), (1, 1));
    let (answer, took) = crate::lab::timed(lab.call()).await;
    assert_eq!((answer.unwrap().as_str(), lab.net.dials("a").len()), ("a", 2));
    assert!((9_000..=41_000).contains(&took), "{took} ms");
}

/// gRFC A8: whoever is asked to ping less does so.
#[tokio::test(start_paused = true)]
async fn a_server_that_asks_for_calm_is_pinged_half_as_often() {
    let mut lab = Lab::new(&["a"], plain().timeout(Duration::from_secs(600)).unwrap());
    for expected in [40_000, 70_000, 130_000] {
        lab.serve_with("a", [Reply::hang()]);
        let call = lab.call();
        let pulled = async {
            pass(1).await;
            lab.net.freeze("a");
        };
        let ((failed, took), ()) = tokio::join!(crate::lab::timed(call), pulled);
        assert_eq!(code(&failed), Code::Unavailable);
        assert!((expected - 100..=expected + 100).contains(&took), "{took} ms, not {expected}");
        // A minute later it is back, and complains.
        pass(120_000).await;
        let calm = Reply::hang().go_away(Last::Before, Reason::ENHANCE_YOUR_CALM);
        lab.serve_with("a", [calm, says("a")]);
        assert!(lab.call().await.is_err());
        assert_eq!(lab.calls(1).await, "a");
    }
}

/// Once for the connection, however many calls it refused, and whatever has become of them since.
#[tokio::test(start_paused = true)]
async fn a_server_that_asks_for_calm_asks_once_for_a_connection() {
    for builder in [plain(), retrying(2)] {
        let mut lab = Lab::new(&["a"], builder.timeout(Duration::from_secs(600)).unwrap());
        let calm = Reply::hang().wait(Duration::from_millis(1));
        let calm = calm.go_away(Last::Before, Reason::ENHANCE_YOUR_CALM);
        lab.serve_with("a", [calm, Reply::hang(), Reply::hang(), says("a")]);
        futures_util::future::join_all((0..3).map(|_| lab.call_of(CHARGE))).await;
        assert_eq!((lab.calls(1).await.as_str(), lab.net.dials("a").len()), ("a", 2));
        lab.serve_with("a", [Reply::hang()]);
        let pulled = async {
            pass(1).await;
            lab.net.freeze("a");
        };
        let call = crate::lab::timed(lab.call_of(CHARGE));
        let ((failed, took), ()) = tokio::join!(call, pulled);
        assert_eq!(code(&failed), Code::Unavailable);
        assert!((69_900..=70_100).contains(&took), "{took} ms: half as often, and no less");
    }
}

#[test]
fn what_cannot_be_right_is_refused_and_named() {
    let net = evenkeel_tests::Network::new();
    let says =
        |pool: evenkeel_tonic::PoolBuilder| plain().build_pool(pool).unwrap_err().to_string();
    assert_eq!(says(pool_of(&net, &[])), EMPTY);
    let both = pool_of(&net, &["a"]).tls(evenkeel_tonic::pool::Tls::new());
    assert!(says(both).starts_with("channel.insecure: must not be combined with TLS"));
    let refused = Pool::builder().target("orders").unwrap_err().to_string();
    assert!(refused.contains("\"orders\": has no port"), "{refused}");
    let refused = Pool::builder().targets(["a:1", "http://b:1"]).unwrap_err().to_string();
    assert!(refused.contains("http://b:1"), "{refused}");
    for (interval, timeout) in [(9_999, 1), (0, 1), (u64::MAX, 1), (10_000, 0), (10_000, u64::MAX)]
    {
        let options = ChannelOptions::DEFAULT
            .with_keepalive(Duration::from_millis(interval), Duration::from_millis(timeout));
        assert!(options.unwrap_err().field().starts_with("channel.keepalive_"));
    }
    let twice = Pool::of([("a", ()), ("a", ())]);
    assert!(plain().build_pool(twice).unwrap_err().to_string().contains("\"a\" is there twice"));
    assert!(plain().build_pool(Pool::of(Vec::<(String, ())>::new())).is_err());
}
