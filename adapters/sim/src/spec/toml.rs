//! This file writes a policy as the TOML that `evenkeel-settings` reads, and a scenario as the
//! command does.

use core::fmt::Write as _;
use core::time::Duration;

use evenkeel_core::Jitter;

use super::{BreakerSpec, BudgetSpec, RetrySpec, RuleSpec, Spec};

impl Spec {
    /// As the settings file of a client. What the core does not ship is a section `[model]`, which
    /// only the simulator understands.
    pub fn to_toml(&self) -> String {
        let mut text = format!(
            "[timeout]\ndefault = {}\nattempt_timeout = {}\n",
            optional(self.timeout),
            optional(self.attempt_timeout)
        );
        self.retry.write(&mut text);
        if let Some(breaker) = &self.breaker {
            breaker.write(&mut text);
        }
        self.budget.write(&mut text);
        text
    }
}

impl RetrySpec {
    fn write(&self, text: &mut String) {
        let jitter = match self.jitter {
            Jitter::Decorrelated => "\"decorrelated\"".into(),
            Jitter::Equal => "\"equal\"".into(),
            Jitter::Full => "\"full\"".into(),
            Jitter::None => "\"none\"".into(),
            Jitter::Proportional(share) => thousandths(share.into()),
        };
        let more = if self.timeouts { ", \"DEADLINE_EXCEEDED\"" } else { "" };
        let _ = write!(
            text,
            "\n[retry]\nmax_attempts = {}\ninitial_backoff = {}\nmax_backoff = {}\nmultiplier = {}\n\
             jitter = {jitter}\ncodes = [\"UNAVAILABLE\", \"RESOURCE_EXHAUSTED\"{more}]\n",
            self.max_attempts,
            span(self.initial),
            span(self.max),
            thousandths(self.multiplier)
        );
    }
}

impl BreakerSpec {
    fn write(&self, text: &mut String) {
        text.push_str("\n[breaker]\n");
        let _ = match self.rule {
            RuleSpec::Consecutive(threshold) => {
                writeln!(text, "mode = \"consecutive\"\nfail_threshold = {threshold}")
            }
            RuleSpec::LastN { calls, min_calls, share } => writeln!(
                text,
                "mode = \"count\"\nwindow_calls = {calls}\nmin_calls = {min_calls}\nshare = {share}"
            ),
            RuleSpec::TimeWindow { window, min_calls, share } => writeln!(
                text,
                "mode = \"time\"\nwindow = {}\nmin_calls = {min_calls}\nshare = {share}",
                span(window)
            ),
        };
        let _ = writeln!(
            text,
            "recovery_timeout = {}\nhalf_open_max_calls = {}\njitter = {}",
            span(self.open_for),
            self.trials,
            thousandths(self.jitter.into())
        );
        if let Some((factor, max)) = self.growth {
            let _ = writeln!(text, "growth = {}\nmax_open = {}", thousandths(factor), span(max));
        }
    }
}

impl BudgetSpec {
    fn write(&self, text: &mut String) {
        let throttle = |kind: &str, tokens: u16, ratio: u32| {
            let ratio = thousandths(ratio);
            format!(
                "\n[throttle]\nkind = \"{kind}\"\nmax_tokens = {tokens}\ntoken_ratio = {ratio}\n"
            )
        };
        text.push_str(&match *self {
            Self::None => String::new(),
            Self::Grpc(tokens, ratio) => throttle("grpc", tokens, ratio),
            Self::SuccessRefilled(tokens, ratio) => throttle("success_refilled", tokens, ratio),
            Self::Aws(rule) => format!(
                "\n[model]\nbudget = \"aws\"\ncapacity = {}\ncost = {}\ntimeout_cost = {}\n",
                rule.capacity, rule.cost, rule.timeout_cost
            ),
            Self::Envoy(rule) => format!(
                "\n[model]\nbudget = \"envoy\"\npercent = {}\nmin = {}\nrounds_down = {}\n",
                rule.percent, rule.min, rule.rounds_down
            ),
            Self::Finagle(rule) => format!(
                "\n[model]\nbudget = \"finagle\"\npercent = {}\nfloor = {}\nttl = {}\n",
                rule.percent,
                rule.floor,
                span(Duration::from_micros(rule.ttl))
            ),
            Self::MongoDb(rule) => format!(
                "\n[model]\nbudget = \"mongodb\"\ncapacity = {}\nratio = {}\n",
                rule.capacity / 1_000,
                thousandths(rule.ratio)
            ),
        });
    }
}

/// A span in the largest unit that keeps it whole.
pub(super) fn span(span: Duration) -> String {
    let micros = span.as_secs().saturating_mul(1_000_000);
    let micros = micros.saturating_add(span.subsec_micros().into());
    for (size, unit) in [(1_000_000, "s"), (1_000, "ms")] {
        if micros % size == 0 {
            return format!("\"{}{unit}\"", micros / size);
        }
    }
    format!("\"{micros}us\"")
}

fn optional(limit: Option<Duration>) -> String {
    limit.map_or_else(|| "\"none\"".into(), span)
}

/// Thousandths as a number with a point, which is what makes it a float in TOML; all three digits
/// of them, or another policy would be read than was written.
fn thousandths(value: u32) -> String {
    let (mut digits, mut width) = (value % 1_000, 3);
    while width > 1 && digits % 10 == 0 {
        (digits, width) = (digits / 10, width - 1);
    }
    format!("{}.{digits:0width$}", value / 1_000)
}
