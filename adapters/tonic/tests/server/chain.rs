//! This file knows what is left of a deadline from hop to hop.

use core::time::Duration;
use std::sync::mpsc;

use evenkeel_core::{BudgetExhausted, Deadline, Micros};
use evenkeel_tokio::core::Clock;
use evenkeel_tokio::{TokioClock, trim};
use tonic::transport::Channel;
use tonic::{Code, Request, Status};

use crate::pb::FetchRequest;
use crate::pb::payments_client::PaymentsClient;
use crate::pipes::Address;
use crate::{FETCH, Lab, found, pass, seconds_left, serve, with_timeout};

/// What every caller here would wait by itself.
const CONFIGURED: Duration = Duration::from_secs(5);

/// A call trimmed by hand, the way a client would do it.
async fn fetch(client: &PaymentsClient<Channel>) -> Result<Option<f64>, Status> {
    let now = TokioClock.now();
    let deadline = trim(now, FETCH, Deadline::after(now, CONFIGURED), Micros::ZERO)
        .map_err(|spent: BudgetExhausted| Status::deadline_exceeded(spent.to_string()))?;
    let mut request = Request::new(FetchRequest::default());
    request.set_timeout(deadline.remaining(now).into());
    let reply = client.clone().fetch(request).await?;
    Ok(reply.into_inner().seconds_left)
}

/// A server that works for 0.35 s before it asks the next, and reports what it was given.
fn hop(seen: mpsc::Sender<Option<f64>>, next: Option<PaymentsClient<Channel>>) -> Address {
    serve(Lab::fetch(move |_| {
        seen.send(seconds_left()).expect("a test that looks");
        let next = next.clone();
        async move {
            pass(350).await;
            if let Some(next) = next {
                fetch(&next).await?;
            }
            Ok(found())
        }
    }))
}

#[tokio::test(start_paused = true)]
async fn l13_each_hop_sees_what_those_before_it_left() {
    let (seen, sees) = mpsc::channel();
    let third = hop(seen.clone(), None);
    let second = hop(seen.clone(), Some(third.client()));
    let first = hop(seen, Some(second.client()));
    let request = with_timeout("3S", FetchRequest::default());
    let reply = first.client().fetch(request).await.expect("a reply").into_inner();
    // On a real clock the last is 2.29 and something: here a call takes no time.
    assert_eq!(sees.try_iter().collect::<Vec<_>>(), [3.0, 2.65, 2.3].map(Some));
    assert_eq!(reply.seconds_left, Some(1.95));
}

/// Of three calls in a row, each gets what is left of the three seconds, not five.
#[tokio::test(start_paused = true)]
async fn g57_each_call_of_a_handler_sees_what_is_left() {
    let (seen, sees) = mpsc::channel();
    let backend = hop(seen, None).client();
    let server = serve(Lab::fetch(move |_| {
        let backend = backend.clone();
        async move {
            for _ in 0..3 {
                fetch(&backend).await?;
            }
            Ok(found())
        }
    }));
    let request = with_timeout("3S", FetchRequest::default());
    server.client().fetch(request).await.expect("a reply");
    assert_eq!(sees.try_iter().collect::<Vec<_>>(), [3.0, 2.65, 2.3].map(Some));
}

#[tokio::test(start_paused = true)]
async fn g58_a_spent_budget_sends_nothing() {
    let (seen, sees) = mpsc::channel();
    let backend = hop(seen, None).client();
    // tonic drops a handler at its deadline, but not what it has spawned.
    let (late, lates) = mpsc::channel();
    let server = serve(Lab::fetch(move |_| {
        let (backend, late) = (backend.clone(), late.clone());
        evenkeel_tokio::spawn(async move {
            pass(3_000).await;
            late.send(fetch(&backend).await.expect_err("too late")).expect("a test that looks");
        });
        async { Ok(found()) }
    }));
    let request = with_timeout("3S", FetchRequest::default());
    server.client().fetch(request).await.expect("a reply");
    pass(4_000).await;
    let status = lates.try_recv().expect("a refusal");
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert_eq!(status.message(), "request budget spent: 3.00s elapsed, budget was 3.00s");
    assert_eq!(sees.try_iter().count(), 0);
}

/// The server without a deadline gives its backend the five seconds of the caller's settings.
#[tokio::test(start_paused = true)]
async fn a_call_without_a_budget_is_not_trimmed() {
    let (seen, sees) = mpsc::channel();
    let second = hop(seen.clone(), None);
    let first = hop(seen, Some(second.client()));
    first.client().fetch(FetchRequest::default()).await.expect("a reply");
    assert_eq!(sees.try_iter().collect::<Vec<_>>(), [None, Some(5.0)]);
}
