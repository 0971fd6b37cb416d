//! What looks wrong about a client that is accepted all the same, said once when it is built.

use crate::{CHARGE, ECHO, EXPORT, guarded, opens_after};
use core::time::Duration;
use evenkeel_core::{Backoff, Code as Known, CodeSet, Jitter, RetryPolicy, ThrottlePolicy};
use evenkeel_tests::Listening;
use evenkeel_tests::pb::METHODS;
use evenkeel_tonic::evenkeel_settings::{ServiceConfig, Settings};
use evenkeel_tonic::{AllowList, Builder, HedgePolicy, Kit, Resilient};

const SECOND: Duration = Duration::from_secs(1);

/// With none for its streams, which a limit for each attempt would end.
fn lasting(builder: Builder) -> Builder {
    let streams = METHODS.methods().iter().filter(|method| method.kind().server_streaming());
    streams.fold(builder, |builder, stream| builder.method_timeout(stream.path(), None).unwrap())
}

/// Settings that contradict each other are accepted, and said when the client is built.
#[test]
fn settings_that_look_wrong_together_are_said() {
    let said = Listening::begin();
    let codes = CodeSet::RETRYABLE.with(Known::Internal);
    let backoff = Backoff::new(2 * SECOND, SECOND).unwrap();
    let retrying = |policy| Resilient::builder().retry(policy);
    for (builder, word) in [
        (guarded(), None),
        (guarded().breaker(opens_after(4, SECOND)), None),
        (guarded().breaker(opens_after(3, SECOND)), Some("fail_threshold")),
        (guarded().retry(RetryPolicy::DEFAULT.with_backoff(backoff)), Some("max_backoff")),
        (retrying(RetryPolicy::DEFAULT.with_codes(codes)), Some("INTERNAL")),
        (retrying(RetryPolicy::DEFAULT.with_codes(codes)).methods(&METHODS), None),
    ] {
        _ = builder.build(()).unwrap();
        let told = said.take_warnings();
        assert_eq!(told.len(), usize::from(word.is_some()), "{told:?}");
        assert!(told.iter().all(|line| line.contains(word.unwrap())), "{told:?}");
    }
}

/// What cuts an attempt off and is not retried is said of what is built in the end: a file's retries
/// may be overruled in code.
#[test]
fn a_limit_whose_expiry_is_final_is_said() {
    let said = Listening::begin();
    let limited = || lasting(guarded()).attempt_timeout(SECOND).unwrap();
    let patient = RetryPolicy::DEFAULT.with_codes(CodeSet::RETRYABLE.with(Known::DeadlineExceeded));
    let hedge = HedgePolicy::after(SECOND).unwrap().with_max_attempts(3).unwrap();
    let variables = [
        ("EVENKEEL__TIMEOUT__DEFAULT", "10s"),
        ("EVENKEEL__TIMEOUT__ATTEMPT_TIMEOUT", "1s"),
        ("EVENKEEL__RETRY__MAX_ATTEMPTS", "3"),
    ];
    let settings = Settings::new().with_environment(variables).unwrap();
    let from_file = || lasting(guarded()).settings(&settings).unwrap();
    for (builder, warnings) in [
        (limited(), 1),
        (limited().retry(patient), 0),
        (guarded().retry(patient).attempt_timeout(SECOND).unwrap(), 1),
        (limited().retry(RetryPolicy::OFF), 0),
        (limited().idempotent(AllowList::empty()), 0),
        (limited().hedge(hedge), 0),
        (limited().method_hedge(ECHO, None).unwrap(), 1),
        (from_file(), 1),
        (from_file().retry(patient), 0),
    ] {
        _ = builder.build(()).unwrap();
        let told = said.take_warnings();
        assert_eq!(told.len(), warnings, "{told:?}");
        assert!(told.iter().all(|line| line.contains("timeout.attempt_timeout = 1s")), "{told:?}");
    }
}

