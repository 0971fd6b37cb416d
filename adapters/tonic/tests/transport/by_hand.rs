//! This file knows errors that other layers make, and what becomes of each as a status.

use core::error::Error;
use std::io;
use std::sync::Arc;

use evenkeel_core::{Code, Outcome, Sent};
use evenkeel_tonic::TransportError;
use h2::Reason;
use tonic::{ConnectError, Status};

use crate::{assert_means, find};

fn because(mut status: Status, source: impl Error + Send + Sync + 'static) -> Status {
    status.set_source(Arc::new(source));
    status
}

fn dial_failed() -> ConnectError {
    ConnectError(io::Error::from(io::ErrorKind::ConnectionRefused).into())
}

#[test]
fn a_status_without_a_transport_in_it_passes_through() {
    let said = || {
        let mut status = Status::with_details(tonic::Code::Cancelled, "no", vec![1, 2].into());
        status.metadata_mut().insert("trace", "7".parse().expect("a value"));
        because(status, io::Error::other("out of luck"))
    };
    let error = TransportError::before_headers(said());
    assert_means(&error, Code::Cancelled, Sent::Maybe);
    assert_eq!(format!("{:?}", Status::from(error)), format!("{:?}", said()));
}

#[test]
fn a_code_tonic_never_guesses_is_somebodys_word() {
    let no_token = || because(Status::unauthenticated("no token"), dial_failed());
    let error = TransportError::before_headers(no_token());
    assert_means(&error, Code::Unauthenticated, Sent::Maybe);
    assert_eq!(Status::from(error).message(), "no token");
}

#[test]
fn f72_cancelled_by_a_dying_connection() {
    let lost = io::Error::from(io::ErrorKind::ConnectionReset);
    let error = TransportError::before_headers(because(Status::cancelled("lost"), lost));
    assert_means(&error, Code::Unavailable, Sent::Maybe);
    // The server's own word, without a transport's.
    let error = TransportError::before_headers(Status::cancelled("enough"));
    assert_means(&error, Code::Cancelled, Sent::Maybe);
}

#[test]
fn the_outermost_evidence_counts() {
    // A proxy that refuses the stream is a failed dial, and its connection is not ours.
    let proxy = ConnectError(h2::Error::from(Reason::CANCEL).into());
    let error = TransportError::before_headers(proxy);
    assert_means(&error, Code::Unavailable, Sent::NotConnected);
}

#[test]
fn what_was_understood_once_is_not_guessed_again() {
    let first = TransportError::before_headers(dial_failed());
    let again = TransportError::before_headers(Status::from(first));
    assert_means(&again, Code::Unavailable, Sent::NotConnected);
    assert_eq!(again.outcome(), Outcome::not_connected());
}

#[test]
fn only_the_peer_can_refuse() {
    let own = h2::Error::from(Reason::REFUSED_STREAM);
    assert_means(&TransportError::before_headers(own), Code::Unavailable, Sent::Maybe);
}

#[test]
fn headers_prove_that_the_request_was_looked_at() {
    let error = TransportError::in_body(dial_failed());
    assert_means(&error, Code::Unavailable, Sent::Maybe);
}

#[test]
fn an_io_error_by_itself() {
    let table = [
        (io::ErrorKind::BrokenPipe, Code::Unavailable, Sent::Maybe),
        (io::ErrorKind::ConnectionRefused, Code::Unavailable, Sent::NotConnected),
        (io::ErrorKind::ConnectionReset, Code::Unavailable, Sent::Maybe),
        (io::ErrorKind::TimedOut, Code::Unavailable, Sent::Maybe),
        (io::ErrorKind::UnexpectedEof, Code::Unavailable, Sent::Maybe),
        (io::ErrorKind::NotFound, Code::Unknown, Sent::Maybe),
    ];
    for (kind, code, sent) in table {
        assert_means(&TransportError::before_headers(io::Error::from(kind)), code, sent);
    }
}

#[test]
fn nothing_is_concluded_from_nothing() {
    let error = TransportError::before_headers("who knows");
    assert_means(&error, Code::Unknown, Sent::Maybe);
    let status = Status::from(error);
    assert_eq!(status.code(), tonic::Code::Unknown);
    assert!(status.message().ends_with(": who knows"), "{status}");
}

#[test]
fn a_status_names_the_root_and_keeps_the_chain() {
    let status = Status::from(TransportError::before_headers(dial_failed()));
    assert_eq!(status.message(), "no connection to the server: connection refused");
    let error = status.source().and_then(|error| error.downcast_ref::<TransportError>());
    let error = error.expect("the error is the source");
    assert_eq!(error.to_string(), "no connection to the server");
    assert!(find::<ConnectError>(error).is_some());
    assert!(find::<io::Error>(error).is_some());
}
