//! This file knows the error of a call that goes no further, and what is kept in its sources.

use core::error::Error as _;
use std::sync::Arc;

use evenkeel_tokio::TokioClock;
use evenkeel_tokio::core::{Clock, StopReason, Upstream as _};
use tonic::Status;

use super::{CutOff, Flow};
use crate::error::{BreakerKey, CircuitOpen, Closed, DeadlinePassed, Stopped, TimeLimit};
use crate::upstream::Unsent;
use crate::wire::pushback;

impl<S, const IN_FLIGHT: usize> Flow<S, IN_FLIGHT> {
    /// What came of the attempts so far: the last status a server sent, with what a later attempt
    /// ended in as its source; that alone where no server said anything.
    pub(crate) fn said(&mut self) -> Option<Status> {
        match (self.heard.take(), self.lost.take()) {
            (Some(mut heard), Some(lost)) => {
                heard.set_source(Arc::new(lost));
                Some(heard)
            }
            (heard, lost) => heard.or(lost),
        }
    }

    /// The error of a call that goes no further: what its last attempt ended in, and why that was
    /// the last.
    pub(super) fn stopped(&mut self, reason: StopReason) -> Status {
        let attempts = self.driven.call().attempts();
        let was_cut_off = self.cut_off != CutOff::Not;
        let last = self.lost.as_ref().or(self.heard.as_ref()).filter(|_| !was_cut_off).cloned();
        let unreadable = reason == StopReason::PushedBack
            && last.as_ref().is_some_and(|last| pushback::is_unreadable(last.metadata()));
        let (mut status, cause) = match last {
            Some(status) => (status, self.said().filter(|said| said.source().is_some())),
            None => {
                let status = self.deadline_passed();
                (status.clone(), Some(status))
            }
        };
        let never = self.driven.upstream().never();
        status.set_source(Arc::new(Stopped { reason, attempts, never, unreadable, cause }));
        status
    }

    /// The error of a call that stops before it could make another attempt.
    pub(super) fn stopped_between(&mut self, reason: StopReason) -> Status {
        match reason {
            StopReason::CircuitOpen { retry_at } => {
                let upstream = self.driven.upstream();
                let target = Arc::clone(upstream.refused_by());
                let method = Arc::clone(&upstream.method().path);
                let key = BreakerKey { target, method };
                let attempts = self.driven.call().attempts();
                let now = TokioClock.now();
                CircuitOpen::new(now, key, retry_at, attempts, self.said()).into()
            }
            StopReason::NoTarget if self.heard.is_none() && self.lost.is_none() => {
                self.driven.upstream().nobody().into()
            }
            _ => self.stopped(reason),
        }
    }

    /// The error of a call that has no member and waits for none; or for whom none will come.
    pub(super) fn nobody_will_come(&mut self) -> Option<Status> {
        let upstream = self.driven.upstream();
        let pool = upstream.pool().filter(|_| !upstream.is_trying())?;
        if pool.is_closed() {
            return Some(self.closed());
        }
        // Who is a member may not be known yet, and that is waited for by every call.
        let nobody = upstream.nobody_is_there() && !self.waits;
        nobody.then(|| self.stopped_between(StopReason::NoTarget))
    }

    /// The error of a call whose client was closed.
    pub(crate) fn closed(&mut self) -> Status {
        let upstream = Arc::clone(&self.driven.upstream().settings().target);
        let attempts = self.driven.call().attempts();
        let status = Closed { upstream, attempts, last: self.said() }.into();
        self.over(Err(&status));
        status
    }

    fn deadline_passed(&mut self) -> Status {
        let method = Arc::clone(&self.driven.upstream().method().path);
        let attempts = self.driven.call().attempts();
        let upstream = self.driven.upstream();
        let limit = match self.cut_off {
            CutOff::Attempt => TimeLimit::AttemptTimeout(upstream.policy().attempt_timeout()),
            CutOff::Call | CutOff::Not => upstream.limit(),
        };
        let nobody = match &self.heard {
            None => upstream.unready(self.lost.as_ref()),
            Some(_) => None,
        };
        let Unsent { connecting, unconnected } =
            self.unsent.take().map_or_else(Unsent::default, |unsent| *unsent);
        let last = self.said();
        DeadlinePassed { method, limit, attempts, last, nobody, connecting, unconnected }.into()
    }
}
