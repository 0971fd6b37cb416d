//! This file knows what is looked at when somebody reads: breakers and throttles of all clients.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_tokio::core::BreakerState;
use opentelemetry::KeyValue;
use opentelemetry::metrics::{AsyncInstrument, Meter};

use super::Watched;
use super::meters::{label, member, pair};
use crate::settings::Settings;

/// Makes the gauges. The meter keeps them.
pub(super) fn make(meter: &Meter, watched: &Arc<Watched>) {
    let clients = Arc::clone(watched);
    _ = meter
        .f64_observable_gauge("resilience.retry.budget.tokens")
        .with_unit("{token}")
        .with_description("Retry tokens left")
        .with_callback(move |gauge| clients.clients().iter().for_each(|one| tokens(one, gauge)))
        .build();
    let clients = Arc::clone(watched);
    _ = meter
        .u64_observable_gauge("resilience.breaker.state")
        .with_description("1 in the state a circuit breaker is in, 0 in all others")
        .with_callback(move |gauge| clients.clients().iter().for_each(|one| breakers(one, gauge)))
        .build();
}

fn tokens(settings: &Settings, gauge: &dyn AsyncInstrument<f64>) {
    let Some(throttle) = &settings.throttle else { return };
    let target = KeyValue::new("grpc.target", settings.target.to_string());
    gauge.observe(f64::from(throttle.millitokens()) / 1_000.0, &[target]);
}

/// Methods that are all called `other` share their series: a state is 1 there when any is in it.
fn breakers(settings: &Settings, gauge: &dyn AsyncInstrument<u64>) {
    let Some((_, table)) = &settings.breaker else { return };
    let mut shown = BTreeMap::<(Arc<str>, &str), Vec<BreakerState>>::new();
    let snapshots = table.snapshots();
    for (key, snapshot) in &snapshots {
        let method = label(settings, &key.method);
        let states = shown.entry((Arc::clone(&key.target), method)).or_default();
        states.push(snapshot.state);
    }
    for ((name, method), states) in shown {
        let [method, target] = pair(&method.into(), &settings.target);
        for state in STATES {
            let is_in = u64::from(states.contains(&state));
            let state = KeyValue::new("state", state.name());
            gauge.observe(is_in, &[method.clone(), target.clone(), member(&name), state]);
        }
    }
}

const STATES: [BreakerState; 5] = [
    BreakerState::Closed,
    BreakerState::ForcedClosed,
    BreakerState::ForcedOpen,
    BreakerState::HalfOpen,
    BreakerState::Open,
];
