//! The laws of a link, on random walks through everything that can happen to one.

mod carrier;
mod walk;

use core::time::Duration;

use evenkeel_core::{
    Backoff, Instant, Jitter, Micros, Reconnect, ReconnectAction, ReconnectPolicy, Rung, checked,
};
use evenkeel_tests::ensure;
use evenkeel_tests::model::on_random;
use proptest::collection::vec;
use proptest::prelude::*;

use walk::{SECOND, Seen, Step, Walk, steps};

const LADDER: &[Rung] = &[Rung::reset_peripheral(3), Rung::reset_peripheral(2), Rung::reboot(4)];

static PLAIN: ReconnectPolicy = ReconnectPolicy::DEFAULT;
static CLIMBING: ReconnectPolicy = checked!(ReconnectPolicy::DEFAULT.with_ladder(LADDER));
static ENDING: ReconnectPolicy =
    checked!(ReconnectPolicy::DEFAULT.with_give_up_after(Duration::from_secs(600)));

fn on_walks(policy: &'static ReconnectPolicy, law: impl Fn(&Seen, &[Step]) -> Result<(), String>) {
    on_random((any::<u32>(), steps()), |(seed, steps)| {
        let seen = Walk::new(seed, policy).run(&steps)?;
        law(&seen, &steps).map_err(|fault| format!("{fault} with {seed} and {steps:?}"))
    });
}

#[test]
fn time_moves_on() {
    on_walks(&PLAIN, |seen, steps| {
        ensure!(seen.dials.len() == steps.len(), "a step without a dial");
        ensure!(seen.waits.iter().all(|(from, to)| to > from), "a wait that is none");
        Ok(())
    });
}

/// While the link waits, while a dial is under way, and while a session is up.
#[test]
fn polling_twice_changes_nothing() {
    on_random(any::<u32>(), |seed| {
        let mut link = Reconnect::new(seed);
        let twice = |link: &mut Reconnect, now, expected| {
            for _ in 0..2 {
                let act = link.poll(now, &PLAIN);
                ensure!(act == ReconnectAction::WaitUntil(expected), "{act:?} at {now:?}");
            }
            Ok(())
        };
        let ReconnectAction::WaitUntil(at) = link.poll(Instant::ZERO, &PLAIN) else {
            return Err("no splay".into());
        };
        twice(&mut link, Instant::ZERO, at)?;
        let ReconnectAction::Dial(dial) = link.poll(at, &PLAIN) else {
            return Err(format!("no dial at {at:?}"));
        };
        let over = dial.deadline().instant();
        let last = Instant::from_micros(over.as_micros() - 1);
        twice(&mut link, at, over)?;
        twice(&mut link, last, over)?;
        ensure!(link.connected(last, dial, &PLAIN), "polling ended the dial");
        twice(&mut link, last, Instant::MAX)?;
        let setback = link.lost(last, None, &PLAIN).ok_or("polling ended the session")?;
        twice(&mut link, last, setback.dial_at)
    });
}

#[test]
fn the_first_dial_is_splayed() {
    let firsts: Vec<u64> = (0..1_000)
        .map(|seed| Walk::new(seed, &PLAIN).run(&[Step::Forget]).unwrap().dials[0])
        .collect();
    assert!(firsts.iter().all(|at| *at <= 20 * SECOND + 5));
    for second in 0..20u64 {
        let range = second * SECOND..(second + 1) * SECOND;
        let there = firsts.iter().filter(|at| range.contains(at)).count();
        assert!((20..=90).contains(&there), "{there} of 1000 in second {second}");
    }
}

#[test]
fn neighbouring_seeds_are_strangers() {
    let first = |seed| Walk::new(seed, &PLAIN).run(&[Step::Forget]).unwrap().dials[0];
    let mut differences: Vec<i64> =
        (0..200u32).map(|seed| first(seed) as i64 - first(seed + 1) as i64).collect();
    differences.sort_unstable();
    differences.dedup();
    assert!(differences.len() > 190);
}

#[test]
fn same_seed_same_link() {
    on_random((any::<u32>(), steps()), |(seed, steps)| {
        let run = || Walk::new(seed, &CLIMBING).run(&steps);
        ensure!(run()? == run()?, "two runs differ");
        Ok(())
    });
}

