//! What a server asks for along with a failure: G14 to G22.

use evenkeel_tests::Reply;
use evenkeel_tonic::core::{Backoff, Jitter, RetryPolicy, StopReason};
use evenkeel_tonic::{Builder, Commit, Stopped, cause};
use tonic::{Code, Status};

use crate::lab::{ECHO, Lab, busy, code, fails, ok, timed};
use crate::policies::{client, millis, retries};

const PUSHBACK: &str = "grpc-retry-pushback-ms";

/// The default waits, whose jitter a pushback must not have.
fn three() -> Builder {
    client().retry(RetryPolicy::DEFAULT)
}

/// When the requests of one call came, and why there was no further one.
async fn call(builder: Builder, replies: impl IntoIterator<Item = Reply>) -> Ended {
    let lab = Lab::new(builder, replies);
    let (result, took) = timed(lab.unary(ECHO)).await;
    let reason = result.as_ref().err().map(|status| cause::<Stopped>(status).unwrap().reason);
    (lab.starts(), reason, code(&result), took)
}

type Ended = (Vec<u64>, Option<StopReason>, Code, u64);

#[tokio::test(start_paused = true)]
async fn g14_the_wait_is_exactly_what_was_asked_for() {
    let pushed = busy().trailer(PUSHBACK, "120");
    assert_eq!(call(three(), [pushed, ok()]).await, (vec![0, 120], None, Code::Ok, 120));
}

#[tokio::test(start_paused = true)]
async fn g15_zero_is_at_once() {
    let pushed = busy().trailer(PUSHBACK, "0");
    assert_eq!(call(three(), [pushed, ok()]).await, (vec![0, 0], None, Code::Ok, 0));
}

/// The backoff starts over after a pushback.
#[tokio::test(start_paused = true)]
async fn the_wait_after_a_pushback_is_the_first_again() {
    let pushed = busy().trailer(PUSHBACK, "50");
    let replies = [busy(), busy(), pushed, busy(), ok()];
    let (starts, ..) = call(client().retry(retries(5, 100)), replies).await;
    assert_eq!(starts, [0, 100, 300, 350, 450]);
}

#[tokio::test(start_paused = true)]
async fn a_pushback_that_says_no_or_makes_no_sense_ends_the_call() {
    for value in ["-1", "", "soon", "+5", "99999999999", "0.5"] {
        let pushed = busy().trailer(PUSHBACK, value);
        let ended = (vec![0], Some(StopReason::PushedBack), Code::Unavailable, 0);
        assert_eq!(call(three(), [pushed, ok()]).await, ended, "{value:?}");
    }
}

