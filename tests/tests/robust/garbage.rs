//! What no honest server sends.

use crate::parts::{Gauge, Inside, answer, data, framed, message, service, trailers};
use crate::{CHARGE, ECHO, EXPORT, circuit, client_of, guarded, resilient};
use bytes::Bytes;
use core::future::poll_fn;
use core::pin::pin;
use core::time::Duration;
use evenkeel_core::{BreakerState, RetryPolicy};
use evenkeel_tests::{Network, Peer, RawClient, Reply, drain};
use evenkeel_tonic::Resilient;
use futures_util::StreamExt;
use http::HeaderValue;
use http_body::Frame;
use http_body_util::StreamBody;
use tonic::{Code, Status};

/// Details that raw tonic panics at, wherever they stand and whatever the status.
#[tokio::test(start_paused = true)]
async fn details_that_are_not_base64() {
    const DETAILS: &str = "grpc-status-details-bin";
    for garbage in ["%%%", "=", "a", "AAAA AAAA", "\u{a0}", "AB", "QQ==QQ=="] {
        for status in [Status::ok(""), Status::internal("broken"), Status::not_found("gone")] {
            let code = status.code();
            let early = Reply::status(status.clone()).trailer(DETAILS, garbage);
            let late = Reply::headers().message("pong").end(status).trailer(DETAILS, garbage);
            for (reply, has_message) in [(early, false), (late, true)] {
                let (mut client, _) = client_of(CHARGE, [reply.clone()]);
                match client.unary("ping").await {
                    Ok(answer) => assert_eq!(answer.into_inner(), "pong"),
                    Err(status) if code == Code::Ok => {
                        assert!(!has_message && status.code() == Code::Internal, "{reply:?}");
                    }
                    Err(status) => assert_eq!(status.code(), code, "{garbage:?}"),
                }
                let (mut client, _) = client_of(EXPORT, [reply.clone()]);
                let ended = match client.server_streaming("all").await {
                    Ok(stream) => drain(stream.into_inner()).await.1,
                    Err(status) => Some(status),
                };
                let ended = ended.map_or(Code::Ok, |status| status.code());
                assert_eq!(ended, code, "{garbage:?} in {reply:?}");
            }
        }
    }
}

/// With nothing configured too, where they are in the headers: a failed call rarely has more. Of the
/// body nothing is looked at then.
#[tokio::test(start_paused = true)]
async fn details_that_are_not_base64_to_a_client_with_nothing_configured() {
    let reply = Reply::status(Status::not_found("gone")).trailer("grpc-status-details-bin", "%%%");
    let net = Network::new();
    let _peer = Peer::new([reply]).listen(&net, "a");
    let service = Resilient::builder().build(net.channel("a")).unwrap();
    let status = RawClient::of(CHARGE, service).unary("ping").await.unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::NotFound, "gone"));
}

/// The message is for people; when it cannot be read the code still can.
#[tokio::test(start_paused = true)]
async fn a_message_that_is_not_utf_8_does_not_hide_the_code() {
    for garbage in [&b"%ff%fe"[..], b"caf\xe9", b"\xff", b"100 %", b"%", b"%zz", b"%e4%b"] {
        for (code, attempts) in [(Code::Unavailable, 3), (Code::NotFound, 1)] {
            let status = || Status::new(code, "");
            for reply in [
                Reply::status(status()).trailer("grpc-message", garbage),
                Reply::headers().end(status()).trailer("grpc-message", garbage),
            ] {
                let (mut client, peer) = client_of(ECHO, [reply.clone()]);
                let status = client.unary("ping").await.unwrap_err();
                assert_eq!(status.code(), code, "{reply:?}: {status:?}");
                assert_eq!(peer.count(), attempts);
                assert!(!status.message().is_empty(), "what can be read of it is kept");
            }
        }
        // And OK stays OK.
        let reply = Reply::ok("pong").trailer("grpc-message", garbage);
        let (mut client, _) = client_of(ECHO, [reply.clone()]);
        assert_eq!(client.unary("ping").await.unwrap().into_inner(), "pong", "{garbage:?}");
        let (mut client, _) = client_of(EXPORT, [reply]);
        let stream = client.server_streaming("all").await.unwrap().into_inner();
        let (items, status) = drain(stream).await;
        assert!(items == ["pong"] && status.is_none(), "{garbage:?}: {status:?}");
    }
}