#[test]
fn only_a_session_that_stayed_up_resets() {
    // The longest wait there can be says how far the backoff has grown.
    let ceiling = |steps: &[Step]| {
        (0..400u32)
            .map(|seed| {
                let mut walk = Walk::new(seed, &PLAIN);
                for step in steps {
                    let dial = walk.next_dial().unwrap().unwrap();
                    walk.happen(*step, dial).unwrap();
                }
                let from = walk.now;
                let _ = walk.next_dial().unwrap();
                walk.now - from
            })
            .max()
            .unwrap()
    };
    let near = |got: u64, due: u64| got <= due * SECOND && got > due * SECOND * 9 / 10;
    assert!(near(ceiling(&[Step::Fail(None)]), 1));
    assert!(near(ceiling(&[Step::Fail(None); 3]), 4));
    // Sessions of a second advance it as failed dials do.
    assert!(near(ceiling(&[Step::Last(1, None); 3]), 4));
    assert!(near(ceiling(&[Step::Last(59, None); 8]), 120), "the cap");
    // One of exactly stable_after starts over.
    let mut healed = [Step::Fail(None); 6];
    healed[5] = Step::Last(60, None);
    assert!(near(ceiling(&healed), 1));
}

#[test]
fn a_lost_session_never_dials_at_once() {
    on_walks(&PLAIN, |seen, _| {
        ensure!(seen.waits.len() >= seen.dials.len(), "a dial without a wait before it");
        Ok(())
    });
    // Also when the generator and the clock do their worst.
    let mut quick = Walk::new(0, &PLAIN);
    for _ in 0..20_000 {
        let dial = quick.next_dial().unwrap().unwrap();
        assert!(quick.link.connected(quick.instant(), dial, &PLAIN));
        let setback = quick.link.lost(quick.instant(), None, &PLAIN).unwrap();
        assert!(setback.dial_at > quick.instant());
    }
}

#[test]
fn hints_only_lengthen() {
    on_random((any::<u32>(), 1..40u8, any::<u64>()), |(seed, before, hint)| {
        let mut walk = Walk::new(seed, &PLAIN);
        for _ in 0..before {
            let dial = walk.next_dial()?.ok_or("gave up")?;
            walk.happen(Step::Fail(None), dial)?;
        }
        let _ = walk.next_dial()?;
        let lose = |hint: Option<Micros>| {
            let mut link = walk.link.clone();
            let dial = match link.poll(walk.instant() + Micros::from_millis(20_000), walk.policy) {
                ReconnectAction::WaitUntil(at) => link.poll(at, walk.policy),
                action => action,
            };
            let ReconnectAction::Dial(dial) = dial else { panic!("{dial:?}") };
            let at = Instant::from_micros(dial.deadline().instant().as_micros() - 1);
            (link.failed(at, dial, hint, walk.policy).unwrap().dial_at, at)
        };
        let ((plain, _), (asked, at)) = (lose(None), lose(Some(Micros::from_micros(hint))));
        let max = walk.policy.max_hint();
        ensure!(asked >= plain, "{hint} shortened the wait");
        ensure!(asked.since(at) >= Micros::from_micros(hint).shorter(max), "not long enough");
        ensure!(asked.since(plain) <= max, "longer than the longest hint");
        Ok(())
    });
}

#[test]
fn the_ladder_is_climbed_in_order() {
    on_walks(&CLIMBING, |seen, steps| {
        // Counted again from the failures alone.
        let (mut due, mut climbed, mut rung) = (Vec::new(), 0, 0);
        let failures = steps.iter().map(|step| match step {
            Step::Last(seconds, _) if *seconds >= 60 => 0,
            Step::Connect(_) | Step::Fail(_) | Step::Forget | Step::Last(..) => 1,
        });
        for failed in failures {
            if failed == 0 {
                (climbed, rung) = (0, 0);
                continue;
            }
            climbed += 1;
            let now = LADDER[rung.min(LADDER.len() - 1)];
            if climbed == now.after {
                due.push(now.step);
                (climbed, rung) = (0, rung + 1);
            }
        }
        // The last one may not have been told before the walk ended.
        let told = seen.escalations.len();
        ensure!(due[..told] == seen.escalations, "{:?}, due {due:?}", seen.escalations);
        ensure!(due.len() - told <= 1, "{:?}, due {due:?}", seen.escalations);
        Ok(())
    });
}

#[test]
fn the_end_is_final() {
    on_walks(&ENDING, |seen, steps| {
        ensure!(seen.gave_up.is_some() || seen.dials.len() == steps.len(), "it stopped");
        Ok(())
    });
    let mut walk = Walk::new(1, &ENDING);
    let mut first_failure = None;
    while let Some(dial) = walk.next_dial().unwrap() {
        walk.happen(Step::Fail(None), dial).unwrap();
        first_failure.get_or_insert(walk.now);
    }
    let window = walk.now - first_failure.unwrap();
    assert!(window < 600 * SECOND, "the window begins at the first failure: {window}");
    assert!(window > (600 - 240) * SECOND, "and is used: {window}");
    let mut far = walk.link.clone();
    assert_eq!(far.poll(Instant::MAX, &ENDING), ReconnectAction::GiveUp);
    assert_eq!(far.lost(Instant::MAX, None, &ENDING), None);
}

