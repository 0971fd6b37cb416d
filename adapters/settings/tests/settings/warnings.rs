//! What looks wrong though each setting is right.

use core::time::Duration;

use evenkeel_core::{Code, CodeSet};
use evenkeel_settings::{Settings, Warning};

use crate::toml;

#[test]
fn each_warning_is_given_for_what_it_says_and_for_nothing_less() {
    let second = Duration::from_secs(1);
    let no_effect = |path, needs| Warning::NoEffect { path, needs };
    let (in_a_row, rate) =
        ("breaker.mode = \"consecutive\"", "breaker.mode = \"count\" or \"time\"");
    let cases = [
        (
            "[retry]\nmax_backoff = \"1s\"\ninitial_backoff = \"2s\"",
            "[retry]\nmax_backoff = \"2s\"\ninitial_backoff = \"2s\"",
            Warning::MaxBelowInitial { initial_backoff: second * 2, max_backoff: second },
        ),
        (
            "[retry]\nmax_attempts = 5\n[breaker]",
            "[retry]\nmax_attempts = 4\n[breaker]",
            Warning::OpensItself { fail_threshold: 5, max_attempts: 5 },
        ),
        (
            "[retry]\ncodes = [13, 14]",
            "[retry]\ncodes = [13, 14]\nidempotent_methods = [\"Get*\"]",
            Warning::HandlerMayHaveRun { codes: CodeSet::of(&[Code::Internal]) },
        ),
        (
            "[retry]\ncodes = [4, 14]\n[timeout]\nattempt_timeout = \"1s\"",
            "[retry]\ncodes = [\"RESOURCE_EXHAUSTED\", \"UNAVAILABLE\"]",
            Warning::HandlerMayHaveRun { codes: CodeSet::of(&[Code::DeadlineExceeded]) },
        ),
        (
            "[retry]\ncodes = [2, 4, 8, 10, 13, 14, 15]\n[timeout]\nattempt_timeout = \"1s\"",
            "[retry]\ncodes = [2, 4, 8, 10, 13, 14, 15]\nmax_attempts = 1",
            Warning::HandlerMayHaveRun {
                codes: CodeSet::of(&[
                    Code::Unknown,
                    Code::DeadlineExceeded,
                    Code::Aborted,
                    Code::Internal,
                    Code::DataLoss,
                ]),
            },
        ),
        (
            "[wait_for_ready]",
            "[wait_for_ready]\n[timeout]",
            Warning::WaitWithoutDeadline { require_deadline: true },
        ),
        (
            "[wait_for_ready]\nrequire_deadline = false\n[timeout]\ndefault = \"none\"",
            "[wait_for_ready]\nrequire_deadline = false\ndefault = false",
            Warning::WaitWithoutDeadline { require_deadline: false },
        ),
        (
            "[timeout]\nattempt_timeout = \"1s\"\ndefault = \"none\"",
            "[timeout]\nattempt_timeout = \"1s\"",
            Warning::AttemptsWithoutEnd { attempt_timeout: second },
        ),
        (
            "[timeout]\nattempt_timeout = \"1s\"\n[retry]",
            "[timeout]\nattempt_timeout = \"1s\"\n[retry]\ncodes = [4]\nidempotent_methods = [\"Get*\"]",
            Warning::AttemptTimeoutIsFinal { attempt_timeout: second },
        ),
        (
            "[retry]\ncodes = [4]\nidempotent_methods = [\"Get*\"]\n[timeout]",
            "[retry]\ncodes = [4]\nidempotent_methods = [\"Get*\"]\n[timeout]\nattempt_timeout = \"1s\"",
            Warning::NoLimitForAnAttempt,
        ),
        (
            "[budget.call_caps]\naudit = \"1s\"",
            "[budget.call_caps]\n\"/svc/Audit\" = \"1s\"",
            Warning::CapWithoutMethod { name: "audit".into() },
        ),
        (
            "[timeout]\nattempt_timeout = \"10s\"",
            "[timeout]\nattempt_timeout = \"10s\"\nper_method = { \"/a.B/C\" = \"11s\" }",
            no_effect("timeout.attempt_timeout", "a longer timeout.default"),
        ),
        (
            "[retry]\ncodes = []",
            "[retry]\ncodes = []\nmax_attempts = 1",
            no_effect("retry.max_attempts", "a code in retry.codes"),
        ),
        (
            "[retry]\nidempotent_methods = []",
            "[retry]\nidempotent_methods = []\nmax_attempts = 1",
            Warning::ListedNone,
        ),
        (
            "[timeout]\n[hedging]\ndelay = \"10s\"",
            "[timeout]\n[hedging]\ndelay = \"9s\"",
            Warning::NeverHedges { delay: second * 10, timeout: second * 10 },
        ),
        (
            "[hedging]\nmax_attempts = 3\nnon_fatal_codes = [14]",
            "[hedging]\ndelay = \"1ms\"",
            Warning::HedgesAtOnce { max_attempts: 3 },
        ),
        (
            "[retry]\nidempotent_methods = [\"Get*\"]\n[hedging]\ndelay = \"1ms\"",
            "[retry]\nidempotent_methods = [\"Get*\"]\nmax_attempts = 2\n[hedging]\ndelay = \"1ms\"",
            Warning::HedgedLess { hedged: 2, retried: 3 },
        ),
        (
            "[retry]\nidempotent_methods = [\"Get*\"]\nmax_attempts = 4\n\
             [hedging]\ndelay = \"1ms\"\nmax_attempts = 3",
            "[retry]\nmax_attempts = 4\n[hedging]\ndelay = \"1ms\"\nmax_attempts = 3",
            Warning::HedgedLess { hedged: 3, retried: 4 },
        ),
        (
            "[hedging]\ndelay = \"1ms\"\nquantile = 0.9",
            "[hedging]\nquantile = 0.9\nmin_delay = \"2ms\"",
            no_effect("hedging.delay", "hedging.quantile = \"none\""),
        ),
        (
            "[hedging]\ndelay = \"1ms\"\nmin_delay = \"2ms\"",
            "[hedging]\nquantile = 0.9\nmax_delay = \"2s\"",
            no_effect("hedging.min_delay", "hedging.quantile"),
        ),
        (
            "[hedging]\ndelay = \"1ms\"\nmax_delay = \"2s\"",
            "[hedging]\nquantile = 0.9\nuntil_known = \"2s\"",
            no_effect("hedging.max_delay", "hedging.quantile"),
        ),
        (
            "[hedging]\ndelay = \"1ms\"\nuntil_known = \"2s\"",
            "[hedging]\nquantile = 0.9",
            no_effect("hedging.until_known", "hedging.quantile"),
        ),
        ("[throttle]", "[throttle]\n[retry]", no_effect("throttle", "[retry] or [hedging]")),
        (
            "[balancing.weights]\n\"a:1\" = 2",
            "[balancing]\nstrategy = \"weighted\"\nweights = { \"a:1\" = 2 }",
            no_effect("balancing.weights", "balancing.strategy = \"weighted\""),
        ),
        (
            "[balancing]\nstrategy = \"weighted\"\nweights = { \"A:1\" = 2, \"c:1\" = 1 }\n\
             [channel]\ntargets = [\"a:1\", \"b:1\"]",
            "[balancing]\nstrategy = \"weighted\"\nweights = { \"A:1\" = 2 }\n\
             [channel]\ntargets = [\"a:1\", \"b:1\"]",
            Warning::WeightWithoutTarget { target: "c:1".into() },
        ),
        ("[retry]\nreplay_limit = 0", "[retry]\nreplay_limit = 1", Warning::NothingToSendAgain),
        (
            "[retry]\nreplay_limit = 0\nmax_attempts = 1\n[hedging]\ndelay = \"1ms\"",
            "[retry]\nreplay_limit = 0\nmax_attempts = 1",
            Warning::NothingToSendAgain,
        ),
        (
            "[breaker]\ngrowth = 1.5",
            "[breaker]\ngrowth = 1.5\nmax_open = \"5m\"",
            Warning::GrowsWithoutEnd,
        ),
        (
            "[breaker]\nrecovery_timeout = \"0s\"",
            "[breaker]\nrecovery_timeout = \"1ms\"",
            Warning::OpensForNoTime,
        ),
        (
            "[retry]\n[throttle]\ntoken_ratio = 1.0",
            "[retry]\n[throttle]\ntoken_ratio = 0.999",
            Warning::RatioBoundsLittle { token_ratio: 1_000 },
        ),
        (
            "[breaker]\nmode = \"time\"\nfail_threshold = 7",
            "[breaker]\nfail_threshold = 7",
            no_effect("breaker.fail_threshold", in_a_row),
        ),
        ("[breaker]\nshare = 40", "[breaker]\nshare = 50", no_effect("breaker.share", rate)),
        (
            "[breaker]\nmin_calls = 10",
            "[breaker]\nmode = \"count\"\nmin_calls = 10",
            no_effect("breaker.min_calls", rate),
        ),
        (
            "[breaker]\nmode = \"count\"\nwindow = \"1s\"",
            "[breaker]\nmode = \"time\"\nwindow = \"1s\"",
            no_effect("breaker.window", "breaker.mode = \"time\""),
        ),
        (
            "[breaker]\nmode = \"time\"\nwindow_calls = 90",
            "[breaker]\nmode = \"count\"\nwindow_calls = 90",
            no_effect("breaker.window_calls", "breaker.mode = \"count\""),
        ),
        (
            "[breaker]\nmode = \"count\"\nslow_share = 90",
            "[breaker]\nmode = \"count\"\nslow_share = 90\nslow_after = \"1s\"",
            no_effect(
                "breaker.slow_share",
                "breaker.slow_after, and breaker.mode = \"count\" or \"time\"",
            ),
        ),
        (
            "[breaker]\nmax_open = \"59s\"\ngrowth = 2",
            "[breaker]\nmax_open = \"60s\"\ngrowth = 2",
            no_effect("breaker.recovery_timeout", "a breaker.max_open that is no shorter"),
        ),
        (
            "[breaker]\nmax_open = \"2m\"",
            "[breaker]\nmax_open = \"2m\"\ngrowth = 2",
            no_effect("breaker.max_open", "breaker.growth above 1.0"),
        ),
    ];
    for (wrong, right, warning) in cases {
        assert_eq!(toml(wrong).warnings(), [warning], "{wrong}");
        assert_eq!(toml(right).warnings(), [], "{right}");
    }
}

