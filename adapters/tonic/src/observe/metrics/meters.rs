//! This file knows which series the calls of one method are counted in.
//!
//! All series of a method have the same `grpc.method` and `grpc.target`, so that requests, retries
//! and breakers can be divided by each other.

use core::fmt;
use std::sync::Arc;

use evenkeel_tokio::core::{Code, Micros};
use opentelemetry::{KeyValue, StringValue, Value};

use super::Instruments;
use crate::observe::circuit::Change;
use crate::observe::ending::{Ending, Kind};
use crate::observe::tally::Tally;
use crate::settings::Settings;

/// The series of one method.
pub(in crate::observe) struct Meters {
    instruments: Arc<Instruments>,
    /// `grpc.method` and `grpc.target`.
    pair: [KeyValue; 2],
    /// `rpc.system.name`, `rpc.method`, and `server.address` where there is one.
    rpc: Vec<KeyValue>,
}

impl Meters {
    pub(in crate::observe) fn of(
        settings: &Settings,
        path: &str,
        address: Option<&Arc<str>>,
    ) -> Option<Self> {
        let metrics = settings.observing.as_ref()?.metrics.as_ref()?;
        let method: Arc<str> = label(settings, path).into();
        let mut rpc = vec![
            KeyValue::new("rpc.system.name", "grpc"),
            KeyValue::new("rpc.method", shared(&method)),
        ];
        rpc.extend(address.map(|address| KeyValue::new("server.address", shared(address))));
        Some(Self {
            instruments: Arc::clone(&metrics.instruments),
            pair: pair(&method, &settings.target),
            rpc,
        })
    }

    pub(in crate::observe) fn began(&self) {
        self.instruments.active.add(1, &self.pair);
    }

    pub(in crate::observe) fn started(&self, left: Option<Micros>) {
        self.instruments.attempts.add(1, &self.pair);
        if let Some(left) = left {
            self.instruments.remaining.record(seconds(left), &self.pair);
        }
    }

    pub(in crate::observe) fn ended(&self, code: Code, took: Micros) {
        self.instruments.attempt_duration.record(seconds(took), &self.with(status(code)));
    }

    pub(in crate::observe) fn denied(&self, reason: &'static str) {
        self.instruments.denied.add(1, &self.with(KeyValue::new("reason", reason)));
    }

    pub(in crate::observe) fn refused(&self, member: &Arc<str>) {
        self.instruments.rejections.add(1, &self.with(self::member(member)));
    }

    pub(in crate::observe) fn turned(&self, member: &Arc<str>, change: Change) {
        let [method, target] = self.pair.clone();
        let (from, to) = (change.from.name(), change.to.name());
        self.instruments.transitions.add(
            1,
            &[
                method,
                target,
                self::member(member),
                KeyValue::new("from", from),
                KeyValue::new("to", to),
                KeyValue::new("cause", change.cause),
            ],
        );
    }

    pub(in crate::observe) fn over(&self, ending: &Ending, tally: &Tally, took: Micros) {
        let all = &*self.instruments;
        all.active.add(-1, &self.pair);
        let took = seconds(took);
        let coded = self.with(status(ending.code));
        all.call_duration.record(took, &coded);
        let [method, target, code] = coded;
        let (kind, origin) = (ending.kind.name(), ending.origin());
        let (kind, origin) = (KeyValue::new("status", kind), KeyValue::new("origin", origin));
        all.calls.add(1, &[method, target, code, kind, origin]);
        self.rpc_over(ending, took);
        self.retries_over(ending, tally);
    }

    fn rpc_over(&self, ending: &Ending, took: f64) {
        let mut labels = self.rpc.clone();
        labels.push(KeyValue::new("rpc.status_code", ending.code.name()));
        if ending.code != Code::Ok {
            labels.push(KeyValue::new("error.type", ending.code.name()));
        }
        self.instruments.rpc_duration.record(took, &labels);
    }

    /// What retrying was good for. Zeros are not reported (A96).
    fn retries_over(&self, ending: &Ending, tally: &Tally) {
        let all = &*self.instruments;
        let counts = [
            (&all.retries, tally.retries),
            (&all.transparent, tally.transparent),
            (&all.hedges, tally.hedges),
        ];
        for (histogram, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
            histogram.record(u64::from(count), &self.pair);
        }
        if !tally.delay.is_zero() {
            all.retry_delay.record(seconds(tally.delay), &self.pair);
        }
        let retried = tally.retries > 0 || tally.hedges > 0;
        let outcome = match (ending.kind, retried) {
            (Kind::Success, false) => "successful_without_retry",
            (Kind::Success, true) => "successful_with_retry",
            (Kind::Error, false) => "failed_without_retry",
            (Kind::Error | Kind::Rejected, true) => "failed_with_retry",
            (Kind::Rejected, false) if tally.tried() => "failed_without_retry",
            // Whether it would have failed nobody knows.
            (Kind::Cancelled, _) | (Kind::Rejected, false) => return,
        };
        all.retry_calls.add(1, &self.with(KeyValue::new("outcome", outcome)));
    }

    fn with(&self, label: KeyValue) -> [KeyValue; 3] {
        let [method, target] = self.pair.clone();
        [method, target, label]
    }
}

impl fmt::Debug for Meters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meters").field("pair", &self.pair).finish_non_exhaustive()
    }
}

/// What is on every series of a method.
pub(super) fn pair(method: &Arc<str>, target: &Arc<str>) -> [KeyValue; 2] {
    [KeyValue::new("grpc.method", shared(method)), self::target(target)]
}

/// What is on every series of a client.
pub(super) fn target(name: &Arc<str>) -> KeyValue {
    KeyValue::new("grpc.target", shared(name))
}

/// Whose breaker it is.
pub(super) fn member(name: &Arc<str>) -> KeyValue {
    KeyValue::new("member", shared(name))
}

/// What a method is called in metrics.
pub(super) fn label<'a>(settings: &Settings, path: &'a str) -> &'a str {
    match settings.methods.get(path) {
        Some(_) => path.strip_prefix('/').unwrap_or(path),
        // Names come off the wire, and each would be a series.
        None => "other",
    }
}

fn status(code: Code) -> KeyValue {
    KeyValue::new("grpc.status", code.name())
}

fn shared(text: &Arc<str>) -> Value {
    Value::String(StringValue::from(Arc::clone(text)))
}

fn seconds(span: Micros) -> f64 {
    span.as_duration().as_secs_f64()
}
