//! This file knows a scenario: what a client is set to, what happens to it, what it must do.

use evenkeel_core::{
    BreakerPolicy, BudgetExhausted, CallPolicy, Deadline, DeadlineBudget, Instant, Micros,
    ThrottlePolicy,
};
use evenkeel_settings::{Breaker, BreakerRule, Settings};

use crate::look::Look;
use crate::{Answer, METHODS, Trace};

/// One scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub(crate) ids: Vec<String>,
    pub(crate) title: String,
    pub(crate) settings: Settings,
    pub(crate) answers: Vec<Answer>,
    pub(crate) listens: Option<Micros>,
    pub(crate) calls: Vec<Call>,
    pub(crate) looks: Vec<Look>,
}

/// One call.
#[derive(Clone, Debug)]
pub struct Call {
    /// When it starts.
    pub at: Micros,
    /// The full name of what is called.
    pub method: &'static str,
    /// The caller's own limit.
    pub within: Option<Micros>,
    /// When its caller goes away.
    pub cancel: Option<Micros>,
    /// What becomes of its attempts; without any, the scenario's answers are for them too.
    pub(crate) answers: Vec<Answer>,
    /// Whether it is made for the request that has the budget.
    pub in_budget: bool,
    /// Whether its request cannot be given a second time.
    pub once: bool,
    /// Whether it says itself that it waits for a connection.
    pub waits: Option<bool>,
    /// What it must do.
    pub(crate) expected: Trace,
}

impl Scenario {
    /// The rows of the page it is.
    pub fn ids(&self) -> &[String] {
        &self.ids
    }

    /// What it is about, after its ids.
    pub fn name(&self) -> String {
        format!("{}: {}", self.ids.join(" "), self.title)
    }

    /// Its policy.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Its calls, in the order in which they were written.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// What is looked at between steps.
    pub fn looks(&self) -> &[Look] {
        &self.looks
    }

    /// Every answer that anybody may get.
    pub fn answers(&self) -> impl Iterator<Item = &Answer> {
        self.answers.iter().chain(self.calls.iter().flat_map(|call| &call.answers))
    }

    /// When the server begins to listen; `None`: from the beginning.
    pub const fn listens(&self) -> Option<Micros> {
        self.listens
    }

    /// The policy of a call of `method`.
    pub fn call_policy(&self, method: &str) -> CallPolicy {
        self.settings.call_policy(method)
    }

    /// The breakers' policy, if there are any.
    pub fn breaker(&self) -> Option<BreakerPolicy> {
        self.settings.breaker().and_then(consecutive)
    }

    /// The throttle's policy, if there is one.
    pub fn throttle(&self) -> Option<ThrottlePolicy> {
        self.settings.throttle().map(|throttle| throttle.policy())
    }

    /// The budget of the request that begins at `began`, if it has one.
    pub fn budget(&self, began: Instant) -> Option<DeadlineBudget> {
        let budget = self.settings.budget()?;
        // Refused when it was read, if it cannot be.
        DeadlineBudget::new(began, budget.total()?, budget.policy()).ok()
    }

    /// When `call` must be over, started at `now`: what every adapter without a budget that follows
    /// the task leaves to its user.
    ///
    /// # Errors
    ///
    /// The budget refuses the call.
    pub fn deadline(
        &self,
        began: Instant,
        now: Instant,
        call: &Call,
    ) -> Result<Deadline, BudgetExhausted> {
        let mut caller = call.deadline(now);
        let budget = self.budget(began).filter(|_| call.in_budget);
        if let (Some(budget), Some(section)) = (budget, self.settings.budget()) {
            let mut caps = section.call_caps().filter(|(method, _)| *method == call.method);
            let cap = caps.next().map(|(_, cap)| Micros::from_duration(cap));
            let reserve = Micros::from_duration(section.reserve_for_next());
            caller = caller.earlier(Deadline::at(now.after(budget.grant(now, reserve, cap)?)));
        }
        Ok(self.call_policy(call.method).deadline(now, caller))
    }

    /// Whether a call is to start, or something to be looked at, while another call is under way.
    pub(crate) fn overlaps(&self) -> bool {
        let end = |call: &Call| call.expected.end.at.to;
        let busy = |call: &Call, at| call.at < at && at <= end(call);
        let others =
            self.calls.windows(2).any(|two| two[1].at <= end(&two[0]) && two[1].at != two[0].at);
        others || self.looks.iter().any(|look| self.calls.iter().any(|call| busy(call, look.at)))
    }

    /// Who hands out the answers of one run.
    pub fn replies(&self) -> Replies<'_> {
        Replies { scenario: self, common: 0, own: vec![0; self.calls.len()], left: MOST_ATTEMPTS }
    }
}

impl Call {
    /// Whether it is answered by a stream. One attempt is one stream, up to its last item: where
    /// there are no streams it takes as long.
    pub fn is_stream(&self) -> bool {
        self.method == METHODS[3]
    }

    /// The caller's own deadline, if the call starts at `now`.
    pub fn deadline(&self, now: Instant) -> Deadline {
        self.within.map_or(Deadline::NONE, |within| Deadline::at(now.after(within)))
    }
}

/// The answers of a scenario, handed out one by one.
#[derive(Clone, Debug)]
pub struct Replies<'a> {
    scenario: &'a Scenario,
    /// How many of the scenario's answers were given.
    common: usize,
    /// How many of each call's own.
    own: Vec<usize>,
    left: usize,
}

impl Replies<'_> {
    /// What becomes of the next attempt of the call with this index.
    ///
    /// # Panics
    ///
    /// When there are no answers: a call that was expected to make no attempt has made one. And
    /// when there are no more than any scenario needs: a call that spins fails instead of hanging.
    pub fn next(&mut self, call: usize) -> Answer {
        self.left = self.left.checked_sub(1).expect("a call makes attempts without an end");
        let own = &self.scenario.calls[call].answers;
        let (answers, given) = if own.is_empty() {
            (&self.scenario.answers, &mut self.common)
        } else {
            (own, &mut self.own[call])
        };
        let last = answers.len().checked_sub(1).expect("nobody answers this attempt");
        let answer = answers[last.min(*given)];
        *given += 1;
        answer
    }
}

/// The policy of breakers that open after failures in a row; no others are in a script.
pub(crate) fn consecutive(breaker: &Breaker) -> Option<BreakerPolicy> {
    match breaker.rule() {
        BreakerRule::Consecutive(rule) => Some(breaker.policy(rule, SEED)),
        _ => None,
    }
}

/// Far more attempts than any scenario has.
const MOST_ATTEMPTS: usize = 10_000;
/// Open times are spread with it; no script has any spread.
const SEED: u32 = 1;
