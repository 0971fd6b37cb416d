//! This file knows the token rules, step by step (V8, V9).

use evenkeel_core::{Code, CodeSet, Micros, Outcome, Report, Throttle, ThrottlePolicy, Weight};

use super::{Machines, Row};
use crate::Chance;
use crate::models::{Aws, AwsMemory, MongoDb, MongoDbMemory};

fn report(code: Code) -> Report {
    Report { outcome: Outcome::new(code), took: Micros::ZERO, weight: Weight::Counts }
}

/// The failure share from which on gRPC's throttle runs dry, found by halving.
pub(super) fn threshold(machines: &Machines) -> Vec<Row> {
    let policy = (machines.throttle)(1_000, 100);
    let (mut low, mut high) = (0.05, 0.15);
    for _ in 0..8 {
        let share = (low + high) / 2.0;
        if runs_dry(&policy, share) { high = share } else { low = share }
    }
    let known = 100.0 * 0.1 / 1.1;
    let what = "ratio 0.1: % of attempts failing when retries stop, r / (1 + r)".into();
    vec![Row::near(what, known, 0.3, 50.0 * (low + high))]
}

fn runs_dry(policy: &ThrottlePolicy, share: f64) -> bool {
    let mut throttle = Throttle::full(policy);
    let mut chance = Chance::seeded(8);
    (0..1_000_000).any(|_| {
        let failed = chance.happens(share);
        let code = if failed { Code::Unavailable } else { Code::Ok };
        throttle.record(&report(code), CodeSet::RETRYABLE, policy);
        failed && !throttle.allow(policy)
    })
}

pub(super) fn traces(machines: &Machines) -> Vec<Row> {
    let mut rows = vec![grpc(machines), success_refilled()];
    rows.extend(aws());
    rows.push(mongodb());
    rows
}

/// `F` fails and asks for a retry, `+` succeeds; the answer to each `F`, and the tokens at the end.
fn play(policy: &ThrottlePolicy, steps: &str) -> (String, u32) {
    let mut throttle = Throttle::full(policy);
    let mut answers = String::new();
    for step in steps.chars() {
        let code = if step == 'F' { Code::Unavailable } else { Code::Ok };
        throttle.record(&report(code), CodeSet::RETRYABLE, policy);
        if step == 'F' {
            answers.push(if throttle.allow(policy) { 'y' } else { 'n' });
        }
    }
    (answers, throttle.millitokens())
}

/// Ten tokens, 0.1 each: four failures may be retried, the fifth leaves half; one success more is
/// not enough, and twenty-one are, with a thousandth to spare.
fn grpc(machines: &Machines) -> Row {
    let steps = format!("FFFFF+F{}F", "+".repeat(20));
    let got = play(&(machines.throttle)(10, 100), &steps);
    Row::exactly("A6 10/0.1: FFFFF, +, F, 20 +, F".into(), &("yyyynny".into(), 5_100), &got)
}

/// Ten saved up, the eleventh is refused; nine successes are not enough for another, ten are.
fn success_refilled() -> Row {
    let steps = format!("{}{}F+F", "F".repeat(11), "+".repeat(9));
    let got = play(&ThrottlePolicy::SUCCESS_REFILLED, &steps);
    let known = ("yyyyyyyyyynny".into(), 0);
    Row::exactly("success-refilled 10 %: 11 F, 9 +, F, +, F".into(), &known, &got)
}

fn aws() -> [Row; 3] {
    let burst = |rule: Aws, timed_out| {
        let mut memory = AwsMemory::full(&rule);
        let granted = (0..1_000).take_while(|_| memory.allow(&rule, timed_out).is_some()).count();
        (granted, memory.tokens())
    };
    let mut memory = AwsMemory::full(&Aws::STANDARD);
    let mut paid = 0;
    for _ in 0..3 {
        paid = memory.allow(&Aws::STANDARD, false).unwrap_or(0);
    }
    memory.succeeded(&Aws::STANDARD, paid); // The retry worked: 5 come back.
    memory.succeeded(&Aws::STANDARD, 0); // A first try: 1.
    let what = |text: &str| format!("AWS {text}");
    let standard = (burst(Aws::STANDARD, false), burst(Aws::STANDARD, true));
    [
        Row::exactly(
            what("standard: retries in a row, after errors and timeouts"),
            &((100, 0), (50, 0)),
            &standard,
        ),
        Row::exactly(what("standard: 3 retries, one works, one first try"), &491, &memory.tokens()),
        Row::exactly(what("2026: retries in a row"), &(35, 10), &burst(Aws::NEW_2026, false)),
    ]
}

/// A retry costs 1; it works: 1.1. Another costs 1 and fails, not by overload: 1. A third costs 1
/// and fails by overload: nothing. A first try works: 0.1.
fn mongodb() -> Row {
    let rule = MongoDb::SPECIFIED;
    let mut memory = MongoDbMemory::full(&rule);
    let mut tokens = Vec::new();
    for (retried, success, overload) in
        [(true, true, false), (true, false, false), (true, false, true), (false, true, false)]
    {
        let allowed = !retried || memory.allow();
        memory.ended(&rule, success && allowed, overload, retried);
        tokens.push(memory.millitokens());
    }
    let known = vec![1_000_000, 1_000_000, 999_000, 999_100];
    Row::exactly("MongoDB: thousandths after each of four ends".into(), &known, &tokens)
}
