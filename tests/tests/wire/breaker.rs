//! When a circuit opens under real calls, and what its callers see: C1 to C12, C31, C44 to C47,
//! G71 to G73 and R10.

use evenkeel_tests::{Listening, Reply};
use evenkeel_tonic::core::{BreakerPolicy, BreakerState, CodeSet, Sent};
use evenkeel_tonic::{Builder, CircuitOpen, TransportError, cause};
use tonic::{Code, Status};

use crate::lab::{ECHO, KINDS, Lab, PUT, busy, code, fails, method_of, ok, pass, timed};
use crate::policies::{client, millis, opens_after, retries};

use BreakerState::{Closed, HalfOpen, Open};

fn two() -> Builder {
    client().breaker(opens_after(2))
}

#[tokio::test(start_paused = true)]
async fn c01_two_failures_open_it_and_nothing_more_is_sent() {
    let lab = Lab::new(two(), [busy()]);
    assert_eq!(code(&lab.unary(ECHO).await), Code::Unavailable);
    assert_eq!(lab.circuit(ECHO), (Closed, 1));
    assert_eq!(code(&lab.unary(ECHO).await), Code::Unavailable);
    assert_eq!(lab.circuit(ECHO), (Open, 2));

    let (refused, took) = timed(lab.unary(ECHO)).await;
    let refused = refused.unwrap_err();
    assert_eq!((refused.code(), took, lab.peer.count()), (Code::Unavailable, 0, 2));
    let said = "Circuit breaker for /lab.v1.Lab/Echo is open at lab, next try in ";
    let left = refused.message().strip_prefix(said).unwrap_or_else(|| panic!("{refused:?}"));
    let open = cause::<CircuitOpen>(&refused).unwrap();
    assert_eq!((&*open.key.method, &*open.key.target), (ECHO, "lab"));
    assert_eq!((Some(open.retry_at), open.attempts), (lab.breaker(ECHO).retry_at, 0));
    assert!(open.last.is_none());
    assert_eq!(left, format!("{:.2}s", open.retry_after().as_secs_f64()));
    pass(1_000).await;
    let later = lab.unary(ECHO).await.unwrap_err();
    let later = cause::<CircuitOpen>(&later).unwrap();
    assert_eq!(later.retry_after() + millis(1_000), open.retry_after());
}

#[tokio::test(start_paused = true)]
async fn c02_c03_and_g71_a_success_starts_the_count_again() {
    let four = || (0..4).map(|_| busy());
    let lab = Lab::new(client().breaker(opens_after(5)), four().chain([ok()]).chain(four()));
    for _ in 0..9 {
        let _ = lab.unary(ECHO).await;
    }
    assert_eq!((lab.circuit(ECHO), lab.peer.count()), ((Closed, 4), 9));
    assert!(lab.unary(ECHO).await.is_err());
    assert_eq!(lab.circuit(ECHO), (Open, 5));
    assert!(cause::<CircuitOpen>(&lab.unary(ECHO).await.unwrap_err()).is_some());
    assert_eq!(lab.peer.count(), 10);
}

#[tokio::test(start_paused = true)]
async fn c05_c06_and_g72_seven_codes_count_and_the_others_do_not() {
    for number in 0..=16 {
        let ended = Code::from_i32(number);
        let reply = if ended == Code::Ok { ok() } else { fails(ended) };
        let lab = Lab::new(client().breaker(opens_after(1)), [reply]);
        assert_eq!(code(&lab.unary(ECHO).await), ended);
        let counted = CodeSet::FAILURES.contains(evenkeel_tonic::core::Code::from_number(number));
        assert_eq!(lab.breaker(ECHO).state, if counted { Open } else { Closed }, "{ended:?}");
    }
    assert_eq!(CodeSet::FAILURES.iter().count(), 7);
}

/// What is no gRPC answer is one of the codes that count.
#[tokio::test(start_paused = true)]
async fn c07_what_is_no_grpc_answer_counts() {
    for reply in [Reply::http(503), Reply::http(500), Reply::hang().close(), Reply::hang().abort()]
    {
        let lab = Lab::new(client().breaker(opens_after(1)), [reply]);
        assert!(lab.unary(ECHO).await.is_err());
        assert_eq!(lab.breaker(ECHO).state, Open);
    }
}

#[tokio::test(start_paused = true)]
async fn c10_methods_are_kept_apart() {
    let lab = Lab::new(client().breaker(opens_after(1)), [busy(), ok()]);
    assert!(lab.unary(ECHO).await.is_err());
    assert_eq!(lab.unary(PUT).await.unwrap(), "pong");
    assert_eq!((lab.circuit(ECHO), lab.circuit(PUT)), ((Open, 1), (Closed, 0)));
}

