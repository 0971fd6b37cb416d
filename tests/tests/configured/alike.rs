//! Whoever said it, a client does the same.

use core::time::Duration;
use std::sync::Arc;

use bytes::Bytes;
use evenkeel_tests::{RawClient, Reply, drain};
use evenkeel_tokio::{Budget, TokioClock, with_budget};
use evenkeel_tonic::core::{BudgetPolicy, Clock, Instant};
use evenkeel_tonic::{Builder, CircuitOpen, cause};
use tonic::{Code, Request, Status};

use crate::lab::{CHARGE, ECHO, EXPORT, Lab, PUT, busy, fails, ok};
use crate::sources::{as_far_as_a_service_config_goes, complete};

/// Everything that differs if any setting does, and that no chance plays a part in.
async fn what_is_counted(builder: fn() -> Builder) -> Vec<String> {
    let mut seen = Vec::new();
    // Codes, and the list of methods.
    for code in [Code::Unavailable, Code::Aborted, Code::NotFound, Code::Internal] {
        for method in [ECHO, PUT, CHARGE] {
            let lab = Lab::new(builder(), [fails(code)]);
            seen.push(format!(
                "{method} {code:?}: {:?} {}",
                lab.code(method).await,
                lab.requests()
            ));
        }
    }
    // Timeouts, and what each attempt is told of them.
    for method in [ECHO, PUT, CHARGE] {
        let lab = Lab::new(builder(), [Reply::hang()]);
        let began = TokioClock.now();
        let code = lab.code(method).await;
        seen.push(format!("{method} hangs: {code:?} {:?} {:?}", took(began), lab.seen()));
    }
    // Wait-for-ready: what comes after the last retry, and while the first attempt may still wait.
    for method in [ECHO, PUT] {
        let lab = Lab::dark(builder(), [ok()]);
        lab.listen_after(700);
        let ended = lab.code(method).await;
        seen.push(format!("{method} waits: {ended:?} {}", lab.requests()));
    }
    // The throttle: retries end when half of the tokens are gone.
    let lab = Lab::new(builder(), [busy()]);
    for _ in 0..5 {
        lab.call(PUT).await.unwrap_err();
        seen.push(format!("{} {:?}", lab.requests(), lab.service.throttle_millitokens()));
    }
    seen
}

/// When attempts start, what opens the breaker, and what is kept of the request's budget.
async fn what_is_timed(builder: fn() -> Builder) -> Vec<String> {
    let mut seen = Vec::new();
    let lab = Lab::new(builder(), [busy()]);
    lab.call(ECHO).await.unwrap_err();
    seen.extend(lab.seen());
    // A wish of two seconds is longer than the longest hint.
    let lab = Lab::new(builder(), [asks_for(2_000), ok()]);
    seen.push(format!("{:?} {}", lab.code(ECHO).await, lab.requests()));
    let lab = Lab::new(builder(), [asks_for(900), ok()]);
    seen.push(format!("{:?} {:?}", lab.code(ECHO).await, lab.seen()));
    // Three of six calls are slow.
    let slow = || ok().after(Duration::from_millis(750));
    let lab = Lab::new(builder(), [ok(), ok(), ok(), slow()]);
    for _ in 0..7 {
        seen.push(match lab.call(ECHO).await {
            Ok(_) => "answered".into(),
            Err(refused) => {
                let open = cause::<CircuitOpen>(&refused).unwrap();
                format!("open for {}", open.retry_at.since(TokioClock.now()))
            }
        });
    }
    // 500 ms of budget, 200 of which are kept.
    let budget = Budget::new(Duration::from_millis(500), BudgetPolicy::DEFAULT).unwrap();
    let lab = Lab::new(builder(), [Reply::hang()]);
    let began = TokioClock.now();
    with_budget(Some(Arc::new(budget)), lab.call(ECHO)).await.unwrap_err();
    seen.push(format!("{:?} {:?}", took(began), lab.seen()));
    seen
}

/// `UNAVAILABLE`, and a wish to be left alone for so many milliseconds.
fn asks_for(millis: u32) -> Reply {
    busy().header("grpc-retry-pushback-ms", millis.to_string())
}

