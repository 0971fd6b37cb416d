//! This file knows a discovery of the user's own: somebody who says now and then which targets
//! there are.

use core::future::poll_fn;
use core::pin::Pin;
use std::sync::Weak;

use futures_core::Stream;
use tokio::sync::watch;

use super::Pool;
use super::task::Task;
use crate::target::TargetName;

/// Lists of targets, each in place of the one before.
pub(super) enum Discovery {
    Started { _task: Task },
    Waiting(Updates),
}

pub(super) enum Updates {
    Stream(Pin<Box<dyn Stream<Item = Vec<TargetName>> + Send>>),
    Watch(watch::Receiver<Vec<TargetName>>),
}

impl Discovery {
    /// Follows the updates; needs a runtime.
    pub(super) fn start<S: Clone + Send + 'static>(self, pool: &Weak<Pool<S>>) -> Option<Self> {
        match self {
            Self::Waiting(updates) => {
                let task = Task::spawn(follow(Weak::clone(pool), updates))?;
                Some(Self::Started { _task: task })
            }
            started @ Self::Started { .. } => Some(started),
        }
    }
}

/// To the end of the updates; the last list stays.
async fn follow<S: Clone + Send + 'static>(pool: Weak<Pool<S>>, mut updates: Updates) {
    while let Some(targets) = updates.next().await {
        let Some(pool) = pool.upgrade() else { return };
        pool.set_targets(targets);
    }
}

impl Updates {
    /// What is watched is taken as it is at first, and then as it changes.
    pub(super) fn watching(mut receiver: watch::Receiver<Vec<TargetName>>) -> Self {
        receiver.mark_changed();
        Self::Watch(receiver)
    }

    async fn next(&mut self) -> Option<Vec<TargetName>> {
        match self {
            Self::Stream(stream) => poll_fn(|cx| stream.as_mut().poll_next(cx)).await,
            Self::Watch(receiver) => {
                receiver.changed().await.ok()?;
                Some(receiver.borrow_and_update().clone())
            }
        }
    }
}
