//! This file knows the settings of a call: its time, and what is done with its failures.

use core::time::Duration;

use crate::{Deadline, Instant, Invalid, Micros, RetryPolicy};

/// What every call to one method of an upstream may do.
///
/// Default (grpc-client-kit): 10 s for the whole call, no limit per attempt, and the default
/// [`RetryPolicy`].
///
/// ```
/// use core::time::Duration;
/// use evenkeel_core::{CallPolicy, RetryPolicy, checked};
///
/// static POLICY: CallPolicy =
///     checked!(CallPolicy::DEFAULT.with_timeout(Duration::from_secs(2)))
///         .with_retry(checked!(RetryPolicy::DEFAULT.with_max_attempts(4)));
/// assert_eq!(POLICY.retry().max_attempts(), 4);
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct CallPolicy {
    timeout: Micros,
    attempt_timeout: Micros,
    short_slice: Micros,
    /// What an attempt is normally given, kept so that no attempt has to compare the three above.
    normal_slice: Micros,
    hedge_after: Micros,
    retry: RetryPolicy,
}

impl CallPolicy {
    /// 10 s, three attempts.
    pub const DEFAULT: Self = Self {
        timeout: Micros::from_millis(10_000),
        attempt_timeout: Micros::MAX,
        short_slice: Micros::from_millis(100),
        normal_slice: Micros::from_millis(100),
        hedge_after: Micros::MAX,
        retry: RetryPolicy::DEFAULT,
    };

    /// With this much time for the whole call, retries included. The caller's own deadline wins
    /// when it is nearer.
    ///
    /// # Errors
    ///
    /// Refuses zero ("no limit" is [`unbounded`](Self::unbounded)) and 2^48 µs (8.9 years) or
    /// more.
    pub const fn with_timeout(mut self, timeout: Duration) -> Result<Self, Invalid> {
        if timeout.is_zero() {
            let rule = "must be longer than zero; for no limit give none";
            return Err(Invalid::new("timeout.default", 0, " µs", rule));
        }
        self.timeout = match Micros::setting("timeout.default", timeout) {
            Ok(timeout) => timeout,
            Err(invalid) => return Err(invalid),
        };
        Ok(self.with_normal_slice())
    }

    /// Without a limit of its own: only the caller's deadline bounds a call.
    ///
    /// Give its attempts one then. A breaker's trial without any deadline is taken for lost once the
    /// open time has passed without a sign of life, such as a message of a stream: else one that
    /// never ends would keep everybody else out for ever. The price is that where every call is
    /// silent for longer, a half-open breaker stays so, and lets one through each open time.
    pub const fn unbounded(mut self) -> Self {
        self.timeout = Micros::MAX;
        self.with_normal_slice()
    }

    /// Without a limit of its own for the call or for an attempt: for a method whose calls are to last,
    /// such as a subscription. A limit for each attempt would end it as often as it begins, since an
    /// attempt lasts to the stream's last message.
    pub const fn endless(mut self) -> Self {
        self.attempt_timeout = Micros::MAX;
        self.unbounded()
    }

    /// With this limit for each attempt. Its expiry is a `DEADLINE_EXCEEDED` *of the attempt*, and
    /// is retried when that code is in the set and time is left.
    ///
    /// Without a deadline for the call the worst case is attempts × this + the waits.
    ///
    /// # Errors
    ///
    /// Refuses zero and 2^48 µs (8.9 years) or more.
    pub const fn with_attempt_timeout(mut self, limit: Duration) -> Result<Self, Invalid> {
        if limit.is_zero() {
            let rule = "must be longer than zero; for no limit do not set it";
            return Err(Invalid::new("timeout.attempt_timeout", 0, " µs", rule));
        }
        self.attempt_timeout = match Micros::setting("timeout.attempt_timeout", limit) {
            Ok(limit) => limit,
            Err(invalid) => return Err(invalid),
        };
        Ok(self.with_normal_slice())
    }

    /// With this slice regarded as too short to judge a target by: an attempt that was given less
    /// and ran into our own deadline is no failure to its breaker. Default 100 ms; never more than
    /// the method's own timeouts, which are what it is normally given, less a 64th: a driver may
    /// read its clock once for the deadline and again for the attempt. Zero judges every slice.
    ///
    /// # Errors
    ///
    /// Refuses 2^48 µs (8.9 years) or more.
    pub const fn with_short_slice(mut self, slice: Duration) -> Result<Self, Invalid> {
        self.short_slice = match Micros::setting("breaker.short_slice", slice) {
            Ok(slice) => slice,
            Err(invalid) => return Err(invalid),
        };
        Ok(self.with_normal_slice())
    }

    /// With another attempt started whenever the last has not answered for this long, or as soon
    /// as one of several under way has failed. A hedge that the throttle or the breaker refuses is
    /// dropped, and what is under way goes on. Zero sends all attempts at once.
    ///
    /// Only a [`Call`](crate::Call) with room for more than one in flight does so, and only where
    /// the method may be executed twice: not with
    /// [`RetryPolicy::not_idempotent`](crate::RetryPolicy::not_idempotent).
    ///
    /// After a failure with nothing else under way the backoff is waited for, which is usually
    /// zero where attempts are hedged.
    ///
    /// # Errors
    ///
    /// Refuses 2^48 µs (8.9 years) or more.
    pub const fn with_hedge_after(mut self, delay: Duration) -> Result<Self, Invalid> {
        self.hedge_after = match Micros::setting("hedging.delay", delay) {
            Ok(delay) => delay,
            Err(invalid) => return Err(invalid),
        };
        Ok(self)
    }

    /// With these rules for failures.
    pub const fn with_retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// The deadline of a call that starts at `now`: the nearer of the policy's and the caller's.
    pub const fn deadline(&self, now: Instant, caller: Deadline) -> Deadline {
        Deadline::at(now.after(self.timeout)).earlier(caller)
    }

    /// The time of a whole call, [`Micros::MAX`] for no limit.
    pub const fn timeout(&self) -> Micros {
        self.timeout
    }

    /// The limit for each attempt, [`Micros::MAX`] for none.
    pub const fn attempt_timeout(&self) -> Micros {
        self.attempt_timeout
    }

    /// A slice of time below this is too short to judge a target by.
    pub const fn short_slice(&self) -> Micros {
        self.short_slice
    }

    /// The rules for failures.
    pub const fn retry(&self) -> &RetryPolicy {
        &self.retry
    }

    /// How long an attempt may take before another is sent beside it, [`Micros::MAX`] for never.
    pub const fn hedge_after(&self) -> Micros {
        self.hedge_after
    }

    /// An attempt with less than this is cut shorter than attempts normally are.
    pub(super) const fn normal_slice(&self) -> Micros {
        self.normal_slice
    }

    const fn with_normal_slice(mut self) -> Self {
        let own = self.attempt_timeout.shorter(self.timeout);
        let nearly_all = own.minus(Micros::from_micros(own.as_micros() >> 6));
        self.normal_slice = self.short_slice.shorter(nearly_all);
        self
    }
}

impl Default for CallPolicy {
    fn default() -> Self {
        Self::DEFAULT
    }
}
