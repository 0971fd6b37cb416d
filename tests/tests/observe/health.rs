//! What the log says of the members of a kit: which upstream they are of, and why they are not
//! healthy.

use core::time::Duration;

use evenkeel_tests::{Network, Peer, RawClient, Reply, Seen};
use evenkeel_tonic::core::{HealthPolicy, Unimplemented};
use evenkeel_tonic::health::{HealthCheckerBuilder, HealthMode};
use evenkeel_tonic::{Kit, Pool};
use tonic::Status;

use crate::lab::{ECHO, busy, client, ok, opens_after, pass};
use crate::tracer::{Told, Tracer};

/// Members that answer like this for their health; the one called `gone` does not listen.
fn kit(
    names: &[&'static str],
    checker: fn(HealthCheckerBuilder) -> HealthCheckerBuilder,
    health: fn(&'static str) -> Reply,
) -> (Kit, Vec<Peer>) {
    let net = Network::new();
    let there = names.iter().filter(|name| **name != "gone");
    let peers = there.map(|name| {
        let (name, health) = (*name, health);
        let rule = move |seen: &Seen| match seen.path.starts_with("/grpc.health") {
            true => health(name),
            false => ok(),
        };
        Peer::answering(rule).listen(&net, name)
    });
    let peers = peers.collect();
    let targets = names.iter().map(|name| format!("{name}:1"));
    let pool = Pool::builder().insecure().connector(net.dialer()).targets(targets).unwrap();
    let kit = Kit::builder("stock").pool(pool).calls(client()).health(checker).build().unwrap();
    (kit, peers)
}

/// Of this member, with everything but its name.
fn of(told: &[Told], member: &str) -> Vec<[Option<String>; 3]> {
    let mine = told.iter().filter(|event| event.field("member") == Some(member));
    let fields = ["upstream", "healthy", "reason"];
    mine.map(|event| fields.map(|field| event.field(field).map(str::to_owned))).collect()
}

fn said(healthy: &str, reason: &str) -> Vec<[Option<String>; 3]> {
    vec![["stock", healthy, reason].map(|field| Some(field.to_owned()))]
}

#[tokio::test(start_paused = true)]
async fn a_verdict_says_why_in_either_mode() {
    for mode in [HealthMode::Check, HealthMode::Watch] {
        let tracer = Tracer::begin();
        let names = ["gone", "draining", "starting", "odd", "slow", "strict", "well", "plain"];
        let configure = match mode {
            HealthMode::Check => |checker: HealthCheckerBuilder| checker,
            HealthMode::Watch => |checker: HealthCheckerBuilder| checker.mode(HealthMode::Watch),
        };
        let (_kit, _peers) = kit(&names, configure, |name| match name {
            "draining" => Reply::ok(vec![8, 2]),
            "starting" => Reply::ok(vec![8, 3]),
            "odd" => Reply::ok(vec![8, 77]),
            "slow" => Reply::hang(),
            "strict" => Reply::status(Status::permission_denied("the card 4929 is stolen")),
            "plain" => Reply::status(Status::unimplemented("")),
            _ => Reply::ok(vec![8, 1]).wait(Duration::from_secs(3_600)),
        });
        pass(5_500).await;
        let told = tracer.events("health");
        for (member, healthy, reason) in [
            ("gone:1", "false", "connection refused"),
            ("draining:1", "false", "answered NOT_SERVING"),
            ("starting:1", "false", "answered SERVICE_UNKNOWN"),
            ("odd:1", "false", "answered 77, which is no status of health"),
            ("slow:1", "false", "no answer within 5.00s"),
            ("strict:1", "false", "answered PERMISSION_DENIED"),
            ("plain:1", "true", "no health service"),
        ] {
            let first = of(&told, member).into_iter().take(1).collect::<Vec<_>>();
            assert_eq!(first, said(healthy, reason), "{member} {mode:?}");
        }
        assert!(!tracer.everything().contains("4929"), "what a server says is not repeated");
    }
}

#[tokio::test(start_paused = true)]
async fn checks_that_ask_nobody_say_so_once_for_each_member() {
    let tracer = Tracer::begin();
    let (kit, peers) =
        kit(&["a", "b"], |checker| checker, |_| Reply::status(Status::unimplemented("")));
    pass(3_600_000).await;
    assert!(kit.health().unwrap().check_health("a:1").await.unwrap());
    assert!(peers.iter().all(|peer| peer.count() > 100), "they are asked on");
    let told = tracer.events("no health service; it counts as healthy");
    let mut members: Vec<_> = told.iter().map(|event| event.field("member").unwrap()).collect();
    members.sort_unstable();
    assert_eq!(members, ["a:1", "b:1"]);
    assert!(told.iter().all(|event| event.field("upstream") == Some("stock")));
}

#[tokio::test(start_paused = true)]
async fn where_no_health_service_is_not_healthy_nothing_else_is_claimed() {
    let tracer = Tracer::begin();
    let (_kit, _peers) =
        kit(&["a"], |checker| checker.policy(STRICT), |_| Reply::status(Status::unimplemented("")));
    pass(60_000).await;
    assert_eq!(of(&tracer.events("health"), "a:1"), said("false", "no health service"));
    assert!(tracer.events("no health service; it counts as healthy").is_empty());
}

const STRICT: HealthPolicy = HealthPolicy::DEFAULT.with_unimplemented(Unimplemented::Unhealthy);

/// `upstream` is always the client, and `member` one of its own.
#[tokio::test(start_paused = true)]
async fn every_event_names_the_upstream_and_the_member_alike() {
    let tracer = Tracer::begin();
    let net = Network::new();
    let _peer = Peer::new([busy()]).listen(&net, "a");
    let pool = Pool::builder().insecure().connector(net.dialer()).targets(["a:1"]).unwrap();
    let calls = client().breaker(opens_after(1));
    let kit = Kit::builder("stock").pool(pool).calls(calls).build().unwrap();
    RawClient::of(ECHO, kit.channel()).unary("ping").await.unwrap_err();
    kit.circuit_breaker("a:1", ECHO).unwrap().reset();
    for words in ["quarantined", "circuit breaker", "circuit breaker, by hand"] {
        let told = tracer.events(words);
        let [event] = &*told else { panic!("{words}: {told:?}") };
        let named = ["upstream", "member"].map(|field| event.field(field));
        assert_eq!(named, [Some("stock"), Some("a:1")], "{words}");
    }
    assert_eq!(tracer.events("quarantined")[0].field("code"), Some("UNAVAILABLE"));
    let single = client().breaker(opens_after(1)).build(net.channel("a")).unwrap();
    single.circuit_breaker("lab", ECHO).unwrap().force_open();
    let told = tracer.events("circuit breaker, by hand");
    let named = ["upstream", "member"].map(|field| told[1].field(field));
    assert_eq!(named, [Some("lab"), None], "it has no members");
}