#[test]
fn g73_a_threshold_below_the_attempts_is_warned_about() {
    let settings = toml("[retry]\nmax_attempts = 3\n[breaker]\nfail_threshold = 2");
    let warning = Warning::OpensItself { fail_threshold: 2, max_attempts: 3 };
    assert_eq!(settings.warnings(), [warning]);
}

/// Twice nothing is nothing, and no time without end.
#[test]
fn an_open_time_of_zero_does_not_grow() {
    let needs = "a breaker.recovery_timeout above zero";
    let growth = Warning::NoEffect { path: "breaker.growth", needs };
    for more in ["", "max_open = \"1m\"\n"] {
        let settings = toml(&format!("[breaker]\nrecovery_timeout = \"0s\"\ngrowth = 2.0\n{more}"));
        assert_eq!(settings.warnings(), [growth.clone(), Warning::OpensForNoTime], "{more}");
    }
}

/// Each target has breakers of its own, and the attempts of a call go around.
#[test]
fn several_targets_share_the_attempts_of_a_call() {
    let of = |targets: &str, threshold: u16| {
        toml(&format!(
            "[channel]\ntargets = [{targets}]\n[retry]\nmax_attempts = 5\n\
             [breaker]\nfail_threshold = {threshold}"
        ))
        .warnings()
    };
    for (targets, most) in
        [("\"a:1\"", 5), ("\"a:1\", \"b:1\"", 3), ("\"a:1\", \"b:1\", \"c:1\"", 2)]
    {
        let warning = Warning::OpensItself { fail_threshold: most, max_attempts: 5 };
        assert_eq!(of(targets, most), [warning], "{targets}");
        assert_eq!(of(targets, most + 1), [], "{targets}");
    }
}

