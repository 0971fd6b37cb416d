//! This file knows time, randomness, codes, outcomes, delays and refused settings.

use core::hash::{Hash, Hasher};
use core::hint::black_box;
use core::ops::Add as _;
use core::time::Duration;

use evenkeel_core::rng::{Always, mix, seed_from};
use evenkeel_core::{
    Backoff, Clock, Code, CodeSet, Deadline, Event, Growth, Instant, Invalid, Micros, Outcome,
    Random, Report, RunningQuantile, Sent, SmallRng, Target, Transition, Tried, Verdict,
};
use evenkeel_probe::{any, blur};

use crate::text::debug;

pub(crate) fn reach() {
    time();
    deadlines();
    randomness();
    codes();
    outcomes();
    backoff();
    latencies();
    events();
    refused_settings();
}

fn time() {
    let (now, span): (Instant, Micros) = (Instant::from_micros(any()), Micros::from_micros(any()));
    let _ = Instant::as_micros(now);
    let _ = Instant::after(now, span);
    let _ = Instant::since(now, any());
    let _ = Instant::add(now, span);
    let _ = Instant::now(&now);
    let _ = Clock::now(&&now);
    let clock: &dyn Clock = black_box(&now);
    let _ = Clock::now(clock);

    let _ = Micros::from_millis(any());
    let _ = Micros::from_duration(any());
    let _ = Micros::setting("", any());
    let _ = Micros::positive_setting("", any());
    let _ = Micros::as_micros(span);
    let _ = Micros::as_duration(span);
    let _ = Micros::is_zero(span);
    let _ = Micros::plus(span, any());
    let _ = Micros::minus(span, any());
    let _ = Micros::shorter(span, any());
    let _ = Micros::longer(span, any());
    let _ = Duration::from(span);
    derived(&now);
    derived(&span);
    let _ = now.max(any()).clamp(Instant::ZERO, Instant::MAX);
}

fn deadlines() {
    let deadline = Deadline::at(any());
    let _ = Deadline::after(any(), any());
    let _ = Deadline::default();
    let _ = Deadline::instant(deadline);
    let _ = Deadline::is_none(deadline);
    let _ = Deadline::is_over(deadline, any());
    let _ = Deadline::remaining(deadline, any());
    let _ = Deadline::earlier(deadline, any());
    derived(&deadline);
}

fn randomness() {
    let mut rng = SmallRng::seeded(any());
    let _ = SmallRng::next_u32(&mut rng);
    blur(&mut rng);
    let _ = Random::next_u32(&mut &mut rng);
    let _ = Random::next_u32(&mut Always(any()));
    let _ = mix(any());
    let _ = seed_from(black_box(&[0; 6][..]));
    derived(&rng);
}

fn codes() {
    let code = Code::from_number(any());
    let _ = Code::from_name(black_box("unavailable"));
    let _ = Code::number(code);
    let _ = Code::name(code);
    derived(&code);

    let mut set = CodeSet::of(black_box(&[Code::Ok][..]));
    set = CodeSet::with(set, any());
    set = CodeSet::without(set, any());
    let _ = CodeSet::contains(set, any());
    let _ = CodeSet::is_empty(set);
    for code in CodeSet::iter(set) {
        black_box(code);
    }
    let _ = CodeSet::from_iter(black_box(&[Code::Ok][..]).iter().copied());
    derived(&set);
}

fn outcomes() {
    let _ = Outcome::success();
    let _ = Outcome::unavailable();
    let _ = Outcome::not_connected();
    let _ = Outcome::refused_by_peer();
    let mut outcome = Outcome::with_sent(Outcome::new(any()), any());
    outcome = Outcome::with_pushback(outcome, any());
    outcome = Outcome::with_retry_after(outcome, any());
    let _ = Sent::nothing_executed(outcome.sent);
    derived(&outcome);

    let report: Report = any();
    let _ = Report::counts(&report);
    let _ = Report::charges(&report, any());
    let _ = Report::is_success(&report);
    derived(&report);

    let verdict: Verdict = any();
    let _ = Verdict::is_failure(verdict);
    let _ = Verdict::is_slow(verdict);

    let target = Target::new(any());
    let _ = Target::number(target);
    let tried = Tried::with(any(), target);
    let _ = Tried::contains(tried, any());
}

fn backoff() {
    let backoff: Backoff = any();
    let mut growth = Growth::START;
    let mut rng = SmallRng::seeded(any());
    let mut shaken = Shaken;
    blur(&mut growth);
    let _ = Backoff::default();
    let _ = Backoff::next_delay(&backoff, &mut growth, &mut rng);
    let _ = Backoff::next_delay(&backoff, &mut growth, &mut shaken);
    let _ = Backoff::initial(&backoff);
    let _ = Backoff::max(&backoff);
    let _ = Backoff::multiplier(&backoff);
    let _ = Backoff::jitter(&backoff);
    derived(&backoff);
    derived(&growth);
}

/// A generator of the user's own, that gives any number.
pub(crate) struct Shaken;

impl Random for Shaken {
    fn next_u32(&mut self) -> u32 {
        any()
    }
}

fn latencies() {
    let Ok(mut quantile) = RunningQuantile::new(any()) else { return };
    blur(&mut quantile);
    RunningQuantile::record(&mut quantile, any());
    let _ = RunningQuantile::value(&quantile);
    debug::<RunningQuantile>(&quantile);
    black_box(quantile.clone() == quantile);
}

fn events() {
    let transition: Transition = any();
    let _ = Transition::state(transition).name();
    let mut event = match any::<u8>() {
        0 => Event::from(transition),
        1 => Event::from(any::<evenkeel_core::BudgetExhausted>()),
        2 => Event::from(any::<evenkeel_core::Next>()),
        4 => Event::from(any::<evenkeel_core::Setback>()),
        3 => Event::from(any::<evenkeel_core::Rejected>()),
        5 => Event::from(any::<evenkeel_core::HealthChange>()),
        6 => Event::from(any::<evenkeel_core::OutlierChange>()),
        _ => Event::from(any::<evenkeel_core::StopReason>()),
    };
    // Of one that is not listed too.
    blur(&mut event);
    derived(&event);
}

fn refused_settings() {
    let mut invalid = Invalid::new("field", any(), "unit", "rule");
    blur(&mut invalid);
    let _ = Invalid::field(&invalid);
    let _ = Invalid::value(&invalid);
    let _ = Invalid::unit(&invalid);
    let _ = Invalid::rule(&invalid);
    derived(&invalid);
}

/// What `derive` wrote: copies, comparisons, hashes.
pub(crate) fn derived<T: Clone + Eq + Hash>(value: &T) {
    let mut copy = value.clone();
    blur(&mut copy);
    let mut sum = Sum(0);
    value.hash(&mut sum);
    black_box((*value == copy, sum.finish()));
}

struct Sum(u64);

impl Hasher for Sum {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }
}
