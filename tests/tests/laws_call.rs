//! The laws of a call, on random scripts and on every short one.
//!
//! Each law is a question about what was written down while a script was played; the order of the
//! rules is asked of a second machine that follows the first (`model::oracle`).

use evenkeel_core::{Next, Outcome, Refusal, StopReason};
use evenkeel_tests::ensure;
use evenkeel_tests::model::ending::{Last, end_of, last_of};
use evenkeel_tests::model::ghost::Contact;
use evenkeel_tests::model::run::{Event, Manner, Run, Seen, What, play};
use evenkeel_tests::model::script::{Script, Step, any_script, every_script, extreme_script};
use evenkeel_tests::model::settings::Settings;
use evenkeel_tests::model::{on_random, oracle};

type Found = Result<(), String>;

/// Asks `law` of every script of three moves and of random ones.
fn on_scripts(law: impl Fn(&Script) -> Found) {
    let law = |script: &Script| law(script).map_err(|fault| format!("{fault}\nin {script:#?}"));
    every_script(3, law).unwrap_or_else(|fault| panic!("{fault}"));
    on_random(any_script(), |script| law(&script));
}

/// Asks `law` of what a call with one, and a call with two attempts in flight makes of each.
fn on_runs(law: impl Fn(&Run) -> Found) {
    on_scripts(|script| {
        law(&play::<1>(script, Manner::Plain))?;
        law(&play::<2>(script, Manner::Plain))
    });
}

/// Asks that `manner` makes no difference to what `kept` keeps of the events.
fn makes_no_difference(script: &Script, manner: Manner, kept: fn(&Event) -> bool) -> Found {
    compare(&play::<1>(script, Manner::Plain), &play::<1>(script, manner), kept)?;
    compare(&play::<2>(script, Manner::Plain), &play::<2>(script, manner), kept)
}

fn compare(plain: &Run, other: &Run, kept: fn(&Event) -> bool) -> Found {
    ensure!(other.faults.is_empty(), "{:?}", other.faults);
    let plain = plain.events.iter().filter(|event| kept(event));
    let other = other.events.iter().filter(|event| kept(event));
    let differs = plain.clone().zip(other.clone()).find(|(one, two)| one != two);
    ensure!(differs.is_none(), "not the same: {differs:#?}");
    ensure!(plain.count() == other.count(), "one goes on where the other has ended");
    Ok(())
}

#[test]
fn time_moves_on() {
    on_runs(|run| {
        for event in &run.events {
            if let What::Polled(Seen::Wait(at)) = event.what {
                ensure!(at > event.now, "told at {} to wait until {at}", event.now);
            }
            if let What::Completed { next: Next::Retry { at, .. }, .. } = event.what {
                ensure!(at.as_micros() >= event.now, "a retry in the past");
            }
        }
        Ok(())
    });
}

#[test]
fn attempts_are_bounded() {
    on_runs(|run| {
        let most = run.settings.max_attempts;
        for event in &run.events {
            ensure!(event.attempts <= most, "{} of {most} attempts", event.attempts);
            if let What::Polled(Seen::Attempt { number, .. }) = event.what {
                ensure!((1..=most).contains(&number), "attempt {number} of {most}");
            }
        }
        // Each counted attempt may follow three that were never sent, and so may the end; one
        // refusal is free, and lets three more go unsent.
        let all = 4 * usize::from(most) + 3 + 4;
        ensure!(run.admitted <= all, "{} went out, {all} may", run.admitted);
        Ok(())
    });
}

#[test]
fn no_attempt_outlives_the_call() {
    on_runs(|run| {
        for event in &run.events {
            if let What::Polled(Seen::Attempt { started, deadline, .. }) = event.what {
                ensure!(started == event.now, "started at {started}");
                ensure!(started < deadline && deadline <= run.deadline, "{started}..{deadline}");
            }
        }
        // The ghost counts what was never booked, so nothing is under way any more.
        ensure!(run.faults.is_empty(), "{:?}", run.faults);
        Ok(())
    });
}

#[test]
fn no_wait_outlives_the_call() {
    on_runs(|run| {
        let mut under_way = 0usize;
        for event in &run.events {
            for contact in &event.contacts {
                match contact {
                    Contact::Admitted { .. } => under_way += 1,
                    Contact::Recorded { .. } => under_way -= 1,
                    _ => {}
                }
            }
            // A wait between attempts ends before the deadline, or is not begun.
            let retry = matches!(event.what, What::Completed { next: Next::Retry { at, .. }, .. }
                if at.as_micros() >= run.deadline);
            ensure!(!retry, "a retry at the deadline");
            let What::Polled(seen) = event.what else { continue };
            let idle = under_way == 0 && !run.settings.wait_for_ready;
            if let Seen::Wait(at) = seen {
                ensure!(at < run.deadline || (at == run.deadline && !idle), "waits until {at}");
            }
            let over = event.now >= run.deadline;
            ensure!(!over || matches!(seen, Seen::Finish(_)), "{seen:?} at the deadline");
        }
        Ok(())
    });
}

#[test]
fn polling_twice_changes_nothing() {
    on_scripts(|script| makes_no_difference(script, Manner::Stutters, |_| true));
}

