//! Half a day of virtual time, all at once: targets that flap, names whose addresses change, vanish and
//! come back, a resolver that fails, and a checker that is stopped and started while calls go on.
//!
//! At every step those are called, and evenly, whom an independent [`model`] names. At the end
//! nothing is left: no task, no connection, nothing that is counted.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use evenkeel_core::{BreakerPolicy, HealthPolicy, Random, SmallRng};
use evenkeel_tests::{Network, RawClient};
use evenkeel_tonic::Kit;
use evenkeel_tonic::health::HealthMode;
use tokio::runtime::Handle;
use tonic::Status;

use crate::lab::{ECHO, opens_after, pass, pool_of, retrying, text};
use machine::{Machine, Mood};
use model::Model;
use names::{Answer, Names, host, name};
use tally::Tally;

mod checks;
mod machine;
mod model;
mod names;
mod tally;

/// A client, its world, and what should come of it.
struct Day {
    net: Network,
    names: Names,
    machines: BTreeMap<String, Machine>,
    kit: Kit,
    model: Model,
    rng: SmallRng,
    /// Those that were cut off since the step began.
    cut: BTreeSet<String>,
    tally: Tally,
}

impl Day {
    fn begin(mode: HealthMode, seed: u32) -> Self {
        let net = Network::new();
        let mut machines: BTreeMap<String, Machine> =
            (1..=MACHINES).map(|n| (name(n), Machine::new(&net, &host(n), &name(n)))).collect();
        machines.insert(FIXED.to_owned(), Machine::new(&net, "fixed", FIXED));
        let names = Names::new(Answer::Addresses(vec![2, 1, 2]));
        let pool = pool_of(&net, &["fixed"]).resolver(names.clone());
        let pool = pool.target("dns:///orders.internal:443").unwrap();
        // So many attempts that a call can try each member; circuits that close again within a step.
        let calls = retrying(7).breaker(quick(opens_after(5)));
        let kit = Kit::builder("day").pool(pool).calls(calls);
        let kit = kit.health(move |checker| checker.mode(mode).policy(policy())).build().unwrap();
        let model = Model { checks: true, ..Model::default() };
        let (rng, cut, tally) = (SmallRng::seeded(seed), BTreeSet::new(), Tally::default());
        let mut day = Self { net, names, machines, kit, model, rng, cut, tally };
        for name in [name(1), name(2), FIXED.to_owned()] {
            day.put(&name, Mood::Serving);
        }
        day
    }

    /// One step: something happens, and when all of it has had time to be found out, the world is
    /// as the model says.
    async fn step(&mut self) {
        let before = self.model.clone();
        let asked = self.names.asked();
        self.happens().await;
        let answers = self.calls(SETTLED).await;
        let mut listed = self.names.told();
        listed.insert(FIXED.to_owned());
        self.model.settle(listed);
        self.on_the_way(&before, &answers);
        self.settled();
        self.spread().await;
        // And so it stays.
        let quiet = self.names.asked();
        self.calls(STEP - SETTLED).await.iter().for_each(|answer| self.as_the_model_says(answer));
        let lookups = self.names.asked() - asked;
        assert!(lookups <= 6, "{lookups}: no more than one in 30 s");
        let reason = self.model.doubts() || self.names.answer().is_bad();
        assert!(reason || self.names.asked() == quiet, "nobody is unwell: {:?}", self.model);
        assert!(!self.model.doubts() || lookups >= 2, "{lookups}: {:?}", self.model);
        self.tally.step(&before, &self.model, &self.names.answer());
    }

    /// What the step brings.
    async fn happens(&mut self) {
        self.cut.clear();
        if self.one_in(10) {
            self.toggle().await;
        }
        for name in self.machines.keys().cloned().collect::<Vec<_>>() {
            if self.one_in(6) {
                let mood = self.mood();
                self.put(&name, mood);
            } else if self.one_in(12) {
                self.machines[&name].cut();
                self.cut.insert(name);
            }
        }
        // A flood is over after a step, because nothing in it is as slow as this test would be.
        if self.one_in(4) || self.names.answer() == Answer::Flood {
            self.rename();
        }
    }

    /// The names get another answer; with half of them, the machines that are named no more go,
    /// and those that are named now are there.
    fn rename(&mut self) {
        let answer = Answer::drawn(&mut self.rng, MACHINES);
        if self.one_in(2)
            && let Answer::Addresses(numbers) = &answer
        {
            for number in 1..=MACHINES {
                let mood = if numbers.contains(&number) { Mood::Serving } else { Mood::Gone };
                self.put(&name(number), mood);
            }
        }
        self.names.becomes(answer);
    }

