//! The same with a real tonic server and a generated client, where the server's part matters.

use core::pin::Pin;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::Arc;

use evenkeel_tests::Network;
use evenkeel_tests::pb::Msg;
use evenkeel_tests::pb::lab_client::LabClient;
use evenkeel_tests::pb::lab_server::{Lab as Handlers, LabServer};
use evenkeel_tokio::{TokioClock, current_budget};
use evenkeel_tonic::core::{BreakerState, Clock, RetryPolicy};
use evenkeel_tonic::{Builder, DeadlinePassed, OpenBudgetLayer, Resilient, cause};
use tokio_stream::{Stream, StreamExt};
use tonic::transport::{Channel, Server};
use tonic::{Code, Request, Response, Status, Streaming};

use crate::lab::{ECHO, in_millis, pass, timed};
use crate::policies::{client, millis, opens_after};

type Messages = Pin<Box<dyn Stream<Item = Result<Msg, Status>> + Send>>;

/// A server whose handlers take as long as they are told.
#[derive(Clone, Default)]
struct Slow {
    /// Handlers and streams that were let go before their end.
    dropped: Arc<AtomicUsize>,
    /// Where `Put` goes on to.
    next: Option<LabClient<Resilient<Channel>>>,
}

/// Counts itself unless it is defused.
struct Guard(Option<Arc<AtomicUsize>>);

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(dropped) = &self.0 {
            dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[tonic::async_trait]
impl Handlers for Slow {
    /// Answers after `n` milliseconds.
    async fn echo(&self, request: Request<Msg>) -> Result<Response<Msg>, Status> {
        let mut guard = Guard(Some(Arc::clone(&self.dropped)));
        let message = request.into_inner();
        pass(u64::from(message.n.unsigned_abs())).await;
        guard.0 = None;
        Ok(Response::new(message))
    }

    /// Takes 500 ms and asks the next server, which answers what it finds in its own budget.
    async fn put(&self, request: Request<Msg>) -> Result<Response<Msg>, Status> {
        let Some(mut next) = self.next.clone() else {
            let left = current_budget().map(|budget| budget.remaining(TokioClock.now()));
            let text = left.map_or_else(|| "none".to_owned(), |left| left.as_micros().to_string());
            return Ok(Response::new(Msg { text, ..Msg::default() }));
        };
        pass(500).await;
        next.put(request.into_inner()).await
    }

    async fn charge(&self, _: Request<Msg>) -> Result<Response<Msg>, Status> {
        Err(Status::unavailable("closed for today"))
    }

    type ExportStream = Messages;

    /// A message every `n` milliseconds, for ever.
    async fn export(&self, request: Request<Msg>) -> Result<Response<Messages>, Status> {
        let guard = Guard(Some(Arc::clone(&self.dropped)));
        let message = request.into_inner();
        let pause = millis(u64::from(message.n.unsigned_abs()));
        let ticks = futures_util::stream::unfold((message, guard), move |state| async move {
            tokio::time::sleep(pause).await;
            Some((Ok(state.0.clone()), state))
        });
        Ok(Response::new(Box::pin(ticks)))
    }

    async fn upload(&self, request: Request<Streaming<Msg>>) -> Result<Response<Msg>, Status> {
        let (mut messages, mut n) = (request.into_inner(), 0);
        while let Some(message) = messages.message().await? {
            n += message.n;
        }
        Ok(Response::new(Msg { n, ..Msg::default() }))
    }

    type ChatStream = Messages;

    async fn chat(&self, request: Request<Streaming<Msg>>) -> Result<Response<Messages>, Status> {
        Ok(Response::new(Box::pin(request.into_inner())))
    }
}

/// A client of `slow`.
fn serve(net: &Network, name: &str, builder: Builder, slow: Slow) -> LabClient<Resilient<Channel>> {
    let server = Server::builder().layer(OpenBudgetLayer::new()).add_service(LabServer::new(slow));
    tokio::spawn(server.serve_with_incoming(net.listen(name)));
    LabClient::new(builder.build(net.channel(name)).unwrap())
}

fn message(n: i32) -> Msg {
    Msg { n, ..Msg::default() }
}

fn timeout(span: Duration) -> Builder {
    client().timeout(span).unwrap()
}

#[tokio::test(start_paused = true)]
async fn calls_of_every_kind_go_through_a_generated_client() {
    let net = Network::new();
    let mut lab =
        serve(&net, "a", timeout(millis(5_000)).retry(RetryPolicy::DEFAULT), Slow::default());
    assert_eq!(lab.echo(message(7)).await.unwrap().into_inner().n, 7);
    let ten = tokio_stream::iter((1..=4).map(message));
    assert_eq!(lab.upload(ten).await.unwrap().into_inner().n, 10);
    let mut ticks = lab.export(message(10)).await.unwrap().into_inner();
    assert_eq!(ticks.message().await.unwrap().unwrap().n, 10);
    let chat = lab.chat(tokio_stream::iter((1..=4).map(message))).await.unwrap();
    let said: Vec<_> = chat.into_inner().map(|message| message.unwrap().n).collect().await;
    assert_eq!(said, [1, 2, 3, 4]);
    assert_eq!(lab.charge(message(1)).await.unwrap_err().message(), "closed for today");
}

#[tokio::test(start_paused = true)]
async fn g48_a_dialogue_takes_no_longer_than_without_us() {
    let net = Network::new();
    let mut lab =
        serve(&net, "a", timeout(millis(5_000)).retry(RetryPolicy::DEFAULT), Slow::default());
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    let requests = tokio_stream::wrappers::ReceiverStream::new(receiver);
    let mut answers = lab.chat(requests).await.unwrap().into_inner();
    let dialogue = async {
        for n in 0..100 {
            sender.send(message(n)).await.unwrap();
            assert_eq!(answers.message().await.unwrap().unwrap().n, n);
        }
        drop(sender);
        assert!(answers.message().await.unwrap().is_none(), "the half-close comes back");
    };
    assert_eq!(timed(dialogue).await.1, 0);
}

/// tonic's server drops the handler at the deadline and answers CANCELLED. Whoever is faster, it is
/// the deadline, and counts.
#[tokio::test(start_paused = true)]
async fn g55_a_real_servers_timer_is_our_deadline() {
    // Not in step with the clock's milliseconds, so that the two timers differ.
    for micros in [1_000, 1_300, 20_000, 20_700, 99_999, 200_000, 200_001, 3_000_999, 150_000_500] {
        let net = Network::new();
        let builder = timeout(Duration::from_micros(micros)).breaker(opens_after(1));
        let slow = Slow::default();
        let mut lab = serve(&net, "a", builder, slow.clone());
        let failed = lab.echo(message(i32::MAX)).await.unwrap_err();
        assert_eq!(failed.code(), Code::DeadlineExceeded, "{micros}: {failed:?}");
        assert!(cause::<DeadlinePassed>(&failed).is_some());
        pass(10).await;
        assert_eq!(slow.dropped.load(Ordering::Relaxed), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn g54_a_real_servers_stream_is_let_go_at_the_deadline() {
    let net = Network::new();
    let slow = Slow::default();
    let mut lab = serve(&net, "a", timeout(millis(1_050)), slow.clone());
    let ticks = lab.export(message(100)).await.unwrap().into_inner();
    let ((items, status), took) = timed(evenkeel_tests::drain(ticks)).await;
    assert_eq!((items.len(), status.unwrap().code(), took), (10, Code::DeadlineExceeded, 1_050));
    pass(1).await;
    assert_eq!(slow.dropped.load(Ordering::Relaxed), 1);
}

/// The caller's time goes from server to server without anybody writing it.
#[tokio::test(start_paused = true)]
async fn g57_and_g62_the_budget_goes_on_from_server_to_server() {
    let net = Network::new();
    let last = serve(&net, "b", client(), Slow::default());
    let middle = Slow { next: Some(last), ..Slow::default() };
    let mut lab = serve(&net, "a", client(), middle);

    let mut request = Request::new(message(0));
    request.set_timeout(millis(3_000));
    assert_eq!(lab.put(request).await.unwrap().into_inner().text, "2500000");

    for unreadable in ["82f", "123456789S"] {
        let mut request = Request::new(message(0));
        request.metadata_mut().insert("grpc-timeout", unreadable.parse().unwrap());
        assert_eq!(lab.put(request).await.unwrap().into_inner().text, "none");
    }
    assert_eq!(lab.put(message(0)).await.unwrap().into_inner().text, "none");

    let mut request = Request::new(message(0));
    request.set_timeout(millis(400));
    let (failed, took) = timed(lab.put(request)).await;
    assert_eq!((failed.unwrap_err().code(), took), (Code::DeadlineExceeded, 400));
    assert_eq!(net.dials("b").iter().map(|at| in_millis(*at)).collect::<Vec<_>>(), [500]);
}

#[tokio::test(start_paused = true)]
async fn a_client_without_settings_changes_nothing() {
    let net = Network::new();
    let mut lab = serve(&net, "a", Resilient::builder(), Slow::default());
    assert_eq!(lab.echo(message(3)).await.unwrap().into_inner().n, 3);
    let failed = lab.charge(message(1)).await.unwrap_err();
    assert_eq!((failed.code(), failed.message()), (Code::Unavailable, "closed for today"));
    let prefixed = Resilient::builder().breaker(opens_after(1)).build(net.channel("a")).unwrap();
    let states = prefixed.clone();
    let origin = http::Uri::from_static("http://a/prefix");
    let mut lab = LabClient::with_origin(prefixed, origin);
    // The path has a prefix that no server knows, and the method's name has none.
    assert_eq!(lab.echo(message(3)).await.unwrap_err().code(), Code::Unimplemented);
    assert_eq!(states.circuit_breaker_states()[""][ECHO].state, BreakerState::Closed);
}