#[test]
fn the_end_is_final() {
    on_runs(|run| {
        let Some((end, reason)) = end_of(run) else { return Err("it never ended".into()) };
        for event in &run.events[end + 1..] {
            match event.what {
                What::Polled(seen) => {
                    ensure!(seen == Seen::Finish(reason), "{reason:?}, then {seen:?}");
                }
                What::Completed { next, .. } => {
                    ensure!(next == Next::Stop(reason), "{reason:?}, then {next:?}");
                }
                What::Cancelled | What::Forbidden => {}
            }
            ensure!(event.contacts.is_empty(), "after the end: {:?}", event.contacts);
            ensure!(event.attempts == run.events[end].attempts, "the attempts changed");
        }
        Ok(())
    });
}

#[test]
fn a_late_answer_changes_nothing() {
    on_scripts(|script| {
        // At or after its attempt's deadline it does not matter what an answer says.
        makes_no_difference(script, Manner::Flatters, |_| true)?;
        // After the attempt was given up not even whether it comes; but with a clock that goes
        // back, handing in is also news of the time.
        let steps = script.steps.iter().filter(|step| !matches!(step, Step::Back(_)));
        let script = Script { steps: steps.copied().collect(), ..script.clone() };
        let in_time = |event: &Event| !matches!(event.what, What::Completed { late: true, .. });
        makes_no_difference(&script, Manner::DropsLateAnswers, in_time)?;
        for event in play::<2>(&script, Manner::Plain).events.iter().filter(|one| !in_time(one)) {
            ensure!(event.contacts.is_empty(), "a late answer reached {:?}", event.contacts);
        }
        Ok(())
    });
}

#[test]
fn same_seed_same_call() {
    on_scripts(|script| {
        makes_no_difference(script, Manner::Plain, |_| true)?;
        // And without jitter the seed is of no consequence at all.
        let mut calm = script.clone();
        calm.settings.jitter = evenkeel_core::Jitter::None;
        let first = play::<2>(&calm, Manner::Plain);
        calm.settings.seed = !calm.settings.seed;
        compare(&first, &play::<2>(&calm, Manner::Plain), |_| true)
    });
}

#[test]
fn a_clock_that_goes_back_stands_still() {
    on_scripts(|script| makes_no_difference(script, Manner::SteadyClock, |_| true));
}

#[test]
fn the_last_real_error_survives() {
    on_runs(the_last_word_is_what_was_booked_last);
}

/// Nobody is interested in who else was late in the instant of an answer.
#[test]
fn an_answer_is_the_last_word_also_beside_an_attempt_that_is_late() {
    let settings = Settings { hedge_after: Some(0), ..Settings::PLAIN };
    let answer = Step::End(1, Outcome::success());
    let steps = vec![Step::Poll, Step::Pass(29), Step::Poll, Step::Pass(31), answer];
    let run = play::<2>(&Script { settings, steps }, Manner::Plain);
    assert_eq!(end_of(&run).map(|(_, reason)| reason), Some(StopReason::Succeeded));
    assert_eq!(last_of(&run.events).counted, 2, "the other is booked all the same");
    the_last_word_is_what_was_booked_last(&run).unwrap();
}

fn the_last_word_is_what_was_booked_last(run: &Run) -> Found {
    let Some((end, reason)) = end_of(run) else { return Err("it never ended".into()) };
    let (now, attempts) = (run.events[end].now, run.events[end].attempts);
    let Last { attempt, refusal, counted } = last_of(&run.events[..=end]);
    ensure!(counted == usize::from(attempts), "{counted} attempts ended, {attempts} count");
    let failed = attempt.is_some_and(|report| !report.is_success());
    let holds = match reason {
        StopReason::Succeeded => attempt.is_some_and(|report| report.is_success()),
        StopReason::Cancelled => run.events[end].what == What::Cancelled,
        StopReason::CircuitOpen { retry_at } => {
            refusal == Some(Refusal::CircuitOpen { retry_at }) && retry_at.as_micros() > now
        }
        StopReason::NoTarget => refusal == Some(Refusal::NoTarget),
        StopReason::DeadlinePassed => now >= run.deadline,
        // Everything else ends a call between attempts: there was one, and it failed.
        _ => failed && attempts > 0,
    };
    ensure!(holds, "{reason:?} after {attempt:?} and {refusal:?}");
    ensure!(failed || attempt.is_none() || reason == StopReason::Succeeded, "{reason:?}");
    Ok(())
}

#[test]
fn every_answer_is_the_one_the_rules_give() {
    on_scripts(|script| {
        oracle::follow(&play::<1>(script, Manner::Plain), 1)?;
        oracle::follow(&play::<2>(script, Manner::Plain), 2)?;
        oracle::follow(&play::<3>(script, Manner::Plain), 3)
    });
}

#[test]
fn no_overflow_in_any_profile() {
    // At the ends of the ranges, and of the clock, the answers are still those the rules give.
    on_random(extreme_script(), |script| {
        let named = |fault| format!("{fault}\nin {script:#?}");
        oracle::follow(&play::<1>(&script, Manner::Plain), 1).map_err(named)?;
        oracle::follow(&play::<2>(&script, Manner::Plain), 2).map_err(named)
    });
}
