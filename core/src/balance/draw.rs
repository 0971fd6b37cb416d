//! This file knows how each strategy chooses, and whom it chooses next when it was refused.

use super::{Members, Strategy};
use crate::num::widen;
use crate::rng::scale;
use crate::{Random, Standing, Target, Tried};

/// The targets that are as good as each other for an attempt.
#[derive(Clone, Copy)]
pub(super) struct Class {
    pub(super) standing: Standing,
    pub(super) tried: Tried,
    /// Those in `tried`, or the others.
    pub(super) again: bool,
    /// For [`Strategy::Weighted`]: those of no weight, or the others.
    pub(super) spare: bool,
}

/// Every target of a class once, in the order in which it is worth asking.
///
/// Random strategies draw anew after a refusal, so that no target inherits the load of a
/// neighbour whose circuit is open. What was drawn is remembered for as long as there is room;
/// from then on it is a walk over the rest.
pub(super) struct Draw<'a, M> {
    members: &'a M,
    class: Class,
    strategy: Strategy,
    drawn: [Target; REDRAWS],
    draws: usize,
    /// Where a walk goes on, and how many targets it has not passed.
    at: u16,
    left: u16,
}

/// With half of very many targets refusing, one draw in 65,536 ends in a walk.
const REDRAWS: usize = 16;

/// Where three of four targets are in the class, one draw in 256 has to count them.
const BLIND_DRAWS: u8 = 4;

impl<'a, M: Members> Draw<'a, M> {
    pub(super) fn new(strategy: Strategy, at: u16, members: &'a M, class: Class) -> Self {
        let left = members.count();
        Self { members, class, strategy, drawn: [Target::ONLY; REDRAWS], draws: 0, at, left }
    }

    pub(super) fn next(&mut self, rng: &mut impl Random) -> Option<Target> {
        if self.draws >= REDRAWS {
            return self.walk();
        }
        let target = match self.strategy {
            Strategy::LeastRequest => self.least_request(rng),
            Strategy::Random => self.uniform(rng, None),
            Strategy::RoundRobin => return self.walk(),
            Strategy::Weighted => self.weighted(rng),
        }?;
        if let Some(place) = self.drawn.get_mut(self.draws) {
            *place = target;
        }
        self.draws = self.draws.saturating_add(1);
        self.at = target.number().saturating_add(1);
        Some(target)
    }

    /// The next one behind the last.
    fn walk(&mut self) -> Option<Target> {
        while let Some(left) = self.left.checked_sub(1) {
            let number = if self.at < self.members.count() { self.at } else { 0 };
            self.left = left;
            self.at = number.saturating_add(1);
            if self.has(Target::new(number)) {
                return Some(Target::new(number));
            }
        }
        None
    }

    fn least_request(&self, rng: &mut impl Random) -> Option<Target> {
        let first = self.uniform(rng, None)?;
        let Some(second) = self.uniform(rng, Some(first)) else { return Some(first) };
        let busier = self.members.in_flight(first) > self.members.in_flight(second);
        Some(if busier { second } else { first })
    }

    /// Any, each with the same chance: blindly while that is likely to hit, and then by counting.
    fn uniform(&self, rng: &mut impl Random, except: Option<Target>) -> Option<Target> {
        let count = u64::from(self.members.count());
        for _ in 0..BLIND_DRAWS {
            let target = numbered(scale(count, rng.next_u32()));
            if Some(target) != except && self.has(target) {
                return Some(target);
            }
        }
        self.by_share(rng, |target| u64::from(Some(target) != except))
    }

    fn weighted(&self, rng: &mut impl Random) -> Option<Target> {
        if self.class.spare {
            return self.uniform(rng, None);
        }
        self.by_share(rng, |target| widen(self.members.weight(target)))
    }

    /// Any, with a chance in proportion to its `share`; `None` if nobody has one.
    fn by_share(&self, rng: &mut impl Random, share: impl Fn(Target) -> u64) -> Option<Target> {
        let mut sum = 0u64;
        for target in self.all() {
            sum = sum.saturating_add(share(target));
        }
        if sum == 0 {
            return None;
        }
        let mut point = scale(sum, rng.next_u32());
        let mut last = None;
        for target in self.all() {
            // What is up may change between the two walks; then the last one is as good.
            last = Some(target);
            match point.checked_sub(share(target)) {
                Some(rest) => point = rest,
                None => break,
            }
        }
        last
    }

    fn all(&self) -> impl Iterator<Item = Target> {
        (0..self.members.count()).map(Target::new).filter(|target| self.has(*target))
    }

    /// Whether `target` is of the class and was not drawn yet.
    fn has(&self, target: Target) -> bool {
        let Class { standing, tried, again, spare } = self.class;
        let weighted = matches!(self.strategy, Strategy::Weighted);
        target.number() < self.members.count()
            && tried.contains(target) == again
            && self.members.standing(target) == standing
            && (!weighted || (self.members.weight(target) == 0) == spare)
            && !self.drawn.iter().take(self.draws).any(|drawn| *drawn == target)
    }
}

fn numbered(number: u64) -> Target {
    Target::new(u16::try_from(number).unwrap_or(u16::MAX))
}
