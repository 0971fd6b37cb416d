//! Which methods a config is for.

use core::time::Duration;

use evenkeel_settings::ServiceConfig;

use crate::read;

/// Each with a timeout that tells which it is.
const THREE: &str = r#"{"methodConfig": [
    {"name": [{}], "timeout": "1s", "waitForReady": true},
    {"name": [{"service": "a.B"}, {"service": "a.D", "method": ""}], "timeout": "2s"},
    {"name": [{"service": "a.B", "method": "C"}], "timeout": "3s"},
    {"name": [{"service": "a.E"}]}
]}"#;

fn seconds(config: &ServiceConfig, path: &str) -> Option<u64> {
    config.method(path).and_then(|method| method.timeout()).as_ref().map(Duration::as_secs)
}

#[test]
fn the_most_specific_name_wins() {
    let config = read(THREE);
    assert_eq!(seconds(&config, "/a.B/C"), Some(3));
    assert_eq!(seconds(&config, "/a.B/Other"), Some(2));
    assert_eq!(seconds(&config, "/a.D/C"), Some(2));
    assert_eq!(seconds(&config, "/x.Y/Z"), Some(1));
    let names: Vec<_> = config.methods().map(|(name, _)| name).collect();
    assert_eq!(names, ["", "/a.B/", "/a.B/C", "/a.D/", "/a.E/"]);
}

#[test]
fn nothing_is_inherited() {
    let config = read(THREE);
    assert_eq!(config.method("/a.B/C").unwrap().wait_for_ready(), None);
    assert_eq!(config.method("/x.Y/Z").unwrap().wait_for_ready(), Some(true));
    // It has a config of its own, which says nothing.
    assert_eq!(seconds(&config, "/a.E/C"), None);
    assert!(config.method("/a.E/C").is_some());
}

#[test]
fn a_name_is_matched_whole() {
    let config = read(r#"{"methodConfig": [{"name": [{"service": "a.B"}], "timeout": "2s"}]}"#);
    for other in ["/a.Bx/C", "/xa.B/C", "/a.b/C", "a.B/C", "/a.B", "", "/", "//"] {
        assert_eq!(seconds(&config, other), None, "{other}");
    }
    assert_eq!(seconds(&config, "/a.B/"), Some(2));
}

#[test]
fn a_name_that_is_there_twice_is_refused() {
    for names in [
        r#"{"name": [{}, {}]}"#,
        r#"{"name": [{}]}, {"name": [{"service": ""}]}"#,
        r#"{"name": [{"service": "a.B"}]}, {"name": [{"service": "a.B", "method": ""}]}"#,
        r#"{"name": [{"service": "a.B", "method": "C"}, {"service": "a.B", "method": "C"}]}"#,
        r#"{"name": [{"service": "a.B", "method": null}]}, {"name": [{"service": "a.B"}]}"#,
    ] {
        let refused = ServiceConfig::from_json(&format!(r#"{{"methodConfig": [{names}]}}"#));
        let refused = refused.expect_err(names);
        assert_eq!(refused.problems()[0].rule(), "has a methodConfig already");
    }
}

#[test]
fn a_method_needs_a_service() {
    let json = r#"{"methodConfig": [{"name": [{"method": "C"}]}]}"#;
    let said = ServiceConfig::from_json(json).unwrap_err().to_string();
    assert_eq!(
        said,
        "line 1, column 29: methodConfig[0].name[0].method: must have a service with it"
    );
}

#[test]
fn what_is_not_mentioned_is_off() {
    let policy = read("{}").call_policy("/a.B/C");
    assert_eq!(policy.retry().max_attempts(), 1);
    assert_eq!(policy.timeout(), evenkeel_core::Micros::MAX);
}
