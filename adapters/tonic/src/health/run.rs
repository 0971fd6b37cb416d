//! This file knows the tasks of a checker: asking one target for as long as it is monitored.

use std::sync::Arc;

use evenkeel_tokio::TokioClock;
use evenkeel_tokio::core::{Answer, Clock, HealthPolicy};
use tokio::sync::watch;

use super::builder::HealthMode;
use super::callback::{Callback, CallbackFailed};
use super::flag::HealthChanges;
use super::heard::Heard;
use super::probe::{ProbeChannel, Prober};
use super::target::{Event, Life, Target};

/// What all tasks of a checker share.
pub(super) struct Shared {
    pub(super) mode: HealthMode,
    pub(super) prober: Prober,
    pub(super) policy: HealthPolicy,
    pub(super) callback: Callback,
    pub(super) greeting: Option<Greeting>,
    pub(super) changes: watch::Sender<u64>,
}

/// Told of a target that gave a good answer, before the verdict is.
pub(super) type Greeting = Box<dyn Fn(&str) + Send + Sync>;

impl Shared {
    pub(super) fn changes(&self) -> HealthChanges {
        HealthChanges::new(self.changes.subscribe())
    }

    pub(super) fn tell_of_change(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Asks `target` until the task is aborted, or there is nothing left to ask.
    ///
    /// The first check is made at once, whatever the schedule says: it is another life's.
    pub(super) async fn run(self: Arc<Self>, target: Arc<Target>, life: Life) {
        loop {
            match self.mode {
                HealthMode::Check => {
                    // There is nobody to hand a failed callback to; the log has it.
                    let _ = self.check(&target, life, Keep::ForTheNext).await.1;
                }
                HealthMode::Watch => {
                    self.watch(&target, life).await;
                    if target.is_watched_out() {
                        return tracing::error!(
                            target: "evenkeel", upstream = self.prober.upstream(),
                            member = &*target.name,
                            "no health service; it counts as healthy and is not watched any more"
                        );
                    }
                }
            }
            target.due_passed().await;
        }
    }

    /// Asks `target` once and publishes what it says; whether that was good.
    pub(super) async fn check(
        &self,
        target: &Target,
        life: Life,
        keep: Keep,
    ) -> (bool, Result<(), CallbackFailed>) {
        let deadline = self.policy.deadline(TokioClock.now());
        let heard = match self.channel(target, life, keep) {
            Some((number, channel)) => {
                let heard = self.prober.check(channel, deadline).await;
                if !heard.answer.proves_connection() {
                    target.discard(number);
                }
                heard
            }
            None => Heard::nothing(NO_CHANNEL),
        };
        let healthy = heard.answer.is_healthy(&self.policy);
        if healthy && heard.answer == Answer::Unimplemented {
            self.warn_of_no_service(target);
        }
        (healthy, self.publish(target, life, Event::Checked(heard.answer), &heard.why))
    }

    /// Opens a watch on `target` and publishes what it says, to its end.
    async fn watch(&self, target: &Target, life: Life) {
        let deadline = self.policy.deadline(TokioClock.now());
        let ended = match self.channel(target, life, Keep::ForTheNext) {
            Some((number, channel)) => {
                let ended = match self.prober.watch(channel, deadline).await {
                    Ok((mut watched, first)) => {
                        let mut said = Ok(first);
                        loop {
                            match said {
                                Ok(Heard { answer, why }) => {
                                    let message = Event::Message(answer);
                                    let _ = self.publish(target, life, message, &why);
                                }
                                Err(heard) => break heard,
                            }
                            said = watched.next().await;
                        }
                    }
                    Err(heard) => heard,
                };
                target.discard(number);
                ended
            }
            None => Heard::nothing(NO_CHANNEL),
        };
        let _ = self.publish(target, life, Event::Ended(ended.answer), &ended.why);
    }

    /// Its checks say nothing of its health, and never will: whoever asked for them should know,
    /// once. A watch says so itself, when it is given up.
    fn warn_of_no_service(&self, target: &Target) {
        if self.mode == HealthMode::Check && target.is_first_without_service() {
            let (upstream, member) = (self.prober.upstream(), &*target.name);
            tracing::warn!(
                target: "evenkeel", upstream, member, "no health service; it counts as healthy"
            );
        }
    }

    fn channel(&self, target: &Target, life: Life, keep: Keep) -> Option<(u64, ProbeChannel)> {
        if let Some(channel) = target.channel() {
            return Some(channel);
        }
        let channel = self.prober.open(&target.name)?;
        let number = match keep {
            Keep::ForTheNext => target.keep(life, &channel),
            Keep::Not => 0,
        };
        Some((number, channel))
    }

    fn publish(
        &self,
        target: &Target,
        life: Life,
        event: Event,
        why: &str,
    ) -> Result<(), CallbackFailed> {
        if let Some(greeting) = &self.greeting
            && event.answer().is_healthy(&self.policy)
        {
            greeting(&target.name);
        }
        let told = target.publish(life, event, why, &self.policy, |healthy| {
            let (upstream, member) = (self.prober.upstream(), &*target.name);
            tracing::info!(
                target: "evenkeel", upstream, member, healthy, reason = why, "health"
            );
            self.tell_of_change();
            self.callback.tell(upstream, &target.name, healthy)
        });
        target.reschedule();
        told.unwrap_or(Ok(()))
    }
}

const NO_CHANNEL: &str = "no channel could be made";

/// What becomes of a channel that was opened for a check.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Keep {
    /// The next check uses it.
    ForTheNext,
    /// It is closed after the check: nobody monitors the target, so nobody would ever close it.
    Not,
}
