//! This file knows how much of the load each target is to have.

use std::collections::HashMap;

use evenkeel_tokio::core::{WEIGHT_ONE, check_weights};

use crate::BuildError;
use crate::target::TargetName;

/// Weights by target, in thousandths.
#[derive(Clone, Debug, Default)]
pub(super) struct Weights(HashMap<String, u32>);

impl Weights {
    /// Of these targets; any other weighs 1.0.
    pub(super) fn new(
        weights: impl IntoIterator<Item = (String, f64)>,
    ) -> Result<Self, BuildError> {
        let mut known = HashMap::new();
        for (target, weight) in weights {
            if !(0.0..=HEAVIEST).contains(&weight) {
                return Err(refused(format!("{weight} of {target:?}: must be 0 to {HEAVIEST}")));
            }
            // Rounded up, so that what is above zero stays so; it fits, as was just seen.
            known.insert(in_one_form(target), (weight * f64::from(WEIGHT_ONE)).ceil() as u32);
        }
        if known.is_empty() {
            return Err(refused("must name a target at least, or choose another strategy".into()));
        }
        Ok(Self(known))
    }

    /// The weight of every member of `target`.
    pub(super) fn of(&self, target: &str) -> u32 {
        self.0.get(target).copied().unwrap_or(WEIGHT_ONE)
    }

    /// Refuses weights by which none of `targets` could be chosen, and those of others.
    pub(super) fn check(&self, targets: &[String]) -> Result<(), BuildError> {
        if self.0.is_empty() {
            return Err(refused("must be given with the strategy \"weighted\"".into()));
        }
        if targets.is_empty() {
            // They are not known yet.
            return Ok(());
        }
        if let Some(stranger) = self.0.keys().find(|named| !targets.contains(named)) {
            return Err(refused(format!("{stranger:?} is none of the targets")));
        }
        let weights: Vec<u32> = targets.iter().map(|target| self.of(target)).collect();
        Ok(check_weights(&weights)?)
    }
}

/// As the target is written out, where it is one.
fn in_one_form(target: String) -> String {
    target.parse::<TargetName>().map_or(target, |target| target.to_string())
}

fn refused(rule: String) -> BuildError {
    BuildError::Refused { field: "balancing.weights", rule: rule.into() }
}

/// A million times the default is a mistake.
const HEAVIEST: f64 = 1_000_000.0;
