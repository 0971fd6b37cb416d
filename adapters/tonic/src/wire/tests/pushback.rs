//! This file knows which pushbacks are obeyed, and how.

use evenkeel_core::{Micros, Pushback};
use tonic::metadata::MetadataMap;

use super::details::{retry_info, status};
use super::headers;
use crate::wire::pushback::{is_unreadable, read};

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

/// It is the header alone that may be unreadable, and a "never" is well said.
#[test]
fn what_is_no_number_or_more_than_one_is_unreadable() {
    let told = |value: &'static [u8]| {
        is_unreadable(&MetadataMap::from_headers(headers([("grpc-retry-pushback-ms", value)])))
    };
    for value in ["0", "120", "-1", "2147483647", "-2147483648"] {
        assert!(!told(value.as_bytes()), "{value}");
    }
    for value in [&b""[..], b"soon", b"+5", b"0.5", b" 5", b"2147483648", b"\xff"] {
        assert!(told(value), "{value:?}");
    }
    let twice = [("grpc-retry-pushback-ms", &b"5"[..]), ("grpc-retry-pushback-ms", b"5")];
    assert!(is_unreadable(&MetadataMap::from_headers(headers(twice))));
    assert!(!is_unreadable(&MetadataMap::new()));
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

/// F46: a number of whole seconds, and nothing that only looks like one.
#[test]
fn f46_retry_after_is_a_least_wait_in_seconds() {
    let after = |value: &[u8]| read(&headers([("retry-after", value)]));
    let at_least = |seconds: u64| Pushback::AtLeast(Micros::from_millis(seconds * 1_000));
    assert_eq!(after(b"5"), at_least(5));
    assert_eq!(after(b" 3 "), at_least(3));
    assert_eq!(after(b"007"), at_least(7));
    assert_eq!(after(b"0"), at_least(0));
    for value in ["", "-1", "-0", "+3", "3.5", "0x10", "1e3", "5 5", "5s", "\u{665}"] {
        assert_eq!(after(value.as_bytes()), Pushback::None, "{value:?}");
    }
}

/// F47: a date, past or future, would have to be held against a wall clock; the call waits as long
/// as it would have without one.
#[test]
fn f47_a_date_is_no_wish() {
    for date in [
        "Wed, 21 Oct 2015 07:28:00 GMT",
        "Mon, 21 Oct 2015 07:28:00 GMT",
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "Thu, 01 Jan 1970 00:00:00 GMT",
        "Wednesday, 21-Oct-15 07:28:00 GMT",
        "Wed Oct 21 07:28:00 2015",
        "2015-10-21T07:28:00Z",
    ] {
        assert_eq!(read(&headers([("retry-after", date.as_bytes())])), Pushback::None, "{date}");
        // Beside seconds it is not there.
        let both = headers([("retry-after", date.as_bytes()), ("retry-after", b"5")]);
        assert_eq!(read(&both), Pushback::AtLeast(Micros::from_millis(5_000)), "{date}");
    }
}

/// F42: a wait that does not fit is a long one, never a short one and never none.
#[test]
fn f42_the_longest_retry_after_saturates() {
    for value in ["9223372037", "18446744073709551615", "18446744073709551616", &"9".repeat(60_000)]
    {
        let Pushback::AtLeast(wait) = read(&headers([("retry-after", value.as_bytes())])) else {
            panic!("{value} is a wish");
        };
        assert!(wait >= Micros::from_millis(9_223_372_037_000));
    }
}

#[test]
fn of_two_least_waits_the_longer_one_counts() {
    let details = status(&[retry_info(4, 0)]);
    for (after, seconds) in [("3", 4), ("5", 5), ("junk", 4)] {
        let map = headers([
            ("grpc-status-details-bin", details.as_bytes()),
            ("retry-after", after.as_bytes()),
            ("retry-after", b"1"),
        ]);
        assert_eq!(read(&map), Pushback::AtLeast(Micros::from_millis(seconds * 1_000)));
    }
    let exact = headers([("grpc-retry-pushback-ms", b"120".as_slice()), ("retry-after", b"60")]);
    assert_eq!(read(&exact), exactly(120));
}
