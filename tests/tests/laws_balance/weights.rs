//! What weights are to a balancer: shares, and where there is none, a target that is drained.

use core::cell::Cell;

use evenkeel_core::{
    Balancer, Instant, Members, Permit, Rejected, SmallRng, Standing, Strategy, Target, Tried,
};

use crate::{World, spread};

#[test]
fn weights_are_shares() {
    let mut world = World::up(5);
    for (one, weight) in world.0.iter_mut().zip([0, 1_000, 2_000, 3_000, 4_000]) {
        one.weight = weight;
    }
    let spread = spread(&mut Balancer::new(Strategy::Weighted), &world, 100_000, 3);
    for (number, share) in [(1, 10_000), (2, 20_000), (3, 30_000), (4, 40_000usize)] {
        assert!(spread[&number].abs_diff(share) < 800, "{number}: {}", spread[&number]);
    }
    assert!(!spread.contains_key(&0));
}

/// Drained is drained: neither a retry nor a doubt sends anything to a target of no weight, while
/// there is one that has some and gives leave.
#[test]
fn no_weight_comes_after_whoever_has_one() {
    let first = Target::new(0);
    for (standing, refuses, picked) in [
        (Standing::Up, false, Some(0)),
        (Standing::Suspect, false, Some(0)),
        (Standing::Down, false, Some(1)),
        (Standing::Up, true, Some(1)),
        (Standing::Suspect, true, Some(1)),
    ] {
        // The drained one may be in doubt itself, where nobody is up.
        let others = [Some(Standing::Up), (standing != Standing::Up).then_some(Standing::Suspect)];
        let tries = [Tried::NONE, Tried::NONE.with(first)];
        for (other, tried) in others.into_iter().flatten().flat_map(|one| tries.map(|t| (one, t))) {
            let mut world = World::up(2);
            world.0[0].standing = standing;
            world.0[1].standing = other;
            world.0[1].weight = 0;
            let mut rng = SmallRng::seeded(3);
            let ask = |target| {
                let refused = Err(Rejected { retry_at: Instant::MAX });
                if refuses && target == first { refused } else { Ok(Permit::UNTRACKED) }
            };
            let seen = Balancer::new(Strategy::Weighted).pick(&world, tried, &mut rng, ask);
            let seen = seen.ok().map(|(target, _)| target.number());
            assert_eq!(seen, picked, "{standing:?}, {refuses}, {other:?}, {tried:?}");
        }
    }
}

/// Where the one that a draw fell on has gone by the second look, another takes its place; never
/// one of no weight, which is there to be spared.
#[test]
fn no_weight_is_no_target_even_where_somebody_leaves_meanwhile() {
    /// The third member is up when it is looked at first, and then gone.
    struct Leaving(Cell<u32>);

    impl Members for Leaving {
        fn count(&self) -> u16 {
            3
        }

        fn standing(&self, target: Target) -> Standing {
            let looks = self.0.get();
            if target.number() == 2 {
                self.0.set(looks + 1);
            }
            if target.number() == 2 && looks > 0 { Standing::Down } else { Standing::Up }
        }

        fn weight(&self, target: Target) -> u32 {
            [1, 0, 1_000][usize::from(target.number())]
        }
    }

    for seed in 0..100 {
        let mut rng = SmallRng::seeded(seed);
        let ask = |_| Ok(Permit::UNTRACKED);
        let mut balancer = Balancer::new(Strategy::Weighted);
        let picked = balancer.pick(&Leaving(Cell::new(0)), Tried::NONE, &mut rng, ask);
        assert_eq!(picked.map(|(target, _)| target.number()), Ok(0), "seed {seed}");
    }
}
