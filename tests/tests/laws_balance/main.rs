//! The laws of a balancer: for every strategy, any standing, any number of targets up to a
//! thousand, and members that change while they are looked at.

mod weights;

use core::cell::Cell;
use std::collections::BTreeMap;

use evenkeel_core::{
    Balancer, Instant, Members, Permit, Random, Refusal, Rejected, SmallRng, Standing, Strategy,
    Target, Tried,
};
use evenkeel_tests::ensure;
use evenkeel_tests::model::on_random;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Strategy as _;

const STRATEGIES: [Strategy; 4] =
    [Strategy::LeastRequest, Strategy::Random, Strategy::RoundRobin, Strategy::Weighted];
const STANDINGS: [Standing; 3] = [Standing::Down, Standing::Suspect, Standing::Up];

/// Targets with a load and a weight.
#[derive(Clone, Debug)]
struct World(Vec<One>);

#[derive(Clone, Copy, Debug)]
struct One {
    standing: Standing,
    in_flight: u32,
    weight: u32,
    refuses_until: Option<u64>,
}

impl World {
    fn up(count: usize) -> Self {
        let one = One { standing: Standing::Up, in_flight: 0, weight: 1_000, refuses_until: None };
        Self(vec![one; count])
    }

    fn one(&self, target: Target) -> One {
        self.0[usize::from(target.number())]
    }

    fn ask(&self, target: Target) -> Result<Permit, Rejected> {
        match self.one(target).refuses_until {
            Some(at) => Err(Rejected { retry_at: Instant::from_micros(at) }),
            None => Ok(Permit::UNTRACKED),
        }
    }

    /// Those that may be asked at all: whoever is up, or else the suspects. By weight, those who have
    /// one, and behind them whoever is up without; a suspect without one only where nobody is up.
    /// Everybody who may be asked at all.
    fn eligible(&self) -> Vec<u16> {
        let up = |(_, one): &(u16, &One)| one.standing != Standing::Down;
        (0u16..).zip(&self.0).filter(up).map(|(number, _)| number).collect()
    }

    /// Those that say yes and are better than all others that do.
    fn preferred(&self) -> Vec<u16> {
        let of = |standing| {
            let willing =
                |(_, one): &(u16, &One)| one.standing == standing && one.refuses_until.is_none();
            let numbers = (0u16..).zip(&self.0).filter(willing).map(|(number, _)| number);
            numbers.collect::<Vec<u16>>()
        };
        let up = of(Standing::Up);
        if up.is_empty() { of(Standing::Suspect) } else { up }
    }
}

impl Members for World {
    fn count(&self) -> u16 {
        u16::try_from(self.0.len()).unwrap()
    }

    fn standing(&self, target: Target) -> Standing {
        self.one(target).standing
    }

    fn in_flight(&self, target: Target) -> u32 {
        self.one(target).in_flight
    }

    fn weight(&self, target: Target) -> u32 {
        self.one(target).weight
    }
}

fn worlds(longest: usize) -> impl proptest::strategy::Strategy<Value = World> {
    let one = (
        select(STANDINGS.to_vec()),
        select(vec![0, 0, 1, 7, u32::MAX]),
        select(vec![0, 1, 1_000, u32::MAX]),
        select(vec![None, None, Some(5), Some(9), Some(u64::MAX)]),
    );
    let one = one.prop_map(|(standing, in_flight, weight, refuses_until)| One {
        standing,
        in_flight,
        weight,
        refuses_until,
    });
    vec(one, 0..longest).prop_map(World)
}

/// How often each target is picked in so many picks.
fn spread(balancer: &mut Balancer, world: &World, picks: usize, seed: u32) -> BTreeMap<u16, usize> {
    let (mut spread, mut rng) = (BTreeMap::new(), SmallRng::seeded(seed));
    for _ in 0..picks {
        let picked = balancer.pick(world, Tried::NONE, &mut rng, |target| world.ask(target));
        *spread.entry(picked.unwrap().0.number()).or_default() += 1;
    }
    spread
}

