//! Our health checks, against the health service that grpcio ships.

use core::time::Duration;

use evenkeel_tonic::core::HealthPolicy;
use evenkeel_tonic::health::{HealthCheckerBuilder, HealthMode};
use evenkeel_tonic::{Kit, NoHealthyTargets, cause};
use serde_json::json;
use tonic::Code;

use crate::lab::{LONG, Lab, asks, calls, eventually, pool, retried};
use crate::python::{Server, reserved};

const CHECK: &str = "/grpc.health.v1.Health/Check";
const WATCH: &str = "/grpc.health.v1.Health/Watch";

/// Asks the server about `lab.v1.Lab`: again and again, or once and for all.
fn checked(server: &Server, mode: HealthMode) -> Kit {
    let often = Duration::from_millis(20);
    let policy =
        HealthPolicy::DEFAULT.with_interval(often).unwrap().with_max_backoff(often).unwrap();
    let health = move |checker: HealthCheckerBuilder| {
        checker.mode(mode).policy(policy).service("lab.v1.Lab")
    };
    let builder = Kit::builder("grpcio").pool(pool(&[server.target()]));
    let calls = retried(3, Duration::from_millis(5));
    builder.calls(calls).health(health).build().unwrap()
}

async fn becomes(kit: &Kit, server: &Server, healthy: bool) {
    let target = server.target();
    let verdict = || kit.health().unwrap().verdicts().get(&*target).copied().flatten();
    eventually(async || verdict() == Some(healthy)).await;
    // What a caller sees is what the checker says.
    let answer = Lab::new(kit.channel()).echo(asks("k", json!([{ "text": "there" }]))).await;
    if healthy {
        let answer = answer.unwrap_or_else(|failed| panic!("{failed:?}"));
        assert_eq!(answer.into_inner().text, "there");
    } else {
        let failed = answer.unwrap_err();
        assert_eq!(failed.code(), Code::Unavailable);
        assert!(cause::<NoHealthyTargets>(&failed).is_some(), "{failed:?}");
    }
}

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn h01_and_g79_checks_notice_every_change() {
    let server = Server::start();
    let kit = checked(&server, HealthMode::Check);
    // The server has never heard of the service: NOT_FOUND.
    becomes(&kit, &server, false).await;
    for status in ["SERVING", "NOT_SERVING", "SERVING", "UNKNOWN", "SERVING", "SERVICE_UNKNOWN"] {
        server.set_health("lab.v1.Lab", status).await;
        becomes(&kit, &server, status == "SERVING").await;
    }
    assert!(server.count(CHECK).await >= 7);
}

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn g78_and_g79_a_watch_is_told_every_change_on_one_stream() {
    let server = Server::start();
    let kit = checked(&server, HealthMode::Watch);
    // It says SERVICE_UNKNOWN, at once, and goes on.
    becomes(&kit, &server, false).await;
    for status in ["SERVING", "NOT_SERVING", "SERVING", "UNKNOWN", "SERVING", "SERVICE_UNKNOWN"] {
        server.set_health("lab.v1.Lab", status).await;
        becomes(&kit, &server, status == "SERVING").await;
    }
    assert_eq!((server.count(WATCH).await, server.count(CHECK).await), (1, 0));
}

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn h23_and_g79_a_server_without_a_health_service_is_well_and_not_asked_again() {
    let server = Server::with(&["--without-health"]);
    let kit = checked(&server, HealthMode::Watch);
    assert!(kit.wait_until_ready(LONG).await);
    becomes(&kit, &server, true).await;
    // Time for many checks, if there were any.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(server.count(WATCH).await, 1);
    becomes(&kit, &server, true).await;
}

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn h23_checks_take_it_for_well_too() {
    let server = Server::with(&["--without-health"]);
    let kit = checked(&server, HealthMode::Check);
    assert!(kit.wait_until_ready(LONG).await);
    becomes(&kit, &server, true).await;
}

/// A watch whose server dies is opened again.
#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn g80_a_server_that_was_started_again_is_watched_again() {
    let (_place, port) = reserved();
    let mut server = Server::at(port);
    server.set_health("lab.v1.Lab", "SERVING").await;
    let kit = checked(&server, HealthMode::Watch);
    assert!(kit.wait_until_ready(LONG).await);
    server.kill();
    let target = server.target();
    eventually(async || kit.health().unwrap().is_healthy(&target) == Ok(false)).await;
    let server = Server::at(port);
    server.set_health("lab.v1.Lab", "SERVING").await;
    becomes(&kit, &server, true).await;
}

/// Of two members, the one that says it is not serving gets no call.
#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn p04_and_p08_calls_go_to_members_that_are_well() {
    let servers = [Server::start(), Server::start()];
    let targets = servers.each_ref().map(Server::target);
    let builder = Kit::builder("grpcio").pool(pool(&targets)).calls(calls());
    let kit = builder.health(|checker| checker.mode(HealthMode::Watch)).build().unwrap();
    assert!(kit.health().is_some() && kit.wait_until_ready(LONG).await);
    let checker = kit.health().unwrap();
    servers[0].set_health("", "NOT_SERVING").await;
    eventually(async || checker.is_healthy(&targets[0]) == Ok(false)).await;
    let mut lab = Lab::new(kit.channel());
    for _ in 0..10 {
        lab.echo(asks("ill", json!([{}]))).await.unwrap();
    }
    servers[0].set_health("", "SERVING").await;
    eventually(async || checker.is_healthy(&targets[0]) == Ok(true)).await;
    for _ in 0..10 {
        lab.echo(asks("well", json!([{}]))).await.unwrap();
    }
    let mut seen = Vec::new();
    for server in &servers {
        seen.push((server.seen("ill").await.len(), server.seen("well").await.len()));
    }
    assert_eq!(seen, [(0, 5), (10, 5)]);
}
