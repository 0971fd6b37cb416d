//! What a service config changes about a client, and what it leaves alone.

use core::time::Duration;

use evenkeel_settings::ServiceConfig;
use evenkeel_tests::Reply;
use evenkeel_tests::pb::METHODS;
use evenkeel_tonic::core::{RetryPolicy, StopReason};
use evenkeel_tonic::{AllowList, Builder, Resilient, Stopped, cause};
use tonic::Code;

use crate::lab::{CHARGE, ECHO, Lab, PUT, busy, ok};

/// A method, or all of them, with these members in its config.
fn config(name: &str, members: &str) -> ServiceConfig {
    let json = format!(r#"{{"methodConfig": [{{"name": [{name}], {members}}}]}}"#);
    ServiceConfig::from_json(&json).unwrap()
}

fn retries(attempts: u8) -> String {
    format!(
        r#""retryPolicy": {{"maxAttempts": {attempts}, "initialBackoff": "0.01s",
            "maxBackoff": "0.01s", "backoffMultiplier": 1, "retryableStatusCodes": [14]}}"#
    )
}

/// How many requests a call of `method` makes of a peer that is never available.
async fn requests(builder: Builder, method: &'static str) -> usize {
    let lab = Lab::new(builder, [busy()]);
    lab.call(method).await.unwrap_err();
    lab.requests()
}

#[tokio::test(start_paused = true)]
async fn g01_g02_each_method_has_the_attempts_of_its_own_config() {
    let json = format!(
        r#"{{"methodConfig": [
            {{"name": [{{}}], {}}},
            {{"name": [{{"service": "lab.v1.Lab"}}], {}}},
            {{"name": [{{"service": "lab.v1.Lab", "method": "Put"}}], {}}}]}}"#,
        retries(2),
        retries(4),
        retries(9),
    );
    let config = ServiceConfig::from_json(&json).unwrap();
    for (method, attempts) in [(ECHO, 4), (CHARGE, 4), (PUT, 5), ("/a.B/C", 2)] {
        let builder = Resilient::builder().service_config(&config);
        assert_eq!(requests(builder, method).await, attempts, "{method}");
    }
}

#[tokio::test(start_paused = true)]
async fn methods_it_does_not_name_keep_the_builders() {
    let put = config(r#"{"service": "lab.v1.Lab", "method": "Put"}"#, &retries(2));
    let ours = RetryPolicy::DEFAULT.with_max_attempts(3).unwrap();
    let builder = || Resilient::builder().retry(ours).service_config(&put);
    assert_eq!(requests(builder(), ECHO).await, 3);
    assert_eq!(requests(builder(), PUT).await, 2);
    // The order does not matter.
    let builder = || Resilient::builder().service_config(&put).retry(ours);
    assert_eq!(requests(builder(), ECHO).await, 3);
    assert_eq!(requests(builder(), PUT).await, 2);
    // And without ours they are tried once.
    assert_eq!(requests(Resilient::builder().service_config(&put), ECHO).await, 1);
}

/// `Charge` is not declared harmless to repeat, and a config for everybody does not make it so.
#[tokio::test(start_paused = true)]
async fn the_list_of_methods_still_decides_what_is_repeated() {
    let all = config("{}", &retries(3));
    let declared = || Resilient::builder().methods(&METHODS).service_config(&all);
    assert_eq!(requests(declared(), ECHO).await, 3);
    let lab = Lab::new(declared(), [busy()]);
    let failed = lab.call(CHARGE).await.unwrap_err();
    assert_eq!(cause::<Stopped>(&failed).unwrap().reason, StopReason::NotIdempotent);
    assert_eq!(lab.requests(), 1);
    let listed = declared().idempotent(AllowList::new(["Charge*"]).unwrap());
    assert_eq!(requests(listed, CHARGE).await, 3);
    let none = declared().idempotent(AllowList::empty());
    assert_eq!(requests(none, ECHO).await, 1);
}

#[tokio::test(start_paused = true)]
async fn g52_the_shorter_timeout_holds() {
    let second = Duration::from_secs(1);
    for (ours, configured, left) in
        [(None, "2s", 2), (Some(5), "2s", 2), (Some(1), "2s", 1), (Some(2), "2s", 2)]
    {
        let all = config("{}", &format!(r#""timeout": "{configured}""#));
        let mut builder = Resilient::builder().service_config(&all);
        if let Some(ours) = ours {
            builder = builder.timeout(ours * second).unwrap();
        }
        let lab = Lab::new(builder, [Reply::hang()]);
        assert_eq!(lab.code(ECHO).await, Code::DeadlineExceeded);
        let seen = lab.peer.requests();
        assert_eq!(seen[0].timeout(), Some(left * second), "{ours:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn it_says_who_waits_for_a_connection() {
    let waits = r#""timeout": "3s", "waitForReady": true"#;
    let echo = config(r#"{"service": "lab.v1.Lab", "method": "Echo"}"#, waits);
    let lab = Lab::dark(Resilient::builder().service_config(&echo), [ok()]);
    lab.listen_after(500);
    assert_eq!(lab.code(PUT).await, Code::Unavailable);
    assert_eq!(lab.code(ECHO).await, Code::Ok);
    // It wins over the builder's block for the methods it names.
    let fails = config("{}", r#""timeout": "3s", "waitForReady": false"#);
    let lab = Lab::dark(Resilient::builder().wait_for_ready(true).service_config(&fails), [ok()]);
    lab.listen_after(500);
    assert_eq!(lab.code(ECHO).await, Code::Unavailable);
}

#[tokio::test(start_paused = true)]
async fn g23_its_throttle_is_one_for_all_methods() {
    let json = format!(
        r#"{{"methodConfig": [{{"name": [{{}}], {}}}],
            "retryThrottling": {{"maxTokens": 10, "tokenRatio": 0.1}}}}"#,
        retries(4)
    );
    let throttled = ServiceConfig::from_json(&json).unwrap();
    let lab = Lab::new(Resilient::builder().service_config(&throttled), [busy()]);
    lab.call(ECHO).await.unwrap_err();
    assert_eq!((lab.requests(), lab.service.throttle_millitokens()), (4, Some(6_000)));
    lab.call(PUT).await.unwrap_err();
    assert_eq!((lab.requests(), lab.service.throttle_millitokens()), (5, Some(5_000)));
}

#[tokio::test(start_paused = true)]
async fn an_empty_config_changes_nothing() {
    let nothing = ServiceConfig::from_json("{}").unwrap();
    assert_eq!(requests(Resilient::builder().service_config(&nothing), ECHO).await, 1);
    let ours = Resilient::builder().retry(RetryPolicy::DEFAULT).service_config(&nothing);
    assert_eq!(requests(ours, ECHO).await, 3);
}
