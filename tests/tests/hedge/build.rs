//! How hedging is configured, and what is refused.

use evenkeel_settings::{ServiceConfig, Settings};
use evenkeel_tests::pb::METHODS;
use evenkeel_tests::{Listening, Reply};
use evenkeel_tonic::core::CodeSet;
use evenkeel_tonic::{AllowList, BuildError, Builder, HedgeDelay, HedgePolicy, Resilient};

use crate::lab::{CHARGE, ECHO, Lab, after, client, millis, ok};

fn refused(builder: Builder) -> String {
    builder.build(()).unwrap_err().to_string()
}

#[test]
fn without_a_list_nothing_can_be_hedged() {
    let bare = || Resilient::builder().target("lab");
    for wanted in [
        bare().hedge(HedgePolicy::DEFAULT),
        bare().method_hedge(ECHO, Some(HedgePolicy::DEFAULT)).unwrap(),
    ] {
        assert!(refused(wanted).starts_with("hedging: needs a list"));
    }
    bare().method_hedge(ECHO, None).unwrap().build(()).unwrap();
    bare().hedge(HedgePolicy::DEFAULT).idempotent(AllowList::empty()).build(()).unwrap();
}

#[test]
fn a_method_that_is_named_must_be_on_the_list() {
    let named = |method: &str| {
        client().methods(&METHODS).method_hedge(method, Some(HedgePolicy::DEFAULT)).unwrap()
    };
    assert!(refused(named(CHARGE)).contains(CHARGE));
    named(ECHO).build(()).unwrap();
    let form = client().method_hedge("Echo", None).unwrap_err();
    assert_eq!(form, BuildError::Method("Echo".into()));
    assert_eq!(format!("{form:?}"), form.to_string(), "what a `main` that returns it prints");
}

/// A star would be in the name of no method, and set nothing.
#[test]
fn one_method_is_named_without_a_star() {
    for name in ["/lab.v1.Lab/*", "/lab.v1.Lab/Get*", "/*/Echo", "Get*"] {
        for refused in [
            client().method_timeout(name, None).unwrap_err(),
            client().method_wait_for_ready(name, None).unwrap_err(),
            client().method_hedge(name, None).unwrap_err(),
        ] {
            assert_eq!(refused, BuildError::Method(name.into()));
            assert!(refused.to_string().contains("a star has a meaning only in"), "{refused}");
        }
    }
}

#[test]
fn settings_that_make_no_sense_are_refused_by_name() {
    let quantile = |thousandths, min, max| HedgeDelay::Quantile {
        thousandths,
        min: millis(min),
        max: millis(max),
        until_known: millis(1),
    };
    let of = |delay| HedgePolicy::DEFAULT.with_delay(delay).map_err(|invalid| invalid.field());
    assert_eq!(of(quantile(499, 1, 2)).unwrap_err(), "hedging.quantile");
    assert_eq!(of(quantile(991, 1, 2)).unwrap_err(), "hedging.quantile");
    assert_eq!(of(quantile(900, 3, 2)).unwrap_err(), "hedging.min_delay");
    assert_eq!(of(quantile(900, 1, u64::MAX)).unwrap_err(), "hedging.max_delay");
    assert_eq!(of(HedgeDelay::Fixed(core::time::Duration::MAX)).unwrap_err(), "hedging.delay");
    assert!(of(quantile(990, 2, 2)).is_ok() && of(HedgeDelay::Fixed(millis(0))).is_ok());
    for attempts in [0, 1, 6, u16::MAX] {
        let invalid = HedgePolicy::DEFAULT.with_max_attempts(attempts).unwrap_err();
        assert_eq!(invalid.field(), "hedging.max_attempts");
    }
}

/// The same call of the same client, configured in three ways.
#[tokio::test(start_paused = true)]
async fn a_builder_a_file_and_a_service_config_mean_the_same() {
    let file = "[hedging]\ndelay = \"20ms\"\nmax_attempts = 3\nnon_fatal_codes = [\"UNAVAILABLE\"]";
    let config = r#"{"methodConfig": [{"name": [{"service": "lab.v1.Lab"}], "hedgingPolicy":
        {"maxAttempts": 3, "hedgingDelay": "0.02s", "nonFatalStatusCodes": ["UNAVAILABLE"]}}]}"#;
    let codes = CodeSet::of(&[evenkeel_tonic::core::Code::Unavailable]);
    for builder in [
        client().hedge(after(20, 3).with_non_fatal_codes(codes)),
        client().settings(&Settings::from_toml(file).unwrap()).unwrap(),
        client().service_config(&ServiceConfig::from_json(config).unwrap()),
    ] {
        let replies = [Reply::hang(), Reply::hang(), ok().after(millis(5))];
        let lab = Lab::new(builder, replies);
        assert_eq!((lab.unary(ECHO).await.1, lab.starts()), (45, vec![0, 20, 40]));
        assert_eq!(lab.unary(CHARGE).await.1, 5);
    }
}

/// What a service config says of a method wins over the builder's, either way.
#[tokio::test(start_paused = true)]
async fn a_service_config_that_retries_a_method_ends_its_hedging() {
    let config = r#"{"methodConfig": [{"name": [{"service": "lab.v1.Lab"}], "retryPolicy":
        {"maxAttempts": 2, "initialBackoff": "1s", "maxBackoff": "1s", "backoffMultiplier": 1,
        "retryableStatusCodes": ["UNAVAILABLE"]}}]}"#;
    let config = ServiceConfig::from_json(config).unwrap();
    let lab =
        Lab::new(client().hedge(after(20, 3)).service_config(&config), [ok().after(millis(90))]);
    assert_eq!((lab.unary(ECHO).await.1, lab.peer.count()), (90, 1));
}

#[test]
fn a_service_config_that_hedges_without_a_list_is_warned_about() {
    let hedged = r#"{"methodConfig": [{"name": [{}], "hedgingPolicy": {"maxAttempts": 2}}]}"#;
    let config = ServiceConfig::from_json(hedged).unwrap();
    let said = |builder: Builder| {
        let listening = Listening::begin();
        _ = builder.service_config(&config).build(()).unwrap();
        listening.take_warnings()
    };
    let alone = said(Resilient::builder());
    assert!(alone.len() == 1 && alone[0].contains("none is hedged"), "{alone:?}");
    assert_eq!(said(client()), [""; 0]);
}
