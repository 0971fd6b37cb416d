//! The warnings, each as often as it should be.

use crate::{CHARGE, ECHO, EXPORT, guarded, opens_after};
use core::fmt;
use core::time::Duration;
use evenkeel_core::{Backoff, BudgetPolicy, Code as Known, CodeSet, RetryPolicy};
use evenkeel_tests::pb::METHODS;
use evenkeel_tests::{Network, RawClient, Reply, Stub, drain};
use evenkeel_tokio::{Budget, with_budget};
use evenkeel_tonic::Resilient;
use std::sync::{Arc, LazyLock, Mutex};
use tokio::time::timeout;
use tonic::{Code, Request, Status};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{DefaultGuard, set_default};
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};

const SECOND: Duration = Duration::from_secs(1);

/// Two that hear nothing. While there is only one subscriber in a process, tracing asks the default
/// one of the thread that first comes by an event, and remembers its "nobody listens" for all.
pub(crate) static OTHERS: LazyLock<[Dispatch; 2]> =
    LazyLock::new(|| [(); 2].map(|()| Dispatch::new(Warnings::default())));

/// The warnings given on this thread, with all their fields.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

impl Warnings {
    fn listen() -> (Self, DefaultGuard) {
        LazyLock::force(&OTHERS);
        let warnings = Self::default();
        let guard = set_default(warnings.clone());
        (warnings, guard)
    }

    /// Those since the last time.
    fn take(&self) -> Vec<String> {
        core::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "evenkeel" && *metadata.level() == Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[derive(Default)]
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.push_str(&format!("{field}={value:?} "));
    }
}

fn within(limit: Duration) -> Request<&'static str> {
    let mut request = Request::new("ping");
    request.set_timeout(limit);
    request
}

fn busy() -> Reply {
    Reply::status(Status::unavailable("busy"))
}

/// Waiting for ever is not waited for, and said once in the life of a client, with both ways out.
#[tokio::test(start_paused = true)]
async fn waiting_without_a_deadline_fails_fast_and_is_said_once() {
    let (warnings, _guard) = Warnings::listen();
    let builder = || Resilient::builder().methods(&METHODS).wait_for_ready(true);
    let net = Network::new();
    let service = builder().build(net.channel("a")).unwrap();
    for method in [ECHO, CHARGE] {
        let call = RawClient::of(method, service.clone());
        let ended = timeout(SECOND / 10, async { { call }.unary("ping").await }).await;
        assert_eq!(ended.unwrap().unwrap_err().code(), Code::Unavailable);
    }
    let told = warnings.take();
    assert_eq!(told.len(), 1, "{told:?}");
    for word in [ECHO, "timeout", "require_deadline"] {
        assert!(told[0].contains(word), "{word} in {told:?}");
    }

    // A deadline from anywhere will do: of the caller's, or of the request's budget.
    let mut client = RawClient::of(ECHO, service);
    let status = client.unary(within(SECOND)).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
    let budget = Arc::new(Budget::new(SECOND, BudgetPolicy::DEFAULT).unwrap());
    let status = with_budget(Some(budget), client.unary("ping")).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);

    // The other way out.
    let service = builder().wait_without_deadline().build(net.channel("a")).unwrap();
    let mut client = RawClient::of(ECHO, service);
    assert!(timeout(3_600 * SECOND, client.unary("ping")).await.is_err(), "it waits");
    assert_eq!(warnings.take(), [""; 0]);
}

/// A method's own setting beats the default; exempt is as good as no block.
#[tokio::test(start_paused = true)]
async fn a_methods_own_wait_beats_the_default() {
    let (warnings, _guard) = Warnings::listen();
    let net = Network::new();
    for (default, own, code) in [
        (true, Some(false), Code::Unavailable),
        (true, None, Code::Unavailable),
        (false, Some(true), Code::DeadlineExceeded),
        (false, Some(false), Code::Unavailable),
    ] {
        let builder = Resilient::builder().timeout(SECOND).unwrap().wait_for_ready(default);
        let builder = builder.method_wait_for_ready(ECHO, own).unwrap();
        let service = builder.build(net.channel("a")).unwrap();
        let status = RawClient::of(ECHO, service.clone()).unary("ping").await.unwrap_err();
        assert_eq!(status.code(), code, "default {default}, own {own:?}");
        let others = if default { Code::DeadlineExceeded } else { Code::Unavailable };
        let status = RawClient::of(CHARGE, service).unary("ping").await.unwrap_err();
        assert_eq!(status.code(), others, "default {default}");
    }
    assert_eq!(warnings.take(), [""; 0]);
}

