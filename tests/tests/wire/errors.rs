//! What a caller can find out about a failed call.

use core::error::Error;
use core::time::Duration;

use bytes::Bytes;
use evenkeel_tests::{Dial, Reply};
use evenkeel_tonic::core::{Backoff, Jitter, RetryPolicy, StopReason, ThrottlePolicy};
use evenkeel_tonic::{Builder, CircuitOpen, DeadlinePassed, Stopped, TransportError, cause};
use tonic::{Code, Status};

use crate::lab::{CHARGE, ECHO, Lab, UPLOAD, ok, statuses};
use crate::policies::{client, exact, millis, opens_after, retries};

const REAL: &str = "what the server really said";

/// The last word of the server.
fn real() -> Reply {
    Reply::status(Status::unavailable(REAL))
}

fn three() -> Builder {
    client().retry(retries(3, 100))
}

/// How a call of `method` fails; the server's last word is in the error, whatever else is.
async fn fails(builder: Builder, method: &'static str, replies: Vec<Reply>) -> Status {
    let lab = Lab::new(builder, replies);
    let failed = if method == UPLOAD {
        let messages = tokio_stream::iter([Bytes::from("1")]);
        lab.client(UPLOAD).client_streaming(messages).await.unwrap_err()
    } else {
        lab.unary(method).await.unwrap_err()
    };
    survived(&failed);
    failed
}

fn survived(failed: &Status) {
    let said = statuses(failed);
    assert!(said.iter().any(|status| status.message() == REAL), "{failed:?}");
}

fn reason(failed: &Status) -> StopReason {
    cause::<Stopped>(failed).unwrap().reason
}

/// All reasons to stop that have an error: nobody sees that of a cancelled call, and one target is
/// always there.
#[tokio::test(start_paused = true)]
async fn the_last_real_error_survives() {
    use StopReason as Why;
    let pushed = |value| real().trailer("grpc-retry-pushback-ms", value);
    let throttle = ThrottlePolicy::grpc(1, 100).unwrap();
    let late = || three().timeout(millis(50)).unwrap();
    let final_one = Reply::status(Status::not_found(REAL));
    let cases = [
        (Why::AttemptsUsedUp, three(), ECHO, real()),
        (Why::DeadlineWouldPass, late(), ECHO, real()),
        (Why::NotIdempotent, three(), CHARGE, real()),
        (Why::NotReplayable, three().idempotent(crate::policies::only(&[UPLOAD])), UPLOAD, real()),
        (Why::NotRetryable, three(), ECHO, final_one),
        (Why::PushedBack, three(), ECHO, pushed("-1")),
        (Why::Throttled, three().throttle(throttle), ECHO, real()),
    ];
    for (stopped, builder, method, reply) in cases {
        let failed = fails(builder, method, vec![reply]).await;
        // It is the error itself, and why there was no other hangs on it.
        assert_eq!((failed.message(), reason(&failed)), (REAL, stopped));
    }
    let failed = fails(three(), ECHO, vec![pushed("300001")]).await;
    assert!(matches!(reason(&failed), Why::HintTooLong { .. }));

    let failed = fails(three().breaker(opens_after(1)), ECHO, vec![real()]).await;
    let open = cause::<CircuitOpen>(&failed).unwrap();
    assert_eq!((open.attempts, open.last.as_ref().unwrap().message()), (1, REAL));

    // The timer of a wait may be late, and nothing starts with nothing left.
    let backoff = Backoff::new(Duration::from_micros(100_200), millis(1_000)).unwrap();
    let policy = RetryPolicy::DEFAULT.with_backoff(backoff.with_jitter(Jitter::None).unwrap());
    let overslept = client().timeout(Duration::from_micros(100_500)).unwrap().retry(policy);
    let failed = fails(overslept, ECHO, vec![real(), ok()]).await;
    assert_eq!((failed.message(), reason(&failed)), (REAL, Why::DeadlinePassed));
}

/// Cut off, the call is late; and what was said before hangs on it.
#[tokio::test(start_paused = true)]
async fn the_last_real_error_survives_the_deadline() {
    for hangs in [Reply::hang(), Reply::headers(), Reply::headers().message("1")] {
        let builder = three().timeout(millis(1_000)).unwrap();
        let failed = fails(builder, ECHO, vec![real(), hangs]).await;
        assert_eq!(failed.code(), Code::DeadlineExceeded);
        let passed = cause::<DeadlinePassed>(&failed).unwrap();
        assert_eq!((&*passed.method, passed.attempts), (ECHO, 2));
        assert_eq!(reason(&failed), StopReason::NotRetryable);
        // Our own timer is nobody's word, and no transport's fault.
        assert!(cause::<TransportError>(&failed).is_none(), "{failed:?}");
    }
}

