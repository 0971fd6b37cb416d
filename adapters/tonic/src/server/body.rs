//! This file knows how a response body is polled inside the budget of its request.
//!
//! Why at all? A streaming handler returns before its first item is made. The items are made here,
//! while the transport polls the body, long after the scope around the handler has ended.

use core::pin::Pin;
use core::task::{Context, Poll};

use evenkeel_tokio::{SharedBudget, in_budget};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

pin_project! {
    /// The response body of [`OpenBudget`](super::OpenBudget): the inner one, polled inside the
    /// request's budget; dropping it is not inside. Frames, size and end are the inner one's.
    #[derive(Debug)]
    pub struct OpenBudgetBody<B> {
        budget: Option<SharedBudget>,
        #[pin]
        body: Option<B>,
    }
}

impl<B> OpenBudgetBody<B> {
    pub(super) const fn new(budget: Option<SharedBudget>, body: B) -> Self {
        Self { budget, body: Some(body) }
    }
}

/// Empty: the body of a refusal, which is all headers.
impl<B> Default for OpenBudgetBody<B> {
    fn default() -> Self {
        Self { budget: None, body: None }
    }
}

impl<B: Body> Body for OpenBudgetBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let this = self.project();
        let Some(body) = this.body.as_pin_mut() else {
            return Poll::Ready(None);
        };
        in_budget(this.budget.clone(), || body.poll_frame(cx))
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}
