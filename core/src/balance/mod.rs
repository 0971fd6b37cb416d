//! This file knows which target the next attempt goes to.
//!
//! Why pick for each attempt, and not for each client? A client that lives for one request never
//! balances, and one that lives for a day sends all its calls to the target it drew in the
//! morning. There is one [`Balancer`] for each upstream, whoever makes clients of it.
//!
//! Why not scan from a moving index, as is often done? Because the target after one that is out
//! gets the load of both. Round robin goes on behind the target that was *used*, and the others
//! draw again.

mod draw;

use crate::{Invalid, Permit, Random, Refusal, Rejected, Standing, Target, Tried};
use draw::{Class, Draw};

/// How a target is chosen among those that are up.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Strategy {
    /// Of two drawn at random, the one with fewer attempts in flight ("power of two choices").
    /// Slow targets get less, with no measuring and no herd that runs to the fastest one.
    LeastRequest,
    /// Each with the same chance.
    Random,
    /// One after the other. The default: even, and the same way every time.
    #[default]
    RoundRobin,
    /// Each with a chance in proportion to its [weight](Members::weight). One of weight 0 is used
    /// only when nobody else is left.
    Weighted,
}

/// What a balancer may know of the targets it chooses among; lent for one pick.
///
/// Targets are numbered from 0. A slice of [`Standing`]s is the simplest one.
pub trait Members {
    /// How many there are, of whatever standing.
    fn count(&self) -> u16;

    /// What is known of `target`, which is below [`count`](Self::count).
    fn standing(&self, target: Target) -> Standing;

    /// How many attempts `target` has in flight, for [`Strategy::LeastRequest`].
    fn in_flight(&self, _target: Target) -> u32 {
        0
    }

    /// The weight of `target`, for [`Strategy::Weighted`], in any unit: twice as much is twice the
    /// chance, and 0 is drained. A share of all weights below one in 2^32 may be no chance at all. [`check_weights`] says which are refused.
    fn weight(&self, _target: Target) -> u32 {
        WEIGHT_ONE
    }
}

/// The weight of a target that was given none: 1.0, if weights are in thousandths.
pub const WEIGHT_ONE: u32 = 1_000;

/// Of more than 65,535 those beyond are not looked at.
impl Members for [Standing] {
    fn count(&self) -> u16 {
        u16::try_from(self.len()).unwrap_or(u16::MAX)
    }

    fn standing(&self, target: Target) -> Standing {
        self.get(usize::from(target.number())).copied().unwrap_or(Standing::Down)
    }
}

impl<M: Members + ?Sized> Members for &M {
    fn count(&self) -> u16 {
        (**self).count()
    }

    fn standing(&self, target: Target) -> Standing {
        (**self).standing(target)
    }

    fn in_flight(&self, target: Target) -> u32 {
        (**self).in_flight(target)
    }

    fn weight(&self, target: Target) -> u32 {
        (**self).weight(target)
    }
}

/// Chooses targets for the attempts to one upstream.
///
/// ```
/// use evenkeel_core::{Balancer, Permit, SmallRng, Standing, Strategy, Tried};
///
/// let mut balancer = Balancer::new(Strategy::RoundRobin);
/// let mut rng = SmallRng::seeded(1);
/// let mut next = |members: &[Standing]| {
///     let ask = |_| Ok(Permit::UNTRACKED);
///     balancer.pick(&members, Tried::NONE, &mut rng, ask).unwrap().0.number()
/// };
///
/// use Standing::{Down, Up};
/// assert_eq!([next(&[Up, Up, Up]), next(&[Up, Up, Up])], [0, 1]);
/// // With one out, the others share its load, and not its neighbour alone.
/// assert_eq!([next(&[Up, Down, Up]), next(&[Up, Down, Up]), next(&[Up, Down, Up])], [2, 0, 2]);
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Balancer {
    strategy: Strategy,
    /// The number after that of the target used last, by a call's first attempt and by others: a
    /// retry would otherwise move on whom the next call begins with, in step with what failed.
    next: u16,
    next_other: u16,
}

impl Balancer {
    /// With this strategy; round robin begins at target 0.
    pub const fn new(strategy: Strategy) -> Self {
        Self { strategy, next: 0, next_other: 0 }
    }

    /// With `target` as the first of the rotation, for [`Strategy::RoundRobin`].
    ///
    /// Thousands of clients that start together would otherwise all begin with target 0. One that
    /// does not exist is as good as 0.
    pub const fn starting_at(mut self, target: Target) -> Self {
        self.next = target.number();
        self.next_other = self.next;
        self
    }

    /// Chooses a target, and asks for leave to use it; asks another when it is refused.
    ///
    /// Those that are [`Up`](Standing::Up) are asked first, and where there is none or all of them
    /// refuse, those that are [`Suspect`](Standing::Suspect); of each those not in `tried` first. With
    /// [`Weighted`](Strategy::Weighted) those of no weight come after all of these, by the same rule.
    /// `ask` is called at most once for each target, and never again after it gave leave.
    ///
    /// Costs one look at a target where nearly all are up (two for
    /// [`LeastRequest`](Strategy::LeastRequest)), and a walk over all of them for
    /// [`Weighted`](Strategy::Weighted), or where most are not. A target that refused costs as
    /// much again.
    ///
    /// # Errors
    ///
    /// [`Refusal::NoTarget`] if there was none to ask, otherwise the soonest refusal.
    pub fn pick(
        &mut self,
        members: &impl Members,
        tried: Tried,
        rng: &mut impl Random,
        mut ask: impl FnMut(Target) -> Result<Permit, Rejected>,
    ) -> Result<(Target, Permit), Refusal> {
        let mut refusal = Refusal::NoTarget;
        // Of no weight are those that are being drained: they come after whoever has one.
        let kinds = if matches!(self.strategy, Strategy::Weighted) { 2 } else { 1 };
        for spare in [false, true].into_iter().take(kinds) {
            for standing in [Standing::Up, Standing::Suspect] {
                for again in [false, true] {
                    let class = Class { standing, tried, again, spare };
                    let first = *self.next_behind(tried);
                    let mut draw = Draw::new(self.strategy, first, members, class);
                    while let Some(target) = draw.next(rng) {
                        match ask(target) {
                            Ok(permit) => {
                                let next = target.number().wrapping_add(1);
                                *self.next_behind(tried) = next;
                                return Ok((target, permit));
                            }
                            Err(rejected) => refusal = refusal.or_sooner(rejected),
                        }
                    }
                }
            }
        }
        Err(refusal)
    }

    fn next_behind(&mut self, tried: Tried) -> &mut u16 {
        if tried == Tried::NONE { &mut self.next } else { &mut self.next_other }
    }

    /// How it chooses.
    pub const fn strategy(&self) -> Strategy {
        self.strategy
    }
}

/// Refuses weights of which none is above zero: nobody could be chosen by them.
///
/// A negative or endless weight cannot be written down. A target that is missing from a user's
/// list weighs [`WEIGHT_ONE`].
///
/// # Errors
///
/// Names `balancing.weights`.
pub fn check_weights(weights: &[u32]) -> Result<(), Invalid> {
    if weights.iter().all(|weight| *weight == 0) {
        let rule = "must be above zero for one target at least";
        return Err(Invalid::new("balancing.weights", 0, "", rule));
    }
    Ok(())
}

const _: () = assert!(size_of::<Balancer>() <= 6);
