//! What each part of a config comes to.

use core::time::Duration;

use evenkeel_core::{
    Backoff, CallPolicy, Code, CodeSet, Jitter, Micros, RetryPolicy, ThrottlePolicy,
};
use evenkeel_settings::{LoadBalancing, ServiceConfig};

use crate::{for_all, read, retry};

#[test]
fn a_retry_policy_is_the_cores() {
    let millis = Duration::from_millis;
    let backoff = Backoff::new(millis(100), millis(1_000))
        .and_then(|backoff| backoff.with_multiplier(2_000))
        .and_then(|backoff| backoff.with_jitter(Jitter::Proportional(200)))
        .unwrap();
    let policy = RetryPolicy::DEFAULT
        .with_backoff(backoff)
        .with_codes(CodeSet::of(&[Code::Unavailable]))
        .with_max_attempts(4)
        .unwrap();
    let config = read(&retry("", ""));
    assert_eq!(config.method("/a.B/C").unwrap().retry(), Some(&policy));
    assert_eq!(config.call_policy("/a.B/C"), CallPolicy::DEFAULT.unbounded().with_retry(policy));
}

#[test]
fn a_hedging_policy_is_the_cores() {
    let json = for_all(
        r#""hedgingPolicy": {"maxAttempts": 7, "hedgingDelay": "0.05s",
            "nonFatalStatusCodes": ["unavailable", 8]}"#,
    );
    let config = read(&json);
    let method = config.method("/a.B/C").unwrap();
    let hedging = method.hedging().unwrap();
    assert_eq!((hedging.delay(), method.retry()), (Duration::from_millis(50), None));
    assert_eq!(hedging.policy().max_attempts(), 5);
    assert_eq!(hedging.policy().codes(), CodeSet::RETRYABLE);
    let unbounded = CallPolicy::DEFAULT.unbounded();
    assert_eq!(config.call_policy("/a.B/C"), hedging.hedged(unbounded));
    // A6's own defaults: all at once, and every failure is fatal.
    let config = read(&for_all(r#""hedgingPolicy": {"maxAttempts": 2}"#));
    let hedging = config.method("/a.B/C").unwrap().hedging().unwrap();
    assert_eq!((hedging.delay(), hedging.policy().codes()), (Duration::ZERO, CodeSet::EMPTY));
}

#[test]
fn spans_are_protobufs() {
    let timeout = |span: &str| {
        let config = ServiceConfig::from_json(&for_all(&format!(r#""timeout": {span}"#)));
        config.map(|config| config.call_policy("/a.B/C").timeout().as_micros())
    };
    let right = [
        (r#""1s""#, 1_000_000),
        (r#""1.5s""#, 1_500_000),
        (r#""0.000001s""#, 1),
        (r#""1.000000001s""#, 1_000_000),
        // What is not zero never becomes zero.
        (r#""0.000000001s""#, 1),
        (r#""281474976.710655s""#, (1 << 48) - 1),
        (r#""01s""#, 1_000_000),
    ];
    for (span, micros) in right {
        assert_eq!(timeout(span), Ok(micros), "{span}");
    }
    for wrong in [
        "1",
        "1.5",
        r#""1""#,
        r#""1ms""#,
        r#""1m""#,
        r#""-1s""#,
        r#""0s""#,
        r#"".5s""#,
        r#""1.s""#,
        r#""1.0000000001s""#,
        r#""1e3s""#,
        r#"" 1s""#,
        r#""1 s""#,
        r#""s""#,
        r#""""#,
        r#""nans""#,
        r#""281474976.710656s""#,
        r#""315576000000s""#,
        r#""99999999999999999999s""#,
        "{}",
        "true",
    ] {
        let refused = timeout(wrong).expect_err(wrong);
        assert_eq!(refused.problems()[0].path(), "methodConfig[0].timeout", "{refused}");
    }
    assert_eq!(timeout("null"), Ok(Micros::MAX.as_micros()), "as if it were not there");
}

#[test]
fn f24_a_throttle_is_read_to_its_bounds() {
    let throttle = |tokens: &str, ratio: &str| {
        let json =
            format!(r#"{{"retryThrottling": {{"maxTokens": {tokens}, "tokenRatio": {ratio}}}}}"#);
        ServiceConfig::from_json(&json).map(|config| config.throttle())
    };
    let right = [
        ("1", "0.1", (1, 100)),
        ("1000", "0.1", (1_000, 100)),
        ("\"10\"", "0.1", (10, 100)),
        ("10", "0.001", (10, 1)),
        ("10", "1", (10, 1_000)),
        // Decimals beyond the third are ignored (A6).
        ("10", "0.5466", (10, 546)),
        ("10", "1e-1", (10, 100)),
    ];
    for (tokens, ratio, (max, thousandths)) in right {
        let expected = ThrottlePolicy::grpc(max, thousandths).unwrap();
        assert_eq!(throttle(tokens, ratio), Ok(Some(expected)), "{tokens} {ratio}");
    }
    for (tokens, ratio) in [
        ("0", "0.1"),
        ("1001", "0.1"),
        ("-1", "0.1"),
        ("10.5", "0.1"),
        ("10", "0"),
        ("10", "0.0009"),
        ("10", "-0.1"),
        ("10", "1e999"),
        ("10", "\"0.1\""),
        ("null", "0.1"),
        ("10", "null"),
    ] {
        assert!(throttle(tokens, ratio).is_err(), "{tokens} {ratio}");
    }
}

#[test]
fn multipliers_keep_three_decimals() {
    let growth = |written: &str| {
        let config = ServiceConfig::from_json(&retry("backoffMultiplier", written));
        config.map(|config| *config.call_policy("/a.B/C").retry().backoff())
    };
    assert_eq!(growth("1.6667"), growth("1.666"));
    assert_ne!(growth("1.667"), growth("1.666"));
    assert!(growth("1").is_ok() && growth("65535").is_ok());
    for wrong in ["0", "0.0001", "0.999", "-2", "65536", "1e999", "1e30", "\"2\"", "true"] {
        assert!(growth(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn the_first_known_balancing_policy_is_taken() {
    let chosen = |list: &str| {
        let json = format!(r#"{{"loadBalancingConfig": {list}}}"#);
        ServiceConfig::from_json(&json).map(|config| config.load_balancing())
    };
    let round_robin = Ok(Some(LoadBalancing::RoundRobin));
    assert_eq!(chosen(r#"[{"round_robin": {}}]"#), round_robin);
    assert_eq!(
        chosen(r#"[{"grpclb": {"a": [1]}}, {"round_robin": {}}, {"pick_first": {}}]"#),
        round_robin
    );
    for (name, policy) in [
        ("pick_first", LoadBalancing::PickFirst),
        ("least_request_experimental", LoadBalancing::LeastRequest),
        ("weighted_round_robin", LoadBalancing::WeightedRoundRobin),
    ] {
        assert_eq!(chosen(&format!(r#"[{{"{name}": {{}}}}]"#)), Ok(Some(policy)));
    }
    for wrong in
        ["[]", r#"[{"grpclb": {}}]"#, r#"[{}]"#, r#"[{"a": 1, "round_robin": {}}]"#, "1", "[1]"]
    {
        assert!(chosen(wrong).is_err(), "{wrong}");
    }
    let old = read(r#"{"loadBalancingPolicy": "ROUND_ROBIN"}"#);
    assert_eq!(old.load_balancing(), Some(LoadBalancing::RoundRobin));
    // The list wins over the name.
    let both =
        r#"{"loadBalancingPolicy": "round_robin", "loadBalancingConfig": [{"pick_first": {}}]}"#;
    assert_eq!(read(both).load_balancing(), Some(LoadBalancing::PickFirst));
}

#[test]
fn the_rest_is_handed_on() {
    let config = read(
        r#"{"healthCheckConfig": {"serviceName": "orders"}, "methodConfig": [
            {"name": [{}], "maxRequestMessageBytes": 1024, "maxResponseMessageBytes": "2048"}]}"#,
    );
    assert_eq!(config.health_service(), Some("orders"));
    let method = config.method("/a.B/C").unwrap();
    assert_eq!(
        (method.max_request_bytes(), method.max_response_bytes()),
        (Some(1_024), Some(2_048))
    );
    assert_eq!(read(r#"{"healthCheckConfig": {}}"#).health_service(), None);
    assert_eq!(config.notes(), []);
}
