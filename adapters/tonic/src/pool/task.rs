//! This file knows a task that ends with its owner, and a future that is the first of two.

use core::future::poll_fn;
use core::pin::pin;
use core::task::Poll;

use tokio::runtime::Handle;
use tokio::task::AbortHandle;

/// A task that is stopped when this is dropped.
#[derive(Debug)]
pub(crate) struct Task(AbortHandle);

impl Task {
    /// In the current runtime; `None` outside of one.
    pub(crate) fn spawn(future: impl Future<Output = ()> + Send + 'static) -> Option<Self> {
        let runtime = Handle::try_current().ok()?;
        Some(Self(runtime.spawn(future).abort_handle()))
    }

    /// One that ends with `runtime`, and tells by that that it is gone.
    pub(crate) fn sentinel(runtime: &Handle) -> Self {
        Self(runtime.spawn(core::future::pending::<()>()).abort_handle())
    }

    /// Whether it has ended, by itself or with its runtime.
    pub(crate) fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Which of two futures was first; the first one where both are ready.
pub(crate) enum First<A, B> {
    One(A),
    Other(B),
}

/// The output of whichever is ready first.
pub(crate) async fn first<A: Future, B: Future>(one: A, other: B) -> First<A::Output, B::Output> {
    let (mut one, mut other) = (pin!(one), pin!(other));
    poll_fn(|cx| match one.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(First::One(output)),
        Poll::Pending => other.as_mut().poll(cx).map(First::Other),
    })
    .await
}
