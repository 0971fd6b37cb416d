//! Members whose health is checked: G78 to G81, P4, P6 and P8 with a checker of our own.

use core::time::Duration;
use std::sync::{Arc, Mutex};

use evenkeel_core::HealthPolicy;
use evenkeel_tests::{Network, Peer, RawClient, Reply, Seen};
use evenkeel_tonic::health::HealthMode;
use evenkeel_tonic::target::TargetName;
use evenkeel_tonic::{Kit, NoHealthyTargets, cause};
use tonic::{Code, Status};

use crate::lab::{ECHO, pass, plain, pool_of, says, spread, text, timed};

const CHECK: &str = "/grpc.health.v1.Health/Check";
const WATCH: &str = "/grpc.health.v1.Health/Watch";

/// Health answers on the wire: field 1, a varint.
const SERVING: &[u8] = &[8, 1];
const NOT_SERVING: &[u8] = &[8, 2];

/// Machines that say their name, and of their health what they are told to.
struct Lab {
    net: Network,
    peers: Vec<(String, Peer)>,
    kit: Kit,
}

impl Lab {
    fn new(
        names: &[&str],
        mode: HealthMode,
        health: impl Fn(&str, &Seen) -> Reply + Clone + Send + 'static,
    ) -> Self {
        let net = Network::new();
        let peers = names.iter().map(|name| {
            let (said, health) = ((*name).to_owned(), health.clone());
            let rule = move |seen: &Seen| match &*seen.path {
                CHECK | WATCH => health(&said, seen),
                _ => says(&said),
            };
            ((*name).to_owned(), Peer::answering(rule).listen(&net, name))
        });
        let peers = peers.collect();
        let policy = HealthPolicy::DEFAULT.with_interval(Duration::from_secs(1)).unwrap();
        let kit = Kit::builder("lab")
            .pool(pool_of(&net, names))
            .calls(plain())
            .health(move |checker| checker.mode(mode).policy(policy))
            .build()
            .unwrap();
        Self { net, peers, kit }
    }

    async fn call(&self) -> Result<String, Status> {
        let mut client = RawClient::of(ECHO, self.kit.channel());
        client.unary("ping").await.map(|response| text(response.into_inner()))
    }

    async fn calls(&self, count: usize) -> String {
        let mut answers = String::new();
        for _ in 0..count {
            answers.push_str(self.call().await.as_deref().unwrap_or("!"));
        }
        answers
    }

    /// The machine is gone, with everything that was connected to it.
    fn kill(&self, name: &str) {
        drop(self.net.listen(name));
        self.net.cut(name);
    }

    /// The machine is there again.
    fn revive(&self, name: &str) {
        let (_, peer) = self.peers.iter().find(|(known, _)| known == name).unwrap();
        peer.clone().listen(&self.net, name);
    }

    fn asked(&self, name: &str, path: &str) -> usize {
        let (_, peer) = self.peers.iter().find(|(known, _)| known == name).unwrap();
        peer.requests().iter().filter(|seen| seen.path == path).count()
    }
}

fn answer(status: &'static [u8]) -> Reply {
    Reply::ok(status)
}

fn stream(status: &'static [u8]) -> Reply {
    Reply::headers().message(status)
}

#[tokio::test(start_paused = true)]
async fn g78_not_serving_is_noticed_within_a_round_trip_and_serving_at_once() {
    let change = Duration::from_secs(10);
    let lab = Lab::new(&["a", "b"], HealthMode::Watch, move |name, _| match name {
        "a" => stream(SERVING).wait(change).message(NOT_SERVING).wait(change).message(SERVING),
        _ => stream(SERVING),
    });
    assert!(lab.kit.wait_until_ready(Duration::from_secs(5)).await);
    assert_eq!(spread(&lab.calls(10).await), [('a', 5), ('b', 5)]);
    pass(10_001).await;
    assert_eq!(lab.calls(10).await, "b".repeat(10));
    pass(10_000).await;
    assert_eq!(spread(&lab.calls(10).await), [('a', 5), ('b', 5)]);
    assert_eq!((lab.asked("a", WATCH), lab.asked("b", WATCH)), (1, 1));
}

