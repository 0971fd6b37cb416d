//! This file knows what a server can put into the status details, and that none of it harms us.

use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use evenkeel_core::{Micros, Random, SmallRng};
use http::HeaderMap;
use tonic::Status;

use super::{below, headers, words};
use crate::wire::details::{defuse, retry_delay};

const NAME: &str = "grpc-status-details-bin";
const RETRY_INFO: &str = "type.googleapis.com/google.rpc.RetryInfo";

/// A field with a length before its bytes. The tests speak protobuf with their own voice.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut field = vec![number << 3 | 2];
    varint(&mut field, bytes.len() as u64);
    field.extend(bytes);
    field
}

fn varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

fn packed(type_url: &str, value: &[u8]) -> Vec<u8> {
    [field(1, type_url.as_bytes()), field(2, value)].concat()
}

fn delay(seconds: i64, nanos: i32) -> Vec<u8> {
    let mut duration = vec![0x08];
    varint(&mut duration, seconds as u64);
    duration.push(0x10);
    varint(&mut duration, i64::from(nanos) as u64);
    field(1, &duration)
}

pub(super) fn retry_info(seconds: i64, nanos: i32) -> Vec<u8> {
    packed(RETRY_INFO, &delay(seconds, nanos))
}

fn status_bytes(details: &[Vec<u8>]) -> Vec<u8> {
    // Code 14 and a message, as a server library writes them.
    let mut status = [vec![0x08, 14], field(2, b"try later")].concat();
    status.extend(details.iter().flat_map(|detail| field(3, detail)));
    status
}

pub(super) fn status(details: &[Vec<u8>]) -> String {
    STANDARD_NO_PAD.encode(status_bytes(details))
}

fn found(details: &[Vec<u8>]) -> Option<Micros> {
    retry_delay(&headers([(NAME, status(details).as_bytes())]))
}

const SECOND: Option<Micros> = Some(Micros::from_millis(1_000));

#[test]
fn padded_or_not() {
    // One byte more each time, so that every length of padding comes up.
    for length in 0..3 {
        let other = packed("type.googleapis.com/google.rpc.DebugInfo", &vec![0; length]);
        let bytes = status_bytes(&[other, retry_info(1, 0)]);
        for text in [STANDARD.encode(&bytes), STANDARD_NO_PAD.encode(&bytes)] {
            assert_eq!(retry_delay(&headers([(NAME, text.as_bytes())])), SECOND, "{text}");
        }
    }
}

#[test]
fn of_several_the_longest() {
    assert_eq!(found(&[retry_info(0, 9), retry_info(1, 0), retry_info(-5, 0)]), SECOND);
}

#[test]
fn only_a_retry_info_is_a_wish() {
    assert_eq!(found(&[]), None);
    for name in ["type.googleapis.com/google.rpc.QuotaFailure", "xgoogle.rpc.RetryInfo", ""] {
        assert_eq!(found(&[packed(name, &delay(1, 0))]), None, "{name}");
    }
    assert_eq!(found(&[packed("google.rpc.RetryInfo", &delay(1, 0))]), SECOND);
}

#[test]
fn malformed_is_absent() {
    assert_eq!(found(&[retry_info(-1, 0)]), None);
    assert_eq!(found(&[retry_info(1, -1)]), None);
    assert_eq!(found(&[retry_info(1, 1_000_000_000)]), None);
    assert_eq!(found(&[packed(RETRY_INFO, b"")]), None);
    assert_eq!(found(&[packed(RETRY_INFO, b"\xff\xff")]), None);
    let not_protobuf = STANDARD.encode("an HTML page, perhaps");
    for value in ["", "?", not_protobuf.as_str()] {
        assert_eq!(retry_delay(&headers([(NAME, value.as_bytes())])), None, "{value:?}");
    }
}

#[test]
fn too_long_for_a_clock_is_still_a_wish() {
    assert_eq!(found(&[retry_info(i64::MAX, 0)]), Some(Micros::MAX));
}

#[test]
fn a_long_story_is_not_searched() {
    let padded =
        |length| [packed("type.googleapis.com/a.Trace", &vec![0; length]), retry_info(1, 0)];
    assert_eq!(found(&padded(12_000)), SECOND);
    assert_eq!(found(&padded(13_000)), None);
}

/// What tonic reads, or `None` if it panics.
fn tonic_reads(map: &HeaderMap) -> Option<Status> {
    catch_unwind(AssertUnwindSafe(|| Status::from_header_map(map).expect("a grpc-status")))
        .inspect_err(|panic| {
            let said = panic.downcast_ref::<String>().expect("a message");
            assert!(said.starts_with("Invalid status header"), "another panic: {said}");
        })
        .ok()
}

fn failed_with(details: &[u8]) -> HeaderMap {
    headers([("grpc-status", b"14"), ("grpc-message", b"down"), (NAME, details)])
}

#[test]
fn details_that_would_panic_tonic_are_removed() {
    // A stranger to the alphabet, the URL alphabet, two values joined, a length no encoder
    // makes, bits left over, padding too early, a space.
    for value in ["%", "_w==", "AAAA,AAAA", "A", "AB", "A===", "AA==AAAA", "AAAA "] {
        let mut map = failed_with(value.as_bytes());
        assert!(tonic_reads(&map).is_none(), "tonic learnt to read {value:?}");
        defuse(&mut map);
        let status = tonic_reads(&map).expect("nothing left to panic on");
        assert_eq!((status.code(), status.message()), (tonic::Code::Unavailable, "down"));
        assert_eq!(status.details(), b"");
    }
}

#[test]
fn details_that_tonic_can_read_stay() {
    for value in ["", "AA", "AA==", "AAA", "AAA=", "AAAA"] {
        let mut map = failed_with(value.as_bytes());
        defuse(&mut map);
        assert_eq!(map, failed_with(value.as_bytes()), "{value:?}");
    }
}

#[test]
fn only_the_first_value_is_read_by_anyone() {
    let mut map = headers([("grpc-status", b"14"), (NAME, b"AAAA"), (NAME, b"%")]);
    defuse(&mut map);
    assert_eq!(tonic_reads(&map).expect("no panic").details(), [0, 0, 0]);
}

#[test]
fn exactly_what_panics_tonic_is_removed() {
    for value in words(b"AQgw/+=-_ ,\xff", 9) {
        let mut map = failed_with(&value);
        let panicked = tonic_reads(&map).is_none();
        defuse(&mut map);
        let text = value.escape_ascii();
        assert_eq!(panicked, !map.contains_key(NAME), "{text}");
        assert!(tonic_reads(&map).is_some(), "{text}");
    }
}

#[test]
fn any_details_are_searched_without_panic() {
    let (bytes, mut rng) = (Vec::from_iter(0..=u8::MAX), SmallRng::seeded(2));
    for noise in words(&bytes, 64) {
        // Noise is rarely protobuf, so it is also where the delay should be; and any delay at all,
        // with one byte changed, is read almost to its end.
        let (seconds, nanos) = (rng.next_u32().cast_signed(), rng.next_u32().cast_signed());
        let mut damaged = status_bytes(&[retry_info(seconds.into(), nanos)]);
        let at = below(damaged.len(), &mut rng);
        damaged[at] = bytes[below(bytes.len(), &mut rng)];
        for status in [status_bytes(&[packed(RETRY_INFO, &noise)]), damaged, noise] {
            let text = STANDARD.encode(&status);
            let search = || retry_delay(&headers([(NAME, text.as_bytes())]));
            assert!(catch_unwind(search).is_ok(), "{text}");
        }
    }
}
