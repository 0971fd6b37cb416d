//! Which calls wait for a connection: W1 to W8, W10, G66 and G68.

use evenkeel_tests::Listening;
use evenkeel_tonic::{Builder, CallOptions};
use tonic::{Code, Request};

use crate::lab::{CHAT, ECHO, EXPORT, KINDS, Lab, PUT, UPLOAD, code, method_of, ok, timed, within};
use crate::policies::{bare, client, millis, retries};

/// Whether a call waits for the server that comes after 200 ms.
async fn waits(builder: Builder, method: &'static str, request: Request<&'static str>) -> bool {
    let lab = Lab::dark(builder, [ok()]);
    lab.listen_after(200);
    let (result, took) = timed(lab.request(method, request)).await;
    match result {
        Ok(_) => {
            assert!((200..500).contains(&took), "{took} ms");
            assert_eq!(lab.peer.count(), 1);
            true
        }
        Err(failed) => {
            assert_eq!((failed.code(), took, lab.peer.count()), (Code::Unavailable, 0, 0));
            false
        }
    }
}

fn plain() -> Request<&'static str> {
    Request::new("ping")
}

/// A call that says so for itself.
fn wishing(wait: bool) -> Request<&'static str> {
    let mut request = plain();
    request.extensions_mut().insert(CallOptions::new().wait_for_ready(wait));
    request
}

fn bounded() -> Builder {
    client().timeout(millis(5_000)).unwrap()
}

#[tokio::test(start_paused = true)]
async fn w01_a_bounded_call_waits() {
    assert!(waits(bounded().wait_for_ready(true), ECHO, plain()).await);
    assert!(waits(client().wait_for_ready(true), ECHO, within(5_000)).await);
}

#[tokio::test(start_paused = true)]
async fn w02_w03_and_g66_an_unbounded_call_does_not_and_that_is_said_once() {
    let listening = Listening::begin();
    let lab = Lab::dark(client().wait_for_ready(true), [ok()]);
    for _ in 0..3 {
        let (failed, took) = timed(lab.unary(ECHO)).await;
        assert_eq!((code(&failed), took), (Code::Unavailable, 0));
    }
    assert_eq!(lab.net.dials("a").len(), 3, "each was tried");
    let warnings = listening.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    for part in [ECHO, "timeout", "require_deadline"] {
        assert!(warnings[0].contains(part), "{warnings:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn w04_an_unbounded_call_waits_where_that_is_wanted() {
    let listening = Listening::begin();
    assert!(waits(client().wait_without_deadline(), ECHO, plain()).await);
    let warnings = listening.warnings();
    assert!(warnings.len() == 1 && warnings[0].contains("may wait for ever"), "{warnings:?}");
}

#[tokio::test(start_paused = true)]
async fn w05_and_g68_the_calls_own_wish_wins() {
    assert!(!waits(bounded().wait_for_ready(true), ECHO, wishing(false)).await);
    assert!(waits(bounded().wait_for_ready(false), ECHO, wishing(true)).await);
    let never = bounded().method_wait_for_ready(ECHO, Some(false)).unwrap();
    assert!(waits(never, ECHO, wishing(true)).await);
    let exempt = bounded().method_wait_for_ready(ECHO, None).unwrap();
    assert!(waits(exempt, ECHO, wishing(true)).await);
}

/// A call may wish to wait whatever else is configured, nothing included.
#[tokio::test(start_paused = true)]
async fn w05_the_calls_own_wish_needs_no_setting() {
    for builder in [bare(), client(), bounded(), client().retry(retries(1, 100))] {
        assert!(waits(builder, ECHO, wishing(true)).await);
    }
}

#[tokio::test(start_paused = true)]
async fn w06_by_default_nothing_waits() {
    assert!(!waits(bounded(), ECHO, plain()).await);
    assert!(!waits(bounded().wait_for_ready(false), ECHO, plain()).await);
    assert!(!waits(bare(), ECHO, plain()).await);
}

#[tokio::test(start_paused = true)]
async fn w07_and_g68_a_method_may_differ() {
    let all_but_one =
        || bounded().wait_for_ready(true).method_wait_for_ready(ECHO, Some(false)).unwrap();
    assert!(!waits(all_but_one(), ECHO, plain()).await);
    assert!(waits(all_but_one(), PUT, plain()).await);
    let only_one =
        || bounded().wait_for_ready(false).method_wait_for_ready(ECHO, Some(true)).unwrap();
    assert!(waits(only_one(), ECHO, plain()).await);
    assert!(!waits(only_one(), PUT, plain()).await);
}

#[tokio::test(start_paused = true)]
async fn w08_a_method_may_be_exempt() {
    let exempt = || bounded().wait_for_ready(true).method_wait_for_ready(ECHO, None).unwrap();
    assert!(!waits(exempt(), ECHO, plain()).await);
    assert!(waits(exempt(), PUT, plain()).await);
}

#[tokio::test(start_paused = true)]
async fn w10_calls_of_every_kind_wait() {
    for builder in [bounded, || bare().timeout(millis(5_000)).unwrap()] {
        for kind in KINDS {
            for lab in [
                Lab::dark(builder().wait_for_ready(true), [ok()]),
                Lab::dark_over_our_connector(builder().wait_for_ready(true), [ok()]),
            ] {
                lab.listen_after(200);
                assert_eq!(lab.call(kind).await.unwrap(), ["pong"], "{kind:?}");
                assert_eq!(lab.peer.count(), 1);
                let is_stream = [UPLOAD, CHAT].contains(&method_of(kind));
                let expected: &[u8] = if is_stream { b"12" } else { b"ping" };
                assert_eq!(lab.peer.requests()[0].messages().concat(), expected);
            }
        }
    }
}

/// A stream that is waited for costs its time like any other call.
#[tokio::test(start_paused = true)]
async fn w10_what_was_waited_is_gone() {
    let lab = Lab::dark_over_our_connector(bounded().wait_for_ready(true), [ok()]);
    lab.listen_after(1_000);
    assert_eq!(lab.export().await.0, ["pong"]);
    let (at, left) = lab.slices()[0];
    assert_eq!(at + left, 5_000);
    assert_eq!(lab.peer.requests()[0].path, EXPORT);
}
