//! This file knows a discovery of the user's own: somebody who says now and then which targets
//! there are.

use core::future::poll_fn;
use core::panic::AssertUnwindSafe;
use core::pin::Pin;
use core::task::Poll;
use std::panic::catch_unwind;
use std::sync::{Arc, Weak};

use futures_core::Stream;
use tokio::sync::{Mutex, watch};

use super::Pool;
use super::task::Task;
use crate::target::TargetName;
use crate::warn::named;

/// Lists of targets, each in place of the one before.
pub(super) struct Discovery {
    /// `None` when they are over. Kept here, because the task that follows them may end with its
    /// runtime, and another one goes on.
    updates: Arc<Mutex<Option<Updates>>>,
    task: Option<Task>,
}

pub(super) enum Updates {
    Stream(Pin<Box<dyn Stream<Item = Vec<TargetName>> + Send>>),
    Watch(watch::Receiver<Vec<TargetName>>),
}

impl Discovery {
    pub(super) fn of(updates: Updates) -> Self {
        Self { updates: Arc::new(Mutex::new(Some(updates))), task: None }
    }

    /// Follows the updates, unless somebody does; needs a runtime.
    pub(super) fn start<S: Clone + Send + 'static>(&mut self, pool: &Weak<Pool<S>>) {
        if self.task.as_ref().is_none_or(Task::is_finished) {
            self.task = Task::spawn(follow(Weak::clone(pool), Arc::clone(&self.updates)));
        }
    }
}

/// To the end of the updates; the last list stays.
async fn follow<S: Clone + Send + 'static>(
    pool: Weak<Pool<S>>,
    updates: Arc<Mutex<Option<Updates>>>,
) {
    let mut all = updates.lock().await;
    while let Some(updates) = &mut *all {
        let update = updates.next().await;
        let Some(pool) = pool.upgrade() else { return };
        match update {
            Update::List(targets) => pool.set_targets(targets),
            Update::End { panicked } => {
                *all = None;
                pool.named_by_nobody_else(panicked);
            }
        }
    }
}

impl<S: Clone + Send + 'static> Pool<S> {
    /// The discovery is over. Who waits for a list that it never gave waits in vain.
    fn named_by_nobody_else(&self, panicked: bool) {
        let (mut was_told, mut upstream) = (false, Arc::default());
        self.update(|directory| {
            was_told = directory.settle();
            upstream = Arc::clone(&directory.upstream);
        });
        let upstream = named(&upstream);
        if panicked {
            tracing::error!(
                target: "evenkeel", upstream,
                "a discovery panicked; the members stay as they are",
            );
        } else if !was_told {
            tracing::warn!(
                target: "evenkeel", upstream,
                "a discovery ended before its first list; the pool has no members",
            );
        }
    }
}

enum Update {
    List(Vec<TargetName>),
    End { panicked: bool },
}

impl Updates {
    /// What is watched is taken as it is at first, and then as it changes.
    pub(super) fn watching(mut receiver: watch::Receiver<Vec<TargetName>>) -> Self {
        receiver.mark_changed();
        Self::Watch(receiver)
    }

    async fn next(&mut self) -> Update {
        let list = match self {
            Self::Stream(stream) => {
                // Somebody else's code; the pool must know that no more comes of it.
                let next = poll_fn(|cx| {
                    match catch_unwind(AssertUnwindSafe(|| stream.as_mut().poll_next(cx))) {
                        Ok(polled) => polled.map(Ok),
                        Err(_) => Poll::Ready(Err(())),
                    }
                });
                let Ok(list) = next.await else { return Update::End { panicked: true } };
                list
            }
            Self::Watch(receiver) => {
                let changed = receiver.changed().await;
                changed.ok().map(|()| receiver.borrow_and_update().clone())
            }
        };
        list.map_or(Update::End { panicked: false }, Update::List)
    }
}
