//! This file knows a breaker rule that is chosen at run time, from a settings file for instance.

use evenkeel_core::{AnyOf, BreakerPolicy, Consecutive, Instant, LastN, TimeWindow, Trip, Verdict};

/// One of the core's rules. A firmware picks its rule as a type and pays for no other; a server
/// reads it from a file, and pays a few bytes.
///
/// ```
/// use evenkeel_std::AnyRule;
/// use evenkeel_std::core::{BreakerPolicy, TimeWindow};
///
/// let policy: BreakerPolicy<AnyRule> = AnyRule::policy(BreakerPolicy::new(TimeWindow::DEFAULT));
/// assert!(matches!(policy.trip(), AnyRule::TimeWindow(_)));
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum AnyRule {
    /// Failures in a row.
    Consecutive(Consecutive),
    /// A share of the last calls.
    LastN(LastN),
    /// Two shares of the last calls: of failures, and of slow calls.
    LastNs(AnyOf<LastN, LastN>),
    /// A share of the calls of the last seconds.
    TimeWindow(TimeWindow),
    /// Two shares of the calls of the last seconds: of failures, and of slow calls.
    TimeWindows(AnyOf<TimeWindow, TimeWindow>),
}

/// What an [`AnyRule`] remembers.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum AnyMemory {
    /// Nothing yet, whatever the rule.
    Empty,
    /// Of [`AnyRule::Consecutive`].
    Consecutive(<Consecutive as Trip>::Memory),
    /// Of [`AnyRule::LastN`].
    LastN(<LastN as Trip>::Memory),
    /// Of [`AnyRule::LastNs`].
    LastNs(<AnyOf<LastN, LastN> as Trip>::Memory),
    /// Of [`AnyRule::TimeWindow`].
    TimeWindow(<TimeWindow as Trip>::Memory),
    /// Of [`AnyRule::TimeWindows`].
    TimeWindows(<AnyOf<TimeWindow, TimeWindow> as Trip>::Memory),
}

impl AnyRule {
    /// The policy with its rule made one of these.
    pub fn policy<T: Trip + Into<Self>>(policy: BreakerPolicy<T>) -> BreakerPolicy<Self> {
        let rule = (*policy.trip()).into();
        policy.with_trip(rule)
    }

    const fn empty(&self) -> AnyMemory {
        match self {
            Self::Consecutive(_) => AnyMemory::Consecutive(Consecutive::EMPTY),
            Self::LastN(_) => AnyMemory::LastN(<LastN as Trip>::EMPTY),
            Self::LastNs(_) => AnyMemory::LastNs(<AnyOf<LastN, LastN> as Trip>::EMPTY),
            Self::TimeWindow(_) => AnyMemory::TimeWindow(<TimeWindow as Trip>::EMPTY),
            Self::TimeWindows(_) => {
                AnyMemory::TimeWindows(<AnyOf<TimeWindow, TimeWindow> as Trip>::EMPTY)
            }
        }
    }
}

impl Trip for AnyRule {
    type Memory = AnyMemory;
    const EMPTY: AnyMemory = AnyMemory::Empty;

    fn count(&self, memory: &mut AnyMemory, now: Instant, verdict: Verdict) -> bool {
        loop {
            return match (self, &mut *memory) {
                (Self::Consecutive(rule), AnyMemory::Consecutive(memory)) => {
                    rule.count(memory, now, verdict)
                }
                (Self::LastN(rule), AnyMemory::LastN(memory)) => rule.count(memory, now, verdict),
                (Self::LastNs(rule), AnyMemory::LastNs(memory)) => rule.count(memory, now, verdict),
                (Self::TimeWindow(rule), AnyMemory::TimeWindow(memory)) => {
                    rule.count(memory, now, verdict)
                }
                (Self::TimeWindows(rule), AnyMemory::TimeWindows(memory)) => {
                    rule.count(memory, now, verdict)
                }
                // The first call, or memory of another rule: start with this rule's own.
                (rule, _) => {
                    *memory = rule.empty();
                    continue;
                }
            };
        }
    }

    fn bad(memory: &AnyMemory) -> u16 {
        match memory {
            AnyMemory::Empty => 0,
            AnyMemory::Consecutive(memory) => Consecutive::bad(memory),
            AnyMemory::LastN(memory) => <LastN as Trip>::bad(memory),
            AnyMemory::LastNs(memory) => <AnyOf<LastN, LastN>>::bad(memory),
            AnyMemory::TimeWindow(memory) => <TimeWindow as Trip>::bad(memory),
            AnyMemory::TimeWindows(memory) => <AnyOf<TimeWindow, TimeWindow>>::bad(memory),
        }
    }

    fn is_quiet(memory: &AnyMemory) -> bool {
        // Empty is quiet only for a rule that forgets successes; it cannot say which it is of.
        matches!(memory, AnyMemory::Consecutive(memory) if Consecutive::is_quiet(memory))
    }
}

impl From<Consecutive> for AnyRule {
    fn from(rule: Consecutive) -> Self {
        Self::Consecutive(rule)
    }
}

impl From<LastN> for AnyRule {
    fn from(rule: LastN) -> Self {
        Self::LastN(rule)
    }
}

impl From<AnyOf<LastN, LastN>> for AnyRule {
    fn from(rule: AnyOf<LastN, LastN>) -> Self {
        Self::LastNs(rule)
    }
}

impl From<TimeWindow> for AnyRule {
    fn from(rule: TimeWindow) -> Self {
        Self::TimeWindow(rule)
    }
}

impl From<AnyOf<TimeWindow, TimeWindow>> for AnyRule {
    fn from(rule: AnyOf<TimeWindow, TimeWindow>) -> Self {
        Self::TimeWindows(rule)
    }
}
