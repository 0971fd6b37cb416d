//! This file knows which pushbacks are obeyed, and how.

use evenkeel_core::{Micros, Pushback};

use super::details::{retry_info, status};
use super::headers;
use crate::wire::pushback::read;

fn pushed(value: &[u8]) -> Pushback {
    read(&headers([("grpc-retry-pushback-ms", value)]))
}

fn exactly(millis: u64) -> Pushback {
    Pushback::Exactly(Micros::from_millis(millis))
}

#[test]
fn g14_a_pushback_is_exact() {
    assert_eq!(pushed(b"120"), exactly(120));
}

#[test]
fn g15_zero_is_at_once() {
    assert_eq!(pushed(b"0"), exactly(0));
}

#[test]
fn the_longest_is_31_bits_of_milliseconds() {
    assert_eq!(pushed(b"2147483647"), exactly(2_147_483_647));
    assert_eq!(pushed(b"2147483648"), Pushback::Stop);
}

#[test]
fn negative_or_unreadable_means_do_not_retry() {
    assert_eq!(pushed(b"-1"), Pushback::Stop);
    assert_eq!(pushed(b"-2147483649"), Pushback::Stop);
    for value in ["", "x", "1.5", "+5", " 5", "5 ", "0x10", "1e3", "5ms", "--1", "٥"] {
        assert_eq!(pushed(value.as_bytes()), Pushback::Stop, "{value:?}");
    }
    assert_eq!(pushed(&[b'9'; 64 * 1024]), Pushback::Stop);
}

#[test]
fn several_mean_do_not_retry() {
    let twice = [("grpc-retry-pushback-ms", b"5".as_slice()), ("grpc-retry-pushback-ms", b"5")];
    assert_eq!(read(&headers(twice)), Pushback::Stop);
}

#[test]
fn none_is_none() {
    assert_eq!(read(&headers([("grpc-status", b"14")])), Pushback::None);
}

#[test]
fn a_retry_info_is_a_least_wait() {
    let details = status(&[retry_info(2, 500_000_000)]);
    let map = headers([("grpc-status-details-bin", details.as_bytes())]);
    assert_eq!(read(&map), Pushback::AtLeast(Micros::from_millis(2_500)));
}

#[test]
fn the_header_wins_over_a_retry_info() {
    let details = status(&[retry_info(60, 0)]);
    let with = |pushback| {
        let details = ("grpc-status-details-bin", details.as_bytes());
        read(&headers([("grpc-retry-pushback-ms", pushback), details]))
    };
    assert_eq!(with(b"120"), exactly(120));
    assert_eq!(with(b"-1"), Pushback::Stop);
    assert_eq!(with(b"junk"), Pushback::Stop);
}

#[test]
fn a_retry_after_in_seconds_is_a_least_wait() {
    let after = |value: &str| read(&headers([("retry-after", value.as_bytes())]));
    assert_eq!(after("120"), Pushback::AtLeast(Micros::from_millis(120_000)));
    assert_eq!(after("0"), Pushback::AtLeast(Micros::ZERO));
    assert_eq!(after(&"9".repeat(40)), Pushback::AtLeast(Micros::MAX));
    for value in ["", "-1", "+5", " 5", "1.5", "5s", "Fri, 31 Dec 1999 23:59:59 GMT"] {
        assert_eq!(after(value), Pushback::None, "{value:?}");
    }
}

#[test]
fn of_two_least_waits_the_longer_counts() {
    let details = status(&[retry_info(3, 0)]);
    for (after, expected) in [(b"2", 3_000), (b"4", 4_000)] {
        let details = ("grpc-status-details-bin", details.as_bytes());
        let map = headers([("retry-after", after.as_slice()), details]);
        assert_eq!(read(&map), Pushback::AtLeast(Micros::from_millis(expected)));
    }
}

#[test]
fn the_header_wins_over_a_retry_after() {
    let both = [("retry-after", b"60".as_slice()), ("grpc-retry-pushback-ms", b"120")];
    assert_eq!(read(&headers(both)), exactly(120));
}
