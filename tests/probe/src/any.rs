//! This file knows values that the compiler cannot foresee.

use core::hint::black_box;
use core::time::Duration;

use evenkeel_core::{
    Answer, Bad, Because, BudgetExhausted, Code, CodeSet, Deadline, HealthChange, Instant, Jitter,
    Micros, Next, Outcome, OutlierChange, Pushback, Rejected, Report, Sent, Setback, Standing,
    StopReason, Strategy, Target, Transition, Tried, Unimplemented, Verdict, Weight,
};

/// A type of which any value can be had.
pub trait Any: Sized {
    /// Any value.
    fn any() -> Self;
}

/// Any value of `T`; the compiler must be prepared for all of them.
pub fn any<T: Any>() -> T {
    T::any()
}

/// From here on the compiler knows nothing about `state`, not even how it was made.
pub fn blur<T: ?Sized>(state: &mut T) {
    black_box(state);
}

impl Any for u64 {
    fn any() -> Self {
        static INPUT: u64 = 0;
        // SAFETY: it points to an initialised, aligned static. The read is volatile because the
        // compiler may not guess what such a read finds, not even in a constant.
        unsafe { (&raw const INPUT).read_volatile() }
    }
}

/// The low bits of any `u64`.
macro_rules! low_bits {
    ($($number:ty),*) => {$(
        impl Any for $number {
            fn any() -> Self {
                any::<u64>() as Self
            }
        }
    )*};
}

low_bits!(u8, u16, u32, usize, i32);

impl Any for bool {
    fn any() -> Self {
        any::<u8>() & 1 != 0
    }
}

impl<T: Any> Any for Option<T> {
    fn any() -> Self {
        if any() { Some(any()) } else { None }
    }
}

impl Any for Duration {
    fn any() -> Self {
        // Below a second of nanoseconds, because the caller of `Duration::new` answers for a carry.
        Self::new(any(), any::<u32>() % 1_000_000_000)
    }
}

/// The value made of others.
macro_rules! made_of {
    ($type:ty: $value:expr) => {
        impl Any for $type {
            fn any() -> Self {
                $value
            }
        }
    };
}

/// One of the variants listed, by as many flips of a coin as it takes. They are all that there are:
/// of one that is missing here no panic would be noticed, so the compiler does not let it be missing.
macro_rules! one_of {
    ($type:ident: $(
        $variant:ident $(($($value:expr),*))? $({ $($field:ident: $named:expr),* })?
    ),* $(,)?) => {
        impl Any for $type {
            fn any() -> Self {
                const _: fn(&$type) = |listed| match listed {
                    $($type::$variant { .. } => (),)*
                };
                loop {
                    $(if any() {
                        return Self::$variant $(($($value),*))? $({ $($field: $named),* })?;
                    })*
                }
            }
        }
    };
}

made_of!(Instant: Self::from_micros(any()));
made_of!(Micros: Self::from_micros(any()));
made_of!(Deadline: Self::at(any()));
made_of!(Code: Self::from_number(any()));
made_of!(CodeSet: Self::EMPTY.with(any()).with(any()).without(any()));
made_of!(Target: Self::new(any()));
made_of!(Tried: Self::NONE.with(any()).with(any()));
made_of!(Rejected: Self { retry_at: any() });
made_of!(Setback: Self { failures: any(), dial_at: any() });
made_of!(BudgetExhausted: Self { elapsed: any(), total: any() });
made_of!(Outcome: Self { code: any(), sent: any(), pushback: any() });
made_of!(Report: Self { outcome: any(), took: any(), weight: any() });
one_of!(Answer: Failed, NotServing, Serving, Unimplemented);
one_of!(Bad: Failures, SlowCalls);
one_of!(Because: Backoff, Hint, Pushback, Transparent);
one_of!(HealthChange: Healthy, Unhealthy);
one_of!(Jitter: Decorrelated, Equal, Full, None, Proportional(any()));
one_of!(Next: Retry { at: any(), because: any() }, StillTrying, Stop(any()));
one_of!(OutlierChange: Ejected, Quarantined, Returned);
one_of!(Pushback: AtLeast(any()), Exactly(any()), None, Stop);
one_of!(Sent: Maybe, Never, NotConnected, Refused);
one_of!(Standing: Down, Suspect, Up);
one_of!(
    StopReason: AttemptsUsedUp, Cancelled, CircuitOpen { retry_at: any() }, DeadlinePassed,
    DeadlineWouldPass, HintTooLong { hint: any() }, NoTarget, NotIdempotent, NotReplayable,
    NotRetryable, PushedBack, Succeeded, Throttled,
);
one_of!(Strategy: LeastRequest, Random, RoundRobin, Weighted);
one_of!(Transition: Closed, ForcedClosed, ForcedOpen, HalfOpened, Opened);
one_of!(Unimplemented: Healthy, Unhealthy);
one_of!(Verdict: Failure, Ignored, SlowFailure, SlowSuccess, Success);
one_of!(Weight: Cancelled, Counts, CutShort, Transparent);
