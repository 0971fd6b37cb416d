//! This file knows the world of health answers: bytes become what a health service says, asked or
//! watched, and a checker must not ask too often nor believe what was not said.

use core::time::Duration;
use std::sync::{Arc, Mutex};

use bytes::{Buf, Bytes};
use evenkeel_core::HealthPolicy;
use evenkeel_tonic::health::{HealthChecker, HealthMode};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::StreamBody;
use prost::Message;
use tokio::time::sleep;
use tonic::body::Body;
use tower::{BoxError, service_fn};

use super::{Script, in_virtual_time};
use crate::{ensure, lock};

/// Checks one target for two minutes, in both ways.
///
/// # Errors
///
/// When it is asked too often, or healthy without a word of it.
pub(super) fn live(bytes: &[u8]) -> Result<(), String> {
    for mode in [HealthMode::Check, HealthMode::Watch] {
        in_virtual_time(check(mode, bytes)).map_err(|fault| format!("{mode:?}: {fault}"))?;
    }
    Ok(())
}

async fn check(mode: HealthMode, bytes: &[u8]) -> Result<(), String> {
    let said = Arc::new(Mutex::new(Said { rest: bytes.to_vec(), asked: 0, good: false }));
    let theirs = Arc::clone(&said);
    let open = move |_: &str| {
        let said = Arc::clone(&theirs);
        Ok::<_, BoxError>(service_fn(move |_: Request<Body>| {
            let answer = lock(&said).answer();
            async move { answer }
        }))
    };
    let policy = HealthPolicy::DEFAULT.with_interval(INTERVAL).map_err(|e| e.to_string())?;
    let checker = HealthChecker::builder(open).targets(["a"]).policy(policy).mode(mode).build();
    checker.start();
    let (steps, step) = (120, Duration::from_secs(1));
    for _ in 0..steps {
        sleep(step).await;
        let healthy = checker.is_healthy("a").map_err(|error| error.to_string())?;
        ensure!(!healthy || lock(&said).good, "healthy, and nobody said so");
    }
    let asked = lock(&said).asked;
    let most = match mode {
        // At the beginning and at the end of each interval.
        HealthMode::Check => 1 + steps * step.as_millis() / INTERVAL.as_millis(),
        // At once after a word, and then not before 0.8 s have passed; a check beside each stream.
        HealthMode::Watch => 4 * (1 + steps * step.as_millis() / 800),
    };
    ensure!(u128::from(asked) <= most, "asked {asked} times");
    checker.stop().await;
    ensure!(!checker.is_running(), "it does not stop");
    Ok(())
}

/// What the service says, and whether any of it was a reason to be healthy.
struct Said {
    rest: Vec<u8>,
    asked: u32,
    good: bool,
}

impl Said {
    /// The next answer, and after the last one nothing but failures.
    fn answer(&mut self) -> Result<Response<Body>, BoxError> {
        self.asked += 1;
        let bytes = core::mem::take(&mut self.rest);
        let mut script = Script(&bytes);
        let kind = script.byte();
        if kind % 8 == 0 {
            self.rest = script.0.to_vec();
            return Err("the connection broke".into());
        }
        let mut response = Response::new(());
        if kind % 8 == 1 {
            let code = StatusCode::from_u16(100 + u16::from(script.byte()) * 2);
            *response.status_mut() = code.unwrap_or(StatusCode::OK);
            // 404 stands for UNIMPLEMENTED, which is no bad news.
            self.good |= response.status() == StatusCode::NOT_FOUND;
        }
        response.headers_mut().insert("content-type", HeaderValue::from_static("application/grpc"));
        let mut frames: Vec<Result<Frame<Bytes>, BoxError>> = Vec::new();
        let mut sent = Vec::new();
        for _ in 0..script.byte() % 8 {
            match script.byte() % 8 {
                0 => frames.push(Err("the stream broke".into())),
                1 => frames.push(Ok(Frame::trailers(self.status(script.byte())))),
                2 => {
                    let raw = script.take();
                    sent.extend_from_slice(raw);
                    frames.push(Ok(Frame::data(Bytes::copy_from_slice(raw))));
                }
                3 => *response.headers_mut() = self.status(script.byte()),
                // As it should be framed.
                _ => {
                    let message = script.take();
                    let mut framed = vec![0, 0, 0, 0, message.len() as u8];
                    framed.extend_from_slice(message);
                    sent.extend_from_slice(&framed);
                    frames.push(Ok(Frame::data(framed.into())));
                }
            }
        }
        self.good |= says_serving(sent.into());
        self.rest = script.0.to_vec();
        let frames = futures_util::stream::iter(frames);
        Ok(response.map(|()| Body::new(StreamBody::new(frames))))
    }

    fn status(&mut self, code: u8) -> HeaderMap {
        self.good |= code == 12;
        let mut headers = HeaderMap::new();
        headers.insert("grpc-status", HeaderValue::from(u16::from(code)));
        headers
    }
}

/// Whether one of the framed messages says SERVING, read without the checker's own codec.
fn says_serving(mut sent: Bytes) -> bool {
    #[derive(Clone, PartialEq, Message)]
    struct HealthCheckResponse {
        #[prost(int32, tag = "1")]
        status: i32,
    }
    while sent.len() >= 5 {
        sent.advance(1);
        let length = sent.get_u32() as usize;
        if sent.len() < length {
            return false;
        }
        if HealthCheckResponse::decode(sent.split_to(length)).is_ok_and(|said| said.status == 1) {
            return true;
        }
    }
    false
}

const INTERVAL: Duration = Duration::from_secs(5);
