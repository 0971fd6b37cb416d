//! This file knows how a scenario is played with `evenkeel_tokio::call`, on tokio's paused clock.

use core::cell::RefCell;
use core::time::Duration;
use std::sync::Arc;

use evenkeel_core::{Clock, Code, Deadline, Instant, Micros};
use evenkeel_scripted::{Call, End, Look, Replies, Scenario, Seen, Sent, Trace, When};
use evenkeel_tokio::{
    AttemptInfo, Budget, SharedBudget, TokioClock, call_seeded, sleep_until, trim, until,
    with_budget,
};
use futures_util::future::join_all;

use crate::targets::{self, Targets};

pub(crate) fn run(scenario: &Scenario) -> Seen {
    paused(async {
        let stage = Stage::new(scenario);
        let calls = join_all((0..scenario.calls().len()).map(|index| stage.call(index)));
        let looks = join_all(scenario.looks().iter().map(|look| stage.look(look)));
        let (calls, looks) = futures_util::join!(calls, looks);
        Seen { calls, looks }
    })
}

/// The output of `future`, in a runtime in which time passes only when everybody waits.
///
/// # Panics
/// When it does not end in a day.
pub(crate) fn paused<F: Future>(future: F) -> F::Output {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().expect("a runtime");
    let ends = async { tokio::time::timeout(DAY, future).await.expect("a call never ends") };
    runtime.block_on(ends)
}

/// The request's budget, for those who carry it in the task.
pub(crate) fn budget(scenario: &Scenario, began: Instant) -> Option<SharedBudget> {
    let section = scenario.settings().budget()?;
    let mut budget = Budget::from(scenario.budget(began)?);
    for (method, cap) in section.call_caps() {
        budget = budget.with_cap(method, cap).expect("it was checked when it was read");
    }
    Some(Arc::new(budget))
}

struct Stage<'a> {
    scenario: &'a Scenario,
    began: Instant,
    targets: Targets,
    budget: Option<SharedBudget>,
    replies: RefCell<Replies<'a>>,
}

impl<'a> Stage<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        let began = TokioClock.now();
        Self {
            scenario,
            began,
            targets: Targets::new(scenario),
            budget: budget(scenario, began),
            replies: RefCell::new(scenario.replies()),
        }
    }

    async fn call(&self, index: usize) -> Trace {
        let call = &self.scenario.calls()[index];
        sleep_until(self.began.after(call.at)).await;
        let sent = RefCell::new(Vec::new());
        let goes = call.cancel.map_or(Deadline::NONE, |at| Deadline::at(self.began.after(at)));
        let budget = self.budget.clone().filter(|_| call.in_budget);
        let ended = with_budget(budget, until(goes, self.made(index, call, &sent))).await;
        let end = ended.unwrap_or_else(|| End::gone(self.elapsed()));
        let mut number = 0;
        let sent = sent.into_inner().into_iter().map(|info: AttemptInfo| Sent {
            at: When::at(info.started().since(self.began)),
            left: When::at(info.deadline().remaining(info.started())),
            again: core::mem::replace(&mut number, info.number()) == info.number(),
        });
        Trace { sent: sent.collect(), end }
    }

    async fn made(&self, index: usize, call: &Call, sent: &RefCell<Vec<AttemptInfo>>) -> End {
        let now = TokioClock.now();
        let shared = self.targets.of(call.method);
        let deadline = shared.call_policy().deadline(now, call.deadline(now));
        let section = self.scenario.settings().budget();
        let reserve = section.map(|section| Micros::from_duration(section.reserve_for_next()));
        let deadline = match trim(now, call.method, deadline, reserve.unwrap_or_default()) {
            Ok(deadline) => deadline,
            Err(spent) => return End::spent(self.elapsed(), &spent),
        };
        let attempt = async |info: AttemptInfo| {
            sent.borrow_mut().push(info);
            let answer = self.replies.borrow_mut().next(index);
            if !answer.after.is_zero() {
                sleep_until(info.started().after(answer.after)).await;
            }
            if answer.outcome.code == Code::Ok { Ok(()) } else { Err(answer.outcome) }
        };
        // Another seed for each.
        let seed = index as u32 + 1;
        let reply = call_seeded(seed, shared.view(), deadline, targets::classify, attempt).await;
        targets::end(self.elapsed(), self.began, reply)
    }

    async fn look(&self, look: &Look) -> Look {
        sleep_until(self.began.after(look.at)).await;
        self.targets.show(look, self.began)
    }

    fn elapsed(&self) -> Micros {
        TokioClock.now().since(self.began)
    }
}

const DAY: Duration = Duration::from_secs(24 * 3_600);
