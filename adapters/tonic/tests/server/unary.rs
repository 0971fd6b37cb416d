//! This file knows what a unary handler finds.

use core::time::Duration;
use std::sync::mpsc;

use evenkeel_core::{BudgetPolicy, Deadline, Micros};
use evenkeel_tokio::core::Clock;
use evenkeel_tokio::{TokioClock, trim};
use evenkeel_tonic::OpenBudgetLayer;
use tonic::transport::Server;
use tower::Layer;

use crate::pb::payments_server::PaymentsServer;
use crate::pb::{FetchReply, FetchRequest};
use crate::{
    EXPORT, FETCH, Lab, found, pass, pipes, seconds_left, serve, serve_with, with_timeout,
};

/// What `lab` answers on a server with this layer around everything.
async fn fetch(layer: OpenBudgetLayer, lab: Lab, timeout: &'static str) -> FetchReply {
    let request = with_timeout(timeout, FetchRequest::default());
    serve_with(layer, lab).client().fetch(request).await.expect("a reply").into_inner()
}

#[tokio::test(start_paused = true)]
async fn a_handler_sees_what_its_caller_left_it() {
    for (timeout, left) in [("3S", 3.0), ("250m", 0.25), ("1u", 0.000_001), ("1H", 3_600.0)] {
        let lab = Lab::fetch(|_| async { Ok(found()) });
        let reply = fetch(OpenBudgetLayer::new(), lab, timeout).await;
        assert_eq!(reply.seconds_left, Some(left), "{timeout}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_left_shrinks_as_time_passes() {
    let lab = Lab::fetch(|_| async {
        pass(350).await;
        Ok(found())
    });
    let reply = fetch(OpenBudgetLayer::new(), lab, "3S").await;
    assert_eq!(reply.seconds_left, Some(2.65));
}

#[tokio::test(start_paused = true)]
async fn the_header_stays_in_place() {
    let lab = Lab::fetch(|request| async move {
        let timeout = request.metadata().get("grpc-timeout").expect("a timeout");
        assert_eq!(timeout, "3S");
        Ok(found())
    });
    fetch(OpenBudgetLayer::new(), lab, "3S").await;
}

#[tokio::test(start_paused = true)]
async fn spawned_tasks_inherit_it_through_the_helper_only() {
    let lab = Lab::fetch(|_| async {
        assert_eq!(tokio::spawn(async { seconds_left() }).await.expect("a task"), None);
        let left = evenkeel_tokio::spawn(async {
            pass(500).await;
            seconds_left()
        });
        Ok(FetchReply { seconds_left: left.await.expect("a task"), ..FetchReply::default() })
    });
    let reply = fetch(OpenBudgetLayer::new(), lab, "3S").await;
    assert_eq!(reply.seconds_left, Some(2.5));
}

#[tokio::test(start_paused = true)]
async fn each_request_has_its_own() {
    let lab = Lab::fetch(|_| async {
        pass(100).await;
        Ok(found())
    });
    let client = serve(lab).client();
    let fetch = async |timeout| {
        let request = with_timeout(timeout, FetchRequest::default());
        let reply = client.clone().fetch(request).await.expect("a reply");
        reply.into_inner().seconds_left
    };
    let without = async {
        let reply = client.clone().fetch(FetchRequest::default()).await.expect("a reply");
        reply.into_inner().seconds_left
    };
    let (long, none, short) = tokio::join!(fetch("3S"), without, fetch("1S"));
    assert_eq!((long, none, short), (Some(2.9), None, Some(0.9)));
}

#[tokio::test(start_paused = true)]
async fn the_safety_margin_is_taken_off() {
    let margin = Duration::from_millis(200);
    let policy = BudgetPolicy::DEFAULT.with_safety_margin(margin).expect("a valid margin");
    let lab = Lab::fetch(|_| async { Ok(found()) });
    let reply = fetch(OpenBudgetLayer::new().with_policy(policy), lab, "3S").await;
    assert_eq!(reply.seconds_left, Some(2.8));
}

#[tokio::test(start_paused = true)]
async fn policy_and_caps_reach_the_calls_of_a_handler() {
    let floor = Duration::from_millis(400);
    let policy = BudgetPolicy::DEFAULT.with_min_timeout(floor).expect("a valid floor");
    let layer = OpenBudgetLayer::new().with_policy(policy);
    let layer = layer.with_cap(EXPORT, Duration::from_millis(500)).expect("a valid cap");
    let lab = Lab::fetch(|_| async {
        let granted = |method| {
            let now = TokioClock.now();
            let deadline = trim(now, method, Deadline::NONE, Micros::ZERO).expect("time is left");
            deadline.remaining(now).as_micros()
        };
        assert_eq!((granted(FETCH), granted(EXPORT)), (3_000_000, 500_000));
        pass(2_900).await;
        assert_eq!((granted(FETCH), granted(EXPORT)), (400_000, 400_000));
        Ok(found())
    });
    fetch(layer, lab, "3S").await;
}

#[test]
fn a_cap_must_be_a_time() {
    for cap in [Duration::ZERO, Duration::MAX] {
        let refused = OpenBudgetLayer::new().with_cap(EXPORT, cap).expect_err("no cap");
        assert_eq!(refused.field(), "budget.call_caps");
    }
}

#[tokio::test(start_paused = true)]
async fn interceptors_are_inside() {
    let (seen, sees) = mpsc::channel();
    let server = pipes::serve(|incoming| {
        let lab = Lab::fetch(|_| async { Ok(found()) });
        let service = PaymentsServer::with_interceptor(lab, move |request| {
            seen.send(seconds_left()).expect("a test that looks");
            Ok(request)
        });
        let mut server = Server::builder().layer(OpenBudgetLayer::new());
        server.add_service(service).serve_with_incoming(incoming)
    });
    let request = with_timeout("3S", FetchRequest::default());
    let reply = server.client().fetch(request).await.expect("a reply").into_inner();
    assert_eq!((sees.try_recv(), reply.seconds_left), (Ok(Some(3.0)), Some(3.0)));
}

/// The wrapped service is known by the name of the one inside.
#[tokio::test(start_paused = true)]
async fn a_single_service_can_have_it() {
    let server = pipes::serve(|incoming| {
        let lab = Lab::fetch(|_| async { Ok(found()) });
        let service = OpenBudgetLayer::new().layer(PaymentsServer::new(lab));
        Server::builder().add_service(service).serve_with_incoming(incoming)
    });
    let request = with_timeout("3S", FetchRequest::default());
    let reply = server.client().fetch(request).await.expect("a reply").into_inner();
    assert_eq!(reply.seconds_left, Some(3.0));
}
