//! Who goes when a newcomer needs the room, and who never does.

use evenkeel_std::core::{BreakerState, Deadline, Instant, Verdict};

use crate::{PATIENT, POLICY, at, attempt, close, held, keys, look_up, open, table};

const NOW: Instant = Instant::ZERO;

/// C36.
#[test]
fn the_least_recently_used_goes() {
    let table = table(2);
    look_up(&table, NOW, ["m1", "m2", "m3"]);
    assert_eq!(keys(&table), ["m2", "m3"]);
    look_up(&table, NOW, ["m2", "m4"]);
    assert_eq!(keys(&table), ["m2", "m4"]);
}

/// C37: with room for one, the open circuit stays and the newcomers take turns beside it.
#[test]
fn a_protecting_circuit_is_never_evicted() {
    let table = table(2);
    open(&table, NOW, "down");
    look_up(&table, NOW, ["a", "b", "c", "d", "e"]);
    assert_eq!(keys(&table), ["down", "e"]);
    let down = held(&table, NOW, "down");
    assert_eq!(down.admit(NOW, Deadline::NONE, &POLICY).unwrap_err().retry_at, at(10));
}

/// C42: whoever is on trial protects too, and whatever a person has forced stays as they left it.
#[test]
fn half_open_and_forced_ones_are_never_evicted() {
    let table = table(4);
    open(&table, NOW, "trial");
    drop(held(&table, NOW, "trial").admit(at(10), Deadline::NONE, &POLICY).unwrap());
    held(&table, NOW, "off").force_open();
    held(&table, NOW, "on").force_closed();
    look_up(&table, at(10), ["a", "b", "c"]);
    assert_eq!(keys(&table), ["c", "off", "on", "trial"]);
    let state = |key: &str| table.get(key).unwrap().snapshot().state;
    assert_eq!(state("trial"), BreakerState::HalfOpen);
    assert_eq!(state("off"), BreakerState::ForcedOpen);
    assert_eq!(state("on"), BreakerState::ForcedClosed);
}

#[test]
fn clean_ones_go_before_those_that_count_something() {
    let table = table(3);
    attempt(&held(&table, NOW, "counting"), NOW, Verdict::Failure, &PATIENT);
    look_up(&table, NOW, ["older", "newer", "newcomer"]);
    assert_eq!(keys(&table), ["counting", "newcomer", "newer"]);
}

/// C40.
#[test]
fn where_all_count_something_the_least_recently_used_goes() {
    let table = table(3);
    for key in ["m1", "m2", "m3"] {
        attempt(&held(&table, NOW, key), NOW, Verdict::Failure, &PATIENT);
    }
    look_up(&table, NOW, ["m1", "m4"]);
    assert_eq!(keys(&table), ["m1", "m3", "m4"]);
}

#[test]
fn a_refused_lookup_is_a_use_and_looking_on_is_none() {
    let table = table(3);
    open(&table, NOW, "down");
    look_up(&table, NOW, ["a", "b"]);
    close(&table, "down");
    // Whoever only looks does not keep it.
    assert!(table.get("a").is_some());
    assert_eq!(table.snapshots().len(), 3);
    look_up(&table, NOW, ["down", "c"]);
    assert_eq!(keys(&table), ["b", "c", "down"]);
}

#[test]
fn what_somebody_holds_is_in_use_and_stays() {
    let table = table(2);
    let in_use = held(&table, NOW, "in use");
    let twice = in_use.clone();
    look_up(&table, NOW, ["a", "b", "c"]);
    assert_eq!(keys(&table), ["c", "in use"]);
    assert!(core::ptr::eq(&*in_use, &*held(&table, NOW, "in use")));
    drop(in_use);
    look_up(&table, NOW, ["d", "e"]);
    assert!(keys(&table).contains(&"in use".into()), "a clone holds it too");
    drop(twice);
    look_up(&table, NOW, ["f", "g"]);
    assert_eq!(keys(&table), ["f", "g"]);
}
