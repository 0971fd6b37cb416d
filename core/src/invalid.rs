//! This file knows how a wrong setting is refused: with the field, the value and what would be
//! right.

use core::fmt;

/// A setting that was refused when its policy was built.
///
/// Policies are checked once, where they are built or loaded, so that no machine ever has to clamp
/// or guess: a zero that means "never", a share above 100 % or an endless duration cannot get past
/// the constructor.
///
/// ```
/// use core::time::Duration;
/// use evenkeel_core::Backoff;
///
/// let refused = Backoff::new(Duration::MAX, Duration::from_secs(10)).unwrap_err();
/// assert_eq!(refused.field(), "backoff.initial");
/// assert_eq!(
///     refused.to_string(),
///     "backoff.initial = 18446744073709551615 µs: must be less than 2^48 µs (8.9 years)"
/// );
/// ```
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Invalid {
    field: &'static str,
    value: u64,
    unit: &'static str,
    rule: &'static str,
}

impl Invalid {
    /// Refuses `value` of `field`; `unit` is printed right behind the number, so it brings its own
    /// space (`" µs"`), and `rule` says what is right.
    ///
    /// For adapters that check settings of their own the same way.
    pub const fn new(
        field: &'static str,
        value: u64,
        unit: &'static str,
        rule: &'static str,
    ) -> Self {
        Self { field, value, unit, rule }
    }

    /// The setting, as `block.name`.
    ///
    /// A setting that grpc-client-kit has is called as there, so that one list of names serves
    /// both: `breaker.recovery_timeout` is what
    /// [`with_open_for`](crate::BreakerPolicy::with_open_for) sets, `breaker.half_open_max_calls`
    /// [`with_max_trials`](crate::BreakerPolicy::with_max_trials), `breaker.fail_threshold`
    /// [`Consecutive::new`](crate::Consecutive::new), `timeout.default`
    /// [`with_timeout`](crate::CallPolicy::with_timeout).
    pub const fn field(&self) -> &'static str {
        self.field
    }

    /// The value that was refused, in [`unit`](Self::unit)s, saturated to 64 bits.
    pub const fn value(&self) -> u64 {
        self.value
    }

    /// The unit of [`value`](Self::value) as printed behind it; empty for plain numbers.
    pub const fn unit(&self) -> &'static str {
        self.unit
    }

    /// What would be right.
    pub const fn rule(&self) -> &'static str {
        self.rule
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}{}: {}", self.field, self.value, self.unit, self.rule)
    }
}

/// As it is displayed: a `main` that returns it prints this.
impl fmt::Debug for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for Invalid {}

/// Unwraps a policy's constructor in a `const` or `static`; a wrong setting does not compile.
///
/// The compiler then prints the [`rule`](Invalid::rule) that was broken and points at the line.
/// Outside a `const` or `static` it panics; there, handle the [`Invalid`] instead.
///
/// ```
/// use core::time::Duration;
/// use evenkeel_core::{Backoff, checked};
///
/// static GENTLE: Backoff =
///     checked!(Backoff::new(Duration::from_millis(200), Duration::from_secs(30)));
/// assert_eq!(GENTLE.initial().as_duration(), Duration::from_millis(200));
/// ```
///
/// ```compile_fail
/// use core::time::Duration;
/// use evenkeel_core::{Backoff, checked};
///
/// const WRONG: Backoff = checked!(Backoff::new(Duration::MAX, Duration::from_secs(30)));
/// # let _ = WRONG;
/// ```
#[macro_export]
macro_rules! checked {
    ($policy:expr) => {
        match $policy {
            Ok(policy) => policy,
            Err(invalid) => panic!("{}", invalid.rule()),
        }
    };
}
