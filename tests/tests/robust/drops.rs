//! A caller that goes away at every place where a call can wait. Each time the trial's slot, the
//! tokens and everything the layer below gave must be back at once, and the next caller admitted.

use crate::parts::{Alive, answer, data, framed, refusal, service, trailers};
use crate::{CHAT, ECHO, EXPORT, UPLOAD, circuit, guarded, opens_after};
use bytes::Bytes;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use evenkeel_core::{BreakerState, Code, CodeSet, ThrottlePolicy};
use evenkeel_tests::{Network, Peer, RawClient, Reply, Stub, drain, drop_at_every_poll, poll_n};
use evenkeel_tonic::connect::{DialPolicy, connector};
use evenkeel_tonic::{Builder, Resilient};
use http::{Request, Response};
use std::io;
use std::sync::Arc;
use tonic::Status;
use tonic::body::Body;
use tower::util::BoxCloneService;
use tower::{BoxError, ServiceExt};

type Inner = BoxCloneService<Request<Body>, Response<Body>, BoxError>;
type Client = RawClient<Resilient<Alive<Inner>>>;

/// Drops calls of `method` over `inner` at each of their polls, on a half-open breaker. A whole
/// call takes `polls` at least; it comes last, and closes the circuit. Answers how many tokens, in
/// thousandths, all of them took.
async fn dropped<F: Future<Output = ()>>(
    settings: Builder,
    method: &'static str,
    polls: usize,
    inner: Inner,
    call: impl Fn(Client) -> F,
) -> u32 {
    // A retried failure is no verdict here, so that trials can be retried.
    let counted = CodeSet::FAILURES.without(Code::Unavailable);
    let breaker = opens_after(1, Duration::ZERO).with_failures(counted);
    let throttle = ThrottlePolicy::grpc(1_000, 1_000).unwrap();
    let (inner, alive) = Alive::new(opened_by_header(inner));
    let service = settings.breaker(breaker).throttle(throttle).build(inner).unwrap();
    let mut open = tonic::Request::new("ping");
    open.metadata_mut().insert("open", "now".parse().unwrap());
    RawClient::of(method, service.clone()).unary(open).await.unwrap_err();
    assert_eq!(circuit(&service, method).state, BreakerState::Open);

    let start = || call(RawClient::of(method, service.clone()));
    let taken = drop_at_every_poll(start, async |polled| {
        let snapshot = circuit(&service, method);
        assert_eq!(snapshot.trials, 0, "after {polled} polls");
        // One in the service and one here.
        assert_eq!(Arc::strong_count(&alive), 2, "after {polled} polls");
        if snapshot.state == BreakerState::HalfOpen {
            // No slot is missing: a call refused by the breaker would be over at its first poll.
            assert!(poll_n(1, start()).await.is_none());
        }
    });
    let taken = taken.await;
    assert!(taken >= polls, "{taken} polls are fewer than there are places to wait");
    assert_eq!(circuit(&service, method).state, BreakerState::Closed);
    1_000_000 - service.throttle_millitokens().unwrap()
}

/// Answers a request that says `open` with what opens the circuit.
fn opened_by_header(inner: Inner) -> Inner {
    BoxCloneService::new(service(move |_, request: Request<Body>| {
        let inner = inner.clone();
        async move {
            if request.headers().contains_key("open") {
                return refusal(Status::data_loss("open"));
            }
            inner.oneshot(request).await
        }
    }))
}

/// Answers the first attempt in one way, every other in another, and nothing at once.
fn first_and_others(first: Reply, others: Reply) -> Inner {
    let stub = Stub::answering(move |seen| {
        let first_attempt = seen.header("grpc-previous-rpc-attempts").is_none();
        if first_attempt { first.clone() } else { others.clone() }
    });
    BoxCloneService::new(stub.lazy())
}

fn pong() -> Reply {
    Reply::headers().message("1").message("2").end(Status::ok(""))
}

#[tokio::test(start_paused = true)]
async fn in_a_unary_call() {
    let inner = BoxCloneService::new(Stub::new([Reply::ok("pong")]).lazy());
    let taken = dropped(guarded(), ECHO, 4, inner, async |mut client| {
        client.unary("ping").await.unwrap();
    });
    assert_eq!(taken.await, 0, "nothing failed");
}

#[tokio::test(start_paused = true)]
async fn in_a_unary_call_with_two_retries() {
    let busy = Reply::status(Status::unavailable("busy"));
    let inner = first_and_others(busy, Reply::ok("pong"));
    dropped(guarded(), ECHO, 6, inner, async |mut client| {
        client.unary("ping").await.unwrap();
    })
    .await;
    let late = Reply::headers().message("half").end(Status::unavailable("late"));
    let inner = first_and_others(late, Reply::ok("pong"));
    dropped(guarded(), ECHO, 8, inner, async |mut client| {
        client.unary("ping").await.unwrap();
    })
    .await;
}