/// Both are a no; only one of them is what the server said.
#[tokio::test(start_paused = true)]
async fn a_pushback_that_cannot_be_read_is_told_as_such() {
    let said = async |reply: Reply| {
        let failed = Lab::new(three(), [reply]).unary(ECHO).await.unwrap_err();
        cause::<Stopped>(&failed).unwrap().to_string()
    };
    let asked = "no further attempt after 1: the peer asked not to be tried again";
    let unreadable = "no further attempt after 1: the peer sent a grpc-retry-pushback-ms that \
                      cannot be read, which is taken for a no";
    for value in ["-1", "-2147483648"] {
        assert_eq!(said(busy().trailer(PUSHBACK, value)).await, asked, "{value:?}");
    }
    for value in ["", "soon", "+5", "2147483648", "-2147483649", "0.5", " 5"] {
        assert_eq!(said(busy().trailer(PUSHBACK, value)).await, unreadable, "{value:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn g18_no_pushback_makes_a_code_retryable() {
    let pushed = fails(Code::NotFound).trailer(PUSHBACK, "0");
    let ended = (vec![0], Some(StopReason::NotRetryable), Code::NotFound, 0);
    assert_eq!(call(three(), [pushed, ok()]).await, ended);
}

#[tokio::test(start_paused = true)]
async fn g19_no_pushback_adds_an_attempt() {
    let pushed = busy().trailer(PUSHBACK, "10");
    let ended = (vec![0, 10], Some(StopReason::AttemptsUsedUp), Code::Unavailable, 10);
    assert_eq!(call(client().retry(retries(2, 100)), [pushed]).await, ended);
}

#[tokio::test(start_paused = true)]
async fn g21_a_pushback_longer_than_the_deadline_is_not_begun() {
    let pushed = busy().trailer(PUSHBACK, "1000");
    let within_a_second = three().timeout(millis(1_000)).unwrap();
    let ended = (vec![0], Some(StopReason::DeadlineWouldPass), Code::Unavailable, 0);
    assert_eq!(call(within_a_second, [pushed, ok()]).await, ended);
}

#[tokio::test(start_paused = true)]
async fn a_pushback_longer_than_we_let_ourselves_be_told_is_not_begun() {
    let pushed = busy().trailer(PUSHBACK, "300001");
    let (starts, reason, ..) = call(three(), [pushed, ok()]).await;
    assert_eq!(starts, [0]);
    assert!(matches!(reason, Some(StopReason::HintTooLong { .. })), "{reason:?}");
}

#[tokio::test(start_paused = true)]
async fn g22_a_pushback_behind_headers_counts_where_the_response_was_held() {
    let pushed = || Reply::headers().end(Status::unavailable("busy")).trailer(PUSHBACK, "120");
    assert_eq!(call(three(), [pushed(), ok()]).await, (vec![0, 120], None, Code::Ok, 120));

    let (starts, _, ended, took) = call(three().commit(Commit::OnHeaders), [pushed(), ok()]).await;
    assert_eq!((starts, ended, took), (vec![0], Code::Unavailable, 0));
}

/// What answers is no gRPC server, but it says when to come back.
#[tokio::test(start_paused = true)]
async fn a_proxys_retry_after_is_a_floor() {
    for (after, expected) in [("2", 2_000), ("0", 100), ("soon", 100), ("-1", 100), ("+1", 100)] {
        let proxy = Reply::http(503).header("retry-after", after);
        let (starts, ..) = call(client().retry(retries(3, 100)), [proxy, ok()]).await;
        assert_eq!(starts, [0, expected], "{after}");
    }
    let proxy = Reply::http(503).header("retry-after", "301");
    let (starts, reason, ..) = call(three(), [proxy, ok()]).await;
    assert_eq!(starts, [0]);
    assert!(matches!(reason, Some(StopReason::HintTooLong { .. })), "{reason:?}");
    // No code becomes retryable by it.
    let proxy = Reply::http(404).header("retry-after", "1");
    let (starts, reason, ..) = call(three(), [proxy, ok()]).await;
    assert_eq!((starts, reason), (vec![0], Some(StopReason::NotRetryable)));
}

/// google.rpc's `RetryInfo` is a least wait: the longer of the two counts.
#[tokio::test(start_paused = true)]
async fn a_retry_info_is_a_floor() {
    for (own, expected) in [(100, 250), (400, 400)] {
        let backoff = Backoff::new(millis(own), millis(10_000)).unwrap();
        let policy = RetryPolicy::DEFAULT.with_backoff(backoff.with_jitter(Jitter::None).unwrap());
        // A google.rpc.Status with one detail: RetryInfo { retry_delay: 0.25 s }.
        let name = b"type.googleapis.com/google.rpc.RetryInfo";
        let mut any = vec![0x0a, u8::try_from(name.len()).unwrap()];
        any.extend_from_slice(name);
        any.extend_from_slice(&[0x12, 7, 0x0a, 5, 0x10, 0x80, 0xe5, 0x9a, 0x77]);
        let mut details = vec![0x1a, u8::try_from(any.len()).unwrap()];
        details.extend_from_slice(&any);
        let status = Status::with_details(Code::Unavailable, "busy", details.into());
        let (starts, ..) = call(client().retry(policy), [Reply::status(status), ok()]).await;
        assert_eq!(starts, [0, expected]);
    }
}
