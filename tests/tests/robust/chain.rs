//! The chain of sources: why there was no further attempt, and what the server said last.

use crate::parts::{refusal, service};
use crate::{ECHO, guarded, opens_after, stopped};
use core::error::Error;
use core::time::Duration;
use evenkeel_core::StopReason;
use evenkeel_tests::{RawClient, Reply, Stub};
use evenkeel_tonic::{CircuitOpen, DeadlinePassed, Stopped, TransportError, cause};
use std::io;
use tonic::{Code, Status};

const SECOND: Duration = Duration::from_secs(1);

fn status_below(error: &dyn Error) -> Option<&Status> {
    let mut next = error.source();
    while let Some(error) = next {
        if let Some(status) = error.downcast_ref() {
            return Some(status);
        }
        next = error.source();
    }
    None
}

fn busy() -> Reply {
    Reply::status(Status::unavailable("busy"))
}

/// What the server said itself outlives a connection that is lost afterwards.
#[tokio::test(start_paused = true)]
async fn the_servers_last_word_is_not_lost() {
    let inner = service(|call, _| async move {
        match call {
            0 => refusal(Status::unavailable("try the other one")),
            _ => Err(io::Error::from(io::ErrorKind::ConnectionReset).into()),
        }
    });
    let service = guarded().build(inner).unwrap();
    let status = RawClient::of(ECHO, service).unary("ping").await.unwrap_err();
    assert!(cause::<TransportError>(&status).is_some(), "{status:?}");
    let stopped = cause::<Stopped>(&status).unwrap();
    assert_eq!((stopped.reason, stopped.attempts), (StopReason::AttemptsUsedUp, 3));
    let heard = status_below(stopped).unwrap();
    assert_eq!(heard.message(), "try the other one");
}

/// An attempt that was cut off says so, why it was the last, and what the server had said before.
#[tokio::test(start_paused = true)]
async fn a_cut_attempt_says_why_it_was_the_last() {
    let builder = guarded().attempt_timeout(SECOND).unwrap();
    let service = builder.build(Stub::new([busy(), Reply::hang()])).unwrap();
    let status = RawClient::of(ECHO, service).unary("ping").await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert_eq!(stopped(&status), Some(StopReason::NotRetryable));
    let passed = cause::<DeadlinePassed>(&status).unwrap();
    assert_eq!((passed.attempts, passed.last.as_ref().unwrap().message()), (2, "busy"));
}

/// Whoever prints an error of ours prints nobody's metadata.
#[tokio::test(start_paused = true)]
async fn errors_do_not_print_metadata() {
    let secretive = || busy().header("x-session", "secret");
    let lost = service(|call, _| async move {
        match call {
            0 => {
                let mut status = Status::unavailable("busy");
                status.metadata_mut().insert("x-session", "secret".parse().unwrap());
                refusal(status)
            }
            _ => Err(io::Error::from(io::ErrorKind::ConnectionReset).into()),
        }
    });
    let status = RawClient::of(ECHO, guarded().build(lost).unwrap()).unary("").await.unwrap_err();
    let printed = format!("{:?}", cause::<Stopped>(&status).unwrap());
    assert!(printed.contains("busy") && !printed.contains("secret"), "{printed}");

    let builder = guarded().breaker(opens_after(1, SECOND));
    let service = builder.build(Stub::new([secretive()])).unwrap();
    let status = RawClient::of(ECHO, service).unary("ping").await.unwrap_err();
    let printed = format!("{:?}", cause::<CircuitOpen>(&status).unwrap());
    assert!(printed.contains("busy") && !printed.contains("secret"), "{printed}");

    let service =
        guarded().timeout(SECOND).unwrap().build(Stub::new([secretive(), Reply::hang()])).unwrap();
    let status = RawClient::of(ECHO, service).unary("ping").await.unwrap_err();
    let printed = format!("{status:?}");
    assert!(printed.contains("busy") && !printed.contains("secret"), "{printed}");

    // Of a service below that speaks in statuses of its own.
    let mut foreign = Status::unavailable("busy");
    foreign.metadata_mut().insert("x-session", "secret".parse().unwrap());
    let printed = format!("{:?}", TransportError::before_headers(foreign));
    assert!(printed.contains("busy") && !printed.contains("secret"), "{printed}");
}
