//! Nobody to call: P5, G81, and how calls wait for somebody.

use core::time::Duration;

use evenkeel_core::BreakerState;
use evenkeel_tests::{Dial, RawClient, drain};
use evenkeel_tonic::{CallOptions, DeadlinePassed, NoHealthyTargets, cause};
use tonic::{Code, Request, Status};

use crate::lab::{CHARGE, ECHO, EXPORT, Lab, code, opens_after, pass, plain, retrying, timed};

fn nobody(status: &Status) -> Vec<String> {
    cause::<NoHealthyTargets>(status).expect("a typed source").targets.clone()
}

#[tokio::test(start_paused = true)]
async fn p05_and_g81_nobody_eligible_is_a_typed_error_that_lists_the_targets() {
    let lab = Lab::tuned(&["a", "b"], retrying(3), |pool| pool.health_checked());
    for method in [ECHO, CHARGE] {
        let (failed, took) = timed(lab.call_of(method)).await;
        let failed = failed.unwrap_err();
        assert_eq!((failed.code(), took), (Code::Unavailable, 0));
        assert_eq!(nobody(&failed), ["a:1", "b:1"]);
    }
    let mut client = RawClient::of(EXPORT, lab.service.clone());
    assert_eq!(nobody(&client.server_streaming("all").await.unwrap_err()), ["a:1", "b:1"]);
    let mut client = RawClient::of("/lab.v1.Lab/Upload", lab.service.clone());
    let items = || tokio_stream::iter([bytes::Bytes::from("1")]);
    assert_eq!(nobody(&client.client_streaming(items()).await.unwrap_err()), ["a:1", "b:1"]);
    let mut client = RawClient::of("/lab.v1.Lab/Chat", lab.service.clone());
    assert_eq!(nobody(&client.streaming(items()).await.unwrap_err()), ["a:1", "b:1"]);
    assert_eq!(lab.count("a") + lab.count("b"), 0);
}

#[tokio::test(start_paused = true)]
async fn g81_after_the_first_verdict_there_is_somebody() {
    let lab = Lab::tuned(&["a", "b"], plain(), |pool| pool.health_checked());
    assert!(!lab.pool().wait_until_ready(Duration::from_millis(50)).await);
    let (ready, took) = timed(async {
        let ready = lab.pool().wait_until_ready(Duration::from_secs(5));
        let verdict = async {
            pass(300).await;
            lab.pool().set_healthy("b:1", true);
        };
        tokio::join!(ready, verdict).0
    })
    .await;
    assert_eq!((ready, took), (true, 300));
    assert_eq!(lab.calls(2).await, "bb");
}

#[tokio::test(start_paused = true)]
async fn g81_under_wait_for_ready_a_call_waits_until_there_is_somebody() {
    let lab = Lab::tuned(&["a", "b"], plain().wait_for_ready(true), |pool| pool.health_checked());
    let healthy = async {
        pass(300).await;
        lab.pool().set_healthy("b:1", true);
    };
    let ((answer, took), ()) = tokio::join!(timed(lab.call()), healthy);
    assert_eq!((answer.unwrap(), took), ("b".to_owned(), 300));

    // And no longer than its time.
    lab.pool().set_healthy("b:1", false);
    let (late, took) = timed(lab.call()).await;
    let late = late.unwrap_err();
    assert_eq!((late.code(), took), (Code::DeadlineExceeded, 10_000));
    assert_eq!(cause::<DeadlinePassed>(&late).unwrap().attempts, 0);
}

/// A call that wants not to wait does not, and one without a deadline neither.
#[tokio::test(start_paused = true)]
async fn g81_a_call_that_does_not_wait_ends_at_once() {
    let lab = Lab::tuned(&["a"], plain().wait_for_ready(true), |pool| pool.health_checked());
    let mut request = Request::new("ping");
    request.extensions_mut().insert(CallOptions::new().wait_for_ready(false));
    let mut client = RawClient::of(ECHO, lab.service.clone());
    assert_eq!(nobody(&client.unary(request).await.unwrap_err()), ["a:1"]);
}

/// All are away: whoever is back first has the call, which waited for none in particular.
#[tokio::test(start_paused = true)]
async fn a_call_waits_for_whichever_member_comes_back_first() {
    for comes in ["a", "b", "c"] {
        let mut lab =
            Lab::new(&["a", "b", "c"], plain().wait_for_ready(true).breaker(opens_after(5)));
        lab.warm_up().await;
        ["a", "b", "c"].iter().for_each(|name| lab.kill(name));
        pass(1).await;
        let back = async {
            pass(400).await;
            let peer = lab.peer(comes).clone();
            peer.listen(&lab.net, comes);
        };
        let ((answer, took), ()) = tokio::join!(timed(lab.call()), back);
        assert_eq!(answer.unwrap(), comes);
        assert!((400..800).contains(&took), "{took} ms");
        for name in ["a", "b", "c"] {
            // What was left for another is nobody's failure.
            assert_eq!(lab.circuit(name, ECHO), (BreakerState::Closed, 0));
        }
        lab.serve(comes);
    }
}

