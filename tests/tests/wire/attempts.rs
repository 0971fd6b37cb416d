//! How often a request reaches its server: B1 to B4, G1, G2, G8 to G12, R1 to R9 and R37.

use core::time::Duration;

use evenkeel_tests::{Reason, Reply, drain};
use evenkeel_tonic::core::{Backoff, Code, CodeSet, Jitter, RetryPolicy, StopReason};
use evenkeel_tonic::{AllowList, CallOptions, HedgePolicy, Stopped, cause};
use tonic::{Request, Status};

use crate::lab::{CHARGE, ECHO, EXPORT, Lab, PUT, busy, code, fails, ok, timed};
use crate::policies::{also, bare, client, millis, only, retries};

const UNAVAILABLE: tonic::Code = tonic::Code::Unavailable;

#[tokio::test(start_paused = true)]
async fn g01_four_attempts_are_four_requests() {
    let lab = Lab::new(client().retry(retries(4, 100)), [busy()]);
    let failed = lab.unary(ECHO).await.unwrap_err();
    assert_eq!((failed.code(), lab.peer.count()), (UNAVAILABLE, 4));
    assert_eq!(failed.message(), "the peer says so");
    let stopped = cause::<Stopped>(&failed).unwrap();
    assert_eq!((stopped.reason, stopped.attempts), (StopReason::AttemptsUsedUp, 4));
}

#[tokio::test(start_paused = true)]
async fn g02_nine_attempts_are_nine_where_we_are_asked() {
    let lab = Lab::new(client().retry(retries(9, 100)), [busy()]);
    assert_eq!(code(&lab.unary(ECHO).await), UNAVAILABLE);
    assert_eq!(lab.peer.count(), 9);
}

#[tokio::test(start_paused = true)]
async fn g09_every_attempt_says_how_many_came_before() {
    let lab = Lab::new(client().retry(retries(3, 100)), [busy(), busy(), ok()]);
    assert_eq!(lab.unary(ECHO).await.unwrap(), "pong");
    assert_eq!(lab.previous(), [None, Some("1".to_owned()), Some("2".to_owned())]);
    // Nothing else differs between them.
    for seen in lab.peer.requests() {
        assert_eq!((&*seen.path, seen.messages()), (ECHO, vec![&b"ping"[..]]));
        assert_eq!(seen.header("te"), Some("trailers"));
    }
}

