//! How circuit breakers show themselves: one series for each state, and each change with its cause.

use evenkeel_tonic::core::BreakerState;

use crate::figures::{Figures, Read};
use crate::lab::{ECHO, Lab, busy, counted, ok, opens_after, pass};

const STATE: &str = "resilience.breaker.state";
const TRANSITIONS: &str = "resilience.breaker.transitions";

/// The states in which the gauge is 1.
fn states(read: &Read) -> Vec<&str> {
    let set = read.series(STATE).iter().filter(|series| series.value == 1.0);
    set.map(|series| &*series.labels["state"]).collect()
}

fn changes(read: &Read) -> Vec<[&str; 3]> {
    let mut changes: Vec<_> = read
        .series(TRANSITIONS)
        .iter()
        .map(|series| ["from", "to", "cause"].map(|label| &*series.labels[label]))
        .collect();
    changes.sort_unstable();
    changes
}

#[tokio::test(start_paused = true)]
async fn each_state_is_a_series_and_one_of_them_is_1() {
    let figures = Figures::new();
    let lab = Lab::new(counted(&figures).breaker(opens_after(2)), [busy(), busy(), ok()]);
    lab.unary(ECHO).await.unwrap_err();
    let read = figures.read();
    assert_eq!((states(&read), read.values(STATE, "state").len()), (vec!["closed"], 5));
    lab.unary(ECHO).await.unwrap_err();
    assert_eq!(states(&figures.read()), ["open"]);
    // Only an admission half-opens it: looking changes nothing.
    pass(10_000).await;
    for _ in 0..1_000 {
        lab.service.circuit_breaker_states();
    }
    assert_eq!(states(&figures.read()), ["open"]);
    lab.unary(ECHO).await.unwrap();
    let read = figures.read();
    assert_eq!(states(&read), ["closed"]);
    let expected = [
        ["closed", "open", "failures"],
        ["half-open", "closed", "trials_succeeded"],
        ["open", "half-open", "time_over"],
    ];
    assert_eq!(changes(&read), expected);
}

#[tokio::test(start_paused = true)]
async fn a_failed_trial_and_a_hand_are_told_apart() {
    let figures = Figures::new();
    let lab = Lab::new(counted(&figures).breaker(opens_after(1)), [busy()]);
    lab.unary(ECHO).await.unwrap_err();
    pass(10_000).await;
    lab.unary(ECHO).await.unwrap_err();
    let breaker = lab.service.circuit_breaker("lab", ECHO).unwrap();
    breaker.force_closed();
    assert_eq!(states(&figures.read()), ["forced-closed"]);
    breaker.force_open();
    breaker.reset();
    assert_eq!(breaker.snapshot().state, BreakerState::Closed);
    let expected = [
        ["closed", "open", "failures"],
        ["forced-closed", "forced-open", "by_hand"],
        ["forced-open", "closed", "by_hand"],
        ["half-open", "open", "trial_failed"],
        ["open", "forced-closed", "by_hand"],
        ["open", "half-open", "time_over"],
    ];
    assert_eq!(changes(&figures.read()), expected);
}

/// A client that is gone is not looked at any more.
#[tokio::test(start_paused = true)]
async fn the_gauges_of_a_dropped_client_are_gone() {
    let figures = Figures::new();
    let lab = Lab::new(counted(&figures).breaker(opens_after(1)), [busy()]);
    lab.unary(ECHO).await.unwrap_err();
    assert!(!figures.read().series(STATE).is_empty());
    drop(lab);
    assert!(figures.read().series(STATE).is_empty());
}
