//! This file knows what must be seen of the client at every step of the day.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_tonic::{NoHealthyTargets, cause};
use futures_util::future::join_all;
use tokio::runtime::Handle;
use tonic::{Code, Status};

use super::machine::Mood;
use super::model::Model;
use super::{Day, host_of};

impl Day {
    /// While things change: nobody is called who could not be, and whoever could be all the time
    /// makes every call succeed.
    pub(super) fn on_the_way(&mut self, before: &Model, answers: &[Result<String, Status>]) {
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
    pub(super) fn settled(&mut self) {
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
    pub(super) async fn spread(&mut self) {
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

    pub(super) fn as_the_model_says(&self, answer: &Result<String, Status>) {
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
}
