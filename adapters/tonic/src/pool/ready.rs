//! This file knows how a call waits for a connection where there are several to wait for.
//!
//! All members that could serve it are dialled, each on its own schedule, and the first that is
//! connected has it. A call that waited for one of them alone would wait for a machine that is gone
//! while another came back.

use core::future::poll_fn;
use core::pin::Pin;
use core::task::Poll;
use std::sync::Arc;

use evenkeel_tokio::core::{Clock, Deadline};
use evenkeel_tokio::{TokioClock, until};

use super::herald::Waiting;
use super::task::{First, first};
use super::{Member, Pool};

/// How a wait for a connection ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Connected {
    /// Another member is connected.
    Another,
    /// The pool was closed.
    Closed,
    /// The deadline came first.
    Late,
    /// The member in question is connected, or nobody tells of its connection.
    This,
}

pub(super) type Wait = Pin<Box<dyn Future<Output = bool> + Send>>;

impl<S: Clone + Send + 'static> Pool<S> {
    /// Waits until `member` is connected, or another one that is `usable`.
    pub(crate) async fn connected(
        &self,
        member: &Arc<Member<S>>,
        usable: impl Fn(&Member<S>) -> bool,
        deadline: Deadline,
    ) -> Connected {
        let _waiting = Waiting::enroll(self);
        let (mut changes, mut arrivals) = (self.changes(), self.herald.arrivals());
        loop {
            changes.borrow_and_update();
            arrivals.borrow_and_update();
            if self.is_closed() {
                return Connected::Closed;
            }
            let Some(own) = wait(member, deadline) else { return Connected::This };
            let is_better = |other: &&Arc<Member<S>>| {
                other.serial != member.serial
                    && self.balance.may_use(other)
                    && other.line.is_connected()
                    && usable(other)
            };
            if !member.line.is_connected() && self.list().members().any(|m| is_better(&m)) {
                return Connected::Another;
            }
            match first(own, first(changes.changed(), arrivals.changed())).await {
                First::One(true) => return Connected::This,
                First::One(false) => return Connected::Late,
                First::Other(_) => {}
            }
        }
    }

    /// Waits until any member that may be used is connected. Who is there is looked at before the
    /// clock, so that no time at all is enough to be told of it.
    pub(super) async fn ready(&self, deadline: Deadline) -> bool {
        let mut changes = self.changes();
        loop {
            changes.borrow_and_update();
            if self.is_closed() {
                return false;
            }
            let list = self.list();
            self.balance.doubt(&list);
            let members = || list.members().filter(|member| self.balance.may_use(member));
            if members().any(|member| member.line.is_connected()) {
                return true;
            }
            let waits: Vec<Wait> = members().filter_map(|m| wait(m, deadline)).collect();
            if members().count() > waits.len() {
                // Nobody tells of its connection, so there is nothing to wait for.
                return true;
            }
            if deadline.is_over(TokioClock.now()) {
                return false;
            }
            let changed = async {
                _ = until(deadline, changes.changed()).await;
            };
            if waits.is_empty() {
                changed.await;
            } else if let First::One(ready) = first(any(waits), changed).await {
                return ready.is_some();
            }
        }
    }
}

/// Whether `member` was connected by the deadline; `None` where nobody tells.
pub(super) fn wait<S: Clone + Send + 'static>(
    member: &Arc<Member<S>>,
    deadline: Deadline,
) -> Option<Wait> {
    let connectivity = member.line.connectivity()?;
    Some(Box::pin(async move { connectivity.wait(deadline).await.is_ok() }))
}

/// Which one was connected first; `None` if all gave up. Pending where there are none.
pub(super) async fn any(mut waits: Vec<Wait>) -> Option<usize> {
    let mut given_up = vec![false; waits.len()];
    poll_fn(|cx| {
        for (at, wait) in waits.iter_mut().enumerate() {
            if given_up[at] {
                continue;
            }
            match wait.as_mut().poll(cx) {
                Poll::Ready(true) => return Poll::Ready(Some(at)),
                Poll::Ready(false) => given_up[at] = true,
                Poll::Pending => {}
            }
        }
        let all = !given_up.is_empty() && given_up.iter().all(|given_up| *given_up);
        if all { Poll::Ready(None) } else { Poll::Pending }
    })
    .await
}