/// Where there is no other attempt anyway, and where another rule makes it, the limit is no trap.
#[test]
fn the_limit_of_an_attempt_is_final_only_where_a_retry_was_meant() {
    let of = |rest: &str| toml(&format!("[timeout]\nattempt_timeout = \"1s\"\n{rest}")).warnings();
    for rest in [
        "[retry]\nmax_attempts = 1",
        "[retry]\nidempotent_methods = [\"Get*\"]\n[hedging]\ndelay = \"1ms\"\nmax_attempts = 3",
        "[hedging]\ndelay = \"1ms\"",
        "[breaker]",
    ] {
        assert_eq!(of(rest), [], "{rest}");
    }
    assert_eq!(of("[retry]\nidempotent_methods = []"), [Warning::ListedNone]);
    let attempt_timeout = Duration::from_secs(1);
    for rest in [
        "[retry]\nidempotent_methods = [\"Get*\"]",
        // Nobody is on a list, and so nobody is hedged.
        "[retry]\n[hedging]\ndelay = \"1ms\"",
    ] {
        assert_eq!(of(rest), [Warning::AttemptTimeoutIsFinal { attempt_timeout }], "{rest}");
    }
}

/// Even the luckiest draw of each jitter reaches the end of the longest call there is; a microsecond
/// more and it may fit.
#[test]
fn a_retry_that_never_fits_is_told_by_its_shortest_wait() {
    for (jitter, initial, wait) in [
        ("\"none\"", "10s", "10s"),
        ("\"decorrelated\"", "10s", "10s"),
        ("\"equal\"", "20s", "10s"),
        ("0.5", "20s", "10"),
    ] {
        let file = |initial: &str, timeout: &str| {
            let waits = format!("initial_backoff = \"{initial}\"\nmax_backoff = \"1h\"");
            toml(&format!("[timeout]\n{timeout}\n[retry]\njitter = {jitter}\n{waits}"))
        };
        let said = file(initial, "").warnings();
        assert_eq!(said.len(), 1, "{jitter}: {said:?}");
        let said = said[0].to_string();
        assert!(said.starts_with(&format!("a retry waits {wait}")), "{said}");
        assert!(said.contains("a call has 10s at most: none fits"), "{said}");
        // Jitter makes microseconds of it, which nobody has written.
        assert!(!said.contains("000") && said.contains("s at least"), "{said}");
        for timeout in [
            "default = \"10001ms\"",
            "default = \"none\"",
            "per_method = { \"/a.B/C\" = \"none\" }",
            "per_method = { \"/a.B/C\" = \"10001ms\" }",
        ] {
            assert_eq!(file(initial, timeout).warnings(), [], "{jitter}, {timeout}");
        }
    }
    let full =
        "[timeout]\n[retry]\njitter = \"full\"\ninitial_backoff = \"1h\"\nmax_backoff = \"1h\"";
    assert_eq!(toml(full).warnings(), []);
    let capped = "[timeout]\n[retry]\ninitial_backoff = \"9s\"\nmax_backoff = \"9s\"";
    assert_eq!(toml(capped).warnings(), []);
    let once =
        "[timeout]\n[retry]\nmax_attempts = 1\ninitial_backoff = \"1h\"\nmax_backoff = \"1h\"";
    assert_eq!(toml(once).warnings(), []);
}

