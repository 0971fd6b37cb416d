//! This file knows the section `[balancing]`: which target an attempt goes to.

use core::time::Duration;
use std::collections::BTreeMap;

use evenkeel_core::{Invalid, OutlierPolicy, Strategy, check_weights};

use crate::keys::{Block, Keys};
use crate::kind::{ByName, Decimal, OneOf, Span, Unset, target_name};
use crate::section::Ejection;

/// `[balancing]`: which target an attempt goes to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Balancing {
    strategy: Strategy,
    weights: Option<BTreeMap<Box<str>, u32>>,
    quarantine: Duration,
    ejection: Option<Ejection>,
    outlier: OutlierPolicy,
}

impl Balancing {
    /// How a target is picked.
    pub const fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// The targets with a weight of their own, in thousandths; all others weigh 1000.
    pub fn weights(&self) -> impl Iterator<Item = (&str, u32)> {
        let weights = self.weights.iter().flatten();
        weights.map(|(target, weight)| (&**target, *weight))
    }

    /// When calls take a target out of the rotation: the quarantine, and the section
    /// `[balancing.ejection]` if there is one.
    pub const fn outlier(&self) -> OutlierPolicy {
        self.outlier
    }
}

impl Block for Balancing {
    const MEANING: &'static str = "Which target an attempt goes to. Picked for every attempt, \
                                   among the healthy ones.";

    fn keys(&mut self, keys: &mut impl Keys) {
        keys.key(
            "strategy",
            OneOf(&[
                ("round_robin", Strategy::RoundRobin),
                ("random", Strategy::Random),
                ("weighted", Strategy::Weighted),
                ("least_request", Strategy::LeastRequest),
            ]),
            &mut self.strategy,
            "One after the other, at random, at random by weight, or the less busy of two drawn.",
        );
        let weights = ByName { of: Decimal(0..=1_000_000), names: "targets", name: target_name };
        keys.key(
            "weights",
            Unset(weights, r#"{ "orders-1:50051" = 2.0, "orders-2:50051" = 1.0 }"#),
            &mut self.weights,
            "weighted: the chances of the targets; one that is missing weighs 1.0.",
        );
        keys.key(
            "quarantine",
            Span::ANY,
            &mut self.quarantine,
            "How long a target is passed over after UNAVAILABLE or DEADLINE_EXCEEDED; zero turns \
             it off. Ignored where it would leave no target.",
        );
        keys.block("ejection", &mut self.ejection);
    }

    fn check(&mut self) -> Result<(), Invalid> {
        if self.weights.is_none() && self.strategy == Strategy::Weighted {
            let rule = "must have balancing.weights with it";
            return Err(Invalid::new("balancing.strategy", 0, "", rule));
        }
        if let Some(weights) = &self.weights {
            check_weights(&weights.values().copied().collect::<Vec<_>>())?;
        }
        let quarantine = OutlierPolicy::OFF.with_quarantine(self.quarantine)?;
        self.outlier = match &self.ejection {
            Some(ejection) => quarantine.with_ejection(ejection.policy()),
            None => quarantine,
        };
        Ok(())
    }
}

impl Default for Balancing {
    fn default() -> Self {
        Self {
            strategy: Strategy::RoundRobin,
            weights: None,
            quarantine: OutlierPolicy::DEFAULT.quarantine().as_duration(),
            ejection: None,
            outlier: OutlierPolicy::DEFAULT,
        }
    }
}
