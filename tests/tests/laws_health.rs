//! The laws of health checks: random scripts against a model that keeps the whole history, and
//! every short sequence of answers.

use core::time::Duration;

use evenkeel_core::{
    Answer, Health, HealthChange, HealthPolicy, HealthWatch, Instant, Micros, Unimplemented,
};
use evenkeel_tests::ensure;
use evenkeel_tests::model::on_random;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

const ANSWERS: [Answer; 4] =
    [Answer::Failed, Answer::NotServing, Answer::Serving, Answer::Unimplemented];

/// Settings in microseconds, and the policy of them.
#[derive(Clone, Copy, Debug)]
struct Settings {
    interval: u64,
    max_backoff: u64,
    rise: u8,
    fall: u8,
    kit: bool,
}

impl Settings {
    fn policy(self) -> HealthPolicy {
        let unimplemented =
            if self.kit { Unimplemented::Unhealthy } else { Unimplemented::Healthy };
        HealthPolicy::DEFAULT
            .with_interval(Duration::from_micros(self.interval))
            .and_then(|policy| policy.with_max_backoff(Duration::from_micros(self.max_backoff)))
            .and_then(|policy| policy.with_counts(self.rise, self.fall))
            .unwrap()
            .with_unimplemented(unimplemented)
    }

    fn is_good(self, answer: Answer) -> bool {
        match answer {
            Answer::Serving => true,
            Answer::Unimplemented => !self.kit,
            Answer::Failed | Answer::NotServing => false,
        }
    }
}

fn settings() -> impl Strategy<Value = Settings> {
    let longest = (1 << 48) - 1;
    let spans = vec![1, 3, 250_000, 30_000_000, 300_000_000, longest];
    let max = [vec![0], spans.clone()].concat();
    let counts = || select(vec![1, 2, 3, u8::MAX]);
    (select(spans), select(max), counts(), counts(), any::<bool>()).prop_map(
        |(interval, max_backoff, rise, fall, kit)| Settings {
            interval,
            max_backoff,
            rise,
            fall,
            kit,
        },
    )
}

/// What a history of good and bad answers comes to: the bit after each.
fn bits(settings: Settings, history: &[bool]) -> Vec<bool> {
    let mut bits: Vec<bool> = Vec::new();
    for (at, good) in history.iter().enumerate() {
        let Some(before) = bits.last().copied() else {
            bits.push(*good);
            continue;
        };
        // The answers since the bit was last what it is now, and all of them against it.
        let run = history[..=at].iter().rev().take_while(|one| **one != before).count();
        let flips = run >= usize::from(if before { settings.fall } else { settings.rise });
        bits.push(before != flips);
    }
    bits
}

/// Plays `script`, answers and what passes before them, and compares every step.
fn follow(settings: Settings, script: &[(u64, Answer)]) -> Result<(), String> {
    let (policy, mut health, mut now) = (settings.policy(), Health::new(), Instant::ZERO);
    let history: Vec<bool> = script.iter().map(|(_, one)| settings.is_good(*one)).collect();
    let bits = bits(settings, &history);
    for (at, (pass, answer)) in script.iter().enumerate() {
        let before = health.is_healthy();
        now = now.max(health.due()) + Micros::from_micros(*pass);
        let change = health.record(now, *answer, &policy);
        ensure!(health.is_healthy() == Some(bits[at]), "bit {at} of {script:?}");
        let told = (before != Some(bits[at])).then_some(bits[at]);
        ensure!(change.map(HealthChange::is_healthy) == told, "told {change:?} at {at}");

        let failures = history[..=at].iter().rev().take_while(|good| !**good).count();
        ensure!(health.failures() as usize == failures, "{failures} at {at}");
        let growth = 2u128.checked_pow(failures.max(1) as u32 - 1).unwrap_or(u128::MAX);
        let grown = u128::from(settings.interval).saturating_mul(growth);
        let pause = grown.min(u128::from(settings.max_backoff)).max(settings.interval.into());
        let due = u128::from(now.as_micros()) + pause;
        let due = u64::try_from(due).unwrap_or(u64::MAX);
        ensure!(health.due().as_micros() == due, "due {:?}, not {due}", health.due());
    }
    Ok(())
}

#[test]
fn a_check_is_due_when_the_rule_says_and_the_bit_is_what_the_answers_say() {
    let pass = select(vec![0, 1, 5_000_000, u64::MAX / 3]);
    let script = vec((pass, select(ANSWERS.to_vec())), 0..200);
    on_random((settings(), script), |(settings, script)| follow(settings, &script));
}

#[test]
fn every_short_sequence_of_answers() {
    for (rise, fall) in [(1, 1), (1, 3), (2, 1), (2, 2), (3, 2)] {
        for kit in [false, true] {
            let settings = Settings { interval: 1_000, max_backoff: 5_000, rise, fall, kit };
            for number in 0..ANSWERS.len().pow(6) {
                let nth = |place: u32| ANSWERS[number / ANSWERS.len().pow(place) % ANSWERS.len()];
                let script: Vec<(u64, Answer)> = (0..6).map(|place| (7, nth(place))).collect();
                follow(settings, &script).unwrap_or_else(|fault| panic!("{fault}"));
            }
        }
    }
}

/// The kit's loop died of a power of two at the 1,025th failure.
#[test]
fn a_dead_target_is_asked_for_ever() {
    let policy = HealthPolicy::DEFAULT;
    let (mut health, mut now) = (Health::new(), Instant::ZERO);
    for _ in 0..100_000 {
        health.record(now, Answer::Failed, &policy);
        assert!(health.due() > now && health.due().since(now) <= policy.max_backoff());
        now = health.due();
    }
    assert_eq!(health.record(now, Answer::Serving, &policy), Some(HealthChange::Healthy));
    assert_eq!(health.due().since(now), policy.interval());
}