/// A later attempt that ended without a status is the error; the server's last word is behind it.
#[tokio::test(start_paused = true)]
async fn the_last_real_error_survives_a_lost_connection() {
    for broken in [Reply::hang().abort(), Reply::hang().close(), Reply::headers().abort()] {
        let failed = fails(three(), ECHO, vec![real(), broken.clone()]).await;
        assert_eq!(failed.code(), Code::Unavailable);
        assert_eq!(reason(&failed), StopReason::AttemptsUsedUp);
        assert!(cause::<TransportError>(&failed).is_some());

        let builder = three().timeout(millis(1_000)).unwrap();
        let failed = fails(builder, ECHO, vec![real(), broken.clone(), Reply::hang()]).await;
        assert_eq!(cause::<DeadlinePassed>(&failed).unwrap().attempts, 3);
        assert!(cause::<TransportError>(&failed).is_some());

        let failed = fails(three().breaker(opens_after(2)), ECHO, vec![real(), broken]).await;
        assert_eq!(cause::<CircuitOpen>(&failed).unwrap().attempts, 2);
        assert!(cause::<TransportError>(&failed).is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_real_error_survives_a_server_that_went_away() {
    for waits in [false, true] {
        let builder = three().timeout(millis(1_000)).unwrap().wait_for_ready(waits);
        let lab = Lab::new(builder, [real().close()]);
        lab.net.on_dial("a", [Dial::Connect, Dial::Refuse]);
        let failed = lab.unary(ECHO).await.unwrap_err();
        survived(&failed);
        let expected = if waits { Code::DeadlineExceeded } else { Code::Unavailable };
        assert_eq!(failed.code(), expected);
        assert!(cause::<TransportError>(&failed).unwrap().sent().nothing_executed());
    }
}

/// A newer word of the server's replaces what came before it.
#[tokio::test(start_paused = true)]
async fn only_the_last_word_is_kept() {
    let first = Reply::status(Status::unavailable("the first word"));
    let failed = fails(three(), ECHO, vec![first, Reply::hang().close(), real()]).await;
    assert_eq!(failed.message(), REAL);
    assert_eq!(statuses(&failed).len(), 1, "{failed:?}");
    assert!(cause::<TransportError>(&failed).is_none());
}

/// An attempt's own limit ends the attempt, and the call if nothing follows.
#[tokio::test(start_paused = true)]
async fn an_attempt_that_ran_into_its_own_limit_says_why_it_was_the_last() {
    let policy = RetryPolicy::DEFAULT.with_backoff(exact(100));
    let codes = policy.codes().with(evenkeel_tonic::core::Code::DeadlineExceeded);
    let builder = client().retry(policy.with_codes(codes)).attempt_timeout(millis(200)).unwrap();
    let failed = fails(builder, ECHO, vec![real(), Reply::hang()]).await;
    assert_eq!(failed.code(), Code::DeadlineExceeded);
    assert_eq!(reason(&failed), StopReason::AttemptsUsedUp);
    assert_eq!(cause::<DeadlinePassed>(&failed).unwrap().attempts, 3);
}

/// The metadata and details of the server's status reach the caller, from wherever they came.
#[tokio::test(start_paused = true)]
async fn a_status_keeps_its_details_and_metadata() {
    let status = || Status::with_details(Code::Unavailable, REAL, Bytes::from("details"));
    for reply in [Reply::status(status()), Reply::headers().end(status())] {
        let failed = fails(three(), ECHO, vec![reply.trailer("kept", "yes")]).await;
        assert_eq!(failed.details(), b"details");
        assert_eq!(failed.metadata().get("kept").unwrap(), "yes");
    }
}

/// tonic decodes them with `expect`.
#[tokio::test(start_paused = true)]
async fn details_that_cannot_be_read_kill_nobody() {
    let mangled = |reply: Reply| reply.trailer("grpc-status-details-bin", "%%%");
    for reply in [real(), Reply::headers().end(Status::unavailable(REAL))] {
        for builder in [client().timeout(millis(1_000)).unwrap(), three()] {
            fails(builder, ECHO, vec![mangled(reply.clone())]).await;
        }
    }
    let lab = Lab::new(three(), [mangled(Reply::headers().end(Status::unavailable(REAL)))]);
    survived(&lab.export().await.1.unwrap());
}

/// Every link of the chain says something, for who prints it all.
#[tokio::test(start_paused = true)]
async fn every_cause_says_something() {
    let failed = fails(three(), ECHO, vec![real(), Reply::hang().abort()]).await;
    let mut next = failed.source();
    let mut said = Vec::new();
    while let Some(error) = next {
        assert!(!error.to_string().is_empty());
        said.push(error.to_string());
        next = error.source();
    }
    assert_eq!(said[0], "no further attempt after 3: all attempts were used up");
}
