//! A whole client out of a settings file: its members, how they are chosen and reached, and who
//! asks after their health.

use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::Arc;

use evenkeel_settings::{ServiceConfig, Settings};
use evenkeel_tests::{Network, Peer, RawClient, Reply, Seen};
use evenkeel_tonic::health::HealthMode;
use evenkeel_tonic::{BuildError, Kit, KitBuilder, Pool, PoolBuilder, Resilient};
use tonic::Code;

use crate::lab::{ECHO, fails};

pub(crate) const CHECK: &str = "/grpc.health.v1.Health/Check";
pub(crate) const WATCH: &str = "/grpc.health.v1.Health/Watch";

/// Two members on a network of memory, which answer with their names.
pub(crate) struct World {
    pub(crate) net: Network,
    pub(crate) peers: [Peer; 2],
}

impl World {
    pub(crate) fn new() -> Self {
        Self::answering(|name, _| Reply::ok(name))
    }

    pub(crate) fn answering(rule: fn(&'static str, &Seen) -> Reply) -> Self {
        let net = Network::new();
        let peers =
            ["a", "b"].map(|name| Peer::answering(move |seen| rule(name, seen)).listen(&net, name));
        Self { net, peers }
    }

    fn kit(&self, file: &str) -> Kit {
        let dialled = Pool::builder().connector(self.net.dialer());
        let kit = Kit::builder("lab").pool(dialled).settings(&settings(file)).unwrap();
        kit.build().unwrap()
    }
}

fn settings(file: &str) -> Settings {
    let targets = "[channel]\ninsecure = true\ntargets = [\"a:1\", \"b:1\"]\n";
    Settings::from_toml(&format!("{targets}{file}")).unwrap()
}

/// Who answered so many calls; `!` where nobody did.
pub(crate) async fn calls(kit: &Kit, count: usize) -> String {
    let mut answers = String::new();
    for _ in 0..count {
        let answer = RawClient::of(ECHO, kit.channel()).unary("ping").await;
        let answer = answer.map(|answer| String::from_utf8(answer.into_inner().into()).unwrap());
        answers.push_str(answer.as_deref().unwrap_or("!"));
    }
    answers
}

#[tokio::test(start_paused = true)]
async fn members_and_strategy_are_the_files() {
    let world = World::new();
    let kit = world.kit("");
    assert_eq!(kit.members(), ["a:1", "b:1"]);
    assert_eq!(calls(&kit, 4).await, "abab");
    let weighted = "[balancing]\nstrategy = \"weighted\"\nweights = { \"A:1\" = 0, \"b:1\" = 0.5 }";
    assert_eq!(calls(&world.kit(weighted), 5).await, "bbbbb");
    assert!(kit.health().is_none());
}

#[tokio::test(start_paused = true)]
async fn the_policies_of_calls_come_with_it() {
    let world = World::answering(|_, _| fails(Code::Unavailable));
    let kit = world.kit(
        "[retry]\nmax_attempts = 4\njitter = \"none\"\n[balancing]\nquarantine = \"0s\"\n\
         [throttle]\n[breaker]\n",
    );
    assert_eq!(calls(&kit, 1).await, "!");
    assert_eq!(world.peers.each_ref().map(Peer::count), [2, 2]);
    assert_eq!(kit.throttle_millitokens(), Some(7_000));
    assert_eq!(kit.circuit_breaker_states().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_quarantine_is_as_long_as_the_file_says() {
    for (quarantine, answers) in [("0s", "!ba ba"), ("2s", "!bb ab"), ("10s", "!bb bb")] {
        let world = World::new();
        world.peers[0].replace([fails(Code::Unavailable), Reply::ok("a")]);
        let kit = world.kit(&format!("[balancing]\nquarantine = \"{quarantine}\""));
        let before = calls(&kit, 3).await;
        tokio::time::sleep(Duration::from_secs(3)).await;
        let seen = format!("{before} {}", calls(&kit, 2).await);
        assert_eq!(seen, answers, "{quarantine}");
    }
}

/// `SERVING` from `b` alone.
pub(crate) fn only_b(name: &'static str, seen: &Seen) -> Reply {
    let serving: &[u8] = if name == "b" { &[8, 1] } else { &[8, 2] };
    match &*seen.path {
        CHECK => Reply::ok(serving.to_vec()),
        WATCH => Reply::headers().message(serving.to_vec()).wait(Duration::from_secs(3_600)),
        _ => Reply::ok(name),
    }
}

pub(crate) fn asked(peer: &Peer, path: &str) -> usize {
    peer.requests().iter().filter(|seen| seen.path == path).count()
}

#[tokio::test(start_paused = true)]
async fn health_is_asked_for_as_the_file_says() {
    let world = World::answering(only_b);
    let kit = world.kit("[health]\ncheck_interval = \"1s\"\nservice = \"orders\"");
    assert!(kit.wait_until_ready(Duration::from_secs(5)).await);
    assert_eq!(calls(&kit, 4).await, "bbbb");
    let before = asked(&world.peers[1], CHECK);
    tokio::time::sleep(Duration::from_millis(10_500)).await;
    let checks = asked(&world.peers[1], CHECK) - before;
    assert!((10..=11).contains(&checks), "{checks}");
    let requests = world.peers[1].requests();
    let check = requests.iter().find(|seen| seen.path == CHECK).unwrap();
    assert!(check.messages()[0].ends_with(b"orders"));

    let world = World::answering(only_b);
    let kit = world.kit("[health]\nmode = \"watch\"");
    assert!(kit.wait_until_ready(Duration::from_secs(5)).await);
    assert_eq!(calls(&kit, 2).await, "bb");
    assert_eq!(world.peers.each_ref().map(|peer| asked(peer, WATCH)), [1, 1]);
    assert_eq!(world.peers.each_ref().map(|peer| asked(peer, CHECK)), [0, 0]);
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_closed_when_the_file_says() {
    for (idle, connections) in [("\"1s\"", 2), ("\"none\"", 1), ("\"1h\"", 1)] {
        let world = World::new();
        let targets = "[channel]\ninsecure = true\ntargets = [\"a:1\"]\n";
        let settings = Settings::from_toml(&format!("{targets}idle_timeout = {idle}")).unwrap();
        let pool = Pool::builder().connector(world.net.dialer());
        let kit = Kit::builder("lab").pool(pool).settings(&settings).unwrap().build().unwrap();
        calls(&kit, 1).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(calls(&kit, 1).await, "a");
        assert_eq!(world.peers[0].connections(), connections, "{idle}");
    }
}

fn refused(file: &str) -> String {
    let settings = Settings::from_toml(file).unwrap();
    let refused: Result<KitBuilder, BuildError> = Kit::builder("lab").settings(&settings);
    refused.expect_err(file).to_string()
}

#[test]
fn certificates_that_cannot_be_read_are_refused_by_their_path() {
    let said = refused("[channel]\ntls = { ca_file = \"/nowhere/ca.pem\" }");
    assert!(
        said.starts_with("channel.tls.ca_file: \"/nowhere/ca.pem\" cannot be read: "),
        "{said}"
    );
    let folder = tempfile::tempdir().unwrap();
    let certificate = folder.path().join("client.pem");
    std::fs::write(&certificate, "anything").unwrap();
    let said = refused(&format!(
        "[channel.tls]\ncert_file = {certificate:?}\nkey_file = \"/nowhere/client.key\""
    ));
    assert!(said.starts_with("channel.tls.key_file: \"/nowhere/client.key\""), "{said}");
}

/// Nothing that a file says is lost by the order in which a kit is described.
#[test]
fn what_would_replace_a_file_is_refused() {
    let settings = settings("[timeout]\ndefault = \"2s\"\n[retry]");
    let config = ServiceConfig::from_json("{}").unwrap();
    let calls = Resilient::builder;
    let kit = || Kit::builder("lab").settings(&settings).unwrap();
    let over = || Kit::builder("lab").pool(pool()).service_config(&config);
    for (late, field, replaced) in [
        (kit().calls(calls()), "calls", "settings"),
        (kit().pool(pool()), "pool", "settings"),
        (kit().pool(pool()).calls(calls()), "pool", "settings"),
        (over().calls(calls()), "calls", "service_config"),
        (over().pool(pool()), "pool", "service_config"),
    ] {
        let said = late.build().unwrap_err().to_string();
        let rule = format!("{field}: must come before {replaced}, which it would replace");
        assert_eq!(said, rule);
    }
    let right = Kit::builder("lab").calls(calls()).pool(pool()).settings(&settings).unwrap();
    assert!(right.service_config(&config).build().is_ok());
}

fn pool() -> PoolBuilder {
    Pool::builder().insecure().target("c:1").unwrap()
}

/// Whoever is told of changes is told on, whatever a file says of the checks; and code that follows
/// the file changes only what it names.
#[tokio::test(start_paused = true)]
async fn checks_are_configured_one_after_the_other() {
    let world = World::answering(only_b);
    let file = settings("[health]\nmode = \"watch\"\nservice = \"orders\"");
    let told = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&told);
    let kit = Kit::builder("lab")
        .pool(Pool::builder().connector(world.net.dialer()))
        .health(move |checker| {
            checker.service("nobody").on_status_change(move |_, _| {
                counted.fetch_add(1, Ordering::Relaxed);
            })
        })
        .settings(&file)
        .unwrap()
        .health(|checker| checker.mode(HealthMode::Check));
    let kit = kit.build().unwrap();
    assert!(kit.wait_until_ready(Duration::from_secs(5)).await);
    assert_eq!(told.load(Ordering::Relaxed), 2);
    let requests = world.peers[1].requests();
    let check = requests.iter().find(|seen| seen.path == CHECK).expect("by hand, after the file");
    assert!(check.messages()[0].ends_with(b"orders"));
    assert_eq!(asked(&world.peers[1], WATCH), 0);
}

/// Every section there is, at its defaults.
#[tokio::test(start_paused = true)]
async fn the_example_file_is_a_whole_client() {
    let file = evenkeel_settings::reference::example();
    let file = file.replace("insecure = false", "insecure = true\ntargets = [\"a:1\", \"b:1\"]");
    // With certificates it would not be insecure.
    let file = file.split("\n[channel.tls]").next().unwrap();
    let world = World::answering(only_b);
    let pool = Pool::builder().connector(world.net.dialer());
    let settings = Settings::from_toml(file).unwrap();
    let kit = Kit::builder("lab").pool(pool).settings(&settings).unwrap().build().unwrap();
    assert!(kit.wait_until_ready(Duration::from_secs(5)).await);
    assert_eq!(calls(&kit, 3).await, "bbb");
}