/// What is kept: requests for another attempt, breakers for another call, and what is left out of
/// either.
async fn what_is_kept(builder: fn() -> Builder) -> Vec<String> {
    let mut seen = Vec::new();
    for length in [1_000, 2_000] {
        let lab = Lab::new(builder(), [busy()]);
        let request = Request::new(Bytes::from(vec![0; length]));
        RawClient::of(ECHO, lab.service.clone()).unary(request).await.unwrap_err();
        seen.push(format!("{length} bytes: {}", lab.requests()));
    }
    let broken = Reply::headers().message("1").end(Status::unavailable("gone"));
    let lab = Lab::new(builder(), [broken, ok()]);
    let stream = RawClient::of(EXPORT, lab.service.clone()).server_streaming("all").await.unwrap();
    seen.push(format!("{:?} {}", drain(stream.into_inner()).await.0, lab.requests()));
    // Headers, and a failure in the trailers.
    let lab = Lab::new(builder(), [Reply::headers().end(Status::unavailable("late")), ok()]);
    seen.push(format!("late: {:?} {}", lab.code(ECHO).await, lab.requests()));
    // Slices of 200 ms that our own deadline ends, and of 400.
    for left in [200, 400] {
        let lab = Lab::new(builder(), [Reply::hang()]);
        let mut request = Request::new("ping");
        request.set_timeout(Duration::from_millis(left));
        RawClient::of(ECHO, lab.service.clone()).unary(request).await.unwrap_err();
        let states = lab.service.circuit_breaker_states();
        seen.push(format!("{left} ms: {}", states["lab"][ECHO].failures));
    }
    // Three methods in a table for two, and what is left after two idle minutes.
    let lab = Lab::new(builder(), [ok()]);
    for method in [ECHO, PUT, CHARGE] {
        lab.call(method).await.unwrap();
    }
    let known = || lab.service.circuit_breaker_states()["lab"].keys().cloned().collect::<Vec<_>>();
    seen.push(format!("{:?}", known()));
    tokio::time::sleep(Duration::from_secs(121)).await;
    lab.call(ECHO).await.unwrap();
    seen.push(format!("{:?}", known()));
    seen
}

fn took(began: Instant) -> Duration {
    TokioClock.now().since(began).as_duration()
}

#[tokio::test(start_paused = true)]
async fn every_source_makes_the_same_client() {
    let mut sources = complete().into_iter();
    let (_, by_hand) = sources.next().unwrap();
    let (counted, timed) = (what_is_counted(by_hand).await, what_is_timed(by_hand).await);
    let kept = what_is_kept(by_hand).await;
    for (name, source) in sources {
        assert_eq!(what_is_counted(source).await, counted, "{name}");
        assert_eq!(what_is_timed(source).await, timed, "{name}");
        assert_eq!(what_is_kept(source).await, kept, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_config_makes_the_same_client() {
    let [(_, by_hand), (_, by_config)] = as_far_as_a_service_config_goes().try_into().unwrap();
    assert_eq!(what_is_counted(by_config).await, what_is_counted(by_hand).await);
}

/// Were nothing read at all, all sources would be alike too.
#[tokio::test(start_paused = true)]
async fn what_is_compared_is_what_the_policy_says() {
    let (_, by_hand) = complete()[0];
    let counted = what_is_counted(by_hand).await;
    let has = |line: &str| assert!(counted.iter().any(|seen| seen == line), "{line}: {counted:#?}");
    has("/lab.v1.Lab/Echo Unavailable: Unavailable 4");
    has("/lab.v1.Lab/Put Aborted: Aborted 4");
    has("/lab.v1.Lab/Charge Unavailable: Unavailable 1");
    has("/lab.v1.Lab/Echo NotFound: NotFound 1");
    has("/lab.v1.Lab/Echo waits: Ok 1");
    has("/lab.v1.Lab/Put waits: Unavailable 0");
    let timed = what_is_timed(by_hand).await;
    assert!(timed.contains(&"600ms Some(1.4s) 3".to_owned()), "{timed:#?}");
    assert!(timed.contains(&"Unavailable 1".to_owned()), "{timed:#?}");
    assert!(timed.contains(&"open for 10.00s".to_owned()), "{timed:#?}");
    assert_eq!(
        what_is_kept(by_hand).await,
        [
            "1000 bytes: 4",
            "2000 bytes: 1",
            "[b\"1\", b\"pong\"] 2",
            "late: Unavailable 1",
            "200 ms: 0",
            "400 ms: 1",
            "[\"/lab.v1.Lab/Charge\", \"/lab.v1.Lab/Put\"]",
            "[\"/lab.v1.Lab/Echo\"]",
        ]
    );
}
