//! This file knows the request budget of the current task.
//!
//! A request's time is fixed where it enters, and every call made on its behalf is trimmed to what
//! is left of it. The budget rides in a task-local, so that no signature between the handler and
//! its clients mentions it. A task-local does not follow `tokio::spawn`: use [`spawn`] or
//! [`BudgetExt::in_current_budget`].

use core::fmt::Debug;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::collections::HashMap;
use std::sync::Arc;

use evenkeel_std::core::{
    BudgetExhausted, BudgetPolicy, Clock, Deadline, DeadlineBudget, Instant, Invalid, Micros,
};
use pin_project_lite::pin_project;
use tokio::task::JoinHandle;
use tokio::task::futures::TaskLocalFuture;

use crate::TokioClock;

tokio::task_local! {
    static CURRENT: Option<SharedBudget>;
}

/// A budget as tasks share it.
pub type SharedBudget = Arc<dyn RequestBudget>;

/// What a whole request may still spend. Implement it to bring a budget of your own.
pub trait RequestBudget: Debug + Send + Sync {
    /// What one call of `method` (`/package.Service/Method`) may spend from `now` on, keeping
    /// `reserve` for those after it.
    ///
    /// # Errors
    ///
    /// [`BudgetExhausted`] when the call should not be made at all.
    fn grant(&self, now: Instant, method: &str, reserve: Micros)
    -> Result<Micros, BudgetExhausted>;

    /// What is left at `now`.
    fn remaining(&self, now: Instant) -> Micros;

    /// Whether nothing is left at `now`.
    fn is_expired(&self, now: Instant) -> bool {
        self.remaining(now).is_zero()
    }
}

/// A [`DeadlineBudget`] with caps by method.
///
/// ```
/// use core::time::Duration;
/// use evenkeel_tokio::Budget;
/// use evenkeel_tokio::core::BudgetPolicy;
///
/// # fn main() -> Result<(), evenkeel_tokio::core::Invalid> {
/// let budget = Budget::new(Duration::from_secs(3), BudgetPolicy::DEFAULT)?
///     .with_cap("/audit.v1.Audit/Write", Duration::from_millis(500))?;
/// # let _ = budget;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Budget {
    plain: DeadlineBudget,
    caps: HashMap<Box<str>, Micros>,
}

impl Budget {
    /// A budget of `total` from now on.
    ///
    /// # Errors
    ///
    /// As [`DeadlineBudget::new`].
    pub fn new(total: Duration, policy: BudgetPolicy) -> Result<Self, Invalid> {
        Ok(DeadlineBudget::new(TokioClock.now(), total, policy)?.into())
    }

    /// The budget of a request that came in with `deadline`; `None` when it has none.
    pub fn until(deadline: Deadline, policy: BudgetPolicy) -> Option<Self> {
        DeadlineBudget::until(TokioClock.now(), deadline, policy).map(Self::from)
    }

    /// With at most `cap` for each call of `method`, given as `/package.Service/Method`. A cap
    /// under any other name applies to nothing.
    ///
    /// # Errors
    ///
    /// Refuses a cap of zero or of 2^48 µs (8.9 years) and more.
    pub fn with_cap(mut self, method: &str, cap: Duration) -> Result<Self, Invalid> {
        self.caps.insert(method.into(), Micros::positive_setting("budget.call_caps", cap)?);
        Ok(self)
    }

    /// Without its caps.
    pub const fn plain(&self) -> &DeadlineBudget {
        &self.plain
    }
}

impl From<DeadlineBudget> for Budget {
    fn from(plain: DeadlineBudget) -> Self {
        Self { plain, caps: HashMap::new() }
    }
}

impl RequestBudget for Budget {
    fn grant(
        &self,
        now: Instant,
        method: &str,
        reserve: Micros,
    ) -> Result<Micros, BudgetExhausted> {
        self.plain.grant(now, reserve, self.caps.get(method).copied())
    }

    fn remaining(&self, now: Instant) -> Micros {
        self.plain.remaining(now)
    }
}

/// The budget of the current task, if it has one.
pub fn current_budget() -> Option<SharedBudget> {
    CURRENT.try_with(Clone::clone).ok().flatten()
}

/// Runs `future` with this budget; `None` detaches it from any. The outer one is back afterwards,
/// also after an error.
///
/// ```
/// use core::time::Duration;
/// use std::sync::Arc;
/// use evenkeel_tokio::core::BudgetPolicy;
/// use evenkeel_tokio::{Budget, current_budget, with_budget};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), evenkeel_tokio::core::Invalid> {
/// let budget = Budget::new(Duration::from_secs(3), BudgetPolicy::DEFAULT)?;
/// with_budget(Some(Arc::new(budget)), async {
///     assert!(current_budget().is_some());
///     with_budget(None, async { assert!(current_budget().is_none()) }).await;
///     assert!(current_budget().is_some());
/// })
/// .await;
/// # Ok(()) }
/// ```
pub fn with_budget<F: Future>(budget: Option<SharedBudget>, future: F) -> WithBudget<F> {
    WithBudget { future: CURRENT.scope(budget, future) }
}

/// Runs `body` with this budget, for code that is polled rather than awaited: a response body.
pub fn in_budget<R>(budget: Option<SharedBudget>, body: impl FnOnce() -> R) -> R {
    CURRENT.sync_scope(budget, body)
}

/// `tokio::spawn` into the current budget; a plain spawn leaves it behind.
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    tokio::spawn(future.in_current_budget())
}

/// [`with_budget`] behind a future.
pub trait BudgetExt: Future + Sized {
    /// [`with_budget`].
    fn with_budget(self, budget: Option<SharedBudget>) -> WithBudget<Self> {
        with_budget(budget, self)
    }

    /// With the budget of the task that calls this, wherever the future is polled.
    fn in_current_budget(self) -> WithBudget<Self> {
        with_budget(current_budget(), self)
    }
}

impl<F: Future> BudgetExt for F {}

pin_project! {
    /// The future of [`with_budget`].
    pub struct WithBudget<F: Future> {
        #[pin]
        future: TaskLocalFuture<Option<SharedBudget>, F>,
    }
}

impl<F: Future> Debug for WithBudget<F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("WithBudget").finish_non_exhaustive()
    }
}

impl<F: Future> Future for WithBudget<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.project().future.poll(cx)
    }
}

/// The deadline of a call of `method`, trimmed to what the current budget grants it. Without a
/// budget it is untouched.
///
/// # Errors
///
/// [`BudgetExhausted`] when the request's time is spent: the call should not be made.
pub fn trim(
    now: Instant,
    method: &str,
    deadline: Deadline,
    reserve: Micros,
) -> Result<Deadline, BudgetExhausted> {
    let granted = CURRENT.try_with(|budget| {
        budget.as_ref().map(|budget| budget.grant(now, method, reserve)).transpose()
    });
    match granted {
        Ok(Ok(Some(granted))) => Ok(deadline.earlier(Deadline::at(now.after(granted)))),
        Ok(Err(exhausted)) => Err(exhausted),
        Ok(Ok(None)) | Err(_) => Ok(deadline),
    }
}
