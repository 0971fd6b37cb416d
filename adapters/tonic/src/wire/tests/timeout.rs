//! This file knows what must hold for `grpc-timeout` in both directions.

use core::time::Duration;

use evenkeel_core::{Micros, Random, SmallRng};

use super::{CASES, below, headers, words};
use crate::wire::timeout::{Timeout, encode, read};

const NANOS: fn(u64) -> Duration = Duration::from_nanos;
const MILLIS: fn(u64) -> Duration = Duration::from_millis;
const SECS: fn(u64) -> Duration = Duration::from_secs;

fn encoded(left: Duration) -> String {
    let value = encode(Micros::from_duration(left));
    value.to_str().expect("visible ASCII").to_owned()
}

fn decoded(value: &[u8]) -> Timeout {
    read(&headers([("grpc-timeout", value)]))
}

#[test]
fn g63_encodes_in_the_finest_unit_that_fits() {
    assert_eq!(encoded(NANOS(99_999_999)), "99999u");
    assert_eq!(encoded(MILLIS(100)), "100000u");
    assert_eq!(encoded(SECS(3_600)), "3600000m");
    assert_eq!(encoded(SECS(99_999_999 * 3_600)), "99999999H");
    assert_eq!(encoded(Duration::ZERO), "1u");
}

#[test]
fn f38_never_more_than_eight_digits() {
    assert_eq!(encoded(SECS(99_999_999)), "99999999S");
    assert_eq!(encoded(SECS(100_000_000)), "1666666M");
    assert_eq!(encoded(SECS(99_999_999) + NANOS(1)), "99999999S");
    assert_eq!(encoded(SECS(30 * 24 * 3_600)), "2592000S");
    assert_eq!(encoded(SECS(100_000_000 * 3_600)), "99999999H");
    assert_eq!(encoded(Duration::MAX), "99999999H");
}

#[test]
fn f39_shortens_by_less_than_a_unit() {
    assert_eq!(encoded(NANOS(1)), "1u");
    assert_eq!(encoded(NANOS(100_000_001)), "100000u");
    assert_eq!(encoded(MILLIS(1_500)), "1500000u");
    assert_eq!(encoded(MILLIS(3_847)), "3847000u");
    // The last and the first value on both sides of a change of unit.
    assert_eq!(encoded(Duration::from_micros(99_999_999)), "99999999u");
    assert_eq!(encoded(Duration::from_micros(100_000_000)), "100000m");
}

#[test]
fn f35_zero_is_a_value() {
    assert_eq!(decoded(b"0n"), Timeout::Value(Micros::ZERO));
    assert_eq!(decoded(b"00000000H"), Timeout::Value(Micros::ZERO));
    assert_eq!(read(&headers([])), Timeout::Absent);
}

#[test]
fn every_unit_is_read() {
    let value = |span| Timeout::Value(Micros::from_duration(span));
    assert_eq!(decoded(b"1n"), value(Duration::from_micros(1)));
    assert_eq!(decoded(b"2500n"), value(Duration::from_micros(2)));
    assert_eq!(decoded(b"82u"), value(Duration::from_micros(82)));
    assert_eq!(decoded(b"13m"), value(MILLIS(13)));
    assert_eq!(decoded(b"42S"), value(SECS(42)));
    assert_eq!(decoded(b"3M"), value(SECS(180)));
    assert_eq!(decoded(b"99999999H"), value(SECS(99_999_999 * 3_600)));
}

#[test]
fn f41_garbage_is_malformed() {
    let written = ["", "S", "5", "+5S", "-1S", " 5S", "5 S", "1.5S", "5x", "5s", "5h", "5SS", "S5"];
    for value in written {
        assert_eq!(decoded(value.as_bytes()), Timeout::Malformed, "{value:?}");
    }
    // Arabic-Indic five, as UTF-8, and a byte that is no character at all.
    assert_eq!(decoded("٥S".as_bytes()), Timeout::Malformed);
    assert_eq!(decoded(b"\xff5S"), Timeout::Malformed);
    assert_eq!(decoded(&[b'9'; 64 * 1024]), Timeout::Malformed);
}

#[test]
fn g62_a_wrong_unit_or_a_ninth_digit_is_no_timeout() {
    assert_eq!(decoded(b"82f"), Timeout::Malformed);
    assert_eq!(decoded(b"123456789S"), Timeout::Malformed);
}

#[test]
fn of_several_the_first_counts() {
    let twice = headers([("grpc-timeout", b"5S"), ("grpc-timeout", b"junk")]);
    assert_eq!(read(&twice), Timeout::Value(Micros::from_millis(5_000)));
}

/// Spans of every order of magnitude, and both ends.
fn spans() -> impl Iterator<Item = Micros> {
    let mut rng = SmallRng::seeded(1);
    let drawn = (0..CASES).map(move |_| {
        let bits = u64::from(rng.next_u32()) << 32 | u64::from(rng.next_u32());
        Micros::from_micros(bits >> (rng.next_u32() % u64::BITS))
    });
    [Micros::ZERO, Micros::MAX].into_iter().chain(drawn)
}

#[test]
fn what_is_written_is_read_back_less_than_a_unit_short() {
    for left in spans() {
        let text = encoded(left.as_duration());
        let Timeout::Value(read) = decoded(text.as_bytes()) else {
            panic!("{text} for {left:?} is malformed");
        };
        let unit = match &text[text.len() - 1..] {
            "u" => 1,
            "m" => 1_000,
            "S" => 1_000_000,
            "M" => 60_000_000,
            _ => 3_600_000_000,
        };
        let most = Micros::from_micros(99_999_999 * 3_600_000_000);
        let meant = left.shorter(most).longer(Micros::from_micros(1));
        assert!(read <= meant, "{text} is longer than {left:?}");
        assert!(meant.minus(read).as_micros() < unit, "{text} is short of {left:?}");
    }
}

#[test]
fn what_is_written_keeps_the_grammar() {
    for left in spans() {
        let text = encoded(left.as_duration());
        let (digits, unit) = text.split_at(text.len() - 1);
        assert!((1..=8).contains(&digits.len()), "{text} for {left:?}");
        assert!(digits.bytes().all(|digit| digit.is_ascii_digit()), "{text} for {left:?}");
        assert!(!digits.starts_with('0'), "{text} for {left:?}");
        assert!("umSMH".contains(unit), "{text} for {left:?}");
    }
}

#[test]
fn what_is_read_keeps_the_grammar() {
    let (mut timeouts, mut rng) = (0, SmallRng::seeded(2));
    // Mostly digits, so that there are numbers of all lengths, and then something.
    for mut value in words(b"012345678901234567890123456789+ S", 12) {
        let last = b"HMSmunx5";
        value.push(last[below(last.len(), &mut rng)]);
        let grammatical = value.split_last().is_some_and(|(unit, digits)| {
            (1..=8).contains(&digits.len())
                && digits.iter().all(u8::is_ascii_digit)
                && b"HMSmun".contains(unit)
        });
        let read = matches!(decoded(&value), Timeout::Value(_));
        assert_eq!(read, grammatical, "{:?}", value.escape_ascii().to_string());
        timeouts += u32::from(read);
    }
    assert!(timeouts > 500, "only {timeouts} of them were timeouts");
}