/// The inner of two says that it stands down, once and not for each call.
#[tokio::test(start_paused = true)]
async fn one_below_another_says_so_once() {
    let (warnings, _guard) = Warnings::listen();
    let inner = guarded().build(Stub::new([busy()])).unwrap();
    let mut client = RawClient::of(ECHO, guarded().build(inner).unwrap());
    for _ in 0..3 {
        client.unary("ping").await.unwrap_err();
    }
    let told = warnings.take();
    assert!(told.len() == 1 && told[0].contains("stacked"), "{told:?}");
}

/// Somebody above who retries is noticed by the header, once; somebody below must be declared.
#[tokio::test(start_paused = true)]
async fn foreign_retries_are_said_once() {
    let (warnings, _guard) = Warnings::listen();
    let service = guarded().build(Stub::new([Reply::ok("pong")])).unwrap();
    for _ in 0..3 {
        let mut request = Request::new("ping");
        request.metadata_mut().insert("grpc-previous-rpc-attempts", "1".parse().unwrap());
        RawClient::of(ECHO, service.clone()).unary(request).await.unwrap();
    }
    let told = warnings.take();
    assert!(told.len() == 1 && told[0].contains("above"), "{told:?}");
    _ = guarded().native_retries().build(()).unwrap();
    let told = warnings.take();
    assert!(told.len() == 1 && told[0].contains("below"), "{told:?}");
}

/// Settings that contradict each other are accepted, and said when the client is built.
#[test]
fn settings_that_look_wrong_together_are_said() {
    let (warnings, _guard) = Warnings::listen();
    let codes = CodeSet::RETRYABLE.with(Known::Internal);
    let backoff = Backoff::new(2 * SECOND, SECOND).unwrap();
    let retrying = |policy| Resilient::builder().retry(policy);
    for (builder, word) in [
        (guarded(), None),
        (guarded().breaker(opens_after(4, SECOND)), None),
        (guarded().breaker(opens_after(3, SECOND)), Some("fail_threshold")),
        (guarded().retry(RetryPolicy::DEFAULT.with_backoff(backoff)), Some("max_backoff")),
        (retrying(RetryPolicy::DEFAULT.with_codes(codes)), Some("INTERNAL")),
        (retrying(RetryPolicy::DEFAULT.with_codes(codes)).methods(&METHODS), None),
    ] {
        _ = builder.build(()).unwrap();
        let told = warnings.take();
        assert_eq!(told.len(), usize::from(word.is_some()), "{told:?}");
        assert!(told.iter().all(|line| line.contains(word.unwrap())), "{told:?}");
    }
}

/// Each restart of a stream is a warning; a call that is repeated before it began is none.
#[tokio::test(start_paused = true)]
async fn each_restart_is_said() {
    let (warnings, _guard) = Warnings::listen();
    let breaks = || Reply::headers().message("1").end(Status::unavailable("gone"));
    let replies = [busy(), breaks(), breaks(), Reply::ok("1")];
    let retry = RetryPolicy::DEFAULT.with_max_attempts(4).unwrap();
    let builder = guarded().retry(retry).retry_streaming();
    let service = builder.build(Stub::new(replies)).unwrap();
    let stream = RawClient::of(EXPORT, service).server_streaming("all").await.unwrap();
    assert_eq!(drain(stream.into_inner()).await.0, ["1"; 3]);
    let told = warnings.take();
    assert!(told.len() == 2 && told.iter().all(|line| line.contains(EXPORT)), "{told:?}");
}

/// A table full of open circuits is one warning, whichever method met it first.
#[tokio::test(start_paused = true)]
async fn a_full_table_is_said_once() {
    for declared in [false, true] {
        let (warnings, _guard) = Warnings::listen();
        let builder = Resilient::builder().breaker(opens_after(1, 60 * SECOND));
        let rows = METHODS.methods().len();
        let builder = if declared { builder.methods(&METHODS) } else { builder };
        let service = builder.max_methods(rows).unwrap().build(Stub::new([busy()])).unwrap();
        for number in 0..rows {
            let path = format!("/junk.Junk/Call{number}").leak();
            RawClient::of(path, service.clone()).unary("ping").await.unwrap_err();
        }
        assert_eq!(warnings.take(), [""; 0]);
        for method in [ECHO, CHARGE, EXPORT, "/junk.Junk/More"] {
            _ = RawClient::of(method, service.clone()).unary("ping").await;
        }
        let told = warnings.take();
        assert!(told.len() == 1 && told[0].contains("max_methods"), "{declared}: {told:?}");
    }
}
