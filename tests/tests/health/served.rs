//! Against the health service of tonic itself, with the ways it has of its own.

use evenkeel_tests::Network;
use evenkeel_tonic::core::HealthPolicy;
use evenkeel_tonic::health::{HealthChecker, HealthMode};
use tonic::transport::Server;
use tonic_health::ServingStatus;
use tonic_health::server::{HealthReporter, health_reporter};

use crate::lab::{Channels, every, millis, pass, timed};

fn served(
    service: &str,
    mode: HealthMode,
    policy: HealthPolicy,
) -> (HealthChecker, HealthReporter) {
    let (net, channels) = (Network::new(), Channels::default());
    let (reporter, health) = health_reporter();
    let listener = net.listen("a");
    tokio::spawn(Server::builder().add_service(health).serve_with_incoming(listener));
    let checker = HealthChecker::builder(channels.maker(&net)).targets(["a"]);
    let checker = checker.service(service).mode(mode).policy(policy).build();
    checker.start();
    (checker, reporter)
}

#[tokio::test(start_paused = true)]
async fn asked_it_is_what_it_was_set_to() {
    let (checker, reporter) = served("", HealthMode::Check, every(1_000));
    assert!(checker.wait_until_ready(millis(100)).await);
    assert_eq!(checker.is_healthy("a"), Ok(true));
    reporter.set_service_status("", ServingStatus::NotServing).await;
    pass(1_001).await;
    assert_eq!(checker.is_healthy("a"), Ok(false));
    reporter.set_service_status("", ServingStatus::Serving).await;
    pass(1_001).await;
    assert_eq!(checker.is_healthy("a"), Ok(true));
}

#[tokio::test(start_paused = true)]
async fn watched_it_tells_every_change() {
    let (checker, reporter) = served("", HealthMode::Watch, HealthPolicy::DEFAULT);
    let mut changes = checker.changes();
    assert!(checker.wait_until_ready(millis(100)).await);
    timed(changes.changed()).await;
    for healthy in [false, true, false] {
        let status = if healthy { ServingStatus::Serving } else { ServingStatus::NotServing };
        reporter.set_service_status("", status).await;
        timed(changes.changed()).await;
        assert_eq!(checker.is_healthy("a"), Ok(healthy));
    }
}

/// It answers a watch of an unknown service with `NOT_FOUND`, and ends the stream of one that is
/// cleared; both are "not healthy, watch again".
#[tokio::test(start_paused = true)]
async fn a_service_that_comes_and_goes_is_followed() {
    let (checker, mut reporter) = served("shop", HealthMode::Watch, HealthPolicy::DEFAULT);
    assert!(checker.wait_until_ready(millis(100)).await);
    assert_eq!(checker.is_healthy("a"), Ok(false));
    reporter.set_service_status("shop", ServingStatus::Serving).await;
    pass(2_000).await;
    assert_eq!(checker.is_healthy("a"), Ok(true));
    reporter.clear_service_status("shop").await;
    pass(100).await;
    assert_eq!(checker.is_healthy("a"), Ok(false));
    reporter.set_service_status("shop", ServingStatus::Serving).await;
    pass(5_000).await;
    assert_eq!(checker.is_healthy("a"), Ok(true));
}

#[tokio::test(start_paused = true)]
async fn a_server_without_the_health_service_is_healthy() {
    for mode in [HealthMode::Check, HealthMode::Watch] {
        let (net, channels) = (Network::new(), Channels::default());
        let (_, other) = health_reporter();
        let nothing = tower::ServiceBuilder::new().map_request(
            |mut request: http::Request<tonic::body::Body>| {
                // As if it were another service that is served here.
                *request.uri_mut() = http::Uri::from_static("/other.v1.Service/Method");
                request
            },
        );
        let listener = net.listen("a");
        let server = Server::builder().layer(nothing).add_service(other);
        tokio::spawn(server.serve_with_incoming(listener));
        let checker = HealthChecker::builder(channels.maker(&net)).targets(["a"]).mode(mode);
        let checker = checker.build();
        checker.start();
        assert!(checker.wait_until_ready(millis(100)).await);
        assert_eq!(checker.is_healthy("a"), Ok(true), "{mode:?}");
    }
}
