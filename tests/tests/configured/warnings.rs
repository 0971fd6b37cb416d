//! What is said aloud when a client is built of a settings file.

use evenkeel_settings::{ServiceConfig, Settings};
use evenkeel_tests::Listening;
use evenkeel_tests::pb::METHODS;
use evenkeel_tonic::core::RetryPolicy;
use evenkeel_tonic::{Builder, Kit, Pool, Resilient};

fn of(file: &str) -> Builder {
    Resilient::builder().settings(&Settings::from_toml(file).unwrap()).unwrap()
}

fn said(builder: Builder) -> Vec<String> {
    let listening = Listening::begin();
    _ = builder.target("lab").build(()).unwrap();
    listening.take_warnings()
}

#[test]
fn what_looks_wrong_in_a_file_is_said_once() {
    for (file, word) in [
        ("[retry]\nmax_attempts = 5\n[breaker]", "fail_threshold = 5"),
        ("[retry]\nmax_backoff = \"1ms\"", "max_backoff = 1ms"),
        ("[retry]\ncodes = [13]", "INTERNAL"),
        ("[budget.call_caps]\naudit = \"1s\"", "\"audit\""),
        ("[breaker]\nshare = 30", "breaker.share has no effect"),
        ("[timeout]\ndefault = \"none\"\nattempt_timeout = \"1s\"", "attempt_timeout = 1s"),
        ("[timeout]\nattempt_timeout = \"1s\"\n[retry]", "never leads to another attempt"),
        ("[hedging]\ndelay = \"50ms\"", "none is hedged"),
        ("[wait_for_ready]\nrequire_deadline = false", "wait for ever"),
    ] {
        let said = said(of(file));
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains(word) && said[0].contains("upstream=lab"), "{said:?}");
    }
    assert_eq!(said(of("[timeout]\n[retry]\n[breaker]\n[throttle]\n[wait_for_ready]")), [""; 0]);
}

/// The builder knows more than the file: a method table is a list of what may be repeated.
#[test]
fn it_is_the_client_that_is_judged_and_not_the_file() {
    assert_eq!(said(of("[retry]\ncodes = [13]").methods(&METHODS)), [""; 0]);
    let overruled = of("[retry]\nmax_attempts = 5\n[breaker]").retry(RetryPolicy::DEFAULT);
    assert_eq!(said(overruled), [""; 0]);
    let file = "[breaker]\nfail_threshold = 3";
    assert_eq!(said(of(file).retry(RetryPolicy::DEFAULT)).len(), 1);
}

/// Hedges multiply what retries below make of a call as retries do.
#[test]
fn retries_below_hedges_are_warned_about() {
    let hedged = || of("[hedging]\ndelay = \"50ms\"\nmax_attempts = 4").native_retries();
    let said_of_it = said(hedged().methods(&METHODS));
    assert_eq!(said_of_it.len(), 1, "{said_of_it:?}");
    assert!(said_of_it[0].contains("4 × its attempts"), "{said_of_it:?}");
    let unlisted = said(hedged());
    assert!(unlisted.len() == 1 && unlisted[0].contains("none is hedged"), "{unlisted:?}");

    let config = r#"{"methodConfig": [{"name": [{}], "hedgingPolicy": {"maxAttempts": 3}}]}"#;
    let config = ServiceConfig::from_json(config).unwrap();
    let builder = Resilient::builder().methods(&METHODS).service_config(&config);
    let said_of_it = said(builder.native_retries());
    assert!(said_of_it[0].contains("3 × its attempts"), "{said_of_it:?}");
    assert_eq!(said(Resilient::builder().methods(&METHODS).native_retries()), [""; 0]);
}

#[test]
fn limits_for_messages_are_not_enforced_and_that_is_said_once() {
    let config = r#"{"methodConfig": [
        {"name": [{}], "maxRequestMessageBytes": 1000, "maxResponseMessageBytes": 1000},
        {"name": [{"service": "lab.v1.Lab"}], "maxRequestMessageBytes": 2000}]}"#;
    let config = ServiceConfig::from_json(config).unwrap();
    let said_of_it = said(Resilient::builder().service_config(&config).service_config(&config));
    assert_eq!(said_of_it.len(), 2, "{said_of_it:?}");
    for (said, words) in said_of_it.iter().zip([
        "maxRequestMessageBytes in a service config is not followed: set max_encoding_message_size",
        "maxResponseMessageBytes in a service config is not followed: set max_decoding_message_size",
    ]) {
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn the_policies_of_a_service_config_are_judged_too() {
    let retry = r#"{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 5,
        "initialBackoff": "2s", "maxBackoff": "1s", "backoffMultiplier": 1,
        "retryableStatusCodes": ["INTERNAL"]}}]}"#;
    let config = ServiceConfig::from_json(retry).unwrap();
    let said_of_it = said(of("[breaker]").service_config(&config));
    for word in ["max_backoff", "fail_threshold", "INTERNAL"] {
        assert_eq!(said_of_it.iter().filter(|it| it.contains(word)).count(), 1, "{said_of_it:?}");
    }
}

/// Over one channel nobody reads what a file says of members; over a pool, whoever was told to.
#[tokio::test]
async fn sections_about_members_are_for_a_kit() {
    let file = "[health]\n[balancing]\n[channel]\ninsecure = true\ntargets = [\"a:1\"]";
    let settings = Settings::from_toml(file).unwrap();
    let twice = of(file).settings(&settings).unwrap();
    let all = "[channel], [balancing] and [health] have no effect on this client";
    assert!(matches!(&said(twice)[..], [one] if one.contains(all)));
    let one = said(of("[health]"));
    assert!(one[0].contains("message=[health] has no effect"), "{one:?}");

    let plain = || Pool::builder().insecure().target("a:1").unwrap();
    let configured = || Pool::builder().settings(&settings).unwrap();
    for (pool, unused) in [
        (plain(), all),
        (plain().health_checked(), "[channel] and [balancing] have no effect"),
        (configured(), "[health] has no effect"),
        (configured().health_checked(), ""),
    ] {
        let listening = Listening::begin();
        _ = of(file).build_pool(pool).unwrap();
        let said = listening.take_warnings();
        assert_eq!(said.len(), usize::from(!unused.is_empty()), "{said:?}");
        assert!(said.iter().all(|said| said.contains(unused)), "{said:?}");
    }
    let listening = Listening::begin();
    let kit = Kit::builder("lab").calls(Resilient::builder()).settings(&settings).unwrap();
    _ = kit.build().unwrap();
    assert_eq!(listening.take_warnings(), [""; 0]);
}
