//! This file knows in which order targets are asked for leave.
//!
//! Untried ones first, refusing ones passed over, and if all refuse, the soonest refusal is the
//! one reported. The pool of a server and the simulator pick through this, so that they agree.

use core::fmt;

use crate::words::NextTry;
use crate::{Instant, Permit, Rejected};

/// One place an attempt can go: its number within the upstream, 0 where there is only one.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Target(u16);

impl Target {
    /// The only target of an upstream that has one.
    pub const ONLY: Self = Self(0);

    /// The target with this number.
    pub const fn new(number: u16) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn number(self) -> u16 {
        self.0
    }

    const fn bit(self) -> u32 {
        #[expect(clippy::as_conversions, reason = "`From` is not const; it widens")]
        1u32.wrapping_shl(self.0 as u32)
    }
}

/// The targets a call has used, modulo 32: where there are more, a collision costs a preference
/// and nothing else.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Tried(u32);

impl Tried {
    /// None yet.
    pub const NONE: Self = Self(0);

    /// These and `target`.
    pub const fn with(self, target: Target) -> Self {
        Self(self.0 | target.bit())
    }

    /// Whether `target` was used.
    pub const fn contains(self, target: Target) -> bool {
        self.0 & target.bit() != 0
    }
}

/// What is known of a target before it is asked for leave.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Standing {
    /// Not to be used: a health check says so, or has not said anything yet.
    Down,
    /// To be used if nobody who is [`Up`](Self::Up) may be: its calls speak against it, which is a
    /// reason to prefer others and no reason to fail a call.
    Suspect,
    /// To be used.
    Up,
}

/// No target may be used for the next attempt.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Refusal {
    /// The breaker of every eligible target refused.
    CircuitOpen {
        /// When the soonest of them is worth asking again.
        retry_at: Instant,
    },
    /// No target is eligible.
    NoTarget,
}

impl Refusal {
    /// The refusal that is over sooner.
    pub(crate) fn or_sooner(self, rejected: Rejected) -> Self {
        match self {
            Self::CircuitOpen { retry_at } if retry_at <= rejected.retry_at => self,
            Self::CircuitOpen { .. } | Self::NoTarget => rejected.into(),
        }
    }
}

impl From<Rejected> for Refusal {
    fn from(rejected: Rejected) -> Self {
        Self::CircuitOpen { retry_at: rejected.retry_at }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CircuitOpen { retry_at } => {
                let next = NextTry(*retry_at);
                write!(f, "every eligible target's circuit breaker is open, {next}")
            }
            Self::NoTarget => f.write_str("no target is eligible"),
        }
    }
}

impl core::error::Error for Refusal {}

/// Asks the `eligible` targets in turn, those not in `tried` first, and takes the first leave.
///
/// For an order of your own; [`Balancer`](crate::Balancer) makes one.
///
/// `ask` is called at most once for each target, and never again after it gave leave.
///
/// # Errors
///
/// [`Refusal::NoTarget`] if there was none to ask, otherwise the soonest refusal.
///
/// ```
/// use evenkeel_core::{Instant, Permit, Refusal, Rejected, Target, Tried, pick};
///
/// let targets = [Target::new(0), Target::new(1), Target::new(2)];
/// let tried = Tried::NONE.with(Target::new(0));
/// let open = Rejected { retry_at: Instant::from_micros(9) };
///
/// let ask = |target| if target == targets[1] { Err(open) } else { Ok(Permit::UNTRACKED) };
/// assert_eq!(pick(targets.into_iter(), tried, ask).unwrap().0, targets[2]);
///
/// let refused = pick(targets.into_iter(), tried, |_| Err(open)).unwrap_err();
/// assert_eq!(refused, Refusal::CircuitOpen { retry_at: open.retry_at });
/// ```
pub fn pick(
    eligible: impl Iterator<Item = Target> + Clone,
    tried: Tried,
    mut ask: impl FnMut(Target) -> Result<Permit, Rejected>,
) -> Result<(Target, Permit), Refusal> {
    let untried = eligible.clone().filter(|target| !tried.contains(*target));
    let again = eligible.filter(|target| tried.contains(*target));
    let mut refusal = Refusal::NoTarget;
    for target in untried.chain(again) {
        match ask(target) {
            Ok(permit) => return Ok((target, permit)),
            Err(rejected) => refusal = refusal.or_sooner(rejected),
        }
    }
    Err(refusal)
}
