//! This file knows what a driver is given to do: an attempt, and how to end one politely.

use core::marker::PhantomData;

use evenkeel_core::{AttemptInfo, Event, Micros, Outcome};

/// The longest that [`Exchange::close`] is waited for.
pub const CLOSE_LIMIT: Micros = Micros::from_millis(100);

/// Makes attempts at one request, and cleans up after each.
///
/// Why not only a closure? An attempt is dropped at its deadline, and dropping a socket of
/// embassy-net tells the peer nothing: no FIN, no RST. A server that serves one connection at a
/// time then waits for a device that is long gone. So the socket belongs to the exchange, the
/// attempt borrows it, and `close` gets a bounded while to say goodbye, however the attempt ended.
///
/// In a simulation with a server that drops every third request, twenty requests took 105 attempts
/// when sockets were just dropped, and 29 when they were aborted and flushed.
#[expect(async_fn_in_trait, reason = "an executor of embassy runs on one core; nothing is sent")]
pub trait Exchange {
    /// What a successful attempt brings.
    type Reply;
    /// What the peer, or the way to it, says otherwise.
    type Error;

    /// Makes one attempt. It is dropped at [`AttemptInfo::deadline`], at any of its awaits.
    async fn attempt(&mut self, attempt: AttemptInfo) -> Result<Self::Reply, Self::Error>;

    /// Says how an attempt ended.
    fn classify(&self, reply: &Result<Self::Reply, Self::Error>) -> Outcome;

    /// Ends an attempt towards the peer, in [`CLOSE_LIMIT`]; of a socket: abort, then flush. It is
    /// called after every attempt, also after one that was cut off.
    async fn close(&mut self) {}

    /// Is told what the core decided; for metrics. Does nothing unless overridden.
    fn happened(&mut self, _event: Event) {}
}

/// A closure and a classifier, with nothing to close.
pub(crate) struct Plain<T, E, A, C> {
    attempt: A,
    classify: C,
    brings: PhantomData<(T, E)>,
}

impl<T, E, A, C> Plain<T, E, A, C> {
    pub(crate) const fn new(classify: C, attempt: A) -> Self {
        Self { attempt, classify, brings: PhantomData }
    }
}

impl<T, E, A, C> Exchange for Plain<T, E, A, C>
where
    A: AsyncFnMut(AttemptInfo) -> Result<T, E>,
    C: Fn(&Result<T, E>) -> Outcome,
{
    type Reply = T;
    type Error = E;

    async fn attempt(&mut self, attempt: AttemptInfo) -> Result<T, E> {
        (self.attempt)(attempt).await
    }

    fn classify(&self, reply: &Result<T, E>) -> Outcome {
        (self.classify)(reply)
    }
}
