//! This file knows a world of answers: bytes become what a server sends, and a call must live
//! through it.
//!
//! Beside [`model::world`](crate::model::world), for what stands in headers, frames and trailers.
//! What a call must keep to, whatever it is sent: it ends, by its deadline, after no more attempts
//! than its policy has, and nothing of it is left.

use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use evenkeel_core::{BreakerPolicy, BreakerState, Clock, RetryPolicy};
use evenkeel_tokio::TokioClock;
use evenkeel_tonic::{MethodTable, Resilient};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::StreamBody;
use tokio::time::timeout;
use tonic::body::Body;
use tower::{BoxError, service_fn};

use crate::pb::METHODS;
use crate::{RawClient, drain, ensure};

/// Makes a unary call and a streaming one that are answered by what `bytes` describe.
///
/// # Errors
///
/// What a call did not keep to.
///
/// # Panics
///
/// Where the code under test does, and without a runtime.
pub fn live(bytes: &[u8]) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        for (method, table) in
            [(UNARY, &METHODS), (STREAMING, &METHODS), (UNARY, &MethodTable::default())]
        {
            call(method, table, bytes).await.map_err(|fault| format!("{method}: {fault}"))?;
        }
        Ok(())
    })
}

async fn call(method: &'static str, table: &MethodTable, bytes: &[u8]) -> Result<(), String> {
    let sent = Arc::new(AtomicUsize::new(0));
    let (asked, all) = (Arc::clone(&sent), Bytes::copy_from_slice(bytes));
    let server = service_fn(move |_: Request<Body>| {
        let number = asked.fetch_add(1, Ordering::Relaxed);
        let answer = Answer(&nth(&all, number)).read();
        async move { answer }
    });
    let service = Resilient::builder()
        .methods(table)
        .timeout(LIMIT)
        .and_then(|builder| {
            let builder = builder.retry(RetryPolicy::DEFAULT).retry_streaming();
            builder.breaker(BreakerPolicy::DEFAULT).build(server)
        })
        .map_err(|error| error.to_string())?;
    let mut request = tonic::Request::new("ping");
    if let Some(value) = bytes.get(..9).and_then(|bytes| HeaderValue::from_bytes(bytes).ok()) {
        let mut headers = HeaderMap::new();
        headers.insert("grpc-timeout", value);
        *request.metadata_mut() = tonic::metadata::MetadataMap::from_headers(headers);
    }
    let began = TokioClock.now();
    let mut client = RawClient::of(method, service.clone());
    let ended = timeout(2 * LIMIT, async {
        if method == STREAMING {
            if let Ok(stream) = client.server_streaming(request).await {
                drain(stream.into_inner()).await;
            }
        } else {
            _ = client.unary(request).await;
        }
    });
    ensure!(ended.await.is_ok(), "it never ends");
    // tokio's timers are up to a millisecond late.
    let took = TokioClock.now().since(began);
    ensure!(took.as_duration() <= LIMIT + Duration::from_millis(1), "it ended after {took}");
    let sent = sent.load(Ordering::Relaxed);
    // Three of the policy, one that was refused, and three in a row that were never sent.
    ensure!(sent <= 3 + 1 + 3 * 4, "{sent} requests");
    for snapshot in service.circuit_breaker_states().values().flat_map(|methods| methods.values()) {
        let idle = snapshot.state != BreakerState::HalfOpen && snapshot.trials == 0;
        ensure!(idle, "a permit is still out: {snapshot:?}");
    }
    Ok(())
}

/// The bytes of the answer with this number; the last one for all that follow.
fn nth(bytes: &[u8], number: usize) -> Vec<u8> {
    let answers: Vec<&[u8]> = bytes.split(|byte| *byte == NEXT_ANSWER).collect();
    answers[number.min(answers.len() - 1)].to_vec()
}

/// What is left to be read of an answer.
struct Answer<'a>(&'a [u8]);

impl Answer<'_> {
    fn read(mut self) -> Result<Response<Body>, BoxError> {
        let mut response = Response::new(());
        match self.byte() % 8 {
            0 => return Err(Box::new(io::Error::from(io::ErrorKind::ConnectionReset))),
            1 => return Err(Box::new(h2::Error::from(h2::Reason::from(u32::from(self.byte()))))),
            2 => *response.status_mut() = STATUSES[usize::from(self.byte()) % STATUSES.len()],
            _ => {}
        }
        *response.headers_mut() = self.headers();
        let mut frames = Vec::new();
        while !self.0.is_empty() {
            let frame = match self.byte() % 8 {
                0 => Err(BoxError::from(io::Error::from(io::ErrorKind::BrokenPipe))),
                1 => Err(BoxError::from(h2::Error::from(h2::Reason::from(u32::from(self.byte()))))),
                2 => Ok(Frame::trailers(self.headers())),
                3 => Ok(Frame::data(Bytes::copy_from_slice(self.take()))),
                // As a message should be framed.
                _ => {
                    let message = self.take();
                    let mut framed = vec![0, 0, 0, 0, message.len() as u8];
                    framed.extend_from_slice(message);
                    Ok(Frame::data(framed.into()))
                }
            };
            frames.push(frame);
        }
        let frames = futures_util::stream::iter(frames);
        Ok(response.map(|()| Body::new(StreamBody::new(frames))))
    }

    fn headers(&mut self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for _ in 0..self.byte() % 8 {
            let name = NAMES[usize::from(self.byte()) % NAMES.len()].clone();
            if let Ok(value) = HeaderValue::from_bytes(self.take()) {
                headers.append(name, value);
            }
        }
        headers
    }

    /// As many bytes as the next one says, or as there are.
    fn take(&mut self) -> &[u8] {
        let length = usize::from(self.byte()).min(self.0.len());
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken
    }

    fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }
}

const UNARY: &str = "/lab.v1.Lab/Echo";
const STREAMING: &str = "/lab.v1.Lab/Export";
const LIMIT: Duration = Duration::from_secs(10);
const NEXT_ANSWER: u8 = 0xfe;
const STATUSES: [StatusCode; 5] = [
    StatusCode::OK,
    StatusCode::NO_CONTENT,
    StatusCode::TOO_MANY_REQUESTS,
    StatusCode::SERVICE_UNAVAILABLE,
    StatusCode::NOT_FOUND,
];
const NAMES: [HeaderName; 9] = [
    HeaderName::from_static("grpc-status"),
    HeaderName::from_static("grpc-message"),
    HeaderName::from_static("grpc-status-details-bin"),
    HeaderName::from_static("grpc-retry-pushback-ms"),
    HeaderName::from_static("retry-after"),
    HeaderName::from_static("grpc-encoding"),
    HeaderName::from_static("content-type"),
    HeaderName::from_static("content-length"),
    HeaderName::from_static("x-other"),
];
