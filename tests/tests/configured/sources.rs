//! This file knows one policy, said in five ways.

use core::time::Duration;

use evenkeel_settings::{ServiceConfig, Settings};
use evenkeel_tests::pb::METHODS;
use evenkeel_tonic::core::{
    AnyOf, Backoff, Bad, BreakerPolicy, Code, CodeSet, Jitter, LastN, RetryPolicy, ThrottlePolicy,
};
use evenkeel_tonic::{AllowList, Builder, Commit, Resilient};

use crate::lab::{CHARGE, ECHO, PUT};

/// Two seconds for a call, 1.5 for an attempt, one for `Put`; four attempts, the second after
/// 100 ms, at `ABORTED` too; `Echo`, `Put` and `Export` may be repeated, and all but `Put` wait for
/// a connection; two breakers over the last six calls, of failures and of slow ones.
const TOML: &str = r#"
[timeout]
default = "2s"
attempt_timeout = "1500ms"
per_method = { "/lab.v1.Lab/Put" = "1s" }

[budget]
reserve_for_next = "200ms"

[wait_for_ready]
per_method = { "/lab.v1.Lab/Put" = false, "/lab.v1.Lab/Charge" = "exempt" }

[retry]
max_attempts = 4
initial_backoff = "100ms"
max_backoff = "300ms"
multiplier = 2.0
jitter = "none"
codes = ["UNAVAILABLE", "ABORTED"]
idempotent_methods = ["/lab.v1.Lab/Echo", "Put*", "Exp*"]
max_hint = "1s"
retry_streaming = true
replay_limit = "1KiB"
commit = "on_headers"

[breaker]
mode = "count"
window_calls = 6
min_calls = 6
share = 100
slow_after = "700ms"
slow_share = 50
recovery_timeout = "10s"
max_methods = 2
idle_ttl = "1m"
short_slice = "300ms"

[throttle]
kind = "grpc"
max_tokens = 20
token_ratio = 0.1
"#;

const JSON: &str = r#"{
    "timeout": {
        "default": "2s", "attempt_timeout": "1500ms", "per_method": {"/lab.v1.Lab/Put": "1s"}
    },
    "budget": {"reserve_for_next": "200ms"},
    "wait_for_ready": {
        "per_method": {"/lab.v1.Lab/Put": false, "/lab.v1.Lab/Charge": "exempt"}
    },
    "retry": {
        "max_attempts": 4, "initial_backoff": "100ms", "max_backoff": "300ms", "multiplier": 2,
        "jitter": "none", "codes": [14, "aborted"], "max_hint": "1s", "commit": "on_headers",
        "idempotent_methods": ["/lab.v1.Lab/Echo", "Put*", "Exp*"], "retry_streaming": true,
        "replay_limit": 1024
    },
    "breaker": {
        "mode": "count", "window_calls": 6, "min_calls": 6, "share": 100, "slow_after": "700ms",
        "slow_share": 50, "recovery_timeout": "10s", "max_methods": 2,
        "idle_ttl": "60s", "short_slice": "0.3s"
    },
    "throttle": {"kind": "grpc", "max_tokens": 20, "token_ratio": 0.1}
}"#;

