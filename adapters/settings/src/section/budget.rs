//! This file knows the section `[budget]`: what a whole request may spend.

use core::time::Duration;
use std::collections::BTreeMap;

use evenkeel_core::{BudgetPolicy, DeadlineBudget, Instant, Invalid};

use crate::keys::{Block, Keys};
use crate::kind::{ByName, OneOf, Span};
use crate::method::capped_name;

/// `[budget]`: what a whole request may still spend, and how its calls are trimmed to it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Budget {
    total: Option<Duration>,
    safety_margin: Duration,
    min_timeout: Duration,
    reserve_for_next: Duration,
    call_caps: BTreeMap<Box<str>, Duration>,
    mode: Mode,
    policy: BudgetPolicy,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Mode {
    Floor,
    Strict,
}

impl Budget {
    /// Margin, floor and mode.
    pub const fn policy(&self) -> BudgetPolicy {
        self.policy
    }

    /// What a request has that came in without a deadline; `None`: no budget.
    pub const fn total(&self) -> Option<Duration> {
        self.total
    }

    /// What each call keeps for those after it.
    pub const fn reserve_for_next(&self) -> Duration {
        self.reserve_for_next
    }

    /// The most that a call of some methods is granted, by full name. A cap under any other name
    /// applies to nothing.
    pub fn call_caps(&self) -> impl Iterator<Item = (&str, Duration)> {
        self.call_caps.iter().map(|(method, cap)| (&**method, *cap))
    }
}

impl Block for Budget {
    const MEANING: &'static str = "What a whole request may still spend, from where it entered: \
                                   every call made on its behalf is trimmed to it. A client takes only \
                                   reserve_for_next from here; the rest is for the server: \
                                   OpenBudgetLayer::configured.";

    fn keys(&mut self, keys: &mut impl Keys) {
        keys.key(
            "total",
            Span::OR_NONE,
            &mut self.total,
            "What a request has that came in without a deadline; \"none\" gives it no budget. Only \
             OpenBudgetLayer makes one of it: what limits the calls of a client is timeout.default.",
        );
        keys.key(
            "safety_margin",
            Span::ANY,
            &mut self.safety_margin,
            "Taken off when the server makes the budget, for the way back. Must be shorter than total.",
        );
        keys.key(
            "min_timeout",
            Span::ANY,
            &mut self.min_timeout,
            "While anything is left, a call is granted at least this, even where it overruns; with \
             mode = \"strict\", less than this left refuses the call. Of the budgets that the server \
             makes.",
        );
        keys.key(
            "reserve_for_next",
            Span::ANY,
            &mut self.reserve_for_next,
            "What each call keeps for those after it. The client's, and all that a client takes from here.",
        );
        keys.key(
            "call_caps",
            ByName { of: Span::POSITIVE, names: "full method names", name: capped_name },
            &mut self.call_caps,
            "The most that a call of some methods is granted. The cap beats the floor, and the \
             floor beats the reserve. Under any other name it applies to nothing. Of the budgets \
             that the server makes: without one of these no call is capped.",
        );
        keys.key(
            "mode",
            MODES,
            &mut self.mode,
            "Whether min_timeout may overrun the budgets that the server makes.",
        );
    }

    fn check(&mut self) -> Result<(), Invalid> {
        let policy = BudgetPolicy::DEFAULT
            .with_safety_margin(self.safety_margin)?
            .with_min_timeout(self.min_timeout)?;
        self.policy = match self.mode {
            Mode::Floor => policy,
            Mode::Strict => policy.strict(),
        };
        if let Some(total) = self.total {
            DeadlineBudget::new(Instant::ZERO, total, self.policy)?;
        }
        Ok(())
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            total: None,
            safety_margin: Duration::ZERO,
            min_timeout: BudgetPolicy::DEFAULT.min_timeout().as_duration(),
            reserve_for_next: Duration::ZERO,
            call_caps: BTreeMap::new(),
            mode: Mode::Floor,
            policy: BudgetPolicy::DEFAULT,
        }
    }
}

const MODES: OneOf<Mode> = OneOf(&[("floor", Mode::Floor), ("strict", Mode::Strict)]);
