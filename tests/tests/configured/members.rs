//! What a service config says of a kit's members: how one is chosen, and whose health decides.

use core::time::Duration;

use evenkeel_settings::ServiceConfig;
use evenkeel_tests::{Listening, Reply};
use evenkeel_tonic::core::HealthPolicy;
use evenkeel_tonic::health::HealthMode;
use evenkeel_tonic::{Kit, KitBuilder, Pool};

use crate::kit::{CHECK, WATCH, World, asked, calls, only_b};

fn kit(world: &World) -> KitBuilder {
    let pool = Pool::builder().connector(world.net.dialer()).insecure();
    Kit::builder("lab").pool(pool.targets(["a:1", "b:1"]).unwrap())
}

fn config(members: &str) -> ServiceConfig {
    ServiceConfig::from_json(&format!("{{{members}}}")).unwrap()
}

fn balancing(policy: &str) -> ServiceConfig {
    config(&format!(r#""loadBalancingConfig": [{{"{policy}": {{}}}}]"#))
}

#[tokio::test(start_paused = true)]
async fn round_robin_takes_the_place_of_another_strategy() {
    let world = World::new();
    let pool = Pool::builder().connector(world.net.dialer()).insecure();
    let pool = pool.targets(["a:1", "b:1"]).unwrap().weighted([("a:1", 100.0), ("b:1", 0.0)]);
    let weighted = Kit::builder("lab").pool(pool.unwrap());
    let kit = weighted.service_config(&balancing("round_robin")).build().unwrap();
    let answers = calls(&kit, 10).await;
    assert_eq!(answers.matches('a').count(), 5, "{answers}");
}

/// A server that is slow has more under way, and gets less.
#[tokio::test(start_paused = true)]
async fn least_request_is_followed() {
    let slow_a = |name: &'static str, _: &_| match name {
        "a" => Reply::ok(name).after(Duration::from_millis(900)),
        _ => Reply::ok(name).after(Duration::from_millis(100)),
    };
    let world = World::answering(slow_a);
    let kit = kit(&world).service_config(&balancing("least_request_experimental")).build().unwrap();
    let callers = (0..8).map(|_| calls(&kit, 30));
    let answers = futures_util::future::join_all(callers).await.concat();
    assert!(answers.matches('b').count() > 150, "{answers}");
}

/// Neither is done here: everybody is asked in turn, and that is said once for each kit.
#[tokio::test(start_paused = true)]
async fn what_is_not_followed_is_said() {
    let listening = Listening::begin();
    for policy in ["pick_first", "weighted_round_robin"] {
        let world = World::new();
        let said_twice = kit(&world).service_config(&balancing(policy));
        let kit = said_twice.service_config(&balancing(policy)).build().unwrap();
        let answers = calls(&kit, 10).await;
        assert_eq!(answers.matches('a').count(), 5, "{answers}");
        let warnings = listening.take_warnings();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(
            warnings[0].contains(policy) && warnings[0].contains("upstream=lab"),
            "{warnings:?}"
        );
    }
    let world = World::new();
    let kit = kit(&world).service_config(&balancing("round_robin")).build().unwrap();
    assert_eq!((calls(&kit, 2).await.len(), listening.take_warnings()), (2, Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn a_health_service_is_watched() {
    let world = World::answering(only_b);
    let health = config(r#""healthCheckConfig": {"serviceName": "orders"}"#);
    let kit = kit(&world).service_config(&health).build().unwrap();
    assert!(kit.wait_until_ready(Duration::from_secs(5)).await);
    assert_eq!(calls(&kit, 4).await, "bbbb");
    assert_eq!(world.peers.each_ref().map(|peer| asked(peer, WATCH)), [1, 1]);
    let requests = world.peers[1].requests();
    let watch = requests.iter().find(|seen| seen.path == WATCH).unwrap();
    assert!(watch.messages()[0].ends_with(b"orders"));
}

/// Only the service is the config's then.
#[tokio::test(start_paused = true)]
async fn checks_that_are_configured_stay_as_they_are() {
    let world = World::answering(only_b);
    let health = config(r#""healthCheckConfig": {"serviceName": "orders"}"#);
    let policy = HealthPolicy::DEFAULT.with_interval(Duration::from_secs(1)).unwrap();
    let kit = kit(&world)
        .health(move |checker| checker.mode(HealthMode::Check).policy(policy).service("users"))
        .service_config(&health)
        .build()
        .unwrap();
    assert!(kit.wait_until_ready(Duration::from_secs(5)).await);
    tokio::time::sleep(Duration::from_millis(3_500)).await;
    assert_eq!((asked(&world.peers[1], CHECK), asked(&world.peers[1], WATCH)), (4, 0));
    let requests = world.peers[1].requests();
    assert!(requests.iter().all(|seen| seen.messages()[0].ends_with(b"orders")));
}

#[tokio::test(start_paused = true)]
async fn a_config_that_says_nothing_of_members_changes_nothing() {
    let world = World::new();
    for empty in ["", r#""healthCheckConfig": {}"#] {
        let kit = kit(&world).service_config(&config(empty)).build().unwrap();
        assert!(kit.health().is_none());
    }
}
