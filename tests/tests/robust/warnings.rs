//! The warnings, each as often as it should be.

use crate::{CHARGE, ECHO, EXPORT, guarded, opens_after};
use core::time::Duration;
use evenkeel_core::{
    Backoff, BudgetPolicy, Code as Known, CodeSet, Jitter, RetryPolicy, ThrottlePolicy,
};
use evenkeel_tests::pb::METHODS;
use evenkeel_tests::{Listening, Network, RawClient, Reply, Stub, drain};
use evenkeel_tokio::{Budget, with_budget};
use evenkeel_tonic::evenkeel_settings::{ServiceConfig, Settings};
use evenkeel_tonic::{AllowList, HedgePolicy, Kit, Resilient};
use std::sync::Arc;
use tokio::time::timeout;
use tonic::{Code, Request, Status};

const SECOND: Duration = Duration::from_secs(1);

fn within(limit: Duration) -> Request<&'static str> {
    let mut request = Request::new("ping");
    request.set_timeout(limit);
    request
}

fn busy() -> Reply {
    Reply::status(Status::unavailable("busy"))
}

/// Waiting for ever is not waited for, and said once in the life of a client, with both ways out.
#[tokio::test(start_paused = true)]
async fn waiting_without_a_deadline_fails_fast_and_is_said_once() {
    let said = Listening::begin();
    let builder = || Resilient::builder().methods(&METHODS).wait_for_ready(true);
    let net = Network::new();
    let service = builder().build(net.channel("a")).unwrap();
    for method in [ECHO, CHARGE] {
        let call = RawClient::of(method, service.clone());
        let ended = timeout(SECOND / 10, async { { call }.unary("ping").await }).await;
        assert_eq!(ended.unwrap().unwrap_err().code(), Code::Unavailable);
    }
    let told = said.take_warnings();
    assert_eq!(told.len(), 1, "{told:?}");
    for word in [ECHO, "timeout", "require_deadline"] {
        assert!(told[0].contains(word), "{word} in {told:?}");
    }

    // A deadline from anywhere will do: of the caller's, or of the request's budget.
    let mut client = RawClient::of(ECHO, service);
    let status = client.unary(within(SECOND)).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
    let budget = Arc::new(Budget::new(SECOND, BudgetPolicy::DEFAULT).unwrap());
    let status = with_budget(Some(budget), client.unary("ping")).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);

    // The other way out.
    let service = builder().wait_without_deadline().build(net.channel("a")).unwrap();
    let mut client = RawClient::of(ECHO, service);
    assert!(timeout(3_600 * SECOND, client.unary("ping")).await.is_err(), "it waits");
    let told = said.take_warnings();
    assert!(told.len() == 1 && told[0].contains("may wait for ever"), "{told:?}");
}

/// A method's own setting beats the default; exempt is as good as no block.
#[tokio::test(start_paused = true)]
async fn a_methods_own_wait_beats_the_default() {
    let said = Listening::begin();
    let net = Network::new();
    for (default, own, code) in [
        (true, Some(false), Code::Unavailable),
        (true, None, Code::Unavailable),
        (false, Some(true), Code::DeadlineExceeded),
        (false, Some(false), Code::Unavailable),
    ] {
        let builder = Resilient::builder().timeout(SECOND).unwrap().wait_for_ready(default);
        let builder = builder.method_wait_for_ready(ECHO, own).unwrap();
        let service = builder.build(net.channel("a")).unwrap();
        let status = RawClient::of(ECHO, service.clone()).unary("ping").await.unwrap_err();
        assert_eq!(status.code(), code, "default {default}, own {own:?}");
        let others = if default { Code::DeadlineExceeded } else { Code::Unavailable };
        let status = RawClient::of(CHARGE, service).unary("ping").await.unwrap_err();
        assert_eq!(status.code(), others, "default {default}");
    }
    assert_eq!(said.take_warnings(), [""; 0]);
}

/// The inner of two says that it stands down, once and not for each call.
#[tokio::test(start_paused = true)]
async fn one_below_another_says_so_once() {
    let said = Listening::begin();
    let inner = guarded().build(Stub::new([busy()])).unwrap();
    let mut client = RawClient::of(ECHO, guarded().build(inner).unwrap());
    for _ in 0..3 {
        client.unary("ping").await.unwrap_err();
    }
    let told = said.take_warnings();
    assert!(told.len() == 1 && told[0].contains("stacked"), "{told:?}");
}