/// A gateway that forwards its caller's metadata forwards that caller's count too, which is none of
/// this call's.
#[tokio::test(start_paused = true)]
async fn g09_the_count_of_another_call_goes_no_further() {
    let retried = client().retry(retries(3, 100));
    let twice = HedgePolicy::DEFAULT.with_max_attempts(2).unwrap();
    let hedged = client().hedge(twice);
    for (builder, sent) in [(retried, 3), (hedged, 2), (client().timeout(millis(900)).unwrap(), 1)]
    {
        let lab = Lab::new(builder, [busy()]);
        let mut request = Request::new("ping");
        for count in ["2", "7"] {
            request.metadata_mut().append("grpc-previous-rpc-attempts", count.parse().unwrap());
        }
        lab.request(ECHO, request).await.unwrap_err();
        let counts = [None, Some("1".to_owned()), Some("2".to_owned())];
        assert_eq!(lab.previous(), counts[..sent]);
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_caller_added_is_in_every_attempt() {
    let lab = Lab::new(client().retry(retries(3, 100)), [busy(), busy(), ok()]);
    let mut request = Request::new("ping");
    for name in ["a", "b", "c", "d", "e", "f"] {
        request.metadata_mut().insert(name, name.parse().unwrap());
    }
    request.metadata_mut().append("a", "again".parse().unwrap());
    lab.request(ECHO, request).await.unwrap();
    for seen in lab.peer.requests() {
        assert_eq!(seen.headers.get_all("a").iter().collect::<Vec<_>>(), ["a", "again"]);
        assert_eq!(seen.header("f"), Some("f"));
    }
}

#[tokio::test(start_paused = true)]
async fn g11_and_r06_an_empty_set_of_codes_repeats_nothing() {
    let none = retries(3, 100).with_codes(CodeSet::EMPTY);
    let lab = Lab::new(client().retry(none), [busy()]);
    assert_eq!(code(&lab.unary(ECHO).await), UNAVAILABLE);
    assert_eq!(lab.peer.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn g12_and_r08_what_is_not_on_the_list_is_sent_once() {
    let listed = only(&[ECHO]);
    let lab = Lab::new(bare().retry(retries(3, 100)).idempotent(listed), [busy()]);
    for (method, sent) in [(ECHO, 3), (CHARGE, 1), (PUT, 1)] {
        let before = lab.peer.count();
        assert_eq!(code(&lab.unary(method).await), UNAVAILABLE);
        assert_eq!(lab.peer.count() - before, sent, "{method}");
    }
}

#[tokio::test(start_paused = true)]
async fn g12_the_list_is_the_protos_unless_another_is_given() {
    let lab = Lab::new(client().retry(retries(2, 100)), [busy()]);
    let failed = lab.unary(CHARGE).await.unwrap_err();
    assert_eq!(cause::<Stopped>(&failed).unwrap().reason, StopReason::NotIdempotent);
    assert_eq!(lab.peer.count(), 1);
    let lab = Lab::new(client().retry(retries(2, 100)).idempotent(only(&[CHARGE])), [busy()]);
    assert!(lab.unary(CHARGE).await.is_err() && lab.unary(ECHO).await.is_err());
    assert_eq!(lab.peer.count(), 2 + 1);
    let nothing = client().retry(retries(2, 100)).idempotent(AllowList::empty());
    let lab = Lab::new(nothing, [busy()]);
    assert!(lab.unary(ECHO).await.is_err());
    assert_eq!(lab.peer.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn r01_the_third_attempt_succeeds() {
    let lab = Lab::new(client().retry(retries(3, 100)), [busy(), busy(), ok()]);
    assert_eq!(lab.unary(ECHO).await.unwrap(), "pong");
    assert_eq!(lab.starts(), [0, 100, 300]);
}

#[tokio::test(start_paused = true)]
async fn r02_attempts_are_used_up() {
    let lab = Lab::new(client().retry(retries(2, 100)), [busy()]);
    let (failed, took) = timed(lab.unary(ECHO)).await;
    assert_eq!((code(&failed), took, lab.peer.count()), (UNAVAILABLE, 100, 2));
}

#[tokio::test(start_paused = true)]
async fn r03_a_success_is_not_repeated() {
    let lab = Lab::new(client().retry(retries(3, 100)), [ok(), busy()]);
    assert_eq!(timed(lab.unary(ECHO)).await.1, 0);
    assert_eq!(lab.peer.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn r04_r09_and_g08_other_codes_are_final_by_default() {
    for number in 1..=16 {
        let ended = tonic::Code::from_i32(number);
        let lab = Lab::new(client().retry(retries(3, 100)), [fails(ended)]);
        assert_eq!(code(&lab.unary(ECHO).await), ended);
        let repeated = matches!(ended, UNAVAILABLE | tonic::Code::ResourceExhausted);
        assert_eq!(lab.peer.count(), if repeated { 3 } else { 1 }, "{ended:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn r05_a_code_can_be_opted_in() {
    let policy = retries(3, 100).with_codes(also(&[Code::Internal]));
    let lab = Lab::new(client().retry(policy), [fails(tonic::Code::Internal), ok()]);
    assert_eq!(lab.unary(ECHO).await.unwrap(), "pong");
    assert_eq!(lab.starts(), [0, 100]);
}

#[tokio::test(start_paused = true)]
async fn r37_one_attempt_never_waits() {
    let lab = Lab::new(client().retry(retries(1, 100)), [busy()]);
    assert_eq!(timed(lab.unary(ECHO)).await.1, 0);
    assert_eq!(lab.peer.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_may_say_that_it_wants_no_retry() {
    let lab = Lab::new(client().retry(retries(3, 100)), [busy()]);
    assert_eq!(code(&lab.request(ECHO, alone()).await), UNAVAILABLE);
    assert_eq!(lab.peer.count(), 1);
    // What was certainly not executed is another matter.
    let refused = Reply::hang().reset(Reason::REFUSED_STREAM);
    lab.peer.replace([refused, busy()]);
    assert_eq!(code(&lab.request(ECHO, alone()).await), UNAVAILABLE);
    assert_eq!(lab.peer.count(), 1 + 2);
    // It said so for itself.
    assert_eq!(code(&lab.unary(ECHO).await), UNAVAILABLE);
    assert_eq!(lab.peer.count(), 1 + 2 + 3);
}

/// A request that wants no second attempt.
fn alone() -> Request<&'static str> {
    let mut request = Request::new("ping");
    request.extensions_mut().insert(CallOptions::new().without_retry());
    request
}

#[tokio::test(start_paused = true)]
async fn a_stream_may_say_that_it_wants_no_retry() {
    let broken = Reply::headers().message("1").end(Status::unavailable("broken"));
    let lab = Lab::new(client().retry(retries(3, 100)).retry_streaming(), [broken]);
    let stream = lab.client(EXPORT).server_streaming(alone()).await.unwrap().into_inner();
    let (items, status) = drain(stream).await;
    assert_eq!((items.len(), status.unwrap().message(), lab.peer.count()), (1, "broken", 1));
}

/// When the requests of one call come, in milliseconds, if all of them fail.
async fn starts(attempts: u16, backoff: Backoff) -> Vec<u64> {
    let policy = RetryPolicy::DEFAULT.with_max_attempts(attempts).unwrap().with_backoff(backoff);
    let lab = Lab::new(client().retry(policy), [busy()]);
    assert_eq!(code(&lab.unary(ECHO).await), UNAVAILABLE);
    lab.starts()
}

#[tokio::test(start_paused = true)]
async fn b01_waits_double_up_to_the_cap() {
    let backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(5)).unwrap();
    let backoff = backoff.with_jitter(Jitter::None).unwrap();
    assert_eq!(starts(5, backoff).await, [0, 1_000, 3_000, 7_000, 12_000]);
}

#[tokio::test(start_paused = true)]
async fn b03_the_default_waits_without_their_jitter() {
    let backoff = Backoff::DEFAULT.with_jitter(Jitter::None).unwrap();
    let expected = [0, 100, 300, 700, 1_500, 3_100, 6_300, 12_700, 22_700, 32_700];
    assert_eq!(starts(10, backoff).await, expected);
}

#[tokio::test(start_paused = true)]
async fn b02_and_b12_jitter_stays_in_its_band_and_below_the_cap() {
    let backoff = Backoff::new(millis(10_000), millis(12_000)).unwrap();
    let backoff = backoff.with_jitter(Jitter::Proportional(500)).unwrap();
    for _ in 0..50 {
        let starts = starts(2, backoff).await;
        assert!((5_000..=12_000).contains(&starts[1]), "{starts:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn b04_no_wait_at_all() {
    let backoff = Backoff::new(Duration::ZERO, Duration::from_secs(1)).unwrap();
    assert_eq!(starts(4, backoff.with_jitter(Jitter::None).unwrap()).await, [0; 4]);
}
