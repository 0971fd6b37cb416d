//! The laws of a table, in every state a small one can reach and on random walks of larger ones.

use std::sync::OnceLock;

use evenkeel_core::{
    BreakerPolicy, BreakerState, BreakerTable, Consecutive, Deadline, Instant, Verdict, checked,
};
use evenkeel_tests::ensure;
use evenkeel_tests::model::on_random;
use evenkeel_tests::model::search::search;
use evenkeel_tests::model::table::{Move, Setting, Step, TICK, World, any_walk};

/// Every step of a table of `N`, with `keys` keys and at most `permits` permits out, in states up
/// to `depth` steps away. A changed number of states is a changed machine: look at it, then write
/// the new one down.
fn collect<const N: usize>(
    (keys, permits, depth): (u8, usize, usize),
    expected: (usize, usize),
) -> (usize, Vec<Step>) {
    let setting = Setting::two_failures(permits);
    let mut moves = vec![Move::Pass(TICK)];
    moves.extend((0..keys).map(|key| Move::Admit(key, Some(TICK))));
    for place in 0..permits {
        moves.extend([Move::Lose(place), Move::Record(place, Verdict::Success)]);
        moves.push(Move::Record(place, Verdict::Failure));
    }
    let mut steps = Vec::new();
    let extent = search(World::<N>::new(1 << 40), depth, World::key, |world, reached| {
        for to in &moves {
            if let Some((step, end)) = world.go(&setting, *to)? {
                steps.push(step);
                reached(format!("{to:?}"), end);
            }
        }
        Ok(())
    });
    let extent = extent.unwrap_or_else(|fault| panic!("{fault}"));
    println!("{extent:?} with {N} slots, {keys} keys, {permits} permits");
    assert_eq!((extent.states, extent.steps), expected);
    (N, steps)
}

/// Asks `law` of every step of every search (made once), then of the steps of random walks. It
/// answers whether it had anything to say, so that a law about nothing is noticed.
fn on_steps(law: impl Fn(usize, &Step) -> Result<bool, String>) {
    static STEPS: OnceLock<Vec<(usize, Vec<Step>)>> = OnceLock::new();
    let searched = STEPS.get_or_init(|| {
        vec![
            collect::<1>((2, 3, usize::MAX), (593, 5_277)),
            collect::<2>((3, 1, usize::MAX), (8_315, 33_260)),
            collect::<2>((3, 2, 10), (1_892, 7_836)),
        ]
    });
    let mut cases = 0;
    for (n, steps) in searched {
        for step in steps {
            match law(*n, step) {
                Ok(applies) => cases += u32::from(applies),
                Err(fault) => panic!("{fault}\nin {step:?}"),
            }
        }
    }
    assert!(cases > 100, "only {cases} cases");
    let setting = Setting::two_failures(6);
    on_random(any_walk(), |(start, moves)| {
        let mut world = World::<4>::new(start);
        for to in &moves {
            let Some((step, end)) = world.go(&setting, *to)? else { continue };
            law(4, &step).map_err(|fault| format!("{fault}\nin {step:?}"))?;
            world = end;
        }
        Ok(())
    });
}

/// Whether the step wants an entry that only an eviction can give.
fn crowds(n: usize, step: &Step) -> bool {
    let full = step.before.len() == n;
    full && matches!(step.to, Move::Admit(key, _) if !step.before.iter().any(|one| one.0 == key))
}

#[test]
fn never_more_than_n() {
    on_steps(|n, step| {
        ensure!(step.after.len() <= n, "{} of {n}", step.after.len());
        Ok(crowds(n, step))
    });
}

#[test]
fn a_protecting_circuit_is_never_evicted() {
    on_steps(|n, step| {
        let mut protecting = 0;
        for (key, before) in &step.before {
            let in_use = step.in_use.contains(key);
            if before.state != BreakerState::Closed || in_use {
                protecting += 1;
                let stays = step.after.iter().any(|(other, _)| other == key);
                ensure!(stays, "key {key} is gone, in use: {in_use}");
            }
        }
        Ok(protecting > 0 && crowds(n, step))
    });
}