#[test]
fn everybody_who_may_be_asked_is_asked_once_before_a_refusal() {
    let tried = vec(0u16..1_000, 0..6);
    let cases = (worlds(80), select(STRATEGIES.to_vec()), tried, any::<u32>(), any::<u16>());
    on_random(cases, |(world, strategy, tried, seed, start)| {
        let mask = tried.iter().fold(Tried::NONE, |mask, one| mask.with(Target::new(*one)));
        let mut balancer = Balancer::new(strategy).starting_at(Target::new(start));
        let mut rng = SmallRng::seeded(seed);
        let mut asked = Vec::new();
        let picked = balancer.pick(&world, mask, &mut rng, |target| {
            asked.push(target.number());
            world.ask(target)
        });
        let eligible = world.eligible();
        let refusing = |number: &u16| world.0[usize::from(*number)].refuses_until;
        let mut once = asked.clone();
        once.sort_unstable();
        once.dedup();
        ensure!(once.len() == asked.len(), "somebody was asked twice: {asked:?}");
        ensure!(asked.iter().all(|one| eligible.contains(one)), "{asked:?} of {eligible:?}");
        let order = asked.iter().map(|number| {
            let one = &world.0[usize::from(*number)];
            let spare = strategy == Strategy::Weighted && one.weight == 0;
            (spare, one.standing != Standing::Up, mask.contains(Target::new(*number)))
        });
        ensure!(order.is_sorted(), "a worse one too early: {asked:?}, {mask:?}");
        match picked {
            Ok((target, _)) => {
                ensure!(asked.last() == Some(&target.number()), "{target:?} was not asked last");
                ensure!(refusing(&target.number()).is_none(), "{target:?} refused");
            }
            Err(Refusal::NoTarget) => ensure!(eligible.is_empty(), "nobody of {eligible:?}"),
            Err(Refusal::CircuitOpen { retry_at }) => {
                ensure!(once == eligible, "only {once:?} of {eligible:?} were asked");
                let soonest = eligible.iter().filter_map(refusing).min();
                ensure!(soonest == Some(retry_at.as_micros()), "{retry_at:?}, not {soonest:?}");
            }
        }
        Ok(())
    });
}

#[test]
fn round_robin_is_even() {
    let cases = (worlds(1_000), worlds(1_000), 0..2_500usize, any::<u16>());
    on_random(cases, |(before, world, picks, start)| {
        let mut balancer = Balancer::new(Strategy::RoundRobin).starting_at(Target::new(start));
        // Whatever happened to whatever other set before.
        let mut rng = SmallRng::seeded(1);
        let _ = balancer.pick(&before, Tried::NONE, &mut rng, |target| before.ask(target));

        let willing = world.preferred();
        if willing.is_empty() {
            return Ok(());
        }
        let spread = spread(&mut balancer, &world, picks, 1);
        let least = willing.iter().map(|one| spread.get(one).copied().unwrap_or(0)).min();
        let most = spread.values().max().copied().unwrap_or(0);
        ensure!(spread.keys().all(|one| willing.contains(one)), "{spread:?}");
        ensure!(most <= least.unwrap_or(0) + 1, "{least:?} to {most} in {picks}");
        Ok(())
    });
}

/// A retry goes to another target, and moves nobody from whom the next call begins with: with two
/// targets of which one fails, every call would begin with that one.
#[test]
fn retries_leave_the_order_of_first_attempts_alone() {
    for count in 2u16..6 {
        let world = World::up(usize::from(count));
        let mut balancer = Balancer::new(Strategy::RoundRobin);
        let mut rng = SmallRng::seeded(1);
        let mut pick = |tried| {
            let picked = balancer.pick(&world, tried, &mut rng, |_| Ok(Permit::UNTRACKED));
            picked.expect("all are up").0
        };
        let (mut first, mut again) = (vec![0; usize::from(count)], vec![0; usize::from(count)]);
        for _ in 0..60 * count {
            let target = pick(Tried::NONE);
            first[usize::from(target.number())] += 1;
            if target.number() == 0 {
                again[usize::from(pick(Tried::NONE.with(target)).number())] += 1;
            }
        }
        assert_eq!(first, vec![60; usize::from(count)]);
        assert_eq!(again[0], 0);
        let others = again[1..].iter();
        assert!(others.clone().max().unwrap() - others.min().unwrap() <= 1, "{again:?}");
    }
}

/// Whoever is out, whoever refuses: nobody has more than a fair share of what is left.
#[test]
fn no_neighbour_inherits_a_load() {
    for strategy in [Strategy::LeastRequest, Strategy::Random, Strategy::Weighted] {
        for out in [Standing::Down, Standing::Up] {
            let mut world = World::up(10);
            for number in 2..7 {
                world.0[number].standing = out;
                world.0[number].refuses_until = Some(9);
            }
            let picks = 50_000;
            let spread = spread(&mut Balancer::new(strategy), &world, picks, 7);
            assert_eq!(spread.len(), 5, "{strategy:?}");
            for (number, count) in spread {
                // A fifth each; five standard deviations of that are 450.
                assert!(count.abs_diff(picks / 5) < 450, "{strategy:?}: {number} {count}");
            }
        }
    }
}

#[test]
fn the_busiest_is_never_chosen() {
    let cases = (vec(0u32..1_000, 2..40), any::<u32>());
    on_random(cases, |(loads, seed)| {
        let mut world = World::up(loads.len());
        for (one, load) in world.0.iter_mut().zip(&loads) {
            one.in_flight = *load;
        }
        let busiest = loads.iter().max().unwrap();
        if loads.iter().filter(|load| *load == busiest).count() > 1 {
            return Ok(());
        }
        let spread = spread(&mut Balancer::new(Strategy::LeastRequest), &world, 60, seed);
        let chosen = spread.keys().any(|one| loads[usize::from(*one)] == *busiest);
        ensure!(!chosen, "{spread:?} of {loads:?}");
        Ok(())
    });
}

