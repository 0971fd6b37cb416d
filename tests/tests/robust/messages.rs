//! A stream that begins anew is cut into whole messages, wherever the frames begin and end.

use crate::parts::{answer, body, data, framed, service, trailers};
use crate::{EXPORT, guarded};
use bytes::Bytes;
use core::time::Duration;
use evenkeel_tests::{RawClient, drain};
use http::Response;
use http_body::Frame;
use tonic::{Code, Status};
use tower::BoxError;

/// Three messages, of 0, 1 and 5 bytes, one after the other.
fn three() -> Bytes {
    [framed(b""), framed(b"1"), framed(b"22222")].concat().into()
}

/// `bytes` in pieces of at most `length`.
fn pieces(bytes: &Bytes, length: usize) -> Vec<Result<Frame<Bytes>, BoxError>> {
    bytes.chunks(length).map(|piece| data(bytes.slice_ref(piece))).collect()
}

/// Where the messages of `three` end.
fn whole_messages(cut: usize) -> usize {
    [5, 11, 21].into_iter().filter(|end| *end <= cut).count()
}

/// Cut off after any byte and in pieces of any size: no byte of the lost attempt is mixed into
/// the next one.
#[tokio::test(start_paused = true)]
async fn any_cut_in_pieces_of_any_length() {
    let expected = ["", "1", "22222"];
    for cut in 0..=three().len() {
        for length in [1, 2, 3, 4, 5, 6, 21] {
            let inner = service(move |attempt, _| async move {
                let (sent, end) = match attempt {
                    0 => (three().slice(..cut), Status::unavailable("gone")),
                    _ => (three(), Status::ok("")),
                };
                let mut frames = pieces(&sent, length);
                frames.push(trailers(&end));
                answer(frames)
            });
            let resilient = guarded().retry_streaming().build(inner).unwrap();
            let mut client = RawClient::of(EXPORT, resilient);
            let stream = client.server_streaming("all").await.unwrap().into_inner();
            let (items, status) = drain(stream).await;
            assert!(status.is_none(), "cut at {cut} in pieces of {length}: {status:?}");
            let before = whole_messages(cut);
            assert_eq!(items[..before], expected[..before], "cut at {cut}, pieces of {length}");
            assert_eq!(items[before..], expected, "cut at {cut}, pieces of {length}");
        }
    }
}

/// Frames without a byte in them are no end and no message.
#[tokio::test(start_paused = true)]
async fn empty_frames_are_nothing() {
    let inner = service(|_, _| async {
        let mut frames = Vec::new();
        for piece in pieces(&three(), 1) {
            frames.extend([data(""), piece, data("")]);
        }
        frames.push(trailers(&Status::ok("")));
        answer(frames)
    });
    for streams in [false, true] {
        let builder = if streams { guarded().retry_streaming() } else { guarded() };
        let mut client = RawClient::of(EXPORT, builder.build(inner.clone()).unwrap());
        let stream = client.server_streaming("all").await.unwrap().into_inner();
        let (items, status) = drain(stream).await;
        assert_eq!((items.len(), status.map(|status| status.code())), (3, None));
    }
}

/// Bytes that are no gRPC at all end as the decoder says, and begin nothing anew.
#[tokio::test(start_paused = true)]
async fn garbage_reaches_the_decoder_as_it_is() {
    let garbage: Vec<u8> = b"<html><body>502 Bad Gateway</body></html>".repeat(40);
    let inner = service(move |_, _| {
        let garbage = garbage.clone();
        async move { Ok(Response::new(body(vec![data(garbage)]))) }
    });
    for streams in [false, true] {
        let builder = if streams { guarded().retry_streaming() } else { guarded() };
        let mut client = RawClient::of(EXPORT, builder.build(inner.clone()).unwrap());
        let stream = client.server_streaming("all").await.unwrap().into_inner();
        let drained = tokio::time::timeout(Duration::from_secs(60), drain(stream)).await;
        let (items, status) = drained.unwrap();
        assert!(items.is_empty());
        let code = status.unwrap().code();
        assert!(matches!(code, Code::Internal | Code::Unknown), "{code:?}");
    }
}
