//! This file writes a policy as the Rust that builds it.

use core::fmt::Write as _;
use core::time::Duration;

use evenkeel_core::Jitter;

use super::{BreakerSpec, BudgetSpec, RuleSpec, Spec};

impl Spec {
    /// The constants a client would have. A model has none, and is named in a comment.
    pub fn to_rust(&self) -> String {
        let mut text = String::from("use core::time::Duration;\nuse evenkeel_core::*;\n\n");
        let retry = &self.retry;
        let jitter = match retry.jitter {
            Jitter::Proportional(share) => format!("Jitter::Proportional({share})"),
            Jitter::Decorrelated => "Jitter::Decorrelated".into(),
            Jitter::Equal => "Jitter::Equal".into(),
            Jitter::Full => "Jitter::Full".into(),
            Jitter::None => "Jitter::None".into(),
        };
        let codes = match retry.timeouts {
            true => "CodeSet::RETRYABLE.with(Code::DeadlineExceeded)",
            false => "CodeSet::RETRYABLE",
        };
        let _ = write!(
            text,
            "const WAITS: Backoff = checked!(checked!(checked!(\n    Backoff::new({}, {}))\n    \
             .with_multiplier({}))\n    .with_jitter({jitter}));\n\
             const RETRY: RetryPolicy = checked!(RetryPolicy::DEFAULT.with_max_attempts({}))\n    \
             .with_codes({codes})\n    .with_backoff(WAITS);\n",
            span(retry.initial),
            span(retry.max),
            retry.multiplier,
            retry.max_attempts
        );
        text += "pub const CALL: CallPolicy = ";
        let mut call = String::from("CallPolicy::DEFAULT.with_retry(RETRY)");
        call = match self.timeout {
            Some(limit) => format!("checked!({call}.with_timeout({}))", span(limit)),
            None => format!("{call}.unbounded()"),
        };
        if let Some(limit) = self.attempt_timeout {
            call = format!("checked!({call}\n    .with_attempt_timeout({}))", span(limit));
        }
        let _ = writeln!(text, "{call};");
        if let Some(breaker) = &self.breaker {
            breaker.write_rust(&mut text);
        }
        self.budget.write_rust(&mut text);
        text
    }
}

impl BreakerSpec {
    fn write_rust(&self, text: &mut String) {
        let (kind, rule) = match self.rule {
            RuleSpec::Consecutive(threshold) => {
                ("Consecutive", format!("Consecutive::new({threshold})"))
            }
            RuleSpec::LastN { calls, min_calls, share } => {
                ("LastN", format!("LastN::new({calls}, {min_calls}, {share})"))
            }
            RuleSpec::TimeWindow { window, min_calls, share } => {
                ("TimeWindow", format!("TimeWindow::new({}, {min_calls}, {share})", span(window)))
            }
        };
        let mut made = format!(
            "checked!(BreakerPolicy::new(checked!({rule}))\n    .with_open_for({}))",
            span(self.open_for)
        );
        if let Some((factor, max)) = self.growth {
            made = format!("checked!({made}\n    .with_growth({factor}, {}))", span(max));
        }
        made = format!("checked!({made}\n    .with_max_trials({}))", self.trials);
        let _ = writeln!(text, "pub const BREAKER: BreakerPolicy<{kind}> = {made};");
        if self.jitter > 0 {
            let _ = writeln!(
                text,
                "// Each client, with a seed of its own: BREAKER.with_open_jitter({}, seed)",
                self.jitter
            );
        }
    }
}

impl BudgetSpec {
    fn write_rust(&self, text: &mut String) {
        let throttle = match *self {
            Self::None => return,
            Self::Grpc(tokens, ratio) => format!("grpc({tokens}, {ratio})"),
            Self::SuccessRefilled(tokens, ratio) => format!("success_refilled({tokens}, {ratio})"),
            Self::Aws(_) | Self::Envoy(_) | Self::Finagle(_) | Self::MongoDb(_) => {
                *text += "// Its throttle is a model, which evenkeel does not ship.\n";
                return;
            }
        };
        let _ = writeln!(
            text,
            "pub const THROTTLE: ThrottlePolicy = checked!(ThrottlePolicy::{throttle});"
        );
    }
}

fn span(span: Duration) -> String {
    let (seconds, micros) = (span.as_secs(), span.subsec_micros());
    match (seconds, micros) {
        (seconds, 0) => format!("Duration::from_secs({seconds})"),
        (0..4_000_000, micros) if micros % 1_000 == 0 => {
            format!("Duration::from_millis({})", seconds * 1_000 + u64::from(micros / 1_000))
        }
        _ => format!("Duration::from_micros({})", seconds * 1_000_000 + u64::from(micros)),
    }
}