/// A request stream that nobody has read from moves with its call, and loses nothing.
#[tokio::test(start_paused = true)]
async fn a_request_stream_waits_for_whichever_member_comes_back_first() {
    let lab = Lab::new(&["a", "b"], plain().wait_for_ready(true));
    ["a", "b"].iter().for_each(|name| lab.kill(name));
    for comes in ["b", "a"] {
        let peer = lab.peer(comes).clone();
        lab.net.after(Duration::from_millis(300), move |net| drop(peer.listen(net, comes)));
        let mut client = RawClient::of("/lab.v1.Lab/Upload", lab.service.clone());
        let items = tokio_stream::iter(["1", "2", "3"].map(bytes::Bytes::from));
        let answer = client.client_streaming(items).await.unwrap();
        assert_eq!(answer.into_inner(), comes);
        let seen = lab.peer(comes).requests();
        assert_eq!(seen.last().unwrap().messages(), [b"1", b"2", b"3"]);
        lab.kill(comes);
        pass(10_000).await;
    }
}

/// As over one channel: it ends at its deadline, and counts once.
#[tokio::test(start_paused = true)]
async fn a_call_that_waits_in_vain_counts_one_failure() {
    let lab = Lab::new(&["a", "b"], plain().wait_for_ready(true).breaker(opens_after(5)));
    ["a", "b"].iter().for_each(|name| lab.kill(name));
    let (late, took) = timed(lab.call()).await;
    assert_eq!((code(&late), took), (Code::DeadlineExceeded, 10_000));
    let states = lab.service.circuit_breaker_states();
    let failures: u16 = states.values().map(|methods| methods[ECHO].failures).sum();
    assert_eq!(failures, 1);
    // One schedule for each, however long it was waited.
    for name in ["a", "b"] {
        assert!(lab.net.dials(name).len() <= 20, "{:?}", lab.net.dials(name));
    }
}

/// A member whose circuit is open is no help to a call that waits.
#[tokio::test(start_paused = true)]
async fn a_call_does_not_wait_for_a_member_whose_circuit_is_open() {
    let mut lab = Lab::new(&["a", "b"], plain().wait_for_ready(true).breaker(opens_after(1)));
    lab.serve_with("b", [crate::lab::fails(Code::Internal)]);
    assert_eq!(lab.calls(2).await, "a!");
    lab.kill("a");
    pass(1).await;
    let peer = lab.peer("a").clone();
    lab.net.after(Duration::from_millis(500), move |net| drop(peer.listen(net, "a")));
    let (answer, took) = timed(lab.call()).await;
    assert_eq!(answer.unwrap(), "a");
    assert!((500..1_000).contains(&took), "{took} ms");
    assert_eq!(lab.count("b"), 1);
}

#[tokio::test(start_paused = true)]
async fn wait_until_ready_dials_and_answers_for_the_first() {
    let lab = Lab::new(&["a", "b"], plain());
    lab.net.on_dial("a", [Dial::Hang]);
    lab.net.on_dial("b", [Dial::ConnectAfter(Duration::from_millis(700))]);
    assert!(!lab.pool().wait_until_ready(Duration::ZERO).await);
    let (ready, took) = timed(lab.pool().wait_until_ready(Duration::from_secs(5))).await;
    assert_eq!((ready, took), (true, 700));
    assert!(lab.pool().wait_until_ready(Duration::ZERO).await, "it is ready now");
    assert_eq!(lab.calls(2).await, "bb", "a is still being dialled");

    let dark = Lab::new(&["a"], plain());
    dark.kill("a");
    let (ready, took) = timed(dark.pool().wait_until_ready(Duration::from_secs(2))).await;
    assert_eq!((ready, took), (false, 2_000));
    assert!(!dark.pool().wait_until_ready(Duration::ZERO).await);
}

/// Where responses stream it is no other.
#[tokio::test(start_paused = true)]
async fn a_stream_goes_to_a_member_too() {
    let lab = Lab::new(&["a", "b"], plain());
    let mut client = RawClient::of(EXPORT, lab.service.clone());
    let mut answers = Vec::new();
    for _ in 0..4 {
        let stream = client.server_streaming("all").await.unwrap().into_inner();
        answers.extend(drain(stream).await.0);
        assert_eq!(lab.pool().in_flight(), 0);
    }
    assert_eq!(answers, ["a", "b", "a", "b"]);
}
