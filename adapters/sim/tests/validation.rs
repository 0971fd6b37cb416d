//! The validation suite agrees with what is known, and would notice a changed formula or rule.
//!
//! The quick checks only; all of them are run by `evenkeel validate`.

use core::time::Duration;

use evenkeel_core::{Backoff, Jitter, ThrottlePolicy};
use evenkeel_sim::doubling;
use evenkeel_sim::validate::{CHECKS, Machines};

fn failures(id: &str, machines: &Machines) -> Vec<String> {
    let check = CHECKS.iter().find(|check| check.id == id).unwrap();
    let rows = check.run(machines).into_iter().filter(|row| !row.passes);
    rows.map(|row| format!("{id} {}: expected {}, got {}", row.what, row.expected, row.got))
        .collect()
}

#[test]
fn the_quick_checks_agree() {
    for id in ["V7", "V9", "V22", "V23", "V25"] {
        assert_eq!(failures(id, &Machines::SHIPPED), Vec::<String>::new());
    }
}

/// Full jitter that is drawn from the upper half, as equal jitter is.
fn timid(jitter: Jitter) -> Backoff {
    let jitter = if matches!(jitter, Jitter::Full) { Jitter::Equal } else { jitter };
    evenkeel_sim::original_waits(jitter)
}

/// Waits that start at the base, not at twice the base.
fn early(jitter: Jitter) -> Backoff {
    doubling(Duration::from_millis(5), Duration::from_secs(2), jitter).unwrap()
}

#[test]
fn a_changed_backoff_formula_is_noticed() {
    for waits in [timid, early] {
        let machines = Machines { waits, ..Machines::SHIPPED };
        assert!(!failures("V3", &machines).is_empty() || !failures("V1", &machines).is_empty());
    }
}

#[test]
fn a_changed_token_rule_is_noticed() {
    // A ratio that is a thousandth of a token off, and tokens that no failure takes.
    for throttle in [
        (|tokens, ratio| ThrottlePolicy::grpc(tokens, ratio - 1).unwrap()) as fn(u16, u32) -> _,
        |tokens, ratio| ThrottlePolicy::success_refilled(tokens, ratio).unwrap(),
    ] {
        let machines = Machines { throttle, ..Machines::SHIPPED };
        assert!(!failures("V9", &machines).is_empty());
    }
}