/// hyper takes 16 KiB of headers; a megabyte is a failed call, and the next one is fine.
#[tokio::test(start_paused = true)]
async fn a_megabyte_of_metadata() {
    let huge = || "y".repeat(1 << 20);
    for reply in [
        Reply::status(Status::not_found("")).trailer("x-pad", huge()),
        Reply::headers().header("x-pad", huge()).message("pong").end(Status::ok("")),
        Reply::headers().message("pong").end(Status::ok("")).trailer("x-pad", huge()),
    ] {
        let (service, peer) = resilient([reply, Reply::ok("pong")]);
        let mut client = RawClient::of(CHARGE, service.clone());
        let call = tokio::time::timeout(Duration::from_secs(60), client.unary("ping")).await;
        let code = call.expect("it hangs").unwrap_err().code();
        // The first frame over the limit, or too many of them: whichever is noticed first.
        assert!(matches!(code, Code::Internal | Code::ResourceExhausted), "{code:?}");
        assert_eq!(peer.count(), 1);
        assert_eq!(client.unary("ping").await.unwrap().into_inner(), "pong");
        assert_eq!(circuit(&service, CHARGE).state, BreakerState::Closed);
    }
}

/// What the caller sends along goes with each attempt, every value of it.
#[tokio::test(start_paused = true)]
async fn metadata_of_the_callers_is_given_again_as_it_was() {
    let busy = Reply::status(Status::unavailable("busy"));
    let (mut client, peer) = client_of(ECHO, [busy.clone(), busy, Reply::ok("pong")]);
    let mut request = tonic::Request::new("ping");
    for value in ["1", "2", "3"] {
        request.metadata_mut().append("x-many", value.parse().unwrap());
    }
    for number in 0..20 {
        let name: tonic::metadata::MetadataKey<_> = format!("x-{number}").parse().unwrap();
        request.metadata_mut().insert(name, "y".repeat(200).parse().unwrap());
    }
    client.unary(request).await.unwrap();
    let own = ["grpc-previous-rpc-attempts", "grpc-timeout"];
    let strip = |seen: &evenkeel_tests::Seen| {
        let mut headers = seen.headers.clone();
        own.iter().for_each(|name| drop(headers.remove(*name)));
        headers
    };
    let seen = peer.requests();
    let many: Vec<&HeaderValue> = seen[2].headers.get_all("x-many").iter().collect();
    assert_eq!(many, ["1", "2", "3"]);
    assert_eq!(strip(&seen[0]), strip(&seen[1]));
    assert_eq!(strip(&seen[0]), strip(&seen[2]));
}

/// A message of a million frames is a message all the same.
#[tokio::test(start_paused = true)]
async fn a_response_in_little_frames() {
    for piece in ["", "y"] {
        let inner = service(move |_, _| async move {
            let head = data(framed(&message(1 << 20)).slice(..5));
            let pieces = core::iter::repeat_with(move || data(piece)).take(1 << 20);
            answer(core::iter::once(head).chain(pieces).chain([trailers(&Status::ok(""))]))
        });
        let service = guarded().build(inner).unwrap();
        let answer = RawClient::of(ECHO, service).unary("ping").await;
        assert_eq!(answer.is_ok(), piece == "y");
    }
}