/// Code is told what a file is told, in the same words.
#[test]
fn code_is_judged_as_a_file_is() {
    let said = Listening::begin();
    let builder = Resilient::builder;
    let hedged = |delay| {
        let hedged = builder().methods(&METHODS).timeout(2 * SECOND).unwrap();
        hedged.hedge(HedgePolicy::after(delay).unwrap())
    };
    let waiting = |longest| {
        let backoff = Backoff::new(2 * SECOND, 2 * SECOND).unwrap();
        let backoff = backoff.with_jitter(Jitter::None).unwrap();
        let builder = builder().methods(&METHODS).timeout(longest).unwrap();
        builder.retry(RetryPolicy::DEFAULT.with_backoff(backoff))
    };
    let throttled = || builder().throttle(ThrottlePolicy::SUCCESS_REFILLED);
    let coded = |codes| guarded().retry(RetryPolicy::DEFAULT.with_codes(codes));
    let limited = |limit| guarded().retry(RetryPolicy::OFF).attempt_timeout(limit).unwrap();
    let with = |file: &str| builder().settings(&Settings::from_toml(file).unwrap()).unwrap();
    for (builder, word) in [
        (builder().attempt_timeout(SECOND).unwrap(), "timeout.attempt_timeout = 1s without"),
        (
            limited(9 * SECOND),
            "attempt_timeout = 9s ends a response stream, such as \"/lab.v1.Lab/Chat\"",
        ),
        (lasting(limited(9 * SECOND)), ""),
        (limited(10 * SECOND), "timeout.attempt_timeout has no effect"),
        (limited(10 * SECOND).method_timeout(ECHO, None).unwrap(), ""),
        (hedged(Duration::ZERO), "hedging.delay = 0"),
        (hedged(SECOND), ""),
        (guarded().replay_limit(0), "retry.replay_limit = 0"),
        (guarded().replay_limit(0).retry(RetryPolicy::OFF), ""),
        (hedged(2 * SECOND), "hedging waits 2s at least"),
        (hedged(SECOND).retry(RetryPolicy::DEFAULT), "hedging.max_attempts = 2, and not retry"),
        (hedged(SECOND).retry(RetryPolicy::DEFAULT.with_max_attempts(2).unwrap()), ""),
        (hedged(SECOND).retry(RetryPolicy::OFF), ""),
        (waiting(2 * SECOND), "a retry waits 2s at least"),
        (waiting(3 * SECOND), ""),
        (builder().wait_without_deadline(), "may wait for ever"),
        (builder().wait_without_deadline().timeout(SECOND).unwrap(), ""),
        (builder().wait_without_deadline().wait_for_ready(false), ""),
        (throttled(), "throttle has no effect"),
        (throttled().retry(RetryPolicy::DEFAULT), ""),
        (coded(CodeSet::EMPTY), "retry.max_attempts has no effect"),
        // What a file says and code overrules is judged as it is in the end, and once.
        (
            with("[timeout]\ndefault = \"none\"\nattempt_timeout = \"1s\""),
            "attempt_timeout = 1s without",
        ),
        (
            with("[timeout]\ndefault = \"none\"\nattempt_timeout = \"1s\"")
                .timeout(2 * SECOND)
                .unwrap(),
            "",
        ),
        (with("[throttle]"), "throttle has no effect"),
        (with("[throttle]").retry(RetryPolicy::DEFAULT), ""),
        (with("[retry]\nidempotent_methods = []"), "retry.idempotent_methods is empty"),
        (with("[retry]\nidempotent_methods = []").retry(RetryPolicy::OFF), ""),
        (
            with("[retry]\nidempotent_methods = []").idempotent(AllowList::new(["Get*"]).unwrap()),
            "",
        ),
        // A list that code leaves empty by its name is meant.
        (guarded().idempotent(AllowList::empty()), ""),
        (with("[wait_for_ready]\nrequire_deadline = false").timeout(SECOND).unwrap(), ""),
    ] {
        _ = builder.build(()).unwrap();
        let told = said.take_warnings();
        assert_eq!(told.len(), usize::from(!word.is_empty()), "{word:?}: {told:?}");
        assert!(told.iter().all(|line| line.contains(word)), "{word:?}: {told:?}");
    }
}

/// The attempts of a call go around the targets that are known, and each has breakers of its own.
#[tokio::test(start_paused = true)]
async fn targets_share_the_attempts_that_open_a_breaker() {
    let said = Listening::begin();
    let members = ["a:1", "b:1", "c:1"];
    for (targets, threshold, warned) in
        [(1, 5, true), (2, 3, true), (2, 4, false), (3, 2, true), (3, 3, false)]
    {
        let list: Vec<_> = members[..targets].iter().map(|target| format!("{target:?}")).collect();
        let file = format!("[channel]\ninsecure = true\ntargets = [{}]", list.join(", "));
        let file = Settings::from_toml(&file).unwrap();
        let retry = RetryPolicy::DEFAULT.with_max_attempts(5).unwrap();
        let calls = guarded().retry(retry).breaker(opens_after(threshold, SECOND));
        let kit = Kit::builder("lab").calls(calls).settings(&file).unwrap().build().unwrap();
        let told = said.take_warnings();
        assert_eq!(told.len(), usize::from(warned), "{targets}, {threshold}: {told:?}");
        assert!(told.iter().all(|line| line.contains("can open its own circuit")), "{told:?}");
        drop(kit);
    }
}