const VARIABLES: [(&str, &str); 28] = [
    ("EVENKEEL__TIMEOUT__DEFAULT", "2s"),
    ("EVENKEEL__TIMEOUT__ATTEMPT_TIMEOUT", "1500ms"),
    ("EVENKEEL__TIMEOUT__PER_METHOD", "/lab.v1.Lab/Put=1s"),
    ("EVENKEEL__BUDGET__RESERVE_FOR_NEXT", "200ms"),
    ("EVENKEEL__WAIT_FOR_READY__PER_METHOD", "/lab.v1.Lab/Put=false,/lab.v1.Lab/Charge=exempt"),
    ("EVENKEEL__RETRY__MAX_ATTEMPTS", "4"),
    ("EVENKEEL__RETRY__INITIAL_BACKOFF", "100ms"),
    ("EVENKEEL__RETRY__MAX_BACKOFF", "300ms"),
    ("EVENKEEL__RETRY__MULTIPLIER", "2"),
    ("EVENKEEL__RETRY__JITTER", "none"),
    ("EVENKEEL__RETRY__CODES", "14,aborted"),
    ("EVENKEEL__RETRY__MAX_HINT", "1s"),
    ("EVENKEEL__RETRY__COMMIT", "on_headers"),
    ("EVENKEEL__RETRY__IDEMPOTENT_METHODS", "/lab.v1.Lab/Echo, Put*, Exp*"),
    ("EVENKEEL__RETRY__RETRY_STREAMING", "true"),
    ("EVENKEEL__RETRY__REPLAY_LIMIT", "1KiB"),
    ("EVENKEEL__BREAKER__MODE", "count"),
    ("EVENKEEL__BREAKER__WINDOW_CALLS", "6"),
    ("EVENKEEL__BREAKER__MIN_CALLS", "6"),
    ("EVENKEEL__BREAKER__SHARE", "100"),
    ("EVENKEEL__BREAKER__SLOW_AFTER", "700ms"),
    ("EVENKEEL__BREAKER__SLOW_SHARE", "50"),
    ("EVENKEEL__BREAKER__RECOVERY_TIMEOUT", "10s"),
    ("EVENKEEL__BREAKER__MAX_METHODS", "2"),
    ("EVENKEEL__BREAKER__IDLE_TTL", "1m"),
    ("EVENKEEL__BREAKER__SHORT_SLICE", "300ms"),
    ("EVENKEEL__THROTTLE__KIND", "grpc"),
    ("EVENKEEL__THROTTLE__MAX_TOKENS", "20"),
];

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Who said it, and what came of it.
pub(crate) type Source = (&'static str, fn() -> Builder);

/// The sources that can say all of it; the first one does so in code.
pub(crate) fn complete() -> Vec<Source> {
    fn of(settings: Settings) -> Builder {
        Resilient::builder().methods(&METHODS).settings(&settings).unwrap()
    }
    vec![
        ("builder", || by_hand()),
        ("TOML", || of(Settings::from_toml(TOML).unwrap())),
        ("JSON", || of(Settings::from_json(JSON).unwrap())),
        ("environment", || of(Settings::new().with_environment(VARIABLES).unwrap())),
        ("file and environment", || {
            let file = TOML.replace("max_attempts = 4", "max_attempts = 9");
            let one = [("EVENKEEL__RETRY__MAX_ATTEMPTS", "4")];
            of(Settings::from_toml(&file).unwrap().with_environment(one).unwrap())
        }),
        ("written again", || {
            let settings = Settings::from_toml(TOML).unwrap();
            of(Settings::from_json(&settings.to_json()).unwrap())
        }),
    ]
}

fn by_hand() -> Builder {
    let retry = RetryPolicy::DEFAULT
        .with_max_attempts(4)
        .and_then(|retry| retry.with_max_hint(millis(1_000)))
        .unwrap()
        .with_backoff(exact())
        .with_codes(CodeSet::of(&[Code::Unavailable, Code::Aborted]));
    Resilient::builder()
        .methods(&METHODS)
        .timeout(millis(2_000))
        .and_then(|builder| builder.attempt_timeout(millis(1_500)))
        .and_then(|builder| builder.method_timeout(PUT, Some(millis(1_000))))
        .and_then(|builder| builder.budget_reserve(millis(200)))
        .and_then(|builder| builder.method_wait_for_ready(PUT, Some(false)))
        .and_then(|builder| builder.method_wait_for_ready(CHARGE, None))
        .and_then(|builder| builder.max_methods(2))
        .and_then(|builder| builder.breaker_idle_ttl(millis(60_000)))
        .and_then(|builder| builder.short_slice(millis(300)))
        .unwrap()
        .retry(retry)
        .retry_streaming()
        .replay_limit(1_024)
        .commit(Commit::OnHeaders)
        .idempotent(AllowList::new([ECHO, "Put*", "Exp*"]).unwrap())
        .breaker(guard())
        .throttle(throttle())
}

fn exact() -> Backoff {
    let backoff = Backoff::new(millis(100), millis(300)).unwrap();
    backoff.with_jitter(Jitter::None).unwrap()
}

fn guard() -> BreakerPolicy<AnyOf<LastN, LastN>> {
    let rule = AnyOf {
        first: LastN::new(6, 6, 100).unwrap(),
        second: LastN::new(6, 6, 50).unwrap().counting(Bad::SlowCalls),
    };
    let policy = BreakerPolicy::new(rule).with_open_for(millis(10_000)).unwrap();
    policy.with_slow_after(millis(700)).unwrap()
}

fn throttle() -> ThrottlePolicy {
    ThrottlePolicy::grpc(20, 100).unwrap()
}

/// What a service config can say: no list, no breaker, no limit for an attempt, and waits that
/// always vary.
pub(crate) const CONFIG: &str = r#"{
    "methodConfig": [
        {
            "name": [{}],
            "timeout": "2s",
            "waitForReady": true,
            "retryPolicy": {
                "maxAttempts": 4, "initialBackoff": "0.1s", "maxBackoff": "0.3s",
                "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE", 10]
            }
        },
        {
            "name": [{"service": "lab.v1.Lab", "method": "Put"}],
            "timeout": "1s",
            "retryPolicy": {
                "maxAttempts": 4, "initialBackoff": "0.1s", "maxBackoff": "0.3s",
                "backoffMultiplier": 2, "retryableStatusCodes": ["unavailable", "aborted"]
            }
        }
    ],
    "retryThrottling": {"maxTokens": 20, "tokenRatio": 0.1}
}"#;

/// A service config, and the same in code.
pub(crate) fn as_far_as_a_service_config_goes() -> Vec<Source> {
    vec![
        ("builder", || {
            let varied = exact().with_jitter(Jitter::Proportional(200)).unwrap();
            let retry = RetryPolicy::DEFAULT
                .with_max_attempts(4)
                .unwrap()
                .with_backoff(varied)
                .with_codes(CodeSet::of(&[Code::Unavailable, Code::Aborted]));
            Resilient::builder()
                .methods(&METHODS)
                .timeout(millis(2_000))
                .and_then(|builder| builder.method_timeout(PUT, Some(millis(1_000))))
                .and_then(|builder| builder.method_wait_for_ready(PUT, Some(false)))
                .unwrap()
                .retry(retry)
                .throttle(throttle())
        }),
        ("service config", || {
            let config = ServiceConfig::from_json(CONFIG).unwrap();
            Resilient::builder().methods(&METHODS).service_config(&config)
        }),
    ]
}
