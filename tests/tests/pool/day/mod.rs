//! A day of virtual time, all at once: targets that flap, names whose addresses change, vanish and
//! come back, a resolver that fails, and a checker that is stopped and started while calls go on.
//!
//! At every step those are called, and evenly, whom an independent [`model`] names. At the end
//! nothing is left: no task, no connection, nothing that is counted.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use evenkeel_core::{BreakerPolicy, HealthPolicy, Random, SmallRng};
use evenkeel_tests::{Network, RawClient};
use evenkeel_tonic::health::HealthMode;
use evenkeel_tonic::{Kit, NoHealthyTargets, cause};
use futures_util::future::join_all;
use tokio::runtime::Handle;
use tonic::{Code, Status};

use crate::lab::{ECHO, opens_after, pass, pool_of, retrying, text};
use machine::{Machine, Mood};
use model::Model;
use names::{Answer, Names, host, name};
use tally::Tally;

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
        let reason = self.model.doubts()
            || !matches!(self.names.answer(), Answer::Addresses(some) if !some.is_empty());
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
        if self.one_in(4) {
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
        self.names.become_(answer);
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

    async fn call(&self) -> Result<String, Status> {
        let mut client = RawClient::of(ECHO, self.kit.channel());
        client.unary("ping").await.map(|response| text(response.into_inner()))
    }

    /// Two calls at once every ten seconds, for so long.
    async fn calls(&self, millis: u64) -> Vec<Result<String, Status>> {
        let mut answers = Vec::new();
        for _ in 0..millis / PAUSE {
            let (one, other) = tokio::join!(self.call(), self.call());
            answers.extend([one, other]);
            pass(PAUSE).await;
        }
        answers
    }

    /// While things change: nobody is called who could not be, and whoever could be all the time
    /// makes every call succeed.
    fn on_the_way(&mut self, before: &Model, answers: &[Result<String, Status>]) {
        let possible = self.model.possible(before);
        let stay = &before.called() & &self.model.called();
        let is_safe = stay.iter().any(|name| !self.cut.contains(name));
        for answer in answers {
            match answer {
                Ok(name) => assert!(possible.contains(name), "{name}: {before:?} {:?}", self.model),
                Err(status) => {
                    assert!(!is_safe, "{status:?}: {before:?} {:?}", self.model);
                    assert_eq!(status.code(), Code::Unavailable, "{status:?}");
                }
            }
        }
        self.tally.calls(answers);
    }

    /// What can be seen of the client is what the model says, and nothing is kept of what is gone.
    fn settled(&mut self) {
        let about = format!("{:?}", self.model);
        let members: BTreeSet<String> = self.kit.members().into_iter().collect();
        assert_eq!(members, self.model.listed, "{about}");
        let checker = self.kit.health().unwrap();
        let verdicts = checker.verdicts();
        let monitored: BTreeSet<String> = verdicts.keys().map(ToString::to_string).collect();
        assert_eq!(monitored, self.model.listed, "{about}");
        for name in &self.model.listed {
            let known = self.model.verdicts.get(name).copied();
            assert_eq!(verdicts[&**name], known, "{name}: {about}");
        }
        assert_eq!(self.kit.pool().in_flight(), 0);
        for (name, machine) in &self.machines {
            let open = self.net.connections(host_of(name));
            let is_member = self.model.listed.contains(name) && machine.mood() != Mood::Gone;
            let most = if is_member { 1 + usize::from(self.model.checks) } else { 0 };
            assert!(open <= most, "{open} to {name}: {about}");
        }
        let tasks = Handle::current().metrics().num_alive_tasks();
        self.tally.most_tasks = self.tally.most_tasks.max(tasks);
        let most = 3 * self.machines.len() + 8 * self.model.listed.len();
        assert!(tasks <= most, "{tasks} tasks, {most} at most: {about}");
        let breakers: usize = self.kit.circuit_breaker_states().values().map(BTreeMap::len).sum();
        assert!(breakers <= self.machines.len());
    }

    /// Each of those that should be called gets the same.
    async fn spread(&mut self) {
        let called = self.model.called();
        let rounds = 3 * called.len().max(1);
        let answers = join_all((0..rounds).map(|_| self.call())).await;
        let mut counts = BTreeMap::<String, usize>::new();
        for answer in &answers {
            self.as_the_model_says(answer);
            if let Ok(name) = answer {
                *counts.entry(name.clone()).or_default() += 1;
            }
        }
        let expected = called.into_iter().map(|name| (name, 3)).collect();
        assert_eq!(counts, expected, "{:?}", self.model);
    }

    fn as_the_model_says(&self, answer: &Result<String, Status>) {
        let about = &self.model;
        match answer {
            Ok(name) => assert!(about.called().contains(name), "{name}: {about:?}"),
            Err(status) => {
                assert!(about.called().is_empty(), "{status:?}: {about:?}");
                assert_eq!(status.code(), Code::Unavailable, "{about:?}");
                let nobody = cause::<NoHealthyTargets>(status);
                assert_eq!(nobody.is_some(), about.eligible().is_empty(), "{status:?}: {about:?}");
                if let Some(nobody) = nobody {
                    let targets: BTreeSet<String> = nobody.targets.iter().cloned().collect();
                    assert_eq!(targets, about.listed);
                }
            }
        }
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

async fn a_day(mode: HealthMode, seed: u32) {
    let parks = || Handle::current().metrics().worker_park_count(0);
    let mut day = Day::begin(mode, seed);
    let mut most_parks = 0;
    for _ in 0..HOURS_24 / STEP {
        let before = parks();
        day.step().await;
        most_parks = most_parks.max(parks() - before);
    }
    let tally = day.end().await;
    println!("{mode:?} {seed}: {most_parks} parks, {tally:?}");
    tally.was_eventful();
}

#[tokio::test(start_paused = true)]
async fn a_day_of_machines_names_and_checks_that_come_and_go_watched() {
    a_day(HealthMode::Watch, 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_day_of_machines_names_and_checks_that_come_and_go_asked() {
    a_day(HealthMode::Check, 2).await;
}

/// Below the longest pause after a failed check.
fn policy() -> HealthPolicy {
    let policy = HealthPolicy::DEFAULT.with_interval(Duration::from_secs(15)).unwrap();
    policy.with_max_backoff(Duration::from_secs(20)).unwrap()
}

fn quick(policy: BreakerPolicy) -> BreakerPolicy {
    policy.with_open_for(Duration::from_secs(5)).unwrap()
}

fn host_of(name: &str) -> &str {
    name.split(':').next().unwrap()
}

const FIXED: &str = "fixed:1";
const MACHINES: u32 = 12;
const PAUSE: u64 = 10_000;
/// Longer than the longest pause of a watch or a dial, 120 s, and what follows it.
const SETTLED: u64 = 140_000;
const STEP: u64 = 160_000;
const HOURS_24: u64 = 86_400_000;
