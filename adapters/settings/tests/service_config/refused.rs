//! What is refused, all of it at once, and absurd texts.

use evenkeel_settings::{Place, ServiceConfig};
use proptest::prelude::*;

use crate::{for_all, retry};

#[test]
fn all_of_a_config_is_told_at_once_and_in_order() {
    let json = r#"{
  "methodConfig": [
    {"name": [{"service": 1}, {"method": "C"}], "timeout": 5, "waitForReady": "yes"},
    {"name": [{}],
     "retryPolicy": {"maxAttempts": 1, "backoffMultiplier": 0.5},
     "hedgingPolicy": {"maxAttempts": 2}}
  ],
  "retryThrottling": {"maxTokens": 0}
}"#;
    let refused = ServiceConfig::from_json(json).unwrap_err();
    let paths: Vec<_> = refused.problems().iter().map(|problem| problem.path()).collect();
    assert_eq!(
        paths,
        [
            "methodConfig[0].name[0].service",
            "methodConfig[0].name[1].method",
            "methodConfig[0].timeout",
            "methodConfig[0].waitForReady",
            "methodConfig[1].retryPolicy.initialBackoff",
            "methodConfig[1].retryPolicy.maxBackoff",
            "methodConfig[1].retryPolicy.retryableStatusCodes",
            "methodConfig[1].retryPolicy.maxAttempts",
            "methodConfig[1].retryPolicy.backoffMultiplier",
            "methodConfig[1].hedgingPolicy",
            "retryThrottling.tokenRatio",
            "retryThrottling.maxTokens",
        ],
        "{refused}"
    );
    assert_eq!(refused.problems()[2].place(), Place::Text { line: 3, column: 60 });
}

#[test]
fn every_part_of_a_retry_policy_must_be_given() {
    for member in
        ["maxAttempts", "initialBackoff", "maxBackoff", "backoffMultiplier", "retryableStatusCodes"]
    {
        for absent in ["", "null"] {
            let refused = ServiceConfig::from_json(&retry(member, absent)).unwrap_err();
            let [problem] = refused.problems() else { panic!("{refused}") };
            assert_eq!(problem.path(), format!("methodConfig[0].retryPolicy.{member}"));
            assert_eq!(problem.rule(), "must be given");
        }
    }
}

#[test]
fn a_call_is_retried_or_hedged_and_not_both() {
    let policies = r#""retryPolicy": {"maxAttempts": 2, "initialBackoff": "1s", "maxBackoff": "1s",
        "backoffMultiplier": 1, "retryableStatusCodes": [14]}, "hedgingPolicy": {"maxAttempts": 2}"#;
    let refused = ServiceConfig::from_json(&for_all(policies)).unwrap_err();
    assert_eq!(refused.problems()[0].rule(), "must not stand beside a retryPolicy");
}

#[test]
fn what_is_no_config_is_refused() {
    for wrong in [
        "",
        "null",
        "[]",
        "1",
        "\"a\"",
        "{",
        r#"{"methodConfig": {}}"#,
        r#"{"methodConfig": [1]}"#,
        r#"{"methodConfig": [{"name": {}}]}"#,
        r#"{"methodConfig": [{"name": [1]}]}"#,
        r#"{"methodConfig": [], "methodConfig": []}"#,
        r#"{"retryThrottling": []}"#,
        r#"{"healthCheckConfig": "a"}"#,
        r#"{"healthCheckConfig": {"serviceName": 1}}"#,
        r#"{"loadBalancingPolicy": "grpclb"}"#,
    ] {
        assert!(ServiceConfig::from_json(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn absurd_configs_end_at_once() {
    let huge = "[".repeat(100_000_000);
    assert!(ServiceConfig::from_json(&huge).unwrap_err().to_string().contains("1 MiB"));
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    let refused = ServiceConfig::from_json(&deep).unwrap_err();
    assert_eq!(refused.problems()[0].rule(), "is nested too deeply");
    let many = vec!["{\"name\": [{}]}"; 50_000].join(",");
    let refused = ServiceConfig::from_json(&format!("{{\"methodConfig\": [{many}]}}"));
    assert_eq!(refused.unwrap_err().more(), 49_999 - 100);
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,200}") {
        let _ = ServiceConfig::from_json(&text);
        let _ = ServiceConfig::from_json(&for_all(&format!("\"timeout\": {text}")));
        let _ = ServiceConfig::from_json(&retry("initialBackoff", &format!("{text:?}")));
        let _ = ServiceConfig::from_json(&retry("backoffMultiplier", &text));
    }

    #[test]
    fn no_number_panics(number in any::<f64>(), whole in any::<i128>()) {
        for member in ["maxAttempts", "backoffMultiplier", "retryableStatusCodes"] {
            let _ = ServiceConfig::from_json(&retry(member, &number.to_string()));
            let _ = ServiceConfig::from_json(&retry(member, &format!("{number:e}")));
            let _ = ServiceConfig::from_json(&retry(member, &whole.to_string()));
        }
    }
}
