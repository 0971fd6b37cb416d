//! This file knows that an attempt is under way: counted from its admission to its last frame,
//! however it ends.

use std::sync::Arc;

use evenkeel_tokio::TokioClock;
use evenkeel_tokio::core::Clock;

use super::{Member, Pool};

/// One attempt's place in the counts of its pool and its member; given back when dropped.
pub(crate) struct Usage<S> {
    pool: Arc<Pool<S>>,
    member: Option<Arc<Member<S>>>,
}

impl<S> Usage<S> {
    /// Of a pool that is not closed.
    pub(crate) fn begin(pool: &Arc<Pool<S>>) -> Option<Self> {
        pool.enter().then(|| Self { pool: Arc::clone(pool), member: None })
    }

    /// Says which member it is; before its channel is taken.
    pub(crate) fn of(mut self, member: &Arc<Member<S>>) -> Self {
        member.line.enter();
        self.member = Some(Arc::clone(member));
        self
    }

    pub(crate) const fn member(&self) -> Option<&Arc<Member<S>>> {
        self.member.as_ref()
    }
}

impl<S> Drop for Usage<S> {
    fn drop(&mut self) {
        if let Some(member) = &self.member {
            member.line.leave(TokioClock.now());
        }
        self.pool.leave();
    }
}
