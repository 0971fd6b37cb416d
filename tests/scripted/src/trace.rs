//! This file knows what a call did, and whether that is what it was to do.

use evenkeel_core::{BudgetExhausted, Code, Instant, Micros, StopReason};

/// What one call did, or is to do.
///
/// ```
/// use evenkeel_scripted::Trace;
///
/// let text = "A(0:2) A(+0.2..0.4:1.6..1.8) UNAVAILABLE(+0: deadline would pass)";
/// let trace: Trace = text.parse()?;
/// assert_eq!(trace.to_string(), text);
/// for end in ["OK(0.3)", "REFUSED(0.3: until 10)", "SPENT(0.3: 0.3 of 0.1)", "GONE(0.3)"] {
///     assert_eq!(end.parse::<Trace>()?.to_string(), end);
/// }
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Trace {
    /// Its attempts, in order.
    pub sent: Vec<Sent>,
    /// How it ended.
    pub end: End,
}

/// One attempt, as it went out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Sent {
    /// When.
    pub at: When,
    /// With how much time; [`When::NEVER`] without a deadline.
    pub left: When,
    /// Whether it repeats the one before, transparently.
    pub again: bool,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct End {
    /// When.
    pub at: When,
    /// In what.
    pub what: What,
    /// Why there was no further attempt; `None` after a success, and where a runtime cannot tell.
    pub why: Option<&'static str>,
}

/// What a caller got.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum What {
    /// A status: the last attempt's own, or `DEADLINE_EXCEEDED` of ours.
    Code(Code),
    /// It went away itself.
    Gone,
    /// A refusal by our breaker, until then.
    Refused(Micros),
    /// A refusal by the request's budget: what was used of what there was.
    Spent(Micros, Micros),
}

/// A moment, or a band that chance moves in.
///
/// `0.3`; `0.2..0.4`; `+0.2..0.4` after what came before.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct When {
    /// The earliest.
    pub from: Micros,
    /// The latest.
    pub to: Micros,
    /// Whether it is counted from what came before, and not from the beginning.
    pub after_last: bool,
}

impl When {
    /// Later than anything.
    pub const NEVER: Self = Self::at(Micros::MAX);

    /// Exactly then.
    pub const fn at(time: Micros) -> Self {
        Self { from: time, to: time, after_last: false }
    }

    /// This much later.
    pub const fn later(self, span: Micros) -> Self {
        if self.after_last {
            return self;
        }
        Self { from: self.from.plus(span), to: self.to.plus(span), after_last: false }
    }

    /// Whether `seen` is within, if `last` is when something was seen before.
    pub fn allows(self, seen: Self, last: Micros) -> bool {
        let seen = if self.after_last { seen.from.minus(last) } else { seen.from };
        self.from <= seen && seen <= self.to
    }
}

impl Sent {
    /// Whether `seen` is what is written here; `last` is when the one before started.
    pub fn allows(&self, seen: &Self, last: Micros) -> bool {
        let left = self.left.allows(seen.left, Micros::ZERO);
        self.at.allows(seen.at, last) && left && self.again == seen.again
    }
}

impl End {
    /// How a call ends for `reason`, whose last attempt ended in `last`; times since `began`.
    pub fn new(at: Micros, reason: StopReason, last: Code, began: Instant) -> Self {
        let what = match reason {
            StopReason::Cancelled => What::Gone,
            StopReason::CircuitOpen { retry_at } => What::Refused(retry_at.since(began)),
            StopReason::DeadlinePassed => What::Code(Code::DeadlineExceeded),
            _ => What::Code(last),
        };
        Self { at: When::at(at), what, why: why(reason) }
    }

    /// A caller who went away.
    pub const fn gone(at: Micros) -> Self {
        Self { at: When::at(at), what: What::Gone, why: None }
    }

    /// A refusal by the budget.
    pub const fn spent(at: Micros, spent: &BudgetExhausted) -> Self {
        Self { at: When::at(at), what: What::Spent(spent.elapsed, spent.total), why: None }
    }

    /// A refusal by the breaker, until `retry_at` since the beginning.
    pub const fn refused(at: Micros, retry_at: Micros) -> Self {
        Self { at: When::at(at), what: What::Refused(retry_at), why: None }
    }

    /// Whether `seen` is what is written here, as far as its runtime can tell; `last` is when the
    /// last attempt started.
    pub fn allows(&self, seen: &Self, last: Micros) -> bool {
        let why = seen.why.is_none() || seen.why == self.why;
        self.at.allows(seen.at, last) && self.what == seen.what && why
    }
}

impl Trace {
    /// This much later.
    pub(crate) fn later(&self, span: Micros) -> Self {
        let sent = self.sent.iter().map(|sent| Sent { at: sent.at.later(span), ..*sent });
        Self { sent: sent.collect(), end: End { at: self.end.at.later(span), ..self.end } }
    }
}

/// The reasons that are told, each with its words: to write one, and to read one. The compiler does not
/// let one be missing.
macro_rules! reasons {
    ($($variant:ident: $words:literal),*; $($untold:ident),*) => {
        /// The words for a reason; nothing where the end says it all.
        pub const fn why(reason: StopReason) -> Option<&'static str> {
            match reason {
                $(StopReason::$variant { .. } => Some($words),)*
                $(StopReason::$untold { .. } => None,)*
            }
        }

        /// Every reason that is told, in words.
        pub(crate) const REASONS: &[&str] = &[$($words),*];
    };
}

reasons!(
    AttemptsUsedUp: "attempts used up",
    DeadlinePassed: "deadline passed",
    DeadlineWouldPass: "deadline would pass",
    HintTooLong: "hint too long",
    NoTarget: "no target",
    NotIdempotent: "not idempotent",
    NotReplayable: "not replayable",
    NotRetryable: "not retryable",
    PushedBack: "pushed back",
    Throttled: "throttled";
    Cancelled, CircuitOpen, Succeeded
);