#[tokio::test(start_paused = true)]
async fn c11_an_open_circuit_refuses_calls_of_every_kind() {
    for kind in KINDS {
        let lab = Lab::new(client().breaker(opens_after(1)), [busy()]);
        assert!(lab.call(kind).await.is_err());
        let refused = lab.call(kind).await.unwrap_err();
        let open = cause::<CircuitOpen>(&refused).unwrap();
        assert_eq!((&*open.key.method, lab.peer.count()), (method_of(kind), 1), "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn c31_its_changes_are_reported_in_their_order() {
    let listening = Listening::begin();
    let lab = Lab::new(two(), [busy(), busy(), ok()]);
    for _ in 0..3 {
        assert!(lab.unary(ECHO).await.is_err());
    }
    pass(10_000).await;
    lab.unary(ECHO).await.unwrap();
    let reports = listening.reports();
    let states: Vec<_> = reports
        .iter()
        .map(|report| report.split_whitespace().find_map(|part| part.strip_prefix("state=")))
        .collect();
    assert_eq!(states, [Some("open"), Some("half-open"), Some("closed")]);
    assert!(reports.iter().all(|report| report.contains(ECHO)), "{reports:?}");
}

/// It opens under the call that tripped it: the third attempt is not let out, after both waits.
#[tokio::test(start_paused = true)]
async fn c44_and_g73_a_call_may_open_its_own_circuit() {
    let listening = Listening::begin();
    let lab = Lab::new(two().retry(retries(3, 100)), [busy()]);
    assert!(listening.warnings().iter().any(|text| text.contains("fail_threshold")));
    let (refused, took) = timed(lab.unary(ECHO)).await;
    let refused = refused.unwrap_err();
    let open = cause::<CircuitOpen>(&refused).unwrap();
    assert_eq!((open.attempts, took, lab.peer.count()), (2, 300, 2));
    assert_eq!(open.last.as_ref().unwrap().message(), "the peer says so");
    assert_eq!((lab.starts(), lab.circuit(ECHO)), (vec![0, 100], (Open, 2)));
}

#[tokio::test(start_paused = true)]
async fn c45_with_as_many_attempts_as_failures_the_servers_error_stands() {
    let builder = client().breaker(opens_after(3)).retry(retries(3, 100));
    let lab = Lab::new(builder, [busy()]);
    let failed = lab.unary(ECHO).await.unwrap_err();
    assert!(cause::<CircuitOpen>(&failed).is_none());
    assert_eq!((failed.message(), lab.peer.count()), ("the peer says so", 3));
    assert_eq!(lab.circuit(ECHO), (Open, 3));
}

#[tokio::test(start_paused = true)]
async fn c46_the_defaults_under_an_outage() {
    let listening = Listening::begin();
    let builder = client().breaker(BreakerPolicy::DEFAULT);
    let lab = Lab::new(builder.retry(evenkeel_tonic::core::RetryPolicy::DEFAULT), [busy()]);
    assert!(listening.warnings().is_empty(), "five is more than three");
    let mut seen = Vec::new();
    for _ in 0..4 {
        let before = lab.peer.count();
        let failed = lab.unary(ECHO).await.unwrap_err();
        seen.push((cause::<CircuitOpen>(&failed).is_some(), lab.peer.count() - before));
    }
    assert_eq!(seen, [(false, 3), (true, 2), (true, 0), (true, 0)]);
}

#[tokio::test(start_paused = true)]
async fn c47_with_a_threshold_of_one_the_retry_is_refused() {
    let builder = client().breaker(opens_after(1)).retry(retries(3, 100));
    let lab = Lab::new(builder, [busy()]);
    let refused = lab.unary(ECHO).await.unwrap_err();
    assert_eq!((cause::<CircuitOpen>(&refused).unwrap().attempts, lab.peer.count()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn r10_a_refusal_of_our_own_is_final_at_once() {
    let builder = client().breaker(opens_after(1)).retry(retries(3, 500));
    let lab = Lab::new(builder, [fails(Code::Internal), ok()]);
    assert_eq!(code(&lab.unary(ECHO).await), Code::Internal);
    let (refused, took) = timed(lab.unary(ECHO)).await;
    assert!(cause::<CircuitOpen>(&refused.unwrap_err()).is_some());
    assert_eq!((took, lab.peer.count()), (0, 1));
}

/// "Breaker or backend?" always has an answer, although the code is the same.
#[tokio::test(start_paused = true)]
async fn ours_and_the_backends_unavailable_are_told_apart() {
    let lab = Lab::new(client().breaker(opens_after(2)), [busy(), Reply::hang().close()]);
    let backend = lab.unary(ECHO).await.unwrap_err();
    let transport = lab.unary(ECHO).await.unwrap_err();
    let ours = lab.unary(ECHO).await.unwrap_err();
    for (status, is_ours, is_transport) in
        [(&backend, false, false), (&transport, false, true), (&ours, true, false)]
    {
        let status: &Status = status;
        assert_eq!(status.code(), Code::Unavailable);
        assert_eq!(cause::<CircuitOpen>(status).is_some(), is_ours);
        let transport = cause::<TransportError>(status);
        assert_eq!(transport.map(TransportError::sent), is_transport.then_some(Sent::Maybe));
    }
}

/// From exactly the end of its open time on, a call is let through.
#[tokio::test(start_paused = true)]
async fn c14_after_its_time_one_success_closes_it() {
    let lab = Lab::new(two(), [busy(), busy(), ok().after(millis(100)), ok()]);
    for _ in 0..2 {
        assert!(lab.unary(ECHO).await.is_err());
    }
    pass(9_999).await;
    assert!(lab.unary(ECHO).await.is_err());
    pass(1).await;
    let look = async {
        pass(50).await;
        lab.breaker(ECHO)
    };
    let (answer, shown) = tokio::join!(lab.unary(ECHO), look);
    assert_eq!((answer.unwrap(), shown.state, shown.trials), ("pong".into(), HalfOpen, 1));
    assert_eq!(lab.circuit(ECHO), (Closed, 0));
    assert_eq!(lab.peer.count(), 3);
}
