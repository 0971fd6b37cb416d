//! This file knows how a call ended, for every place a server can say it in.

use evenkeel_core::{Code, Micros};
use http::StatusCode;

use super::headers;
use crate::wire::status::{
    from_tonic, is_at_deadline, is_our_timer, of_headers, of_trailers, to_tonic,
};

fn in_headers(http: u16, status: &[u8]) -> Option<Code> {
    let http = StatusCode::from_u16(http).expect("a status code");
    of_headers(http, &headers([("grpc-status", status)]))
}

fn in_trailers(status: &[u8]) -> Code {
    of_trailers(Some(&headers([("grpc-status", status)])), || None)
}

#[test]
fn f58_trailers_only_is_no_success() {
    assert_eq!(in_headers(200, b"14"), Some(Code::Unavailable));
}

#[test]
fn f59_a_status_of_zero_is_a_success() {
    assert_eq!(in_headers(200, b"0"), Some(Code::Ok));
    assert_eq!(in_trailers(b"0"), Code::Ok);
}

#[test]
fn f59_what_cannot_be_read_is_unknown() {
    for status in ["99", "abc", "", "17", "-1", "014", "14 "] {
        assert_eq!(in_headers(200, status.as_bytes()), Some(Code::Unknown), "{status:?}");
        assert_eq!(in_trailers(status.as_bytes()), Code::Unknown, "{status:?}");
    }
}

#[test]
fn f59_an_http_error_without_a_status_is_final() {
    let mapped = |http| {
        let http = StatusCode::from_u16(http).expect("a status code");
        of_headers(http, &headers([]))
    };
    let table = [
        (400, Code::Internal),
        (401, Code::Unauthenticated),
        (403, Code::PermissionDenied),
        (404, Code::Unimplemented),
        (429, Code::Unavailable),
        (502, Code::Unavailable),
        (503, Code::Unavailable),
        (504, Code::Unavailable),
        (204, Code::Unknown),
        (302, Code::Unknown),
        (500, Code::Unknown),
        (999, Code::Unknown),
    ];
    for (http, code) in table {
        assert_eq!(mapped(http), Some(code), "{http}");
    }
    // A status that was written is the server's word, whatever a proxy made of the rest.
    assert_eq!(in_headers(503, b"5"), Some(Code::NotFound));
}

#[test]
fn http_200_waits_for_the_trailers() {
    assert_eq!(of_headers(StatusCode::OK, &headers([])), None);
    assert_eq!(in_trailers(b"14"), Code::Unavailable);
}

#[test]
fn g49_a_stream_cut_short_is_unknown() {
    assert_eq!(of_trailers(None, || None), Code::Unknown);
    assert_eq!(of_trailers(Some(&headers([])), || None), Code::Unknown);
}

#[test]
fn the_trailers_know_better_than_the_headers() {
    let failed = headers([("grpc-status", b"15".as_slice())]);
    assert_eq!(of_trailers(Some(&failed), || Some(Code::Ok)), Code::DataLoss);
    assert_eq!(of_trailers(Some(&headers([])), || Some(Code::Ok)), Code::Ok);
    assert_eq!(of_trailers(None, || Some(Code::Ok)), Code::Ok);
}

#[test]
fn g55_cancelled_at_the_deadline_is_the_deadline() {
    for left in [0, 1, 5] {
        let left = Micros::from_millis(left);
        assert!(is_at_deadline(Code::Cancelled, left));
        assert!(is_our_timer(Code::DeadlineExceeded, left));
    }
    assert!(is_at_deadline(Code::Ok, Micros::ZERO), "whatever it says");
    assert!(!is_at_deadline(Code::Unavailable, Micros::from_micros(1)));
}

#[test]
fn g56_cancelled_long_before_stays() {
    for left in [Micros::from_micros(5_001), Micros::MAX] {
        assert!(!is_at_deadline(Code::Cancelled, left));
        assert!(!is_our_timer(Code::DeadlineExceeded, left));
    }
}

#[test]
fn every_code_survives_both_ways() {
    for code in Code::ALL {
        assert_eq!(from_tonic(to_tonic(code)), code);
        assert_eq!(in_trailers(code.number().to_string().as_bytes()), code);
    }
}
