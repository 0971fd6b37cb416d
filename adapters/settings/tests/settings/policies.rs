//! What the sections come to: the core's policies, with the numbers of the file.

use core::time::Duration;

use evenkeel_core::{
    AnyOf, Backoff, Bad, BreakerPolicy, BudgetPolicy, CallPolicy, Code, CodeSet, Consecutive,
    Deadline, DeadlineBudget, EjectionPolicy, Growth, HealthPolicy, Instant, Jitter, LastN, Micros,
    OutlierPolicy, RetryPolicy, SmallRng, Strategy, ThrottlePolicy, TimeWindow,
};
use evenkeel_settings::{BreakerRule, Commit, HealthMode, Settings};

use crate::toml;

const EMPTY: &str = "[timeout]\n[budget]\n[wait_for_ready]\n[retry]\n[breaker]\n[throttle]\n\
                     [hedging]\n[health]\n[balancing.ejection]\n[channel]\n";

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn an_empty_file_configures_nothing() {
    let nothing = toml("");
    assert_eq!(nothing, Settings::new());
    assert_eq!(Settings::from_json("{}").as_ref(), Ok(&nothing));
    let call = nothing.call_policy("/a.B/C");
    assert_eq!(call, CallPolicy::DEFAULT.unbounded().with_retry(RetryPolicy::OFF));
    assert_eq!(nothing.warnings(), []);
}

#[test]
fn an_empty_section_is_the_cores_default() {
    let settings = toml(EMPTY);
    assert_eq!(settings.retry().unwrap().policy(), RetryPolicy::DEFAULT);
    assert_eq!(settings.timeout().unwrap().call_policy("/a.B/C"), CallPolicy::DEFAULT);
    assert_eq!(settings.budget().unwrap().policy(), BudgetPolicy::DEFAULT);
    assert_eq!(settings.throttle().unwrap().policy(), ThrottlePolicy::SUCCESS_REFILLED);
    let breaker = settings.breaker().unwrap();
    assert_eq!(breaker.rule(), BreakerRule::Consecutive(Consecutive::DEFAULT));
    let policy = breaker.policy(Consecutive::DEFAULT, 0);
    assert_eq!(policy.open_for(), BreakerPolicy::DEFAULT.open_for());
    assert_eq!((breaker.max_methods(), breaker.idle_ttl()), (1_000, millis(3_600_000)));
    let retry = settings.retry().unwrap();
    assert_eq!((retry.replay_limit(), retry.commit()), (262_144, Commit::OnMessageDelivered));
    let health = settings.health().unwrap();
    assert_eq!((health.mode(), health.policy()), (HealthMode::Check, HealthPolicy::DEFAULT));
    let balancing = settings.balancing().unwrap();
    assert_eq!(balancing.strategy(), Strategy::default());
    let ejects = OutlierPolicy::DEFAULT.with_ejection(EjectionPolicy::DEFAULT);
    assert_eq!(balancing.outlier(), ejects);
    assert_eq!(toml("[balancing]").balancing().unwrap().outlier(), OutlierPolicy::DEFAULT);
    let call = toml("[timeout]\n[retry]\n").call_policy("/a.B/C");
    assert_eq!(call, CallPolicy::DEFAULT);
}

/// The rules of the file's breakers are those of the core, defaults included.
#[test]
fn every_breaker_rule_is_reached() {
    let rule = |text: &str| toml(&format!("[breaker]\n{text}")).breaker().unwrap().rule();
    assert_eq!(rule("mode = \"count\""), BreakerRule::LastN(LastN::DEFAULT));
    assert_eq!(rule("mode = \"time\""), BreakerRule::TimeWindow(TimeWindow::DEFAULT));
    let seven = Consecutive::new(7).unwrap();
    assert_eq!(rule("fail_threshold = 7"), BreakerRule::Consecutive(seven));
    let slow = rule(
        "mode = \"time\"\nwindow = \"20s\"\nmin_calls = 5\nshare = 30\nslow_after = \"1s\"\nslow_share = 80",
    );
    let window = |share| TimeWindow::new(Duration::from_secs(20), 5, share).unwrap();
    let (first, second) = (window(30), window(80).counting(Bad::SlowCalls));
    assert_eq!(slow, BreakerRule::TimeWindows(AnyOf { first, second }));
    let slow = rule("mode = \"count\"\nwindow_calls = 50\nslow_after = \"1s\"\nslow_share = 80");
    let window = |share| LastN::new(50, 20, share).unwrap();
    let (first, second) = (window(50), window(80).counting(Bad::SlowCalls));
    assert_eq!(slow, BreakerRule::LastNs(AnyOf { first, second }));
}

