//! This file knows a machine with the upstream it runs against.

use evenkeel_std::core::{Action, Attempt, Call, Clock, Instant, Next, Outcome, Upstream};

use crate::TokioClock;

/// A [`Call`] with the upstream it runs against and tokio's clock; cancelled when dropped.
///
/// For adapters that need more than [`call`](crate::call()): it is the loop's three arms as
/// methods. A drop is no verdict, whatever it was dropped for; an adapter that runs code which may
/// panic catches the panic and completes the attempt with `UNKNOWN`, as [`call`](crate::call())
/// does.
#[derive(Debug)]
pub struct Driven<U: Upstream, const IN_FLIGHT: usize = 1> {
    call: Call<IN_FLIGHT>,
    upstream: U,
    /// Whether the machine has said so: then there is nothing to cancel, nor a clock to read.
    over: bool,
}

impl<U: Upstream, const IN_FLIGHT: usize> Driven<U, IN_FLIGHT> {
    /// Takes `call` over.
    pub const fn new(call: Call<IN_FLIGHT>, upstream: U) -> Self {
        Self { call, upstream, over: false }
    }

    /// [`Call::poll`] now.
    pub fn poll(&mut self) -> Action {
        self.poll_at(TokioClock.now())
    }

    /// [`Call::poll`] at `now`, which the clock has just said.
    #[inline]
    pub fn poll_at(&mut self, now: Instant) -> Action {
        let action = self.call.poll(now, &mut self.upstream);
        self.over |= matches!(action, Action::Finish(_));
        action
    }

    /// [`Call::complete`] at `now`.
    #[inline]
    pub fn complete(&mut self, now: Instant, attempt: Attempt, outcome: Outcome) -> Next {
        let next = self.call.complete(now, &mut self.upstream, attempt, outcome);
        self.over |= matches!(next, Next::Stop(_));
        next
    }

    /// [`Call::commit`] now.
    pub fn commit(&mut self, attempt: &Attempt) {
        self.call.commit(TokioClock.now(), &mut self.upstream, attempt);
    }

    /// [`Call::cancel`] now.
    #[inline]
    pub fn cancel(&mut self) {
        if !core::mem::replace(&mut self.over, true) {
            self.give_up();
        }
    }

    /// The call itself.
    pub const fn call(&self) -> &Call<IN_FLIGHT> {
        &self.call
    }

    /// The call itself, to change what it may do.
    pub const fn call_mut(&mut self) -> &mut Call<IN_FLIGHT> {
        &mut self.call
    }

    /// What it runs against.
    pub const fn upstream(&self) -> &U {
        &self.upstream
    }

    /// What it runs against, to take what a step changed.
    pub const fn upstream_mut(&mut self) -> &mut U {
        &mut self.upstream
    }

    #[inline(never)]
    fn give_up(&mut self) {
        self.call.cancel(TokioClock.now(), &mut self.upstream);
    }
}

impl<U: Upstream, const IN_FLIGHT: usize> Drop for Driven<U, IN_FLIGHT> {
    #[inline]
    fn drop(&mut self) {
        self.cancel();
    }
}
