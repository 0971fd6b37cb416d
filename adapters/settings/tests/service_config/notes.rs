//! What is skipped, as gRPC does, and said to whoever asks.

use evenkeel_settings::{ServiceConfig, Settings, Warning};

use crate::{for_all, read, retry};

#[test]
fn what_is_not_known_is_skipped_and_said() {
    let config = read(
        r#"{
  "loadBalancingConfig": [{"xds_experimental": {}}, {"round_robin": {}}],
  "methodConfig": [
    {"name": [{"service": "a.B", "extra": 1}], "retryPolicy": {
      "maxAttempts": 6, "initialBackoff": "1s", "maxBackoff": "1s", "backoffMultiplier": 1,
      "retryableStatusCodes": [14], "perAttemptRecvTimeout": "1s"}},
    {"timeout": "1s"},
    {"name": [], "max_request": 1}
  ],
  "healthCheckConfig": {"x": {"y": [1]}},
  "retry_throttling": {}
}"#,
    );
    let notes: Vec<_> = config.notes().iter().map(ToString::to_string).collect();
    let unknown = "is not known here, and skipped";
    let no_name = "is for no method: it has no name";
    assert_eq!(
        notes,
        [
            format!("line 2, column 28: loadBalancingConfig[0].xds_experimental: {unknown}"),
            format!("line 4, column 34: methodConfig[0].name[0].extra: {unknown}"),
            "line 5, column 22: methodConfig[0].retryPolicy.maxAttempts = 6: is used as 5".into(),
            format!(
                "line 6, column 37: methodConfig[0].retryPolicy.perAttemptRecvTimeout: {unknown}"
            ),
            format!("line 7, column 5: methodConfig[1]: {no_name}"),
            format!("line 8, column 5: methodConfig[2]: {no_name}"),
            format!("line 8, column 18: methodConfig[2].max_request: {unknown}"),
            format!("line 10, column 25: healthCheckConfig.x: {unknown}"),
            format!("line 11, column 3: retry_throttling: {unknown}"),
        ]
    );
    assert_eq!(config.call_policy("/a.B/C").retry().max_attempts(), 5);
    assert!(read(&retry("maxAttempts", "5")).notes().is_empty());
}

/// Three attempts of ours, each of which is five of the channel's: fifteen.
#[test]
fn retries_above_retries_are_warned_about() {
    let ours = |json| Settings::from_json(json).unwrap();
    let below = read(&retry("maxAttempts", "5"));
    let stacked = Warning::StackedRetries { max_attempts: 3, below: Some(5) };
    assert_eq!(ours(r#"{"retry": {}}"#).warnings_over(&below), [stacked]);
    let hedged = read(&for_all(r#""hedgingPolicy": {"maxAttempts": 2}"#));
    let stacked = Warning::StackedRetries { max_attempts: 3, below: Some(2) };
    assert_eq!(ours(r#"{"retry": {}}"#).warnings_over(&hedged), [stacked]);
    let hedging = ours(r#"{"hedging": {"delay": "1ms", "max_attempts": 4}}"#);
    let stacked = Warning::StackedRetries { max_attempts: 4, below: Some(5) };
    assert_eq!(hedging.warnings_over(&below), [stacked]);
    for once in ["{}", r#"{"retry": {"max_attempts": 1}}"#] {
        assert_eq!(ours(once).warnings_over(&below), []);
    }
    assert_eq!(ours(r#"{"retry": {}}"#).warnings_over(&read("{}")), []);
}

#[test]
fn what_our_clients_do_otherwise_is_warned_about() {
    for (policy, warnings) in [("pick_first", 1), ("weighted_round_robin", 1), ("round_robin", 0)] {
        let config = read(&format!(r#"{{"loadBalancingConfig": [{{"{policy}": {{}}}}]}}"#));
        assert_eq!(config.warnings().len(), warnings, "{policy}");
    }
    let config = read(&for_all(r#""maxRequestMessageBytes": 1"#));
    let instead = "set max_encoding_message_size of the client";
    let warning = Warning::NotFollowed { path: "maxRequestMessageBytes", instead };
    assert_eq!(config.warnings(), [warning]);
}

/// Through serde a config is the same, but for the places.
#[test]
fn a_config_may_stand_in_another_format() {
    let json = retry("maxAttempts", "9");
    let config: ServiceConfig = serde_json::from_str(&json).unwrap();
    assert_eq!(config.call_policy("/a.B/C"), read(&json).call_policy("/a.B/C"));
    let said = "methodConfig[0].retryPolicy.maxAttempts = 9: is used as 5";
    assert_eq!(config.notes()[0].to_string(), said);
    let refused = serde_json::from_str::<ServiceConfig>(&retry("maxAttempts", "1")).unwrap_err();
    assert!(refused.to_string().contains("maxAttempts = 1: must be"), "{refused}");
}

/// What was skipped must not be what was misspelt: a linter shows these.
#[test]
fn a_member_in_the_wrong_place_is_said() {
    let config = read(r#"{"methodConfig": [{"name": [{}], "retryThrottling": {"maxTokens": 1}}]}"#);
    assert_eq!(config.throttle(), None);
    assert_eq!(config.notes().len(), 1);
}
