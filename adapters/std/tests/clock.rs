//! std's clock goes forward only, and waits to an instant, never less.

use core::time::Duration;

use evenkeel_std::core::{Clock, Deadline, Instant};
use evenkeel_std::{BlockingClock, ManualClock, StdClock, fresh_seed};

#[test]
fn readings_never_go_back() {
    let mut latest = StdClock.now();
    for _ in 0..100_000 {
        let now = StdClock.now();
        assert!(now >= latest);
        latest = now;
    }
}

/// All clocks share one start: what one thread reads another can compare.
#[test]
fn readings_of_two_threads_can_be_compared() {
    let before = StdClock.now();
    let theirs = std::thread::spawn(|| StdClock.now()).join().unwrap();
    assert!(before <= theirs && theirs <= StdClock.now());
}

#[test]
fn a_wait_ends_at_its_instant_or_later() {
    let start = StdClock.now();
    StdClock.sleep_until(Instant::ZERO);
    StdClock.sleep_until(start);
    let at = Deadline::after(StdClock.now(), Duration::from_micros(1)).instant();
    StdClock.sleep_until(at);
    assert!(StdClock.now() >= at);
}

#[test]
fn a_manual_clock_moves_when_told_to() {
    let clock = ManualClock::new();
    assert_eq!(clock.now(), Instant::ZERO);
    clock.advance(Duration::from_micros(3));
    clock.sleep_until(Instant::from_micros(2));
    assert_eq!(clock.now(), Instant::from_micros(3), "never back");
    clock.sleep_until(Instant::from_micros(7));
    assert_eq!(clock.now(), Instant::from_micros(7));
    clock.advance(Duration::MAX);
    assert_eq!(clock.now(), Instant::MAX, "and never past the end");
}

#[test]
fn threads_do_not_share_their_seeds() {
    let seeds = || (0..50).map(|_| fresh_seed()).collect::<Vec<_>>();
    let (mine, theirs) = (seeds(), std::thread::spawn(seeds).join().unwrap());
    assert!(mine.iter().all(|seed| !theirs.contains(seed)));
}
