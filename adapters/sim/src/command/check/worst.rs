//! This file knows the worst that one call can come to: by arithmetic, without a simulation.

use evenkeel_core::rng::Always;
use evenkeel_core::{Growth, Micros};
use evenkeel_sim::{Budget, Guard, Policy, Scenario, counted, hopeless_load};

use crate::out::tell;

/// The most attempts and time of one call.
pub(crate) struct Worst {
    pub(crate) attempts: u16,
    /// `None`: nothing bounds it.
    pub(crate) duration: Option<Micros>,
}

impl Worst {
    pub(crate) fn of(policy: &Policy) -> Self {
        let attempts = policy.possible_attempts();
        let (limit, whole) = (policy.call.attempt_timeout(), policy.call.timeout());
        let mut growth = Growth::START;
        let backoff = policy.call.retry().backoff();
        // After a few thousand waits all are the longest; nobody waits for the rest here.
        let walked = attempts.saturating_sub(1).min(4_096);
        let mut waits = (0..walked)
            .map(|_| backoff.next_delay(&mut growth, &mut Always(u32::MAX)).as_micros())
            .fold(0u64, u64::saturating_add);
        let rest = u64::from(attempts.saturating_sub(1).saturating_sub(walked));
        waits = waits.saturating_add(rest.saturating_mul(backoff.max().as_micros()));
        let tries = limit.as_micros().saturating_mul(attempts.into());
        let sum = Micros::from_micros(tries.saturating_add(waits));
        let duration = sum.shorter(whole);
        let bounded = duration.as_micros() < Micros::SETTING_END.as_micros();
        Self { attempts, duration: bounded.then_some(duration) }
    }

    pub(crate) fn print(&self, policy: &Policy, scenario: &Scenario) {
        let takes = match self.duration {
            Some(span) => format!("takes {}", rounded_up(span)),
            None => "may take for ever".into(),
        };
        let word = if self.attempts == 1 { "attempt" } else { "attempts" };
        tell!("At worst, one call makes {} {word} and {takes}.", self.attempts);
        let attempts = f64::from(self.attempts);
        tell!("A dead backend below layers of such clients, attempts for each call:");
        let mut product = 1.0;
        for layers in 1..=4 {
            product *= attempts;
            let word = if layers == 1 { "layer" } else { "layers" };
            tell!("  {layers} {word}: {}", counted(product));
        }
        tell!("  (bounded by the attempts alone{})", until(policy));
        if let Some(load) = hopeless_load(scenario, policy) {
            tell!(
                "By the law attempts × load = 1, a server that executes dead work, once it is late \
                 for every attempt, cannot recover above {:.0} % load.",
                load * 100.0
            );
        }
    }
}

/// To the next span that is told with all its digits: a bound that is cut would be none.
fn rounded_up(span: Micros) -> Micros {
    let micros = span.as_micros();
    let step = match micros {
        0..1_000 => 1,
        1_000..10_000 => 100,
        _ => 10_000,
    };
    Micros::from_micros(micros.div_ceil(step).saturating_mul(step))
}

/// What bounds the attempts of a backend that stays dead, in time.
fn until(policy: &Policy) -> String {
    let budget = match policy.budget {
        Budget::None => None,
        _ => Some("its retries are throttled"),
    };
    let guard = match policy.guard {
        Guard::None => None,
        Guard::Adaptive(_) => Some("its adaptive throttling sets in"),
        _ => Some("its breaker opens"),
    };
    match (budget, guard) {
        (None, None) => String::new(),
        (Some(one), None) | (None, Some(one)) => format!(" until {one}"),
        (Some(budget), Some(guard)) => format!(" until {budget} or {guard}"),
    }
}