/// Somebody above who retries is noticed by the header, once; somebody below must be declared.
#[tokio::test(start_paused = true)]
async fn foreign_retries_are_said_once() {
    let said = Listening::begin();
    let service = guarded().build(Stub::new([Reply::ok("pong")])).unwrap();
    for _ in 0..3 {
        let mut request = Request::new("ping");
        request.metadata_mut().insert("grpc-previous-rpc-attempts", "1".parse().unwrap());
        RawClient::of(ECHO, service.clone()).unary(request).await.unwrap();
    }
    let told = said.take_warnings();
    assert!(told.len() == 1 && told[0].contains("above"), "{told:?}");
    _ = guarded().native_retries().build(()).unwrap();
    let told = said.take_warnings();
    assert!(told.len() == 1 && told[0].contains("below"), "{told:?}");
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
    let limited = || guarded().attempt_timeout(SECOND).unwrap();
    let patient = RetryPolicy::DEFAULT.with_codes(CodeSet::RETRYABLE.with(Known::DeadlineExceeded));
    let hedge = HedgePolicy::after(SECOND).unwrap();
    let variables = [
        ("EVENKEEL__TIMEOUT__DEFAULT", "10s"),
        ("EVENKEEL__TIMEOUT__ATTEMPT_TIMEOUT", "1s"),
        ("EVENKEEL__RETRY__MAX_ATTEMPTS", "3"),
    ];
    let settings = Settings::new().with_environment(variables).unwrap();
    let from_file = || guarded().settings(&settings).unwrap();
    for (builder, warnings) in [
        (limited(), 1),
        (limited().retry(patient).methods(&METHODS), 0),
        (limited().retry(RetryPolicy::OFF), 0),
        (limited().idempotent(AllowList::empty()), 0),
        (limited().methods(&METHODS).hedge(hedge), 0),
        (from_file(), 1),
        (from_file().retry(patient).methods(&METHODS), 0),
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
        (limited(9 * SECOND), ""),
        (limited(10 * SECOND), "timeout.attempt_timeout has no effect"),
        (limited(10 * SECOND).method_timeout(ECHO, None).unwrap(), ""),
        (hedged(Duration::ZERO), "hedging.delay = 0"),
        (hedged(SECOND), ""),
        (hedged(2 * SECOND), "hedging waits 2s at least"),
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
    let limited = || Resilient::builder().methods(&METHODS).attempt_timeout(SECOND).unwrap();
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

/// Each restart of a stream is a warning; a call that is repeated before it began is none.
#[tokio::test(start_paused = true)]
async fn each_restart_is_said() {
    let said = Listening::begin();
    let breaks = || Reply::headers().message("1").end(Status::unavailable("gone"));
    let replies = [busy(), breaks(), breaks(), Reply::ok("1")];
    let retry = RetryPolicy::DEFAULT.with_max_attempts(4).unwrap();
    let builder = guarded().retry(retry).retry_streaming();
    let service = builder.build(Stub::new(replies)).unwrap();
    let stream = RawClient::of(EXPORT, service).server_streaming("all").await.unwrap();
    assert_eq!(drain(stream.into_inner()).await.0, ["1"; 3]);
    let told = said.take_warnings();
    assert!(told.len() == 2 && told.iter().all(|line| line.contains(EXPORT)), "{told:?}");
}

/// A table full of open circuits is one warning, whichever method met it first.
#[tokio::test(start_paused = true)]
async fn a_full_table_is_said_once() {
    for declared in [false, true] {
        let said = Listening::begin();
        let builder = Resilient::builder().breaker(opens_after(1, 60 * SECOND));
        let rows = METHODS.methods().len();
        let builder = if declared { builder.methods(&METHODS) } else { builder };
        let service = builder.max_methods(rows).unwrap().build(Stub::new([busy()])).unwrap();
        for number in 0..rows {
            let path = format!("/junk.Junk/Call{number}").leak();
            RawClient::of(path, service.clone()).unary("ping").await.unwrap_err();
        }
        assert_eq!(said.take_warnings(), [""; 0]);
        for method in [ECHO, CHARGE, EXPORT, "/junk.Junk/More"] {
            _ = RawClient::of(method, service.clone()).unary("ping").await;
        }
        let told = said.take_warnings();
        assert!(told.len() == 1 && told[0].contains("max_methods"), "{declared}: {told:?}");
    }
}
