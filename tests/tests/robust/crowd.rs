//! A thousand calls at once, some of which fail and some of which are given up: whatever they
//! took comes back.

use crate::parts::{Alive, answer, data, service, trailers};
use crate::{CHARGE, ECHO, EXPORT, circuit, guarded, opens_after};
use bytes::Bytes;
use core::time::Duration;
use evenkeel_core::{BreakerState, Random, RetryPolicy, SmallRng, ThrottlePolicy};
use evenkeel_tests::{Last, Network, Peer, RawClient, Reason, Reply, Seen, Stub, drain};
use evenkeel_tonic::{CircuitOpen, Resilient, cause};
use http::{Request, Response};
use http_body_util::BodyExt;
use std::sync::Arc;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tonic::Status;
use tonic::body::Body;
use tonic::client::GrpcService;
use tower::{BoxError, Service};

const CALLS: usize = 1_000;

/// A server that is slow, busy, broken or silent, as chance will have it.
fn moody(seed: u32) -> impl FnMut(&Seen) -> Reply + Send {
    let mut rng = SmallRng::seeded(seed);
    move |_| {
        let span = Duration::from_millis(u64::from(rng.next_u32() % 100));
        match rng.next_u32() % 8 {
            0 => Reply::status(Status::unavailable("busy")).after(span),
            1 => Reply::headers().message("half").end(Status::unavailable("late")).after(span),
            2 => Reply::hang().reset(Reason::REFUSED_STREAM).after(span),
            3 => Reply::headers().messages(["1", "2"]).wait(span).reset(Reason::INTERNAL_ERROR),
            4 => Reply::hang(),
            _ => Reply::headers().message("1").wait(span).end(Status::ok("")),
        }
    }
}

/// How a call ended for its caller.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum End {
    Answered,
    Failed,
    GivenUp,
    /// By the breaker, without an attempt.
    Refused,
}

/// One call of one of three methods, given up after up to 150 ms by every second caller.
async fn one<S>(service: Resilient<S>, number: usize) -> End
where
    RawClient<Resilient<S>>: Clone,
    Resilient<S>: GrpcService<Body, ResponseBody = Body> + Clone,
{
    let method = [ECHO, CHARGE, EXPORT][number % 3];
    let mut client = RawClient::of(method, service);
    let call = async {
        if method == EXPORT {
            let stream = client.server_streaming("all").await?.into_inner();
            return drain(stream).await.1.map_or(Ok(()), Err);
        }
        client.unary("ping").await.map(drop)
    };
    let patience = if number.is_multiple_of(2) { 20_000 } else { (number % 150) as u64 };
    match timeout(Duration::from_millis(patience), call).await {
        Ok(Ok(())) => End::Answered,
        Ok(Err(status)) => match cause::<CircuitOpen>(&status) {
            Some(open) if open.attempts == 0 => End::Refused,
            _ => End::Failed,
        },
        Err(_) => End::GivenUp,
    }
}

/// C51, but of a thousand, through every block at once.
#[tokio::test(start_paused = true)]
async fn c51_a_thousand_calls_leave_nothing_behind() {
    for seed in [1, 2, 3] {
        crowd(Stub::answering(moody(seed))).await;
    }
}

/// The same over HTTP/2, where a connection breaks under many calls at once.
#[tokio::test(start_paused = true)]
async fn c51_a_thousand_calls_over_connections_that_break() {
    for seed in [4, 5, 6] {
        let net = Network::new();
        let mut mood = moody(seed);
        let mut requests = 0;
        Peer::answering(move |seen| {
            requests += 1;
            match requests % 50 {
                10 => Reply::hang().go_away(Last::Before, Reason::NO_ERROR),
                20 => Reply::hang().close(),
                30 => Reply::headers().message("1").abort(),
                40 => Reply::hang().go_away(Last::This, Reason::ENHANCE_YOUR_CALM).close(),
                _ => mood(seen),
            }
        })
        .listen(&net, "a");
        crowd(net.channel("a")).await;
    }
}

