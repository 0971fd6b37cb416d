//! The end of a client: P18, P19, `close` and its grace.

use core::time::Duration;

use evenkeel_core::BreakerState;
use evenkeel_tests::{RawClient, Reply, drop_at_every_poll};
use evenkeel_tonic::{Closed, cause};
use tonic::{Code, Status};

use crate::lab::{
    CHARGE, ECHO, EXPORT, Lab, busy, opens_after, pass, plain, retrying, says, timed,
};

fn closed(status: &Status) -> &Closed {
    assert_eq!(status.code(), Code::Unavailable);
    cause::<Closed>(status).expect("a typed source")
}

#[tokio::test(start_paused = true)]
async fn p18_what_was_closed_is_unusable_and_a_new_one_is_not() {
    let mut lab = Lab::new(&["a", "b"], plain());
    let old = lab.service.clone();
    assert_eq!(lab.calls(2).await, "ab");
    assert!(lab.pool().close(Duration::from_secs(5)).await);
    let mut client = RawClient::of(ECHO, old);
    let failed = client.unary("ping").await.unwrap_err();
    assert_eq!((&*closed(&failed).upstream, closed(&failed).attempts), ("lab", 0));
    assert_eq!(failed.message(), "client is closed: lab");
    assert!(lab.pool().members().is_empty() && lab.pool().is_closed());
    assert!(!lab.pool().wait_until_ready(Duration::from_secs(1)).await);
    // Their connections are gone with it.
    pass(1).await;
    lab.service = plain().build_pool(crate::lab::pool_of(&lab.net, &["a", "b"])).unwrap();
    assert_eq!(lab.calls(2).await, "ab");
}

#[tokio::test(start_paused = true)]
async fn p18_calls_under_way_are_waited_for_and_no_others_begin() {
    let mut lab = Lab::new(&["a"], plain());
    lab.serve_with("a", [says("done").after(Duration::from_secs(3))]);
    let call = lab.call();
    let close = async {
        pass(1_000).await;
        timed(lab.pool().close(Duration::from_secs(60))).await
    };
    let late = async {
        pass(1_500).await;
        lab.call().await
    };
    let (answer, drained, late) = tokio::join!(call, close, late);
    assert_eq!(answer.unwrap(), "done");
    assert_eq!(drained, (true, 2_000));
    closed(&late.unwrap_err());
    assert_eq!(lab.count("a"), 1);
}

/// When the grace is over they end, with all there is.
#[tokio::test(start_paused = true)]
async fn p18_after_the_grace_calls_are_ended() {
    let builder = retrying(3).breaker(opens_after(5)).timeout(Duration::from_secs(600)).unwrap();
    let mut lab = Lab::new(&["a", "b"], builder);
    for name in ["a", "b"] {
        lab.serve_with(name, [Reply::headers().message("1"), Reply::hang()]);
    }
    let mut client = RawClient::of(EXPORT, lab.service.clone());
    let mut stream = client.server_streaming("all").await.unwrap().into_inner();
    stream.message().await.unwrap().unwrap();
    let call = timed(lab.call());
    let close = async {
        pass(1_000).await;
        timed(lab.pool().close(Duration::from_secs(5))).await
    };
    let rest = async { timed(stream.message()).await };
    let ((answer, took), drained, (rest, read)) = tokio::join!(call, close, rest);
    assert_eq!(drained, (false, 5_000));
    let failed = answer.unwrap_err();
    // What became of its attempt is not lost.
    assert_eq!(closed(&failed).attempts, 1);
    assert!(cause::<evenkeel_tonic::TransportError>(&failed).is_some());
    assert_eq!((took, read), (6_000, 6_000));
    assert!(rest.is_err());
    assert_eq!(lab.pool().in_flight(), 0);
}

/// Whatever its method is, and though it may have been executed: it was this side that ended it.
#[tokio::test(start_paused = true)]
async fn p18_calls_that_are_ended_with_the_grace_are_no_verdict() {
    let builder = retrying(3).breaker(opens_after(1)).timeout(Duration::from_secs(600)).unwrap();
    let mut lab = Lab::new(&["a"], builder.retry_streaming());
    let streams = |seen: &evenkeel_tests::Seen| match seen.path.as_str() {
        EXPORT => Reply::headers().message("1"),
        _ => Reply::hang(),
    };
    lab.serve_by("a", streams);
    let mut client = RawClient::of(EXPORT, lab.service.clone());
    let mut stream = client.server_streaming("all").await.unwrap().into_inner();
    stream.message().await.unwrap().unwrap();
    let close = async {
        pass(1_000).await;
        lab.pool().close(Duration::from_secs(5)).await
    };
    let calls = (timed(lab.call_of(CHARGE)), timed(lab.call()), timed(stream.message()));
    let ((charge, _), (echo, took), (rest, _), _) = tokio::join!(calls.0, calls.1, calls.2, close);
    for failed in [charge.unwrap_err(), echo.unwrap_err(), rest.unwrap_err()] {
        assert_eq!(closed(&failed).attempts, 1);
        assert!(cause::<evenkeel_tonic::TransportError>(&failed).is_some());
    }
    assert_eq!(took, 6_000);
    for (method, shown) in &lab.service.circuit_breaker_states()["a:1"] {
        assert_eq!((shown.state, shown.failures), (BreakerState::Closed, 0), "{method}");
    }
}