/// A stream that says nothing may be one whose cable was pulled; it is pinged, as calls are.
#[tokio::test(start_paused = true)]
async fn a_watch_whose_cable_was_pulled_is_found_out_by_keepalive() {
    let lab = Lab::new(&["a", "b"], HealthMode::Watch, |_, _| stream(SERVING));
    assert!(lab.kit.wait_until_ready(Duration::from_secs(5)).await);
    lab.net.freeze("a");
    pass(39_000).await;
    assert_eq!(lab.kit.health().unwrap().is_healthy("a:1"), Ok(true));
    pass(2_000).await;
    // New connections are not frozen, so it is watched again at once.
    let dials = lab.net.dials("a");
    assert!(dials.len() >= 2 && dials[dials.len() - 1] > Duration::from_secs(39), "{dials:?}");
    assert_eq!(lab.kit.health().unwrap().is_healthy("a:1"), Ok(true));
    lab.net.freeze("a");
    lab.net.on_dial("a", [evenkeel_tests::Dial::Refuse]);
    pass(41_000).await;
    assert_eq!(lab.kit.health().unwrap().is_healthy("a:1"), Ok(false));
    assert_eq!(lab.calls(4).await, "bbbb");
}

/// Checks are made on connections of their own.
#[tokio::test(start_paused = true)]
async fn health_checks_have_connections_of_their_own() {
    let lab = Lab::new(&["a"], HealthMode::Check, |_, _| answer(SERVING));
    assert!(lab.kit.wait_until_ready(Duration::from_secs(5)).await);
    assert_eq!(lab.calls(3).await, "aaa");
    pass(5_000).await;
    assert_eq!(lab.net.dials("a").len(), 2, "one to ask, one to call");
    let (_, peer) = &lab.peers[0];
    let by_connection = |path: &str| {
        let mut used: Vec<usize> =
            peer.requests().iter().filter(|seen| seen.path == path).map(|s| s.connection).collect();
        used.dedup();
        used
    };
    assert_ne!(by_connection(CHECK), by_connection(ECHO));
    assert!(lab.asked("a", CHECK) >= 5);
}

#[tokio::test(start_paused = true)]
async fn g79_a_server_without_health_service_is_eligible_and_one_without_ours_is_not() {
    for mode in [HealthMode::Watch, HealthMode::Check] {
        let lab = Lab::new(&["a", "b"], mode, |name, _| {
            let code = if name == "a" { Code::Unimplemented } else { Code::NotFound };
            Reply::status(Status::new(code, "no such thing"))
        });
        assert!(lab.kit.wait_until_ready(Duration::from_secs(5)).await);
        pass(60_000).await;
        assert_eq!(lab.calls(4).await, "aaaa");
        let (path, again) = match mode {
            HealthMode::Watch => (WATCH, 1..=1),
            HealthMode::Check => (CHECK, 50..=70),
        };
        assert!(again.contains(&lab.asked("a", path)), "{}", lab.asked("a", path));
        assert!(lab.asked("b", path) >= 4, "b is asked again");
    }
}

/// At once after a message, and after 1 s, 1.6 s, ... without one; meanwhile nobody is sent there.
#[tokio::test(start_paused = true)]
async fn g80_a_watch_that_breaks_is_begun_again() {
    let turns = Arc::new(Mutex::new(0));
    let lab = Lab::new(&["a", "b"], HealthMode::Watch, move |name, _| {
        if name == "b" {
            return stream(SERVING);
        }
        let mut turn = turns.lock().unwrap();
        *turn += 1;
        match *turn {
            1 => stream(SERVING).wait(Duration::from_secs(5)).end(Status::unavailable("gone")),
            2 | 3 => Reply::status(Status::unavailable("gone")),
            _ => stream(SERVING),
        }
    });
    assert!(lab.kit.wait_until_ready(Duration::from_secs(5)).await);
    assert_eq!(spread(&lab.calls(4).await), [('a', 2), ('b', 2)]);
    pass(5_010).await;
    assert_eq!(lab.asked("a", WATCH), 2, "at once");
    assert_eq!(lab.calls(4).await, "bbbb");
    pass(10_000).await;
    assert_eq!(spread(&lab.calls(4).await), [('a', 2), ('b', 2)]);
    assert_eq!(lab.asked("a", WATCH), 4);
}

/// What the connection made for calls was doing when its server died.
#[derive(Clone, Copy, Debug)]
enum Used {
    /// It had calls.
    ByCalls,
    /// It was made, and has had no call yet.
    NotYet,
    /// It was lost, and calls found out that there is no other.
    Refused,
}

