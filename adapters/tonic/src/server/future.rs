//! This file knows a request under way: a handler inside its budget, or an answer instead of one.

use core::fmt;
use core::future::{Future, Ready, ready};
use core::pin::Pin;
use core::task::{Context, Poll};

use evenkeel_tokio::{SharedBudget, WithBudget, with_budget};
use http::Response;
use pin_project_lite::pin_project;
use tonic::Status;

use super::OpenBudgetBody;

pin_project! {
    /// The future of [`OpenBudget`](super::OpenBudget).
    pub struct OpenBudgetFuture<F: Future> {
        #[pin]
        state: State<F>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<F: Future> {
        Refused { #[pin] status: Ready<Status> },
        Running { #[pin] handler: WithBudget<F>, budget: Option<SharedBudget> },
    }
}

impl<F: Future> OpenBudgetFuture<F> {
    pub(super) fn run(budget: Option<SharedBudget>, handler: F) -> Self {
        let handler = with_budget(budget.clone(), handler);
        Self { state: State::Running { handler, budget } }
    }

    pub(super) fn refuse(status: Status) -> Self {
        Self { state: State::Refused { status: ready(status) } }
    }
}

impl<F, B, E> Future for OpenBudgetFuture<F>
where
    F: Future<Output = Result<Response<B>, E>>,
{
    type Output = Result<Response<OpenBudgetBody<B>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProjection::Refused { status } => {
                status.poll(cx).map(|status| Ok(status.into_http()))
            }
            StateProjection::Running { handler, budget } => handler
                .poll(cx)
                .map_ok(|response| response.map(|body| OpenBudgetBody::new(budget.take(), body))),
        }
    }
}

impl<F: Future> fmt::Debug for OpenBudgetFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenBudgetFuture").finish_non_exhaustive()
    }
}