/// Calls that wait for a connection, for a member or for their next attempt end at once.
#[tokio::test(start_paused = true)]
async fn p19_calls_that_only_wait_end_at_once_and_say_why() {
    let slow = evenkeel_core::Backoff::new(Duration::from_secs(5), Duration::from_secs(5)).unwrap();
    let policy = evenkeel_core::RetryPolicy::DEFAULT.with_backoff(slow);
    let mut lab = Lab::new(&["a"], plain().retry(policy));
    lab.serve_with("a", [busy()]);
    let close = async |lab: &Lab| {
        pass(1_000).await;
        assert!(lab.pool().close(Duration::from_secs(60)).await);
    };
    let ((pausing, took), ()) = tokio::join!(timed(lab.call()), close(&lab));
    let pausing = pausing.unwrap_err();
    assert_eq!((closed(&pausing).attempts, lab.count("a")), (1, 1));
    assert_eq!(took, 1_000);

    let away = Lab::new(&["a"], plain().wait_for_ready(true).breaker(opens_after(1)));
    away.kill("a");
    let ((waiting, took), ()) = tokio::join!(timed(away.call()), close(&away));
    closed(&waiting.unwrap_err());
    assert_eq!(took, 1_000);
    let shown = away.service.circuit_breaker_states()["a:1"][ECHO];
    assert_eq!((shown.state, shown.failures), (BreakerState::Closed, 0));

    let nobody = Lab::tuned(&["a"], plain().wait_for_ready(true), |pool| pool.health_checked());
    let ((waiting, took), ()) = tokio::join!(timed(nobody.call()), close(&nobody));
    closed(&waiting.unwrap_err());
    assert_eq!(took, 1_000);
}

/// A hundred calls race with two who close: each is answered or told, and nothing is left.
#[tokio::test(start_paused = true)]
async fn p19_closing_among_calls_leaves_nothing_behind() {
    for moment in 0..20 {
        let lab = Lab::new(&["a", "b"], retrying(3));
        let calls = (0..100u64).map(|turn| {
            let lab = &lab;
            async move {
                pass(turn % 10).await;
                lab.call().await
            }
        });
        let close = async || {
            pass(moment).await;
            lab.pool().close(Duration::from_millis(2)).await
        };
        let calls = futures_util::future::join_all(calls);
        let (answers, ..) = tokio::join!(calls, close(), close());
        for failed in answers.into_iter().filter_map(Result::err) {
            closed(&failed);
        }
        assert_eq!(lab.pool().in_flight(), 0);
        closed(&lab.call().await.unwrap_err());
    }
}

/// Members that were removed are ended too.
#[tokio::test(start_paused = true)]
async fn a_member_that_drains_is_ended_with_its_pool() {
    let mut lab = Lab::new(&["a"], plain().timeout(Duration::from_secs(600)).unwrap());
    lab.serve("b");
    lab.serve_with("a", [Reply::headers().message("1")]);
    let mut client = RawClient::of(EXPORT, lab.service.clone());
    let mut stream = client.server_streaming("all").await.unwrap().into_inner();
    stream.message().await.unwrap().unwrap();
    lab.pool().set_targets(["b:1".parse().unwrap()]);
    assert_eq!(lab.calls(2).await, "bb");
    let (drained, (rest, took)) =
        tokio::join!(lab.pool().close(Duration::from_secs(2)), timed(stream.message()));
    assert_eq!((drained, rest.is_err(), took), (false, true, 2_000));
    assert_eq!(lab.pool().in_flight(), 0);
}

/// Whoever closes may go away in the middle: the pool is closed all the same.
#[tokio::test(start_paused = true)]
async fn a_close_that_is_dropped_has_closed() {
    let mut lab = Lab::new(&["a"], plain());
    lab.serve_with("a", [says("done").after(Duration::from_secs(3)), says("a")]);
    let call = lab.call();
    let close = async {
        pass(1).await;
        let polls = drop_at_every_poll(
            || lab.pool().close(Duration::from_secs(60)),
            async |polls| assert_eq!(lab.pool().is_closed(), polls > 0),
        );
        polls.await
    };
    let (answer, polls) = tokio::join!(call, close);
    assert_eq!(answer.unwrap(), "done");
    assert!(polls >= 2);
}

#[tokio::test(start_paused = true)]
async fn a_grace_without_end_ends_with_the_last_call() {
    let mut lab = Lab::new(&["a"], plain());
    assert!(lab.pool().wait_until_ready(Duration::MAX).await);
    lab.serve_with("a", [says("done").after(Duration::from_secs(3))]);
    let close = async {
        pass(1_000).await;
        timed(lab.pool().close(Duration::MAX)).await
    };
    let (answer, drained) = tokio::join!(lab.call(), close);
    assert_eq!((answer.unwrap().as_str(), drained), ("done", (true, 2_000)));
    assert!(lab.pool().close(Duration::MAX).await, "a second time, too");
}

#[tokio::test(start_paused = true)]
async fn no_grace_is_none() {
    let mut lab = Lab::new(&["a"], plain());
    lab.serve_with("a", [Reply::hang()]);
    let close = async {
        pass(1).await;
        timed(lab.pool().close(Duration::ZERO)).await
    };
    let ((answer, took), drained) = tokio::join!(timed(lab.call()), close);
    assert_eq!((drained, took), ((false, 0), 1));
    assert!(answer.is_err());
}