/// A service config's timeout is one for all methods that it does not name, and a retry of its own
/// has to fit into its own.
#[test]
fn the_times_of_a_service_config_count() {
    let said = Listening::begin();
    let config = |name: &str, timeout: &str| {
        let json = format!(
            r#"{{"methodConfig": [{{"name": [{{{name}}}], "timeout": "{timeout}", "retryPolicy":
            {{"maxAttempts": 2, "initialBackoff": "9s", "maxBackoff": "9s", "backoffMultiplier": 1,
            "retryableStatusCodes": ["UNAVAILABLE", "DEADLINE_EXCEEDED"]}}}}]}}"#
        );
        ServiceConfig::from_json(&json).unwrap()
    };
    let limited =
        || lasting(Resilient::builder().methods(&METHODS)).attempt_timeout(SECOND).unwrap();
    for (name, timeout, word) in [
        ("", "10s", ""),
        ("", "2s", "a retry waits 7.2"),
        (r#""service": "lab.v1.Lab""#, "10s", "attempt_timeout = 1s without"),
    ] {
        _ = limited().service_config(&config(name, timeout)).build(()).unwrap();
        let told = said.take_warnings();
        assert_eq!(told.len(), usize::from(!word.is_empty()), "{name}, {timeout}: {told:?}");
        assert!(told.iter().all(|line| line.contains(word)), "{told:?}");
    }
}

/// A name that is nearly one of the table's is told with the one that was meant, wherever methods are
/// named. Those of other services, of other versions, and conventions, are none of its business.
#[test]
fn a_misspelled_method_is_said_with_the_right_name() {
    let said = Listening::begin();
    let builder = || Resilient::builder().methods(&METHODS);
    let listed = |pattern| builder().idempotent(AllowList::new([pattern]).unwrap());
    let hedge = HedgePolicy::after(SECOND).unwrap();
    let config = |name: &str| {
        let json = format!(r#"{{"methodConfig": [{{"name": [{name}], "waitForReady": false}}]}}"#);
        ServiceConfig::from_json(&json).unwrap()
    };
    let service = config(r#"{"service": "lab.v1.Lap"}"#);
    let method = config(r#"{"service": "lab.v1.Lab", "method": "Ecko"}"#);
    let sensitive = AllowList::new(["/lab.v1.Lab/Chargee"]).unwrap();
    let patterns = AllowList::new(["/lab.v1.Lab/*"]).unwrap();
    for (builder, path, meant) in [
        (listed("/lab.v1.Lap/*"), "retry.idempotent_methods", "/lab.v1.Lab/*"),
        (listed("/lba.v1.Lab/Echo"), "retry.idempotent_methods", ECHO),
        (listed("/lab.v1.Lab/echo"), "retry.idempotent_methods", ECHO),
        (listed("Ehco*"), "retry.idempotent_methods", "Echo*"),
        (listed("echo*"), "retry.idempotent_methods", "Echo*"),
        (listed("Chagre*"), "retry.idempotent_methods", "Charge*"),
        (builder().method_timeout("/lab.v1.Lab/Ecco", None).unwrap(), "timeout.per_method", ECHO),
        (
            builder().method_wait_for_ready("/lab.v1.Lab/Cahrge", None).unwrap(),
            "wait_for_ready.per_method",
            CHARGE,
        ),
        (
            builder().idempotent(patterns).method_hedge("/lab.v1.Lab/Exprot", Some(hedge)).unwrap(),
            "method_hedge",
            EXPORT,
        ),
        (builder().sensitive(sensitive), "sensitive", CHARGE),
        (builder().service_config(&service), "methodConfig.name", "/lab.v1.Lab/*"),
        (builder().service_config(&method), "methodConfig.name", ECHO),
    ] {
        _ = builder.build(()).unwrap();
        let told = said.take_warnings();
        assert_eq!(told.len(), 1, "{path}: {told:?}");
        let hint = format!("which no method of the table matches; did you mean \"{meant}\"?");
        assert!(told[0].contains(path) && told[0].contains(&hint), "{told:?}");
    }
    let long = format!("/lab.v1.Lab/{}", "o".repeat(1 << 20));
    for pattern in [
        ECHO,
        "/lab.v1.Lab/*",
        "/lab.v2.Lab/*",
        "/lab.v1.Lab/Echo2",
        "/lab.v1.Laboratory/*",
        "/stock.v1.Stock/Echo",
        "/lab.v1.Lab/Refund",
        "Ech*",
        "Gte*",
        &long,
    ] {
        _ = listed(pattern).build(()).unwrap();
        assert_eq!(said.take_warnings(), [""; 0], "{pattern}");
    }
    let without_table = AllowList::new(["/lab.v1.Lap/*"]).unwrap();
    _ = Resilient::builder().idempotent(without_table).build(()).unwrap();
    assert_eq!(said.take_warnings(), [""; 0]);
}
