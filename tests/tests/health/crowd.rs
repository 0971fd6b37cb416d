//! A hundred tasks on several threads, each doing whatever can be done with a checker: nothing
//! deadlocks, and nothing is left when it is stopped.

use core::pin::pin;

use evenkeel_tests::{Network, Peer};
use evenkeel_tonic::core::{Random, SmallRng};
use evenkeel_tonic::health::{HealthChecker, HealthMode};

use crate::lab::{Channels, err, every, millis, serving, watched};

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_tasks_share_a_checker() {
    for mode in [HealthMode::Check, HealthMode::Watch] {
        let (net, channels) = (Network::new(), Channels::default());
        let peers = NAMES.map(|name| Peer::new([]).listen(&net, name));
        let checker = HealthChecker::builder(channels.maker(&net))
            .targets(["a", "b"])
            .policy(every(1))
            .mode(mode)
            .build();
        let tasks: Vec<_> = (0..100)
            .map(|seed| {
                let (checker, peers) = (checker.clone(), peers.clone());
                tokio::spawn(async move {
                    let mut rng = SmallRng::seeded(seed);
                    for _ in 0..60 {
                        step(&checker, &peers, mode, &mut rng).await;
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        checker.stop().await;
        assert!(!checker.is_running());
        for name in NAMES {
            assert_eq!(channels.count(name).1, 0, "{mode:?}: {name}");
        }
    }
}

async fn step(checker: &HealthChecker, peers: &[Peer], mode: HealthMode, rng: &mut SmallRng) {
    let number = rng.next_u32() as usize % NAMES.len();
    let (name, peer) = (NAMES[number], &peers[number]);
    match rng.next_u32() % 10 {
        0 => checker.start(),
        1 => checker.stop().await,
        2 => drop(checker.add(name)),
        3 => drop(checker.remove(name)),
        4 => drop(checker.verdicts()),
        5 => drop(checker.is_healthy(name)),
        6 => drop(checker.wait_until_ready(millis(0)).await),
        7 => drop(checker.flag(name).map(|flag| flag.is_healthy())),
        8 => peer.replace([match (rng.next_u32() % 2, mode) {
            (0, _) => err(),
            (_, HealthMode::Check) => serving(),
            (_, HealthMode::Watch) => watched(&[1, 2, 1]),
        }]),
        _ => {
            // Not to its end, and woken by nobody: a peer that says nothing would take its timeout.
            let mut check = pin!(checker.check_health(name));
            for _ in 0..3 {
                if evenkeel_tests::poll_n(1, check.as_mut()).await.is_some() {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
    }
    tokio::task::yield_now().await;
}