#[test]
fn a_failing_target_is_never_asked_more_often_than_a_healthy_one() {
    let script = vec(select(ANSWERS.to_vec()), 1..80);
    on_random((settings(), script), |(settings, script)| {
        let (policy, mut health, mut now) = (settings.policy(), Health::new(), Instant::ZERO);
        for answer in script {
            health.record(now, answer, &policy);
            let pause = health.due().since(now);
            ensure!(pause >= policy.interval() || health.due() == Instant::MAX, "{pause:?}");
            ensure!(pause <= policy.interval().longer(policy.max_backoff()), "{pause:?}");
            now = health.due();
        }
        Ok(())
    });
}

#[test]
fn a_clock_that_goes_back_stands_still() {
    let script = vec((any::<u32>(), select(ANSWERS.to_vec())), 0..60);
    on_random((settings(), script), |(settings, script)| {
        let policy = settings.policy();
        let (mut health, mut still, mut latest) = (Health::new(), Health::new(), Instant::ZERO);
        for (now, answer) in script {
            let now = Instant::from_micros(now.into());
            latest = latest.max(now);
            health.record(now, answer, &policy);
            still.record(latest, answer, &policy);
            ensure!(health.due() == still.due(), "{health:?} and {still:?}");
        }
        Ok(())
    });
}

/// Something a watch goes through, and what passes before.
#[derive(Clone, Copy, Debug)]
enum Heard {
    Check(Answer),
    Message(Answer),
    End(Answer),
}

fn heard() -> impl Strategy<Value = Vec<(u64, Heard)>> {
    let pass = select(vec![0, 1, 100_000, 1_000_000, 10_000_000]);
    let heard = prop_oneof![
        select(ANSWERS.to_vec()).prop_map(Heard::Check),
        select(ANSWERS.to_vec()).prop_map(Heard::Message),
        select(ANSWERS.to_vec()).prop_map(Heard::End),
    ];
    vec((pass, heard), 0..120)
}

#[test]
fn a_watch_says_what_it_heard_last_and_is_never_opened_in_a_loop() {
    on_random((heard(), any::<bool>(), any::<u32>()), |(script, kit, seed)| {
        let settings = Settings { interval: 1, max_backoff: 1, rise: 9, fall: 9, kit };
        let policy = settings.policy();
        let (mut watch, mut now) = (HealthWatch::new(seed), Instant::ZERO);
        let (mut opened, mut silent, mut heard) = (vec![now], 0u32, false);
        for (pass, event) in script {
            now = now + Micros::from_micros(pass);
            let before = watch.is_healthy();
            let (change, good) = match event {
                Heard::Check(answer) => {
                    let change = watch.checked(answer, &policy);
                    // A stream that has spoken has the last word.
                    let ignored = before.filter(|_| heard);
                    (change, ignored.unwrap_or_else(|| settings.is_good(answer)))
                }
                Heard::Message(answer) => {
                    (silent, heard) = (0, true);
                    (watch.message(answer, &policy), settings.is_good(answer))
                }
                Heard::End(answer) => {
                    let change = watch.ended(now, answer, &policy);
                    let without = answer == Answer::Unimplemented && !kit;
                    if without {
                        ensure!(watch.due() == Instant::MAX, "{watch:?}");
                        // For ever: nobody would ask again, if a check that is lost took it back.
                        let lost = watch.checked(Answer::Failed, &policy);
                        ensure!(lost.is_none(), "{watch:?}");
                        ensure!(watch.is_healthy() == Some(true), "{watch:?}");
                        return Ok(());
                    }
                    let wait = watch.due().since(now).as_micros();
                    ensure!(heard || wait > 0, "at once, and nothing was heard");
                    // 1 s × 1.6ⁿ ± 20 %, below 120 s; a little is lost to rounding down.
                    silent += u32::from(wait > 0);
                    let raw = 1e6 * 1.6f64.powi(silent.max(1) as i32 - 1);
                    let (low, high) = (raw.min(120e6) * 0.799, (raw * 1.201).min(120e6));
                    let fits = (low..=high).contains(&(wait as f64));
                    ensure!(wait == 0 || fits, "{wait} is not in {low}..={high}");
                    heard = false;
                    now = watch.due();
                    opened.push(now);
                    (change, false)
                }
            };
            ensure!(watch.is_healthy() == Some(good), "{watch:?} after {event:?}");
            let told = (before != Some(good)).then_some(good);
            ensure!(change.map(HealthChange::is_healthy) == told, "{change:?}");
        }
        let quick =
            opened.windows(3).find(|three| three[2].since(three[0]) < Micros::from_millis(800));
        ensure!(quick.is_none(), "three streams within {quick:?}");
        Ok(())
    });
}

#[test]
fn same_seed_same_watch() {
    let run = |seed| {
        let mut watch = HealthWatch::new(seed);
        let end = |watch: &mut HealthWatch| {
            watch.ended(Instant::ZERO, Answer::Failed, &HealthPolicy::DEFAULT);
            watch.due()
        };
        (0..20).map(|_| end(&mut watch)).collect::<Vec<Instant>>()
    };
    assert_eq!(run(1), run(1));
    let strangers = run(1).into_iter().zip(run(2)).filter(|(one, other)| one == other).count();
    assert!(strangers <= 1, "neighbouring seeds share {strangers} waits");
}
