//! How many circuits are kept: G77.

use evenkeel_tests::{Listening, Peer};
use evenkeel_tonic::core::BreakerState;

use crate::lab::{Lab, busy, ok};
use crate::policies::{bare, opens_after};

/// Names that nobody declared, as a proxy comes by them. They live as long as the test.
fn name(number: usize) -> &'static str {
    Box::leak(format!("/any.v1.Any/M{number}").into_boxed_str())
}

#[tokio::test(start_paused = true)]
async fn g77_of_a_thousand_and_one_methods_a_clean_one_is_forgotten() {
    let lab = Lab::dark(bare().breaker(opens_after(1)), []);
    let peer = Peer::answering(|seen| if seen.path.ends_with("/M0") { busy() } else { ok() });
    let peer = peer.listen(&lab.net, "a");
    let listening = Listening::begin();
    for number in 0..=1_000 {
        let _ = lab.unary(name(number)).await;
    }
    assert_eq!(peer.count(), 1_001);
    let known = &lab.service.circuit_breaker_states()["lab"];
    assert_eq!(known.len(), 1_000);
    assert_eq!(known[name(0)].state, BreakerState::Open, "the oldest, but it protects");
    assert!(!known.contains_key(name(1)) && known.contains_key(name(2)));
    assert!(listening.warnings().is_empty());
}

/// A name that was forgotten is simply new when it comes back.
#[tokio::test(start_paused = true)]
async fn g77_a_forgotten_method_starts_anew() {
    let lab = Lab::new(bare().breaker(opens_after(2)).max_methods(2).unwrap(), [busy(), ok()]);
    assert!(lab.unary(name(0)).await.is_err());
    for number in [1, 2, 3] {
        lab.unary(name(number)).await.unwrap();
    }
    // What counts nothing goes before what counts something.
    assert_eq!(lab.circuit(name(0)), (BreakerState::Closed, 1));
    assert!(bare().max_methods(0).is_err());
}

/// What protects is never forgotten: the table grows, and says so where it must stop.
#[tokio::test(start_paused = true)]
async fn g77_open_circuits_are_kept_and_a_full_table_is_reported() {
    let listening = Listening::begin();
    let lab = Lab::new(bare().breaker(opens_after(1)).max_methods(2).unwrap(), [busy()]);
    for number in 0..12 {
        assert!(lab.unary(name(number)).await.is_err());
    }
    let known = &lab.service.circuit_breaker_states()["lab"];
    assert!(known.len() <= 8, "{known:?}");
    assert!(known.values().all(|shown| shown.state == BreakerState::Open));
    let warnings = listening.warnings();
    assert_eq!(warnings.len(), 1, "once per episode: {warnings:?}");
    assert!(warnings[0].contains("max_methods"), "{warnings:?}");
}
