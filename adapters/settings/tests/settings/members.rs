//! What the sections about members come to: health, balancing and channels.

use core::time::Duration;

use evenkeel_core::{
    EjectionPolicy, FailurePercentage, HealthPolicy, OutlierPolicy, Strategy, SuccessRate,
    Unimplemented,
};
use evenkeel_settings::HealthMode;

use crate::toml;

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn health_has_every_number_of_its_section() {
    let settings = toml(
        r#"
        [health]
        mode = "watch"
        check_interval = "10s"
        timeout = "1s"
        max_backoff = "1m"
        service = "orders.v1.Orders"
        rise = 2
        fall = 3
        unimplemented = "unhealthy"
        "#,
    );
    let health = settings.health().unwrap();
    let expected = HealthPolicy::DEFAULT
        .with_interval(millis(10_000))
        .and_then(|policy| policy.with_timeout(millis(1_000)))
        .and_then(|policy| policy.with_max_backoff(millis(60_000)))
        .and_then(|policy| policy.with_counts(2, 3))
        .unwrap();
    assert_eq!(health.policy(), expected.with_unimplemented(Unimplemented::Unhealthy));
    assert_eq!((health.mode(), health.service()), (HealthMode::Watch, "orders.v1.Orders"));
}

#[test]
fn balancing_has_every_number_of_its_section() {
    let settings = toml(
        r#"
        [balancing]
        strategy = "weighted"
        weights = { "a:1" = 2, "b:2" = 0.5 }
        quarantine = "1s"
        [balancing.ejection]
        interval = "5s"
        base_time = "10s"
        max_time = "1m"
        max_percent = 34
        stdev_factor = 1.5
        success_rate_min_hosts = 3
        success_rate_min_requests = 30
        failure_threshold = 50
        failure_min_hosts = 2
        failure_min_requests = 20
        "#,
    );
    let balancing = settings.balancing().unwrap();
    assert_eq!(balancing.strategy(), Strategy::Weighted);
    assert_eq!(balancing.weights().collect::<Vec<_>>(), [("a:1", 2_000), ("b:2", 500)]);
    let ejection = EjectionPolicy::DEFAULT
        .with_interval(millis(5_000))
        .and_then(|policy| policy.with_times(millis(10_000), millis(60_000)))
        .and_then(|policy| policy.with_max_percent(34))
        .unwrap()
        .with_success_rate(SuccessRate::new(1_500, 3, 30).unwrap())
        .with_failure_percentage(FailurePercentage::new(50, 2, 20).unwrap());
    let outlier = OutlierPolicy::DEFAULT.with_quarantine(millis(1_000)).unwrap();
    assert_eq!(balancing.outlier(), outlier.with_ejection(ejection));
    let neither = "[balancing]\nquarantine = \"0s\"\n\
                   [balancing.ejection]\nstdev_factor = \"none\"\nfailure_threshold = \"none\"";
    let no_rule = EjectionPolicy::DEFAULT.without_success_rate().without_failure_percentage();
    let expected = OutlierPolicy::OFF.with_ejection(no_rule);
    assert_eq!(toml(neither).balancing().unwrap().outlier(), expected);
}

#[test]
fn a_target_that_is_named_in_two_ways_is_named_twice() {
    let said = crate::refused("[balancing]\nweights = { \"a:1\" = 1, \"A:1\" = 2 }");
    assert!(said.ends_with("balancing.weights.\"a:1\": is there twice"), "{said}");
}

#[test]
fn a_channel_has_everything_of_its_section() {
    let settings = toml(
        r#"
        [channel]
        targets = ["Orders:50051", "unix:/run/orders.sock"]
        keepalive_interval = "none"
        keepalive_timeout = "5s"
        idle_timeout = "1m"
        connect_timeout = "3s"
        initial_backoff = "500ms"
        max_backoff = "30s"
        [channel.tls]
        ca_file = "/etc/ca.pem"
        cert_file = "/etc/client.pem"
        key_file = "/etc/client.key"
        server_name = "orders.internal"
        "#,
    );
    let channel = settings.channel().unwrap();
    let targets: Vec<_> = channel.targets().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(targets, ["orders:50051", "unix:/run/orders.sock"]);
    assert!(!channel.insecure());
    assert_eq!(channel.keepalive_interval(), None);
    let pinged = toml("[channel]\nkeepalive_interval = \"45s\"");
    assert_eq!(pinged.channel().unwrap().keepalive_interval(), Some(millis(45_000)));
    assert_eq!(channel.idle_timeout(), Some(millis(60_000)));
    let spans = [
        channel.keepalive_timeout(),
        channel.connect_timeout(),
        channel.initial_backoff(),
        channel.max_backoff(),
    ];
    assert_eq!(spans, [5_000, 3_000, 500, 30_000].map(millis));
    let tls = channel.tls().unwrap();
    assert_eq!((tls.ca_file(), tls.cert_file()), (Some("/etc/ca.pem"), Some("/etc/client.pem")));
    assert_eq!(
        (tls.key_file(), tls.server_name()),
        (Some("/etc/client.key"), Some("orders.internal"))
    );
    assert_eq!(toml("[channel]").channel().unwrap().targets(), None);
}

#[test]
fn credentials_and_insecure_exclude_each_other() {
    let said =
        crate::refused("[channel]\ninsecure = true\n[channel.tls]\nca_file = \"/etc/ca.pem\"");
    assert_eq!(
        said,
        "line 2, column 12: channel.insecure = true: must be false where [channel.tls] says how \
         connections are secured"
    );
    let said = crate::refused("[channel.tls]\nkey_file = \"/etc/client.key\"");
    assert!(said.ends_with("must have a cert_file with it"), "{said}");
}
