//! This file knows what one call may say about itself, and the mark by which our services know
//! each other.

/// What a single call wants to have otherwise than its method's policy.
///
/// It rides in the request's extensions, through the unchanged generated client:
///
/// ```
/// use evenkeel_tonic::CallOptions;
///
/// let mut request = tonic::Request::new(());
/// request.extensions_mut().insert(CallOptions::new().wait_for_ready(true).without_retry());
/// ```
///
/// A deadline of its own is set as always, with `Request::set_timeout`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct CallOptions {
    wait_for_ready: Option<bool>,
    without_retry: bool,
}

impl CallOptions {
    /// Nothing otherwise.
    pub const fn new() -> Self {
        Self { wait_for_ready: None, without_retry: false }
    }

    /// Waits, or does not wait, for a connection, whatever the method's setting says.
    pub const fn wait_for_ready(mut self, wait: bool) -> Self {
        self.wait_for_ready = Some(wait);
        self
    }

    /// One attempt and no more. What was certainly not executed may still be repeated at once.
    pub const fn without_retry(mut self) -> Self {
        self.without_retry = true;
        self
    }

    pub(crate) const fn ready(&self) -> Option<bool> {
        self.wait_for_ready
    }

    pub(crate) const fn retries_off(&self) -> bool {
        self.without_retry
    }
}

/// Set on every attempt of a service of ours. One that sees it on a request is stacked on another
/// by accident, and stands down: two retry loops of three attempts each would make nine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RetryOwned;
