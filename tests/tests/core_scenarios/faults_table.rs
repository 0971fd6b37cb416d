//! Incidents of breakers by key: F95, F96, F99 and F100. What happened is in `docs/incidents.md`.

use evenkeel_core::{BreakerState, BreakerTable, Deadline, Instant, Verdict};

use crate::policies::{ms, opens_after};

/// One attempt of `key` whose lease has passed before the next.
fn attempt<const N: usize>(table: &mut BreakerTable<u32, N>, now: &mut Instant, key: u32) {
    let policy = opens_after(2);
    *now = *now + ms(200);
    if let Ok(permit) = table.admit(*now, key, Deadline::at(*now + ms(100)), &policy) {
        table.record(*now, key, permit, Verdict::Success, &policy);
    }
}

#[test]
fn f95_any_number_of_keys_takes_the_same_room() {
    let mut table = BreakerTable::<u32, 64>::new();
    let mut now = Instant::ZERO;
    for key in 0..100_000 {
        attempt(&mut table, &mut now, key);
        assert!(table.len() <= 64);
    }
    assert_eq!((table.len(), table.untracked()), (64, 0));
    let newest = (100_000 - 64)..100_000;
    assert!(table.snapshots().all(|(key, _)| newest.contains(&key)));
}

#[test]
fn f96_the_limit_holds_at_the_insert_and_not_at_a_later_sweep() {
    let mut table = BreakerTable::<u32, 500>::new();
    let (policy, now) = (opens_after(2), Instant::ZERO);
    for key in 0..501 {
        // No time passes: every slot has an attempt under way, so the last one finds no room.
        assert!(table.admit(now, key, Deadline::NONE, &policy).is_ok());
    }
    assert_eq!((table.len(), table.untracked()), (500, 1));
}

/// The key is of the caller's choice and small; what varies within it does not belong there.
#[test]
fn f99_failures_of_one_key_meet_whatever_was_asked() {
    let mut table = BreakerTable::<u32, 8>::new();
    let (policy, now) = (opens_after(5), Instant::ZERO);
    let path = 7;
    let refused =
        (0..1_000).filter(|_parameter| match table.admit(now, path, Deadline::NONE, &policy) {
            Ok(permit) => {
                table.record(now, path, permit, Verdict::Failure, &policy);
                false
            }
            Err(_) => true,
        });
    assert_eq!(refused.count(), 995);
    assert_eq!(table.len(), 1);
}

#[test]
fn f100_looking_a_key_up_makes_nothing_new() {
    let mut table = BreakerTable::<u32, 8>::new();
    let (policy, now) = (opens_after(2), Instant::ZERO);
    let permit = table.admit(now, 1, Deadline::NONE, &policy).unwrap();
    table.record(now, 1, permit, Verdict::Failure, &policy);
    for _ in 0..10_000 {
        let _permit = table.admit(now, 1, Deadline::NONE, &policy).unwrap();
    }
    assert_eq!(table.len(), 1);
    assert_eq!(table.get(1).unwrap().snapshot().failures, 1, "a new one would have none");
    assert_eq!(table.get(1).unwrap().state(), BreakerState::Closed);
    assert!(table.get(2).is_none(), "asking makes no entry");
}
