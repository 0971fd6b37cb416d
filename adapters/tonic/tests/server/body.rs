//! This file knows that a response body is handed on as it is.

use core::convert::Infallible;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};

use bytes::Bytes;
use evenkeel_tonic::{OpenBudgetBody, OpenBudgetLayer};
use http::{HeaderMap, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use tower::{Layer, ServiceExt, service_fn};

use crate::by_hand::request;
use crate::seconds_left;

/// One frame with what is left where it is made, then the same as a trailer, then the end.
#[derive(Debug, Default)]
struct Probe {
    frames: u32,
}

impl Body for Probe {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.frames += 1;
        let left = format!("{:?}", seconds_left());
        Poll::Ready(match self.frames {
            1 => Some(Ok(Frame::data(left.into()))),
            2 => {
                let left = left.parse().expect("ASCII");
                Some(Ok(Frame::trailers(HeaderMap::from_iter([(LEFT, left)]))))
            }
            _ => None,
        })
    }

    fn is_end_stream(&self) -> bool {
        self.frames == 2
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = SizeHint::new();
        hint.set_lower(7 - u64::from(self.frames));
        hint.set_upper(70);
        hint
    }
}

const LEFT: http::HeaderName = http::HeaderName::from_static("left");

async fn probe(timeout: Option<&str>) -> OpenBudgetBody<Probe> {
    let service = service_fn(async |_| Ok::<_, Infallible>(Response::new(Probe::default())));
    let service = OpenBudgetLayer::new().layer(service);
    let Ok(response) = service.oneshot(request(timeout)).await;
    response.into_body()
}

#[tokio::test(start_paused = true)]
async fn frames_are_made_inside_and_passed_on() {
    for (timeout, left) in [(Some("3S"), "Some(3.0)"), (None, "None")] {
        let collected = probe(timeout).await.collect().await.expect("no error");
        assert_eq!(collected.trailers().expect("trailers")[LEFT], left);
        assert_eq!(collected.to_bytes(), left);
    }
}

#[tokio::test(start_paused = true)]
async fn size_and_end_are_the_inner_ones() {
    let mut body = pin!(probe(Some("3S")).await);
    for (lower, ended) in [(7, false), (6, false), (5, true)] {
        let hint = body.size_hint();
        assert_eq!((hint.lower(), hint.upper()), (lower, Some(70)));
        assert_eq!(body.is_end_stream(), ended);
        let frame = body.as_mut().poll_frame(&mut Context::from_waker(Waker::noop()));
        assert_eq!(frame.map(|frame| frame.is_none()), Poll::Ready(ended));
    }
}

#[tokio::test(start_paused = true)]
async fn the_body_of_a_refusal_is_at_its_end() {
    let mut body = pin!(probe(Some("0n")).await);
    assert!(body.is_end_stream());
    assert_eq!(body.size_hint().exact(), Some(0));
    let frame = body.as_mut().poll_frame(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(frame, Poll::Ready(None)));
}
