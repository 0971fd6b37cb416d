//! This file knows which calls are measured, each beside the same call of raw tonic.

use core::time::Duration;
use std::sync::Arc;

use evenkeel_tokio::Budget;
use evenkeel_tonic::core::{BreakerPolicy, BudgetPolicy, RetryPolicy, ThrottlePolicy};
use evenkeel_tonic::{BuildError, Builder, Pool, Resilient};
use http::{Request, Response};
use tonic::body::Body;
use tonic::codegen::StdError;
use tower_service::Service;

use crate::case::{Case, Group};
use crate::pb::lab_client::LabClient;
use crate::pb::{METHODS, Msg};
use crate::stub::Stub;

/// What the cases stand on.
pub(crate) trait Channel:
    Service<Request<Body>, Response = Response<Body>, Error: Into<StdError>> + Clone + 'static
{
}

impl<S> Channel for S where
    S: Service<Request<Body>, Response = Response<Body>, Error: Into<StdError>> + Clone + 'static
{
}

pub(crate) fn groups() -> [Group; 5] {
    [without_timeout(), with_timeout(), waited_for(), retried(), stream()]
}

fn without_timeout() -> Group {
    let cases = vec![
        unary("raw tonic", Stub::unary(), NONE),
        unary("nothing configured", over(Stub::unary(), Ok), NONE),
        unary("breaker", over(Stub::unary(), |builder| Ok(breaker(builder))), NONE),
        unary("retry, the response held", over(Stub::unary(), |builder| Ok(retry(builder))), NONE),
        unary(
            "retry and throttle",
            over(Stub::unary(), |builder| Ok(throttle(retry(builder)))),
            NONE,
        ),
    ];
    Group { title: "a unary call", cases }
}

pub(crate) fn with_timeout() -> Group {
    let cases = vec![
        unary("raw tonic, set_timeout", Stub::unary(), SET),
        unary("timeout", over(Stub::unary(), timeout), NONE),
        in_budget(unary("request budget", over(Stub::unary(), Ok), NONE)),
        unary("full chain", over(Stub::unary(), full), NONE),
        unary("full chain, three members", over_three(Stub::unary), NONE),
        unary("full chain, set_timeout", over(Stub::unary(), full), SET),
        in_budget(unary("full chain, set_timeout, budget", over(Stub::unary(), full), SET)),
    ];
    Group { title: "a unary call with a deadline", cases }
}

fn waited_for() -> Group {
    let cases = vec![
        unary("raw tonic, set_timeout", Stub::waited_for(), SET),
        unary("timeout", over(Stub::waited_for(), timeout), NONE),
        unary("full chain", over(Stub::waited_for(), full), NONE),
    ];
    Group { title: "the same, its answer waited for", cases }
}

fn retried() -> Group {
    let chain = |builder| timeout(breaker(retry(builder)));
    let cases = vec![
        by_hand("raw tonic, called again by hand", Stub::every(2), 2),
        unary("timeout, retry, breaker", over(Stub::every(2), chain), NONE),
    ];
    Group { title: "a unary call that fails once", cases }
}

fn stream() -> Group {
    let cases = vec![
        streaming("a message, raw tonic", Stub::streaming, SET),
        streaming("a message, full chain", |messages| over(Stub::streaming(messages), full), NONE),
    ];
    Group { title: "one message of a response stream", cases }
}

/// Generated calls, one after the other.
pub(crate) fn unary(name: &'static str, channel: impl Channel, timeout: Option<Duration>) -> Case {
    let client = LabClient::new(channel);
    Case::new(name, move |times| {
        let mut client = client.clone();
        block_on(async {
            for _ in 0..times {
                client.echo(request(timeout)).await.expect("the stub answers");
            }
        });
    })
}

/// What somebody without a retry layer writes, for a stub that answers the attempt of this number.
pub(crate) fn by_hand(name: &'static str, channel: impl Channel, attempts: u64) -> Case {
    let client = LabClient::new(channel);
    Case::new(name, move |times| {
        let mut client = client.clone();
        block_on(async {
            for _ in 0..times {
                let mut attempt = 1;
                while client.echo(request(SET)).await.is_err() {
                    assert!(attempt < attempts, "the stub answers in the end");
                    attempt += 1;
                }
            }
        });
    })
}

/// One call whose response has so many messages.
pub(crate) fn streaming<S: Channel>(
    name: &'static str,
    channel: impl Fn(u64) -> S + 'static,
    timeout: Option<Duration>,
) -> Case {
    Case::new(name, move |messages| {
        let mut client = LabClient::new(channel(messages));
        block_on(async {
            let response = client.export(request(timeout)).await.expect("the stub answers");
            let mut stream = response.into_inner();
            while stream.message().await.expect("the stub ends well").is_some() {}
        });
    })
}

/// The same case with a request budget around all of its calls.
fn in_budget(case: Case) -> Case {
    Case::new(case.name, move |times| {
        let budget = Budget::new(TIMEOUT, BudgetPolicy::DEFAULT).expect("the time is fine");
        evenkeel_tokio::in_budget(Some(Arc::new(budget)), || case.run(times));
    })
}

pub(crate) fn request(timeout: Option<Duration>) -> tonic::Request<Msg> {
    let mut request =
        tonic::Request::new(Msg { text: "0123456789abcdef".into(), ..Msg::default() });
    if let Some(timeout) = timeout {
        request.set_timeout(timeout);
    }
    request
}

pub(crate) fn over<S: Channel>(
    stub: S,
    configure: impl FnOnce(Builder) -> Result<Builder, BuildError>,
) -> Resilient<S> {
    let builder = Resilient::builder().target("lab").methods(&METHODS);
    configure(builder).and_then(|builder| builder.build(stub)).expect("the settings are fine")
}

/// The full chain over a pool.
fn over_three(stub: fn() -> Stub) -> Resilient<Stub> {
    let pool = Pool::of(["a", "b", "c"].map(|name| (name, stub())));
    let builder = full(Resilient::builder().target("lab").methods(&METHODS));
    builder.and_then(|builder| builder.build_pool(pool)).expect("the settings are fine")
}

pub(crate) fn full(builder: Builder) -> Result<Builder, BuildError> {
    timeout(throttle(breaker(retry(builder))).wait_for_ready(true))
}

pub(crate) fn timeout(builder: Builder) -> Result<Builder, BuildError> {
    builder.timeout(TIMEOUT)
}

fn retry(builder: Builder) -> Builder {
    builder.retry(RetryPolicy::DEFAULT)
}

fn throttle(builder: Builder) -> Builder {
    builder.throttle(ThrottlePolicy::SUCCESS_REFILLED)
}

fn breaker(builder: Builder) -> Builder {
    builder.breaker(BreakerPolicy::DEFAULT)
}

pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime without I/O needs nothing").block_on(future)
}

/// Longer than any number of calls that is made in a row, also under callgrind.
const TIMEOUT: Duration = Duration::from_secs(300);
pub(crate) const SET: Option<Duration> = Some(TIMEOUT);
pub(crate) const NONE: Option<Duration> = None;