/// What is held back is bounded in frames as it is in bytes: one costs us more than its sender.
#[tokio::test(start_paused = true)]
async fn little_frames_are_not_held_without_end() {
    struct Owned(&'static str, #[expect(dead_code, reason = "it is there to be dropped")] Inside);
    impl AsRef<[u8]> for Owned {
        fn as_ref(&self) -> &[u8] {
            self.0.as_bytes()
        }
    }
    for piece in ["", "y"] {
        let gauge = Gauge::default();
        let inside = gauge.clone();
        let inner = service(move |_, _| {
            let inside = inside.clone();
            async move {
                let one = move |_| data(Bytes::from_owner(Owned(piece, inside.enter())));
                let frames = futures_util::stream::iter(0..100_000).map(one);
                Ok(http::Response::new(tonic::body::Body::new(StreamBody::new(frames))))
            }
        });
        let service = guarded().build(inner).unwrap();
        RawClient::of(ECHO, service).unary("ping").await.unwrap_err();
        assert!(gauge.peak() < 20_000, "{}", gauge.peak());
    }
}

/// Whatever follows the trailers is not of this call.
#[tokio::test(start_paused = true)]
async fn frames_after_the_end() {
    let inner = service(|_, _| async {
        let ok = || trailers(&Status::ok(""));
        let after = [data(framed(b"2")), trailers(&Status::internal("late")), ok()];
        answer([data(framed(b"1")), ok()].into_iter().chain(after))
    });
    for restarts in [false, true] {
        let builder = if restarts { guarded().retry_streaming() } else { guarded() };
        let service = builder.build(inner.clone()).unwrap();
        let answer = RawClient::of(ECHO, service.clone()).unary("ping").await;
        assert_eq!(answer.unwrap().into_inner(), "1");
        let stream = RawClient::of(EXPORT, service.clone()).server_streaming("all").await;
        let (items, status) = drain(stream.unwrap().into_inner()).await;
        assert!(items == ["1"] && status.is_none(), "{items:?}, {status:?}");
        assert_eq!(circuit(&service, EXPORT).failures, 0);
    }
}

/// A service that fails with the status OK has not succeeded.
#[tokio::test(start_paused = true)]
async fn an_error_that_says_ok_is_an_error() {
    let inner = service(|_, _| async { Err(Status::ok("nothing wrong").into()) });
    let unary = guarded().build(inner).unwrap();
    let status = RawClient::of(ECHO, unary.clone()).unary("ping").await.unwrap_err();
    assert_eq!(status.code(), Code::Unknown, "{status:?}");
    assert_eq!(circuit(&unary, ECHO).failures, 1);

    let inner = service(|_, _| async {
        answer([data(framed(b"1")), Err(Status::ok("nothing wrong").into())])
    });
    let service = guarded().build(inner).unwrap();
    let stream = RawClient::of(EXPORT, service.clone()).server_streaming("all").await;
    let (items, status) = drain(stream.unwrap().into_inner()).await;
    assert_eq!((items, status.unwrap().code()), (vec![Bytes::from("1")], Code::Unknown));
    assert_eq!(circuit(&service, EXPORT).failures, 1);
}

/// A frame that is neither data nor trailers cannot be built, but an empty trailer block can.
#[tokio::test(start_paused = true)]
async fn trailers_without_a_status() {
    let inner = service(|_, _| async {
        answer([data(framed(b"1")), Ok(Frame::trailers(http::HeaderMap::new()))])
    });
    let service = guarded().build(inner).unwrap();
    let status = RawClient::of(ECHO, service.clone()).unary("ping").await.unwrap_err();
    assert_eq!(status.code(), Code::Unknown);
    let stream = RawClient::of(EXPORT, service.clone()).server_streaming("all").await;
    assert_eq!(drain(stream.unwrap().into_inner()).await.1.unwrap().code(), Code::Unknown);
    assert_eq!((circuit(&service, ECHO).failures, circuit(&service, EXPORT).failures), (1, 1));
}

/// Frames that come faster than they are read, and say nothing, must not keep a call from its
/// deadline, nor its thread from others: it lets go after a while.
#[tokio::test(start_paused = true)]
async fn endless_empty_frames_do_not_take_the_thread() {
    const FRAMES: usize = 100_000;
    for method in [ECHO, EXPORT] {
        let inner = service(|_, _| async {
            let nothing = core::iter::repeat_with(|| data("")).take(FRAMES);
            answer(nothing.chain([trailers(&Status::unavailable("enough"))]))
        });
        let retry = RetryPolicy::OFF;
        let service = guarded().retry(retry).retry_streaming().build(inner).unwrap();
        let mut client = RawClient::of(method, service);
        let mut call = pin!(async {
            match client.server_streaming("all").await {
                Ok(stream) => drain(stream.into_inner()).await.1.unwrap(),
                Err(status) => status,
            }
        });
        let mut polls = 0;
        let status = poll_fn(|cx| {
            polls += 1;
            call.as_mut().poll(cx)
        });
        assert_eq!(status.await.code(), Code::Unavailable);
        assert!(polls > FRAMES / 1_000, "{method}: {polls}");
    }
}
