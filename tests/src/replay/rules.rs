//! This file knows, by name, every way in which evenkeel differs from the kit on purpose.

use core::fmt;

/// An intended difference. `tests/traces/README.md` says what each is good for.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Rule {
    /// An open breaker lets a trial through at exactly `opened_at + recovery`; the kit only later.
    Boundary,
    /// An empty allow-list repeats nothing; in the kit it is no list, and everything is repeated.
    EmptyAllowList,
    /// A result of an earlier period of its breaker changes nothing while that is closed or
    /// half-open; in the kit it counts, closes, reopens, or gives back a trial that it never was.
    Epoch,
    /// A callback follows the health bit; the kit's also tells of one kind of ill health after
    /// another.
    HealthBit,
    /// A breaker with a call in flight is not evicted; the kit forgets it, and the call's result.
    InUse,
    /// Each target is checked by itself, a pause after its own last check; the kit checks all
    /// that are due together, and waits for the slowest.
    IndependentTargets,
    /// A failure that arrives while the breaker is open changes nothing; in the kit it is counted
    /// and moves the open time on.
    LateFailureMovesWindow,
    /// A spent budget has nothing left; the kit's has less than nothing.
    NeverNegative,
    /// The failures shown start over when a breaker half-opens; the kit goes on counting.
    RestartedCount,
    /// A slice shorter than the method is normally given that ends in our own deadline is no
    /// failure to the breaker; in the kit it is.
    ShortSlice,
    /// A table that has grown shrinks back to its size; the kit drops one entry for each new one.
    ShrinksBack,
    /// With no time at all nothing is sent; the kit sends with a timeout of zero.
    ZeroSlice,
}

impl Rule {
    const ALL: [Self; 12] = [
        Self::Boundary,
        Self::EmptyAllowList,
        Self::Epoch,
        Self::HealthBit,
        Self::InUse,
        Self::IndependentTargets,
        Self::LateFailureMovesWindow,
        Self::NeverNegative,
        Self::RestartedCount,
        Self::ShortSlice,
        Self::ShrinksBack,
        Self::ZeroSlice,
    ];

    /// The name used in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Boundary => "boundary",
            Self::EmptyAllowList => "empty_allow_list",
            Self::Epoch => "epoch",
            Self::HealthBit => "health_bit",
            Self::InUse => "in_use",
            Self::IndependentTargets => "independent_targets",
            Self::LateFailureMovesWindow => "late_failure_moves_window",
            Self::NeverNegative => "never_negative",
            Self::RestartedCount => "restarted_count",
            Self::ShortSlice => "short_slice",
            Self::ShrinksBack => "shrinks_back",
            Self::ZeroSlice => "zero_slice",
        }
    }
}

/// A set of intended differences: the switches a model of the kit runs with.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Rules(u16);

impl Rules {
    /// The kit as it was recorded.
    pub const NONE: Self = Self(0);

    /// The set of these rules.
    pub fn of(rules: &[Rule]) -> Self {
        Self(rules.iter().fold(0, |set, rule| set | Self::bit(*rule)))
    }

    /// Whether `rule` is in it.
    pub const fn contains(self, rule: Rule) -> bool {
        self.0 & Self::bit(rule) != 0
    }

    /// The rules in it.
    pub fn iter(self) -> impl Iterator<Item = Rule> {
        Rule::ALL.into_iter().filter(move |rule| self.contains(*rule))
    }

    /// How many there are.
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Every set of rules in it, small ones first.
    pub fn subsets(self) -> Vec<Self> {
        let mut sets: Vec<Self> = (0..=self.0).filter(|set| set & !self.0 == 0).map(Self).collect();
        sets.sort_by_key(|set| set.len());
        sets
    }

    const fn bit(rule: Rule) -> u16 {
        1 << rule as u16
    }
}

/// The names, joined by `+`.
impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.iter().map(Rule::name).collect();
        f.pad(&names.join(" + "))
    }
}
