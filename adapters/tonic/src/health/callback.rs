//! This file knows how a user's callback is called, and what becomes of one that fails.

use core::any::Any;
use core::error::Error;
use core::fmt;
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::sync::Arc;

use crate::error::BoxError;

/// What a callback may return: nothing, or a `Result`.
pub trait Told {
    /// As a `Result`.
    ///
    /// # Errors
    ///
    /// The callback's own.
    fn into_result(self) -> Result<(), Box<dyn Error + Send + Sync>>;
}

impl Told for () {
    fn into_result(self) -> Result<(), BoxError> {
        Ok(())
    }
}

impl<E: Into<BoxError>> Told for Result<(), E> {
    fn into_result(self) -> Result<(), BoxError> {
        self.map_err(Into::into)
    }
}

/// The callback failed or panicked. The verdict it was told of stands.
#[derive(Debug)]
#[non_exhaustive]
pub struct CallbackFailed {
    /// The target whose verdict changed.
    pub target: Arc<str>,
    /// Whether it is healthy now.
    pub healthy: bool,
    why: BoxError,
}

impl fmt::Display for CallbackFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let healthy = if self.healthy { "healthy" } else { "not healthy" };
        write!(f, "the callback failed that was told that {} is {healthy}", self.target)
    }
}

impl Error for CallbackFailed {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.why.as_ref())
    }
}

type Function = dyn Fn(&str, bool) -> Result<(), BoxError> + Send + Sync;

/// The callback, if there is one.
pub(super) struct Callback {
    function: Option<Box<Function>>,
    fails_fast: bool,
}

impl Callback {
    pub(super) const fn none() -> Self {
        Self { function: None, fails_fast: false }
    }

    pub(super) fn set(
        &mut self,
        function: impl Fn(&str, bool) -> Result<(), BoxError> + Send + Sync + 'static,
    ) {
        self.function = Some(Box::new(function));
    }

    pub(super) const fn fail_fast(&mut self) {
        self.fails_fast = true;
    }

    /// Tells it; a failure is logged, and returned if somebody wants it.
    pub(super) fn tell(
        &self,
        upstream: Option<&str>,
        target: &Arc<str>,
        healthy: bool,
    ) -> Result<(), CallbackFailed> {
        let Some(function) = &self.function else { return Ok(()) };
        let told = catch_unwind(AssertUnwindSafe(|| function(target, healthy)));
        let why = match told {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => error,
            Err(panic) => format!("it panicked: {}", words_of(panic.as_ref())).into(),
        };
        tracing::error!(
            target: "evenkeel", upstream, member = &**target, healthy, error = %why,
            "the callback for health changes failed"
        );
        let failed = CallbackFailed { target: Arc::clone(target), healthy, why };
        if self.fails_fast { Err(failed) } else { Ok(()) }
    }
}

/// What a panic said.
pub(super) fn words_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no words")
}
