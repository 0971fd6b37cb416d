//! Every future that is handed out, dropped at every one of its polls: nothing is held afterwards.
//!
//! `list` says which there are, and where each is dropped. What had no such test of its own before
//! has it here.

mod kit;
mod layer;
mod list;
mod tokio_calls;

use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::Arc;

/// A future that holds something until it ends or is dropped.
struct Holding<F> {
    inner: Pin<Box<F>>,
    _held: Arc<()>,
}

impl<F: Future> Holding<F> {
    fn new(held: &Arc<()>, inner: F) -> Self {
        Self { inner: Box::pin(inner), _held: Arc::clone(held) }
    }
}

impl<F: Future> Future for Holding<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.inner.as_mut().poll(cx)
    }
}

/// Some steps, the last after a wait.
async fn steps<T>(output: T) -> T {
    tokio::task::yield_now().await;
    tokio::time::sleep(core::time::Duration::from_millis(5)).await;
    tokio::task::yield_now().await;
    output
}

/// Time for what was given up to go.
async fn settle() {
    tokio::time::sleep(core::time::Duration::from_millis(200)).await;
}

fn tasks() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}
