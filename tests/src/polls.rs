//! This file knows how a future is dropped in the middle.
//!
//! Whatever a future holds while it waits (a permit, a slot, a place in a queue) must come back
//! when it is dropped there. Where it waits is for the compiler to know, so a test drops it at
//! every poll.

use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::Poll;

/// Polls `future` at most `count` times, each time it asks for it, and drops it.
///
/// It resolves to nothing if the future was not finished by then.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use evenkeel_tests::poll_n;
///
/// let twice = || async {
///     tokio::task::yield_now().await;
///     7
/// };
/// assert_eq!(poll_n(1, twice()).await, None);
/// assert_eq!(poll_n(2, twice()).await, Some(7));
/// # }
/// ```
pub async fn poll_n<F: Future>(count: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = count;
    poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Starts a future again and again and drops it before its first poll, after its first, after its
/// second, ... until one is finished; calls `check` after each drop and after the end.
///
/// `check` is told how often the future was polled. The answer is how many polls a whole run
/// takes: assert it, or at least that it is not 1, or the test may have dropped nothing.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use evenkeel_tests::drop_at_every_poll;
/// use std::sync::Arc;
/// use tokio::sync::Semaphore;
///
/// let slots = Arc::new(Semaphore::new(1));
/// let polls = drop_at_every_poll(
///     || async {
///         let _slot = slots.acquire().await;
///         tokio::task::yield_now().await;
///     },
///     async |_| assert_eq!(slots.available_permits(), 1),
/// );
/// assert_eq!(polls.await, 2);
/// # }
/// ```
pub async fn drop_at_every_poll<F: Future>(
    mut start: impl FnMut() -> F,
    mut check: impl AsyncFnMut(usize),
) -> usize {
    let mut polls = 0;
    loop {
        let finished = poll_n(polls, start()).await.is_some();
        check(polls).await;
        if finished {
            return polls;
        }
        polls += 1;
    }
}