#[test]
fn same_key_same_breaker() {
    on_steps(|n, step| {
        let own = match (step.to, step.gave) {
            (Move::Admit(key, _), _) | (_, Some((key, _))) => Some(key),
            _ => None,
        };
        let mut gone = 0;
        for (key, before) in &step.before {
            match step.after.iter().find(|(other, _)| other == key) {
                Some((_, after)) => ensure!(own == Some(*key) || before == after, "{key} changed"),
                None => gone += 1,
            }
        }
        ensure!(gone == 0 || (gone == 1 && crowds(n, step)), "{gone} are gone");
        let mut keys: Vec<u8> = step.after.iter().map(|(key, _)| *key).collect();
        keys.dedup();
        ensure!(keys.len() == step.after.len(), "a key has two breakers");
        // A permit of an evicted entry means nothing to its key's next one.
        let orphan = matches!(step.gave, Some((_, false)));
        ensure!(!orphan || step.unchanged, "an evicted entry's permit was honoured");
        Ok(orphan)
    });
}

#[test]
fn a_permit_of_an_evicted_breaker_means_nothing() {
    let policy = BreakerPolicy::new(checked!(Consecutive::new(1)));
    let mut table = BreakerTable::<u8, 1>::new();
    let at = |tick: u64| Instant::from_micros(tick * TICK);
    let lease = |tick: u64| Deadline::at(at(tick));

    let orphan = table.admit(at(0), 1, lease(1), &policy).unwrap();
    let _ = table.admit(at(1), 2, lease(2), &policy).unwrap();
    let _ = table.admit(at(2), 1, lease(3), &policy).unwrap();
    assert_eq!((table.len(), table.untracked()), (1, 0), "each took the place of the last");

    let before = table.clone();
    assert_eq!(table.record(at(2), 1, orphan, Verdict::Failure, &policy), None);
    assert_eq!(table, before);
    assert!(table.admit(at(2), 1, lease(3), &policy).is_ok());
}

/// A trial without an end that is said to be under way is waited for, and keeps its place.
#[test]
fn a_renewed_trial_is_neither_lost_nor_evicted() {
    let open_for = core::time::Duration::from_secs(2);
    let policy = BreakerPolicy::new(checked!(Consecutive::new(1))).with_open_for(open_for).unwrap();
    let at = |second: u64| Instant::from_micros(second * 1_000_000);
    let mut table = BreakerTable::<u8, 1>::new();
    let permit = table.admit(at(0), 1, Deadline::NONE, &policy).unwrap();
    let _ = table.record(at(0), 1, permit, Verdict::Failure, &policy);
    let trial = table.admit(at(2), 1, Deadline::NONE, &policy).unwrap();
    table.renew(at(3), 1, &trial, &policy);
    let refused = table.admit(at(4), 1, Deadline::NONE, &policy).unwrap_err();
    assert_eq!(refused.retry_at, at(5), "two seconds after it was renewed, and not after it began");

    // Closed again it protects nobody, and is kept for what is under way alone.
    assert!(table.record(at(4), 1, trial, Verdict::Success, &policy).is_some());
    let healthy = table.admit(at(4), 1, Deadline::at(at(5)), &policy).unwrap();
    table.renew(at(6), 1, &healthy, &policy);
    let newcomer = table.admit(at(7), 2, Deadline::NONE, &policy).unwrap();
    assert_eq!((newcomer, table.untracked()), (evenkeel_core::Permit::UNTRACKED, 1));
    let _ = table.admit(at(9), 2, Deadline::NONE, &policy).unwrap();
    assert_eq!((table.len(), table.untracked()), (1, 1), "nothing is under way any more");
}
