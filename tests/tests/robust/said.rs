//! What is said aloud: once where it is true, and not at all where it is not.

use crate::parts::{answer, data, framed, service, trailers};
use crate::warnings::OTHERS;
use crate::{ECHO, EXPORT, guarded, opens_after};
use core::fmt;
use core::time::Duration;
use evenkeel_core::RetryPolicy;
use evenkeel_tests::{RawClient, Reply, Stub, drain};
use evenkeel_tonic::{CircuitOpen, Resilient, cause};
use std::sync::{Arc, LazyLock, Mutex};
use tonic::{Request, Status};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{DefaultGuard, set_default};
use tracing::{Event, Level, Metadata, Subscriber};

/// The warnings of this thread, each with its fields in one line.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

impl Warnings {
    fn listen() -> (Self, DefaultGuard) {
        LazyLock::force(&OTHERS);
        let warnings = Self::default();
        let guard = set_default(warnings.clone());
        (warnings, guard)
    }

    /// How many of them have this in them.
    fn about(&self, text: &str) -> usize {
        self.0.lock().unwrap().iter().filter(|warning| warning.contains(text)).count()
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
        struct Line(String);
        impl Visit for Line {
            fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
                self.0 += &format!("{field}={value:?} ");
            }
        }
        let mut line = Line(String::new());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

const ANEW: &str = "started anew";

/// R17: one for each restart, and it names the method.
#[tokio::test(start_paused = true)]
async fn r17_each_restart_is_one_warning() {
    let (warnings, _guard) = Warnings::listen();
    let breaks = || Reply::headers().message("1").end(Status::unavailable("gone"));
    let replies = [breaks(), breaks(), Reply::headers().message("1").end(Status::ok(""))];
    let service = guarded().retry_streaming().build(Stub::new(replies)).unwrap();
    let mut client = RawClient::of(EXPORT, service);
    let stream = client.server_streaming("all").await.unwrap().into_inner();
    assert_eq!(drain(stream).await.0, ["1", "1", "1"]);
    assert_eq!(warnings.about(ANEW), 2);
    assert_eq!(warnings.about(EXPORT), 2);
}

/// G45: a restart the breaker refuses is none.
#[tokio::test(start_paused = true)]
async fn g45_a_restart_that_is_refused_is_no_warning() {
    let (warnings, _guard) = Warnings::listen();
    let inner = service(|_, _| async {
        answer([data(framed(b"1")), trailers(&Status::unavailable("gone"))])
    });
    let breaker = opens_after(1, Duration::from_secs(60));
    let service = guarded().retry_streaming().breaker(breaker).build(inner).unwrap();
    let mut client = RawClient::of(EXPORT, service);
    let stream = client.server_streaming("all").await.unwrap().into_inner();
    let (items, status) = drain(stream).await;
    assert_eq!(items, ["1"]);
    assert!(cause::<CircuitOpen>(&status.unwrap()).is_some());
    assert_eq!(warnings.about(ANEW), 0);
}

/// W3, R34: what is wrong with a client is said once, however many calls it makes.
#[tokio::test(start_paused = true)]
async fn a_client_is_told_once() {
    let (warnings, _guard) = Warnings::listen();
    let inner = guarded().build(Stub::new([Reply::ok("pong")])).unwrap();
    let outer = Resilient::builder().retry(RetryPolicy::DEFAULT).wait_for_ready(true);
    let outer = outer.build(inner).unwrap();
    for _ in 0..3 {
        let mut request = Request::new("ping");
        request.metadata_mut().insert("grpc-previous-rpc-attempts", "1".parse().unwrap());
        RawClient::of(ECHO, outer.clone()).unary(request).await.unwrap();
    }
    assert_eq!(warnings.about("stacked"), 1);
    assert_eq!(warnings.about("without a deadline"), 1);
    assert_eq!(warnings.about("retries too"), 1);
    assert_eq!(warnings.about(ECHO), 1, "the one about the deadline names the method");
}
