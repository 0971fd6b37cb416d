//! This file knows what the day brought: a day on which nothing happened proves nothing.

use tonic::Status;

use super::model::Model;
use super::names::Answer;

#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) most_tasks: usize,
    answered: usize,
    failed: usize,
    steps: usize,
    /// Steps that ended so.
    unchecked: usize,
    nobody_eligible: usize,
    nobody_there: usize,
    flooded: usize,
    unresolved: usize,
    /// Steps in which this changed.
    listed: usize,
    called: usize,
    vanished: usize,
}

impl Tally {
    pub(super) fn calls(&mut self, answers: &[Result<String, Status>]) {
        let answered = answers.iter().filter(|answer| answer.is_ok()).count();
        self.answered += answered;
        self.failed += answers.len() - answered;
    }

    pub(super) fn step(&mut self, before: &Model, after: &Model, answer: &Answer) {
        self.steps += 1;
        let count = |fact: bool, counted: &mut usize| *counted += usize::from(fact);
        count(!after.checks, &mut self.unchecked);
        count(after.eligible().is_empty(), &mut self.nobody_eligible);
        let in_vain = !after.eligible().is_empty() && after.called().is_empty();
        count(in_vain, &mut self.nobody_there);
        count(after.listed.len() > 200, &mut self.flooded);
        let bad = matches!(answer, Answer::Fails | Answer::Hangs | Answer::Panics);
        count(bad, &mut self.unresolved);
        count(before.listed != after.listed, &mut self.listed);
        count(before.called() != after.called(), &mut self.called);
        count(*answer == Answer::Addresses(Vec::new()), &mut self.vanished);
    }

    /// All that could happen did, and more than once.
    pub(super) fn was_eventful(&self) {
        let all = [
            self.unchecked,
            self.nobody_eligible,
            self.nobody_there,
            self.flooded,
            self.unresolved,
            self.listed,
            self.called,
            self.vanished,
            self.failed,
        ];
        assert!(all.iter().all(|count| *count >= 5), "{self:?}");
        assert!(self.answered > 10 * self.steps, "{self:?}");
    }
}
