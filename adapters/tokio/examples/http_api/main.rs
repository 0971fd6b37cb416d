//! Retries, a deadline and a circuit breaker around an HTTP API: the driver is not only for gRPC.
//!
//! ```text
//! cargo run -p evenkeel-tokio --example http_api
//! ```
//!
//! The server is in here too, and misbehaves. What matters is [`classify`]: it says what an answer
//! means, and everything else follows from the policy.

use core::time::Duration;
use std::io;

use evenkeel_tokio::core::{
    BreakerPolicy, CallPolicy, Clock, Code, Consecutive, Deadline, Outcome, checked,
};
use evenkeel_tokio::{Error, Shared, TokioClock, call};
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::header::RETRY_AFTER;
use hyper::{StatusCode, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

mod server;

/// One API: a client, and what all its calls share.
struct Api {
    http: Client<HttpConnector, Empty<Bytes>>,
    shared: Shared,
}

/// An answer that is no success, or no answer.
#[derive(Debug)]
enum Failure {
    Status { status: StatusCode, retry_after: Option<Duration> },
    NotConnected(io::Error),
    Lost(String),
}

impl core::fmt::Display for Failure {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Status { status, .. } => write!(f, "the server answered {status}"),
            Self::NotConnected(error) => write!(f, "no connection: {error}"),
            Self::Lost(error) => f.write_str(error),
        }
    }
}

impl Api {
    fn new() -> Self {
        let breaker = BreakerPolicy::new(checked!(Consecutive::new(5)));
        Self {
            http: Client::builder(TokioExecutor::new()).build_http(),
            shared: Shared::new(CallPolicy::DEFAULT).with_breaker(breaker),
        }
    }

    /// `GET` is harmless to repeat, so the default policy may: three attempts within ten seconds.
    async fn get(&self, uri: &Uri) -> Result<Bytes, Error<Failure>> {
        let deadline = self.shared.call_policy().deadline(TokioClock.now(), Deadline::NONE);
        call(self.shared.view(), deadline, classify, |_| self.attempt(uri)).await
    }

    async fn attempt(&self, uri: &Uri) -> Result<Bytes, Failure> {
        let response = self.http.get(uri.clone()).await.map_err(|error| {
            let text = error.to_string();
            if error.is_connect() {
                Failure::NotConnected(io::Error::other(text))
            } else {
                Failure::Lost(text)
            }
        })?;
        let status = response.status();
        if !status.is_success() {
            let retry_after = response.headers().get(RETRY_AFTER).and_then(seconds);
            return Err(Failure::Status { status, retry_after });
        }
        let body = response.into_body().collect().await;
        body.map(|body| body.to_bytes()).map_err(|error| Failure::Lost(error.to_string()))
    }
}

/// What an answer means: whether it is worth another try, whether the server is ill, and how long
/// it wants to be left alone. A `Retry-After` only ever lengthens the wait.
fn classify(reply: &Result<Bytes, Failure>) -> Outcome {
    match reply {
        Ok(_) => Outcome::success(),
        Err(Failure::NotConnected(_)) => Outcome::not_connected(),
        Err(Failure::Lost(_)) => Outcome::unavailable(),
        Err(Failure::Status { status, retry_after }) => {
            let outcome = match *status {
                StatusCode::TOO_MANY_REQUESTS => Outcome::new(Code::ResourceExhausted),
                StatusCode::BAD_GATEWAY
                | StatusCode::SERVICE_UNAVAILABLE
                | StatusCode::GATEWAY_TIMEOUT => Outcome::unavailable(),
                status if status.is_server_error() => Outcome::new(Code::Internal),
                _ => Outcome::refused_by_peer(),
            };
            retry_after.map_or(outcome, |wait| outcome.with_retry_after(wait))
        }
    }
}

/// The seconds of a `Retry-After`; a date in it is ignored, like anything else that is no number.
fn seconds(value: &hyper::header::HeaderValue) -> Option<Duration> {
    value.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let server = server::start().await?;
    let api = Api::new();
    for path in ["/ok", "/busy-once", "/bad-request", "/broken", "/down", "/down", "/ok"] {
        let uri = format!("http://{}{path}", server.address());
        let began = TokioClock.now();
        let reply = api.get(&uri.parse().expect("an address and a path")).await;
        let (took, asked) = (TokioClock.now().since(began), server.asked());
        match reply {
            Ok(body) => println!("{path:<12} {took:>7} {asked} requests  {body:?}"),
            Err(error) => println!("{path:<12} {took:>7} {asked} requests  {error}"),
        }
    }
    Ok(())
}