/// Whoever sees that a server is well again is served, whatever became of the pool's connection.
#[tokio::test(start_paused = true)]
async fn g80_a_server_that_was_started_again_is_called_as_soon_as_it_is_well() {
    let mut failed = Vec::new();
    for used in [Used::ByCalls, Used::NotYet, Used::Refused] {
        for round in 0..20 {
            let answer = restarted(used, 60 * round).await;
            failed.extend(answer.err().map(|status| (used, round, status.message().to_owned())));
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// The answer to the first call after a restart that took so many milliseconds.
async fn restarted(used: Used, millis: u64) -> Result<String, Status> {
    let lab = Lab::new(&["a"], HealthMode::Watch, |_, _| stream(SERVING));
    assert!(lab.kit.wait_until_ready(Duration::from_secs(5)).await);
    if matches!(used, Used::ByCalls) {
        assert_eq!(lab.calls(1).await, "a");
    }
    lab.kill("a");
    if matches!(used, Used::Refused) {
        assert_eq!(lab.calls(3).await, "!!!");
    }
    becomes(&lab.kit, false).await;
    pass(millis).await;
    lab.revive("a");
    becomes(&lab.kit, true).await;
    lab.call().await
}

/// Until the checker says so, and not a moment longer.
async fn becomes(kit: &Kit, healthy: bool) {
    let checker = kit.health().unwrap();
    let mut changes = checker.changes();
    while checker.is_healthy("a:1") != Ok(healthy) {
        changes.changed().await;
    }
}

#[tokio::test(start_paused = true)]
async fn g81_a_cold_start_is_nobody_and_after_the_first_pass_somebody() {
    let slow = Duration::from_millis(300);
    for mode in [HealthMode::Watch, HealthMode::Check] {
        let lab = Lab::new(&["a", "b"], mode, move |_, seen| {
            let reply = if seen.path == WATCH { stream(SERVING) } else { answer(SERVING) };
            reply.after(slow)
        });
        let failed = lab.call().await.unwrap_err();
        assert_eq!(failed.code(), Code::Unavailable);
        assert_eq!(cause::<NoHealthyTargets>(&failed).unwrap().targets, ["a:1", "b:1"]);
        let now = || lab.kit.wait_until_ready(Duration::ZERO);
        assert!(!now().await);
        let (ready, took) = timed(lab.kit.wait_until_ready(Duration::from_secs(5))).await;
        assert_eq!((ready, took, now().await), (true, 300, true));
        assert_eq!(lab.calls(2).await.len(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn g81_nobody_answers_and_it_is_not_ready() {
    let lab = Lab::new(&["a", "b"], HealthMode::Check, |name, _| match name {
        "a" => answer(SERVING),
        _ => Reply::hang(),
    });
    let (ready, took) = timed(lab.kit.wait_until_ready(Duration::from_secs(2))).await;
    assert_eq!((ready, took), (false, 2_000));
    // Calls do not wait for who is slow.
    assert_eq!(lab.calls(2).await, "aa");
    let sick = Lab::new(&["a"], HealthMode::Check, |_, _| answer(NOT_SERVING));
    assert!(!sick.kit.wait_until_ready(Duration::from_secs(2)).await);
}

/// Who comes is checked before it is used, and who goes is not checked any more.
#[tokio::test(start_paused = true)]
async fn members_that_come_and_go_are_checked_and_are_not() {
    let lab = Lab::new(&["a", "b"], HealthMode::Check, |_, _| answer(SERVING));
    let both: [TargetName; 2] = ["a:1", "b:1"].map(|name| name.parse().unwrap());
    lab.kit.pool().set_targets([both[0].clone()]);
    assert!(lab.kit.wait_until_ready(Duration::from_secs(5)).await);
    assert_eq!(lab.calls(2).await, "aa");
    pass(1).await;
    let checker = lab.kit.health().unwrap();
    assert_eq!(checker.verdicts().len(), 1);
    let before = lab.asked("b", CHECK);
    pass(10_000).await;
    assert_eq!(lab.asked("b", CHECK), before);
    lab.kit.pool().set_targets(both);
    assert!(lab.kit.wait_until_ready(Duration::from_secs(5)).await);
    assert_eq!(spread(&lab.calls(4).await), [('a', 2), ('b', 2)]);
}

/// Whether or not who closes it waits for the end.
#[tokio::test(start_paused = true)]
async fn checks_end_with_the_first_moment_of_a_close() {
    let lab = Lab::new(&["a"], HealthMode::Check, |_, _| answer(SERVING));
    assert!(lab.kit.wait_until_ready(Duration::from_secs(5)).await);
    let (_, peer) = &lab.peers[0];
    peer.replace([Reply::hang()]);
    let closing = async {
        pass(1).await;
        let asked = lab.asked("a", CHECK);
        let close = lab.kit.close(Duration::from_secs(60));
        assert!(tokio::time::timeout(Duration::from_secs(1), close).await.is_err());
        pass(5_000).await;
        (asked, lab.asked("a", CHECK), lab.kit.health().unwrap().is_running())
    };
    let (hung, (before, after, running)) = tokio::join!(lab.call(), closing);
    assert_eq!((before, running), (after, false));
    assert_eq!(hung.unwrap_err().code(), Code::DeadlineExceeded, "it was left to itself");
}

/// Whoever removes it from the checker by hand, in whichever order with who adds it.
#[tokio::test(start_paused = true)]
async fn a_member_is_checked_for_as_long_as_it_is_one() {
    let lab = Lab::new(&["a", "b"], HealthMode::Check, |_, _| answer(SERVING));
    assert!(lab.kit.wait_until_ready(Duration::from_secs(5)).await);
    let checker = lab.kit.health().unwrap();
    assert!(checker.remove("a:1"));
    pass(5).await;
    assert_eq!(spread(&lab.calls(4).await), [('a', 2), ('b', 2)], "it is asked again at once");
    assert!(checker.remove("a:1"));
    let again = checker.add("a:1");
    pass(5).await;
    assert_eq!(
        (again.is_healthy(), spread(&lab.calls(4).await)),
        (Some(true), vec![('a', 2), ('b', 2)])
    );
}

/// Whoever takes a member out by hand may know what no check finds out; a "yes" is no check.
#[tokio::test(start_paused = true)]
async fn a_no_by_hand_counts_beside_the_checks_and_a_yes_takes_it_back() {
    let lab = Lab::new(&["a", "b"], HealthMode::Check, |name, _| match name {
        "b" => answer(NOT_SERVING),
        _ => answer(SERVING),
    });
    assert!(lab.kit.wait_until_ready(Duration::from_secs(5)).await);
    lab.kit.pool().set_healthy("a:1", false);
    pass(5_000).await;
    assert_eq!(lab.calls(2).await, "!!");
    ["a:1", "b:1"].iter().for_each(|name| lab.kit.pool().set_healthy(name, true));
    assert_eq!(lab.calls(2).await, "aa");
}

/// Members come and go beside it.
#[tokio::test(start_paused = true)]
async fn a_target_that_was_added_by_hand_stays() {
    let lab = Lab::new(&["a", "b"], HealthMode::Check, |_, _| answer(SERVING));
    let checker = lab.kit.health().unwrap();
    let (target, member) = (checker.add("other"), checker.add("b:1"));
    assert!(lab.kit.wait_until_ready(Duration::from_secs(5)).await);
    assert_eq!((target.is_healthy(), member.is_healthy()), (Some(false), Some(true)));
    lab.kit.pool().set_targets(["a:1".parse::<TargetName>().unwrap()]);
    pass(5).await;
    let known: Vec<_> = checker.verdicts().into_keys().collect();
    assert_eq!(known.iter().map(|name| &**name).collect::<Vec<_>>(), ["a:1", "b:1", "other"]);
}

/// Nothing is left of a kit that was closed, or of one that everybody has forgotten.
#[tokio::test(start_paused = true)]
async fn checks_end_with_the_kit_and_not_before_its_channels() {
    let lab = Lab::new(&["a"], HealthMode::Check, |_, _| answer(SERVING));
    assert!(lab.kit.wait_until_ready(Duration::from_secs(5)).await);
    assert!(lab.kit.close(Duration::from_secs(1)).await);
    assert!(!lab.kit.wait_until_ready(Duration::from_secs(1)).await);
    let asked = lab.asked("a", CHECK);
    pass(60_000).await;
    assert_eq!(lab.asked("a", CHECK), asked);

    let lab = Lab::new(&["a"], HealthMode::Check, |_, _| answer(SERVING));
    assert!(lab.kit.wait_until_ready(Duration::from_secs(5)).await);
    let Lab { kit, peers, net: _net } = lab;
    let channel = kit.channel();
    drop(kit);
    let checks = || peers[0].1.requests().iter().filter(|seen| seen.path == CHECK).count();
    let before = checks();
    pass(10_000).await;
    assert!(checks() > before, "a channel is still there");
    let mut client = RawClient::of(ECHO, channel);
    assert!(client.unary("ping").await.is_ok());
    drop(client);
    pass(1).await;
    let after = checks();
    pass(60_000).await;
    assert_eq!(checks(), after);
}