#[test]
fn a_breaker_has_every_number_of_its_section() {
    let settings = toml(
        r#"
        [breaker]
        recovery_timeout = "5s"
        growth = 2.0
        max_open = "1m"
        jitter = 0.1
        half_open_max_calls = 3
        successes_to_close = 2
        slow_after = "2s"
        failure_codes = [14]
        short_slice = "20ms"
        "#,
    );
    let made = settings.breaker().unwrap().policy(TimeWindow::DEFAULT, 7);
    let expected = BreakerPolicy::new(TimeWindow::DEFAULT)
        .with_failures(CodeSet::of(&[Code::Unavailable]))
        .with_open_for(millis(5_000))
        .and_then(|policy| policy.with_growth(2_000, millis(60_000)))
        .and_then(|policy| policy.with_open_jitter(100, 7))
        .and_then(|policy| policy.with_max_trials(3))
        .and_then(|policy| policy.with_successes_to_close(2))
        .and_then(|policy| policy.with_slow_after(millis(2_000)))
        .unwrap();
    assert_eq!((made, settings.breaker().unwrap().open_jitter()), (expected, 100));
    let call = settings.call_policy("/a.B/C");
    let unbounded = CallPolicy::DEFAULT.unbounded().with_retry(RetryPolicy::OFF);
    assert_eq!(call, unbounded.with_short_slice(millis(20)).unwrap());
}

#[test]
fn a_retry_policy_has_every_number_of_its_section() {
    let settings = toml(
        r#"
        [timeout]
        default = "3s"
        attempt_timeout = "1s"
        per_method = { "/a.B/Slow" = "1m", "/a.B/Endless" = "none" }
        [retry]
        max_attempts = 9
        initial_backoff = "20ms"
        max_backoff = "2s"
        multiplier = 1.6
        jitter = { proportional = 0.2 }
        codes = ["aborted", 14]
        max_hint = "1m"
        idempotent_methods = ["/a.B/Slow"]
        "#,
    );
    let backoff = Backoff::new(millis(20), millis(2_000))
        .and_then(|backoff| backoff.with_multiplier(1_600))
        .and_then(|backoff| backoff.with_jitter(Jitter::Proportional(200)))
        .unwrap();
    let retry = RetryPolicy::DEFAULT
        .with_max_attempts(9)
        .and_then(|retry| retry.with_max_hint(millis(60_000)))
        .unwrap()
        .with_backoff(backoff)
        .with_codes(CodeSet::of(&[Code::Aborted, Code::Unavailable]));
    let call = CallPolicy::DEFAULT.with_attempt_timeout(millis(1_000)).unwrap();
    let timed = |timeout| call.with_timeout(timeout).unwrap();
    assert_eq!(settings.call_policy("/a.B/Slow"), timed(millis(60_000)).with_retry(retry));
    let once = retry.not_idempotent();
    assert_eq!(settings.call_policy("/a.B/Endless"), call.endless().with_retry(once));
    assert_eq!(settings.call_policy("/a.B/Other"), timed(millis(3_000)).with_retry(once));
}

#[test]
fn hedging_takes_the_place_of_retries_for_what_may_be_repeated() {
    let settings = toml(
        "[hedging]\ndelay = \"50ms\"\nmax_attempts = 3\nnon_fatal_codes = [14]\n\
         [retry]\nidempotent_methods = [\"Get*\"]\n",
    );
    let hedged = settings.call_policy("/a.B/Get");
    assert_eq!(hedged.retry().max_attempts(), 3);
    assert_eq!(hedged.retry().codes(), CodeSet::of(&[Code::Unavailable]));
    assert!(hedged.retry().backoff().max().is_zero(), "the next one follows a failure at once");
    let unbounded = CallPolicy::DEFAULT.unbounded();
    assert_eq!(hedged, settings.hedging().unwrap().hedged(unbounded));
    let retried = settings.call_policy("/a.B/Set");
    assert_eq!(retried, unbounded.with_retry(RetryPolicy::DEFAULT.not_idempotent()));
}

/// What cannot be measured here is measured by whoever makes the calls.
#[test]
fn a_measured_delay_begins_with_the_one_before_anything_is_known() {
    let settings = toml("[hedging]\nquantile = 0.95\nuntil_known = \"300ms\"");
    let hedging = settings.hedging().unwrap();
    let unbounded = CallPolicy::DEFAULT.unbounded();
    assert_eq!(hedging.quantile(), Some(950));
    assert_eq!(hedging.hedged(unbounded).hedge_after().as_duration(), millis(300));
    let (least, most) = (hedging.min_delay(), hedging.max_delay());
    assert_eq!((least, most), (millis(1), millis(1_000)));
    let refused = Settings::from_toml("[hedging]\nmin_delay = \"2s\"").unwrap_err().to_string();
    assert!(refused.contains("hedging.min_delay"), "{refused}");
    assert!(refused.contains("must not be longer than hedging.max_delay"), "{refused}");
}

/// The waits of a section, without jitter unless it says otherwise.
fn waits(section: &str, count: usize) -> Vec<u64> {
    let settings = toml(&format!("[retry]\n{section}"));
    let policy = settings.retry().unwrap().policy();
    let (mut growth, mut rng) = (Growth::START, SmallRng::seeded(1));
    let mut next = || policy.backoff().next_delay(&mut growth, &mut rng).as_micros() / 1_000;
    (0..count).map(|_| next()).collect()
}