/// Either end of what a measured delay may be is enough for a hedge.
#[test]
fn a_measured_delay_never_comes_only_where_all_it_may_be_is_too_long() {
    let of = |rest: &str| toml(&format!("[timeout]\n[hedging]\nquantile = 0.9\n{rest}")).warnings();
    let second = Duration::from_secs(1);
    let never = Warning::NeverHedges { delay: 12 * second, timeout: 10 * second };
    assert_eq!(of("min_delay = \"12s\"\nmax_delay = \"13s\"\nuntil_known = \"14s\""), [never]);
    assert_eq!(of("min_delay = \"12s\"\nmax_delay = \"13s\""), []);
    assert_eq!(of("until_known = \"14s\""), []);
    assert_eq!(of("min_delay = \"0s\""), []);
}

#[test]
fn a_warning_says_what_happens_and_what_to_do() {
    let said = |text: &str| toml(text).warnings()[0].to_string();
    assert_eq!(
        said("[retry]\nmax_backoff = \"200ms\"\ninitial_backoff = \"1s\""),
        "retry.max_backoff = 200ms is below retry.initial_backoff = 1s: every wait is max_backoff; \
         raise it"
    );
    assert_eq!(
        said("[retry]\ncodes = [2, 10, 13]"),
        "retry.codes has {UNKNOWN, ABORTED, INTERNAL}, with which the handler may have run, and no \
         list says which methods may be executed twice; set retry.idempotent_methods"
    );
    assert_eq!(
        said("[timeout]\nattempt_timeout = \"500ms\"\n[retry]"),
        "timeout.attempt_timeout = 500ms cuts an attempt off, and the call with it: \
         DEADLINE_EXCEEDED is not among retry.codes, so it never leads to another attempt; add that \
         code, with retry.idempotent_methods, or take the limit out"
    );
    let at_once: Vec<_> =
        toml("[hedging]\nmax_attempts = 2").warnings().iter().map(ToString::to_string).collect();
    assert_eq!(
        at_once,
        [
            "hedging.delay = 0, as it is without delay and quantile, sends all attempts at once: every \
             call costs 2; wait about as long as nearly all calls take",
            "hedging.non_fatal_codes is empty, as it is where nobody writes it: the first attempt to \
             fail ends the call, though others are under way; name codes, such as UNAVAILABLE",
        ]
    );
    let stacked = Warning::StackedRetries { max_attempts: 3, below: Some(3) };
    assert!(stacked.to_string().contains("3 × 3 attempts"), "{stacked}");
}

/// All sections at their defaults, a hedge at once aside: A6's default is the one that nobody
/// should keep.
#[test]
fn the_defaults_need_no_warning() {
    let every_section = toml(&evenkeel_settings::reference::example());
    let at_once = [Warning::HedgesAtOnce { max_attempts: 2 }, Warning::FirstFailureEnds];
    assert_eq!(every_section.warnings(), at_once);
    assert_eq!(Settings::new().warnings(), []);
}
