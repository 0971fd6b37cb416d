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

/// The value made of others, or one of those listed, by as many flips of a coin as it takes.
macro_rules! one_of {
    ($type:ty: $value:expr) => {
        impl Any for $type {
            fn any() -> Self {
                $value
            }
        }
    };
    ($type:ty: $($value:expr),* $(,)?) => {
        impl Any for $type {
            fn any() -> Self {
                loop {
                    $(if any() {
                        return $value;
                    })*
                }
            }
        }
    };
}

one_of!(Instant: Self::from_micros(any()));
one_of!(Micros: Self::from_micros(any()));
one_of!(Deadline: Self::at(any()));
one_of!(Code: Self::from_number(any()));
one_of!(CodeSet: Self::EMPTY.with(any()).with(any()).without(any()));
one_of!(Target: Self::new(any()));
one_of!(Tried: Self::NONE.with(any()).with(any()));
one_of!(Rejected: Self { retry_at: any() });
one_of!(Setback: Self { failures: any(), dial_at: any() });
one_of!(BudgetExhausted: Self { elapsed: any(), total: any() });
one_of!(Outcome: Self { code: any(), sent: any(), pushback: any() });
one_of!(Report: Self { outcome: any(), took: any(), weight: any() });
one_of!(Answer: Self::Failed, Self::NotServing, Self::Serving, Self::Unimplemented);
one_of!(Bad: Self::Failures, Self::SlowCalls);
one_of!(Because: Self::Backoff, Self::Hint, Self::Pushback, Self::Transparent);
one_of!(HealthChange: Self::Healthy, Self::Unhealthy);
one_of!(
    Jitter: Self::Decorrelated, Self::Equal, Self::Full, Self::None, Self::Proportional(any())
);
one_of!(Next: Self::Retry { at: any(), because: any() }, Self::StillTrying, Self::Stop(any()));
one_of!(OutlierChange: Self::Ejected, Self::Quarantined, Self::Returned);
one_of!(Pushback: Self::AtLeast(any()), Self::Exactly(any()), Self::None, Self::Stop);
one_of!(Sent: Self::Maybe, Self::Never, Self::NotConnected, Self::Refused);
one_of!(Standing: Self::Down, Self::Suspect, Self::Up);
one_of!(
    StopReason: Self::AttemptsUsedUp, Self::CircuitOpen { retry_at: any() },
    Self::HintTooLong { hint: any() }, Self::NoTarget, Self::Succeeded,
);
one_of!(Strategy: Self::LeastRequest, Self::Random, Self::RoundRobin, Self::Weighted);
one_of!(
    Transition: Self::Closed, Self::ForcedClosed, Self::ForcedOpen, Self::HalfOpened, Self::Opened
);
one_of!(Unimplemented: Self::Healthy, Self::Unhealthy);
one_of!(
    Verdict: Self::Failure, Self::Ignored, Self::SlowFailure, Self::SlowSuccess, Self::Success
);
one_of!(Weight: Self::Cancelled, Self::Counts, Self::CutShort, Self::Transparent);