async fn crowd<S>(inner: S)
where
    S: Service<Request<Body>, Response = Response<Body>, Future: Send + 'static>,
    S: Clone + Send + Sync + 'static,
    S::Error: Into<BoxError> + Send,
{
    let (inner, alive) = Alive::new(inner);
    let open_for = Duration::from_millis(50);
    let service = guarded()
        .retry_streaming()
        .breaker(opens_after(3, open_for))
        .throttle(ThrottlePolicy::grpc(1_000, 1_000).unwrap())
        .build(inner)
        .unwrap();
    let mut calls = JoinSet::new();
    for number in 0..CALLS {
        // All at once, and as many one after the other, which meet open circuits and are trials.
        calls.spawn(one(service.clone(), number));
        let (service, wait) = (service.clone(), Duration::from_millis(5 * number as u64));
        calls.spawn(async move {
            tokio::time::sleep(wait).await;
            one(service, number).await
        });
    }
    let ends = calls.join_all().await;
    assert_eq!(ends.len(), 2 * CALLS);
    for end in [End::Answered, End::Failed, End::GivenUp, End::Refused] {
        assert!(ends.iter().filter(|other| **other == end).count() > 20, "hardly any {end:?}");
    }

    let states = service.circuit_breaker_states();
    assert_eq!(states[""].len(), 3);
    for (method, snapshot) in &states[""] {
        assert_eq!(snapshot.trials, 0, "{method}");
    }
    // The one in the service, and the one here: no call, clone or body has stayed.
    assert_eq!(Arc::strong_count(&alive), 2);

    // Whatever state it was left in, it recovers as soon as the server does.
    tokio::time::sleep(open_for).await;
    recovers(&service).await;
}

/// Calls until each circuit has closed. The server is as moody as before, so that takes a few.
async fn recovers<S>(service: &Resilient<S>)
where
    RawClient<Resilient<S>>: Clone,
    Resilient<S>: GrpcService<Body, ResponseBody = Body> + Clone,
{
    for method in [ECHO, CHARGE, EXPORT] {
        for _ in 0..500 {
            if circuit(service, method).state == BreakerState::Closed {
                break;
            }
            let mut client = RawClient::of(method, service.clone());
            _ = client.unary("ping").await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let snapshot = circuit(service, method);
        assert_eq!((snapshot.state, snapshot.trials), (BreakerState::Closed, 0), "{method}");
    }
}

/// Without a table each call looks its breaker up, and gives it back: an entry that somebody still
/// held could not make room for another.
#[tokio::test(start_paused = true)]
async fn no_handle_is_kept() {
    let service = Resilient::builder()
        .retry(RetryPolicy::DEFAULT)
        .timeout(Duration::from_secs(1))
        .unwrap()
        .breaker(opens_after(u16::MAX, Duration::from_secs(1)))
        .max_methods(1)
        .unwrap()
        .build(Stub::answering(moody(7)))
        .unwrap();
    let mut calls = JoinSet::new();
    for number in 0..CALLS {
        calls.spawn(one(service.clone(), number));
    }
    calls.join_all().await;
    RawClient::of("/raw.Raw/Other", service.clone()).unary("ping").await.ok();
    let states = service.circuit_breaker_states();
    assert_eq!(states[""].keys().collect::<Vec<_>>(), ["/raw.Raw/Other"]);
}

/// The answers of a thousand calls are their own, not a neighbour's.
#[tokio::test(start_paused = true)]
async fn everybody_gets_their_own_answer() {
    let inner = service(|call, request: Request<Body>| async move {
        let message = request.collect().await?.to_bytes();
        if call % 3 == 0 {
            return answer([trailers(&Status::unavailable("busy"))]);
        }
        tokio::time::sleep(Duration::from_millis((call % 7) as u64)).await;
        answer([data(message), trailers(&Status::ok(""))])
    });
    let retry = RetryPolicy::DEFAULT.with_max_attempts(20).unwrap();
    let breaker = opens_after(u16::MAX, Duration::from_secs(1));
    let service = guarded().retry(retry).breaker(breaker).build(inner).unwrap();
    let mut calls = JoinSet::new();
    for number in 0..CALLS {
        let mut client = RawClient::of(ECHO, service.clone());
        calls.spawn(async move {
            let original = Bytes::from(number.to_string());
            client.unary(original.clone()).await.unwrap().into_inner() == original
        });
    }
    assert!(calls.join_all().await.into_iter().all(|own| own));
}