    async fn toggle(&mut self) {
        let checker = self.kit.health().unwrap();
        self.model.checks = !self.model.checks;
        match self.model.checks {
            true => checker.start(),
            false => checker.stop().await,
        }
        assert_eq!(checker.is_running(), self.model.checks);
    }

    fn put(&mut self, name: &str, mood: Mood) {
        let machine = self.machines.get_mut(name).unwrap();
        if machine.mood() != mood {
            if mood < Mood::NotServing {
                self.cut.insert(name.to_owned());
            }
            machine.set(mood);
            self.model.moods.insert(name.to_owned(), mood);
        }
    }

    fn one_in(&mut self, times: u32) -> bool {
        self.rng.next_u32().is_multiple_of(times)
    }

    fn mood(&mut self) -> Mood {
        match self.rng.next_u32() % 6 {
            0 => Mood::Gone,
            1 => Mood::Mute,
            2 => Mood::NotServing,
            _ => Mood::Serving,
        }
    }

    /// How often the machines were dialled, up to now.
    fn dials(&self) -> usize {
        self.machines.keys().map(|name| self.net.dials(host_of(name)).len()).sum()
    }

    async fn call(&self) -> Result<String, Status> {
        let mut client = RawClient::of(ECHO, self.kit.channel());
        client.unary("ping").await.map(|response| text(response.into_inner()))
    }

    /// Two calls at once every twenty seconds, for so long.
    async fn calls(&self, millis: u64) -> Vec<Result<String, Status>> {
        let mut answers = Vec::new();
        for _ in 0..millis / PAUSE {
            let (one, other) = tokio::join!(self.call(), self.call());
            answers.extend([one, other]);
            pass(PAUSE).await;
        }
        answers
    }

    /// Everybody goes home.
    async fn end(mut self) -> Tally {
        assert!(self.kit.close(Duration::from_secs(1)).await);
        assert_eq!(self.kit.pool().in_flight(), 0);
        self.machines.values_mut().for_each(|machine| machine.set(Mood::Gone));
        let Self { net, names, machines, kit, tally, .. } = self;
        let hosts: Vec<String> = machines.keys().map(|name| host_of(name).to_owned()).collect();
        drop((kit, machines));
        // A dial whose connection nobody came for is given up after 5 s.
        pass(10_000).await;
        assert_eq!(Handle::current().metrics().num_alive_tasks(), 0, "nobody is left running");
        assert!(hosts.iter().all(|host| net.connections(host) == 0));
        assert_eq!(names.holders(), 1, "nobody holds the resolver");
        let asked = names.asked();
        pass(3_600_000).await;
        assert_eq!(names.asked(), asked);
        tally
    }
}

async fn half_a_day(mode: HealthMode, seed: u32) {
    let mut day = Day::begin(mode, seed);
    for _ in 0..HOURS_12 / STEP {
        let (members, parked, dials) = (day.model.listed.len(), parks(), day.dials());
        day.step().await;
        // No dead loop: whatever happens, the runtime wakes up so often, and dials so often.
        let (members, parks) = (members.max(day.model.listed.len()), parks() - parked);
        assert!(parks < 250 + 25 * members, "{parks} parks with {members} members");
        let dials = day.dials() - dials;
        assert!(dials <= 12 * day.machines.len(), "{dials} dials");
    }
    let tally = day.end().await;
    tally.was_eventful();
}

#[tokio::test(start_paused = true)]
async fn half_a_day_of_machines_names_and_checks_that_come_and_go_watched() {
    half_a_day(HealthMode::Watch, 1).await;
}

#[tokio::test(start_paused = true)]
async fn half_a_day_of_machines_names_and_checks_that_come_and_go_asked() {
    half_a_day(HealthMode::Check, 2).await;
}

/// How often the runtime had nothing to do and waited for time to pass.
fn parks() -> usize {
    usize::try_from(Handle::current().metrics().worker_park_count(0)).unwrap()
}

fn policy() -> HealthPolicy {
    let policy = HealthPolicy::DEFAULT.with_interval(Duration::from_secs(30)).unwrap();
    policy.with_max_backoff(Duration::from_secs(60)).unwrap()
}

fn quick(policy: BreakerPolicy) -> BreakerPolicy {
    policy.with_open_for(Duration::from_secs(5)).unwrap()
}

fn host_of(name: &str) -> &str {
    name.split(':').next().unwrap()
}

const FIXED: &str = "fixed:1";
const MACHINES: u32 = 12;
const PAUSE: u64 = 20_000;
/// Longer than the longest pause of a watch or a dial, 120 s, and what follows it.
const SETTLED: u64 = 140_000;
const STEP: u64 = 160_000;
const HOURS_12: u64 = 43_200_000;
