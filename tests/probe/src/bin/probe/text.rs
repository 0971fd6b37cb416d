//! This file knows what a person reads: every `Display`, in any width, into a sink that may
//! refuse, and the `Debug` that is written by hand.
//!
//! A derived `Debug` is left out where `core::fmt` itself holds a panic that the compiler cannot
//! rule out: for more than five fields it asserts that there are as many names as values, and a
//! `str` is cut at the characters it escapes.

use core::fmt::{self, Debug, Display, Write as _};
use core::hint::black_box;

use evenkeel_core::{
    BreakerState, BudgetExhausted, CallPolicy, Code, CodeSet, Event, Gate, Invalid, Micros,
    Refusal, Rejected, StopReason, Throttle,
};
use evenkeel_probe::{any, blur};

pub(crate) fn reach() {
    let mut invalid = Invalid::new("field", any(), "unit", "rule");
    let mut refusal = Refusal::NoTarget;
    let mut state = BreakerState::Closed;
    blur(&mut invalid);
    blur(&mut refusal);
    blur(&mut state);
    display::<Invalid>(&invalid);
    display::<Refusal>(&refusal);
    display::<BreakerState>(&state);
    display::<BudgetExhausted>(&any());
    display::<Code>(&any());
    display::<Micros>(&any());
    display::<Rejected>(&any());
    display::<StopReason>(&any());

    debug::<CodeSet>(&any());
    debug::<Event>(&Event::from(any::<StopReason>()));
    debug::<Gate>(&Gate::from_bits(any()));
    debug::<CallPolicy>(&any());
    debug::<Throttle>(&Throttle::full(&any()));
}

fn display<T: Display>(value: &T) {
    let width = usize::from(any::<u16>());
    let _ = write!(Paper, "{value} {value:>width$.width$}");
}

pub(crate) fn debug<T: Debug>(value: &T) {
    let _ = write!(Paper, "{value:?} {value:#?}");
}

/// Takes what is written, or is full.
struct Paper;

impl fmt::Write for Paper {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        black_box(text);
        if any() { Ok(()) } else { Err(fmt::Error) }
    }
}