/// The layer below needs time to be ready, and gives nothing away for ever.
#[tokio::test(start_paused = true)]
async fn before_the_layer_below_is_ready() {
    let stub = tower::limit::ConcurrencyLimit::new(Stub::new([Reply::ok("pong")]).lazy(), 1);
    let buffered = tower::buffer::Buffer::new(stub, 1);
    let inner = BoxCloneService::new(buffered);
    dropped(guarded(), ECHO, 4, inner, async |mut client| {
        client.unary("ping").await.unwrap();
    })
    .await;
}

/// Nobody listens at first; each call finds that out twice.
#[tokio::test(start_paused = true)]
async fn while_it_waits_for_a_connection() {
    let dials = Arc::new(AtomicUsize::new(0));
    let inner = {
        let dials = Arc::clone(&dials);
        BoxCloneService::new(service(move |_, _| {
            let dial = dials.fetch_add(1, Ordering::Relaxed);
            async move {
                tokio::task::yield_now().await;
                match dial {
                    0 | 1 => Err(io::Error::from(io::ErrorKind::ConnectionRefused).into()),
                    _ => answer([data(framed(b"pong")), trailers(&Status::ok(""))]),
                }
            }
        }))
    };
    dropped(guarded().wait_for_ready(true), ECHO, 6, inner, |mut client| {
        dials.store(0, Ordering::Relaxed);
        async move {
            client.unary("ping").await.unwrap();
        }
    })
    .await;
}

/// The same over a real channel and our connector, whose waiting callers are counted.
#[tokio::test(start_paused = true)]
async fn while_it_waits_for_our_connector() {
    let net = Network::new();
    let uri = net.endpoint("a").uri().clone();
    let (connector, connectivity) = connector(net.dialer(), uri, DialPolicy::DEFAULT, 7);
    let channel = net.endpoint("a").connect_with_connector_lazy(connector);
    let builder = guarded().wait_for_ready(true).connectivity(connectivity.clone());
    let service = builder.build(channel).unwrap();
    let peer = Peer::new([Reply::ok("pong")]);
    let listens = peer.clone();
    net.after(Duration::from_secs(2), move |net| drop(listens.listen(net, "a")));

    let start = || {
        let mut client = RawClient::of(ECHO, service.clone());
        async move { client.unary("ping").await.unwrap() }
    };
    let taken = drop_at_every_poll(start, async |polled| {
        assert_eq!(connectivity.waiting(), 0, "after {polled} polls");
        // Time for the dials and for what was given up.
        tokio::time::sleep(Duration::from_millis(150)).await;
    });
    assert!(taken.await > 2);
    assert_eq!(peer.requests().iter().filter(|seen| seen.reset.is_none()).count(), 1);
    assert_eq!(circuit(&service, ECHO).failures, 0);
}

#[tokio::test(start_paused = true)]
async fn in_a_response_stream() {
    let inner = BoxCloneService::new(Stub::new([pong()]).lazy());
    dropped(guarded(), EXPORT, 5, inner, async |mut client| {
        let stream = client.server_streaming("all").await.unwrap().into_inner();
        assert_eq!(drain(stream).await.0, ["1", "2"]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn in_a_response_stream_that_begins_anew() {
    let breaks = Reply::headers().message("1").end(Status::unavailable("gone"));
    let inner = first_and_others(breaks, pong());
    dropped(guarded().retry_streaming(), EXPORT, 9, inner, async |mut client| {
        let stream = client.server_streaming("all").await.unwrap().into_inner();
        assert_eq!(drain(stream).await.0, ["1", "1", "2"]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn in_a_request_stream() {
    let requests = || {
        Box::pin(futures_util::stream::unfold(0, |sent| async move {
            tokio::task::yield_now().await;
            (sent < 3).then(|| (Bytes::from_static(b"item"), sent + 1))
        }))
    };
    let inner = BoxCloneService::new(Stub::new([Reply::ok("pong")]).lazy());
    dropped(guarded(), UPLOAD, 5, inner.clone(), async |mut client| {
        client.client_streaming(requests()).await.unwrap();
    })
    .await;
    dropped(guarded(), CHAT, 5, inner, async |mut client| {
        let stream = client.streaming(requests()).await.unwrap().into_inner();
        assert_eq!(drain(stream).await.0, ["pong"]);
    })
    .await;
}
