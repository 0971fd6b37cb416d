//! Messages of a status: what a person gets to see of those that are not UTF-8.

use tonic::{Code, Status};

use super::headers;
use crate::wire::message::repair;

/// As tonic reads a failure with this message, after the repair.
fn seen(message: &[u8]) -> Status {
    let mut headers = headers([("grpc-status", b"5".as_slice()), ("grpc-message", message)]);
    repair(&mut headers);
    Status::from_header_map(&headers).expect("it has a status")
}

#[test]
fn what_is_utf_8_is_left_alone() {
    for (message, text) in [
        (&b""[..], ""),
        (b"gone", "gone"),
        (b"100 %", "100 %"),
        (b"caf%C3%A9", "caf\u{e9}"),
        (b"caf\xc3\xa9", "caf\u{e9}"),
        (b"50%zz", "50%zz"),
    ] {
        assert_eq!((seen(message).code(), seen(message).message()), (Code::NotFound, text));
    }
}

#[test]
fn what_is_not_is_shown_raw_and_hides_no_code() {
    for (message, text) in [
        (&b"%ff"[..], "%ff"),
        (b"caf%E9!", "caf%E9!"),
        (b"caf\xe9!", "caf\u{fffd}!"),
        (b"%C3", "%C3"),
        (b"%f", "%f"),
        (b"%ff%", "%ff%"),
    ] {
        assert_eq!((seen(message).code(), seen(message).message()), (Code::NotFound, text));
    }
}