/// A thousand callers, one attempt each, none of which ends: two choices keep them level.
#[test]
fn two_choices_keep_the_load_level() {
    let mut world = World::up(100);
    let (mut balancer, mut rng) = (Balancer::new(Strategy::LeastRequest), SmallRng::seeded(5));
    for _ in 0..10_000 {
        let ask = |_| Ok(Permit::UNTRACKED);
        let (target, _) = balancer.pick(&world, Tried::NONE, &mut rng, ask).unwrap();
        world.0[usize::from(target.number())].in_flight += 1;
    }
    let most = world.0.iter().map(|one| one.in_flight).max().unwrap();
    assert!(most <= 105, "a hundred each, and {most} on one");
}

#[test]
fn the_last_one_up_is_found_among_a_thousand() {
    for strategy in STRATEGIES {
        for lonely in [0usize, 1, 499, 998, 999] {
            let mut world = World::up(1_000);
            world.0.iter_mut().for_each(|one| one.standing = Standing::Suspect);
            world.0[lonely].standing = Standing::Up;
            let spread = spread(&mut Balancer::new(strategy), &world, 20, 3);
            assert_eq!(spread.keys().collect::<Vec<_>>(), [&(lonely as u16)], "{strategy:?}");
        }
    }
}

#[test]
fn same_seed_same_picks() {
    for strategy in STRATEGIES {
        let world = World::up(30);
        let run = |seed| {
            let (mut balancer, mut rng) = (Balancer::new(strategy), SmallRng::seeded(seed));
            let ask = |_| Ok(Permit::UNTRACKED);
            let mut pick = || balancer.pick(&world, Tried::NONE, &mut rng, ask).unwrap().0;
            (0..50).map(|_| pick().number()).collect::<Vec<u16>>()
        };
        assert_eq!(run(1), run(1));
        assert_eq!(run(1) == run(2), strategy == Strategy::RoundRobin, "{strategy:?}");
    }
}

/// Members in atomics may change between two looks: it ends, and is inside the range.
#[test]
fn members_that_change_while_they_are_looked_at() {
    struct Shifting(Cell<u32>, u16);

    impl Shifting {
        fn next(&self) -> u32 {
            let mut rng = SmallRng::seeded(self.0.get());
            self.0.set(rng.next_u32());
            self.0.get()
        }
    }

    impl Members for Shifting {
        fn count(&self) -> u16 {
            self.1
        }

        fn standing(&self, target: Target) -> Standing {
            assert!(target.number() < self.1);
            STANDINGS[self.next() as usize % 3]
        }

        fn in_flight(&self, _target: Target) -> u32 {
            self.next()
        }

        fn weight(&self, _target: Target) -> u32 {
            self.next() % 3
        }
    }

    for (strategy, seed) in STRATEGIES.into_iter().flat_map(|one| (0..500).map(move |s| (one, s))) {
        let members = Shifting(Cell::new(seed), seed as u16 % 50);
        let (mut balancer, mut rng) = (Balancer::new(strategy), SmallRng::seeded(seed));
        let mut asked = 0;
        let picked = balancer.pick(&members, Tried::NONE, &mut rng, |target| {
            asked += 1;
            assert!(target.number() < members.1);
            Err(Rejected { retry_at: Instant::MAX })
        });
        assert!(picked.is_err());
        // Twice at most in each of the four classes.
        assert!(asked <= 8 * u32::from(members.1), "{strategy:?}: {asked} of {}", members.1);
    }
}

/// The largest fleet a number can name: no strategy overflows.
#[test]
fn no_overflow_in_any_profile() {
    let mut world = World::up(usize::from(u16::MAX));
    world.0.iter_mut().for_each(|one| (one.weight, one.in_flight) = (u32::MAX, u32::MAX));
    for strategy in STRATEGIES {
        let mut balancer = Balancer::new(strategy).starting_at(Target::new(u16::MAX - 1));
        let spread = spread(&mut balancer, &world, 3, u32::MAX);
        assert_eq!(spread.values().sum::<usize>(), 3);
        if strategy == Strategy::RoundRobin {
            assert_eq!(spread.keys().collect::<Vec<_>>(), [&0, &1, &(u16::MAX - 1)]);
        }
    }
}

#[test]
fn tried_twice_is_tried() {
    let (first, second) = (Target::new(3), Target::new(4));
    let tried = Tried::NONE.with(first).with(first);
    assert!(tried.contains(first) && !tried.contains(second));
    assert!(tried.with(second).with(first).contains(second));
}