#[test]
fn no_dial_outlives_the_give_up_window() {
    for seed in 0..200 {
        let mut walk = Walk::new(seed, &ENDING);
        let mut end = None;
        while let Some(dial) = walk.next_dial().unwrap() {
            let deadline = dial.deadline().instant().as_micros();
            assert!(end.is_none_or(|end| deadline <= end));
            walk.happen(Step::Fail(Some(30)), dial).unwrap();
            end.get_or_insert(walk.now + 600 * SECOND);
        }
    }
}

#[test]
fn a_late_answer_changes_nothing() {
    let mut link = Reconnect::new(1);
    let later = Instant::from_micros(30 * SECOND);
    let _ = link.poll(Instant::ZERO, &PLAIN);
    let ReconnectAction::Dial(lost) = link.poll(later, &PLAIN) else { panic!() };
    let much_later = Instant::from_micros(400 * SECOND);
    let _ = link.poll(lost.deadline().instant(), &PLAIN);
    let ReconnectAction::Dial(current) = link.poll(much_later, &PLAIN) else { panic!() };
    let before = link.clone();
    assert!(!link.connected(much_later, lost, &PLAIN), "its session does not count");
    assert_eq!(link, before);
    assert!(link.connected(much_later, current, &PLAIN));
}

#[test]
fn a_clock_that_goes_back_stands_still() {
    on_random((any::<u32>(), vec(any::<u32>(), 1..50)), |(seed, times)| {
        let (mut jumpy, mut steady) = (Reconnect::new(seed), Reconnect::new(seed));
        let mut latest = 0;
        for time in times {
            latest = latest.max(time);
            let micros = |time: u32| Instant::from_micros(u64::from(time) * 100);
            let one = jumpy.poll(micros(time), &PLAIN);
            let two = steady.poll(micros(latest), &PLAIN);
            ensure!(one == two, "{one:?}, and {two:?} with a clock that stands still");
        }
        Ok(())
    });
}

#[test]
fn no_overflow_in_any_profile() {
    const HIGH: &[Rung] = &[Rung::reboot(u16::MAX)];
    static LONGEST: ReconnectPolicy = {
        let end = Duration::from_micros((1 << 48) - 1);
        let backoff = checked!(checked!(Backoff::new(end, end)).with_jitter(Jitter::None));
        let policy = checked!(ReconnectPolicy::DEFAULT.with_splay(end));
        let policy = checked!(checked!(policy.with_backoff(backoff)).with_max_hint(end));
        checked!(checked!(policy.with_dial_timeout(end)).with_ladder(HIGH))
    };
    for start in [0, 1, 1 << 48, u64::MAX - 1, u64::MAX] {
        let mut link = Reconnect::new(7);
        let mut now = Instant::from_micros(start);
        for _ in 0..80_000u32 {
            match link.poll(now, &LONGEST) {
                ReconnectAction::Dial(dial) => {
                    let _ = link.failed(now, dial, Some(Micros::MAX), &LONGEST);
                }
                ReconnectAction::WaitUntil(at) => now = at,
                ReconnectAction::Escalate(_) | ReconnectAction::GiveUp => {}
            }
        }
        assert_eq!(now, Instant::MAX);
    }
}

#[test]
fn wrong_settings_are_refused_by_name() {
    let policy = ReconnectPolicy::DEFAULT;
    let field =
        |refused: Result<ReconnectPolicy, evenkeel_core::Invalid>| refused.unwrap_err().field();
    let zero = Backoff::new(Duration::ZERO, Duration::from_secs(1)).unwrap();
    let capped = Backoff::new(Duration::from_secs(1), Duration::ZERO).unwrap();
    assert_eq!(field(policy.with_backoff(zero)), "reconnect.backoff");
    assert_eq!(field(policy.with_backoff(capped)), "reconnect.backoff");
    assert_eq!(field(policy.with_splay(Duration::MAX)), "reconnect.splay");
    assert_eq!(field(policy.with_stable_after(Duration::MAX)), "reconnect.stable_after");
    assert_eq!(field(policy.with_dial_timeout(Duration::ZERO)), "reconnect.dial_timeout");
    assert_eq!(field(policy.with_max_hint(Duration::MAX)), "reconnect.max_hint");
    assert_eq!(field(policy.with_give_up_after(Duration::ZERO)), "reconnect.give_up_after");
    const ENDLESS: &[Rung] = &[Rung::reboot(3), Rung::reboot(0)];
    assert_eq!(field(policy.with_ladder(ENDLESS)), "reconnect.ladder");
}
