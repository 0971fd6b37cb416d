//! This file knows the client under test, a kit over servers of grpcio, and how a call tells the
//! server what it wants of it.

use core::time::Duration;

use evenkeel_tests::pb::lab_client::LabClient;
use evenkeel_tests::pb::{METHODS, Msg};
use evenkeel_tokio::TokioClock;
use evenkeel_tonic::core::{Backoff, Clock, RetryPolicy};
use evenkeel_tonic::{Builder, Kit, Pool, PoolBuilder, Resilient};
use serde_json::{Value, json};
use tonic::transport::Channel;
use tonic::{Code, Response, Status};

/// A client of the lab.
pub(crate) type Lab = LabClient<Resilient<Channel>>;

/// Far longer than anything here takes.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Calls of `lab.v1.Lab` that have a minute.
pub(crate) fn calls() -> Builder {
    Resilient::builder().methods(&METHODS).timeout(LONG).unwrap()
}

/// The same, retried after `wait`, with so many attempts.
pub(crate) fn retried(attempts: u16, wait: Duration) -> Builder {
    let backoff = Backoff::new(wait, wait).unwrap();
    let policy = RetryPolicy::DEFAULT.with_max_attempts(attempts).unwrap().with_backoff(backoff);
    calls().retry(policy)
}

/// A kit whose members are these targets.
pub(crate) fn kit(targets: &[String], calls: Builder) -> Kit {
    Kit::builder("grpcio").pool(pool(targets)).calls(calls).build().unwrap()
}

/// Those members.
pub(crate) fn pool(targets: &[String]) -> PoolBuilder {
    Pool::builder().insecure().targets(targets.iter().map(String::as_str)).unwrap()
}

/// A client of one server.
pub(crate) fn lab(target: String, calls: Builder) -> Lab {
    LabClient::new(kit(&[target], calls).channel())
}

/// A request under this name, which is answered like this.
pub(crate) fn asks(key: &str, replies: Value) -> Msg {
    says(json!({ "key": key, "replies": replies }).to_string())
}

pub(crate) fn says(text: impl Into<String>) -> Msg {
    Msg { text: text.into(), ..Msg::default() }
}

/// What a call came to: its text, or its code.
pub(crate) fn outcome(result: Result<Response<Msg>, Status>) -> Result<String, Code> {
    result.map(|response| response.into_inner().text).map_err(|status| status.code())
}

/// The output of `call`, and how long it took.
pub(crate) async fn timed<T>(call: impl Future<Output = T>) -> (T, Duration) {
    let began = TokioClock.now();
    let output = patiently(call).await;
    (output, TokioClock.now().since(began).as_duration())
}

/// The output of `future`, which must not take for ever.
pub(crate) async fn patiently<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(LONG, future).await.expect("an end within a minute")
}

/// Waits until this holds, however long the other process needs.
pub(crate) async fn eventually<F: Future<Output = bool>>(mut holds: impl FnMut() -> F) {
    patiently(async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}
