//! Senders that share a slotted channel.

use evenkeel_sim::{batch_makespan, saturated_throughput};

/// Two begin in a window of one slot, and so collide; what is next has two.
#[test]
fn two_who_start_together_are_through_after_their_first_window() {
    for seed in 0..200 {
        assert!((3..100).contains(&batch_makespan(2, seed)), "{seed}");
    }
    assert_eq!((batch_makespan(0, 1), batch_makespan(1, 1)), (0, 1));
}

/// Θ(n log n): between n and a few n for each doubling.
#[test]
fn a_batch_takes_little_more_than_its_size() {
    for senders in [10, 100, 1_000] {
        let slots = batch_makespan(senders, 7);
        let senders = u64::from(senders);
        let most = 4 * senders * u64::from(senders.ilog2());
        assert!((senders..most).contains(&slots), "{senders} senders: {slots} slots");
    }
}

#[test]
fn a_sender_alone_has_every_slot_and_nobody_has_none() {
    assert_eq!(saturated_throughput(1, 1, 2_000, 1_000, 3).to_bits(), 1.0f64.to_bits());
    assert_eq!(saturated_throughput(0, 1, 2_000, 1_000, 3).to_bits(), 0);
    assert_eq!(saturated_throughput(5, 1, 2_000, 0, 3).to_bits(), 0);
    // A window of none is one slot.
    assert_eq!(saturated_throughput(1, 0, 2_000, 10, 3).to_bits(), 1.0f64.to_bits());
}

/// Kwak, Song and Miller: the share tends to ½ ln 2 where windows double.
#[test]
fn many_senders_that_double_their_windows_share_a_third_of_the_slots() {
    let share = saturated_throughput(50, 8, 2_000, 100_000, 3);
    assert!((share - 0.5 * core::f64::consts::LN_2).abs() < 0.05, "{share}");
    // Windows that do not grow fit no crowd.
    let fixed = saturated_throughput(50, 8, 1_000, 100_000, 3);
    assert!(fixed < share / 2.0, "{fixed}");
}