#[test]
fn b1_b3_b4_b5_b6_waits_are_what_the_file_says() {
    let b1 = "initial_backoff = \"1s\"\nmax_backoff = \"5s\"\njitter = \"none\"";
    assert_eq!(waits(b1, 4), [1_000, 2_000, 4_000, 5_000]);
    let b3 = [100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000];
    assert_eq!(waits("jitter = 0", 9), b3);
    assert_eq!(waits("initial_backoff = \"0s\"", 4), [0; 4]);
    assert_eq!(waits("multiplier = 1\njitter = 0.0", 3), [100; 3]);
    let b6 = "initial_backoff = \"1s\"\nmax_backoff = \"200ms\"\njitter = \"none\"";
    assert_eq!(waits(b6, 2), [200, 200]);
}

#[test]
fn b2_b10_b12_jitter_keeps_its_range() {
    let b2 = "initial_backoff = \"10s\"\nmax_backoff = \"20s\"\njitter = 0.5";
    assert!((5_000..=15_000).contains(&waits(b2, 1)[0]));
    let all = waits("jitter = 1.0", 30);
    assert!(all.iter().all(|wait| *wait <= 10_000), "{all:?}");
}

/// A file's own maximum is not gRPC's: nine attempts are nine.
#[test]
fn g2_g3_our_own_attempts_are_counted_as_written() {
    let attempts =
        |number| toml(&format!("[retry]\nmax_attempts = {number}")).call_policy("/a.B/C");
    assert_eq!(attempts(9).retry().max_attempts(), 9);
    assert_eq!(attempts(1).retry().max_attempts(), 1);
}

#[test]
fn g7_codes_are_alike_however_they_are_written() {
    let codes =
        |codes| toml(&format!("[retry]\ncodes = {codes}")).retry().unwrap().policy().codes();
    let one = CodeSet::of(&[Code::Unavailable]);
    for written in ["[14]", "[\"UNAVAILABLE\"]", "[\"unavailable\"]", "[14, \"Unavailable\"]"] {
        assert_eq!(codes(written), one, "{written}");
    }
    assert_eq!(codes("[]"), CodeSet::EMPTY, "G11: and then nothing is retried");
}

#[test]
fn g60_a_cap_applies_to_its_method_only() {
    let settings = toml("[budget.call_caps]\n\"/svc/Audit\" = \"500ms\"\naudit = \"1ms\"");
    let budget = settings.budget().unwrap();
    let cap = |method: &str| {
        let cap = budget.call_caps().find(|(name, _)| *name == method);
        cap.map(|(_, cap)| Micros::from_duration(cap))
    };
    let spent = DeadlineBudget::new(Instant::ZERO, millis(3_000), budget.policy()).unwrap();
    let granted = |method| spent.grant(Instant::ZERO, Micros::ZERO, cap(method)).unwrap();
    assert_eq!(granted("/svc/Audit"), Micros::from_millis(500));
    assert_eq!(granted("/svc/Other"), Micros::from_millis(3_000));
}

#[test]
fn w6_w7_w8_each_method_waits_as_it_is_told() {
    assert_eq!(toml("").wait_for_ready(), None);
    let settings =
        toml("[wait_for_ready.per_method]\n\"/a.B/No\" = false\n\"/a.B/Exempt\" = \"exempt\"\n");
    let ready = settings.wait_for_ready().unwrap();
    assert_eq!(ready.waits("/a.B/No"), Some(false));
    assert_eq!(ready.waits("/a.B/Exempt"), None);
    assert_eq!(ready.waits("/a.B/Other"), Some(true));
    assert!(ready.require_deadline());
}

#[test]
fn a_strict_budget_is_strict() {
    let strict =
        toml("[budget]\nmode = \"strict\"\nmin_timeout = \"200ms\"\nsafety_margin = \"50ms\"");
    let policy = BudgetPolicy::DEFAULT
        .with_min_timeout(millis(200))
        .and_then(|policy| policy.with_safety_margin(millis(50)))
        .unwrap();
    assert_eq!(strict.budget().unwrap().policy(), policy.strict());
}

#[test]
fn throttles_are_the_cores() {
    let throttle = |text: &str| toml(&format!("[throttle]\n{text}")).throttle().unwrap().policy();
    let grpc = throttle("kind = \"grpc\"\nmax_tokens = 1000\ntoken_ratio = 0.001");
    assert_eq!(grpc, ThrottlePolicy::grpc(1_000, 1).unwrap());
    let refilled = throttle("max_tokens = 20\ntoken_ratio = 0.25");
    assert_eq!(refilled, ThrottlePolicy::success_refilled(20, 250).unwrap());
}

#[test]
fn the_deadline_is_the_nearer_one() {
    let call = toml("[timeout]\ndefault = \"10s\"").call_policy("/a.B/C");
    let one = Deadline::at(Instant::from_micros(1_000_000));
    assert_eq!(call.deadline(Instant::ZERO, one), one);
}
