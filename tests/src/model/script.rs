//! This file knows scripts: what may happen to a call, one step after another.

use core::time::Duration;

use evenkeel_core::{Code, Micros, Outcome, Pushback, Sent};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::settings::{Settings, any_settings, extreme_settings};

/// One thing that happens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// The clock's reading goes back by this much, and goes on from there.
    Back(u64),
    /// The caller goes away.
    Cancel,
    /// The attempt at this place among those held (modulo their number) ends like this.
    End(u8, Outcome),
    /// The request can no longer be repeated.
    Forbid,
    /// The driver forgets the attempt at this place.
    Lose(u8),
    /// Time passes, and nobody polls.
    Pass(u64),
    /// The targets change.
    Peers(Peers),
    /// A poll, called for or not.
    Poll,
    /// Sleep until the last `WaitUntil`, give or take this much, and poll.
    Sleep(i64),
    /// The throttle grants retries from now on, or no longer.
    Throttle(bool),
}

/// What the upstream says to a request for a target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Peers {
    /// Two targets, the untried one first.
    Both,
    /// Nobody is eligible.
    Nobody,
    /// This one of the two.
    Only(u16),
    /// Every circuit is open for this much longer.
    Refusing(u64),
}

/// Settings, and what happens under them.
#[derive(Clone, Debug)]
pub struct Script {
    /// The settings of the call.
    pub settings: Settings,
    /// What happens.
    pub steps: Vec<Step>,
}

/// Any script: of up to 24 steps of every kind, or of a call that fails and fails again.
pub fn any_script() -> impl Strategy<Value = Script> {
    let steps = vec(any_step(), 0..24);
    let free = (any_settings(), steps).prop_map(|(settings, steps)| Script { settings, steps });
    prop_oneof![3 => free, 1 => failing_script()]
}

/// A call with time and attempts enough to show what comes of the third failure and the sixth.
fn failing_script() -> impl Strategy<Value = Script> {
    let failure = || {
        (any_sent(), any_pushback()).prop_map(|(sent, pushback)| Outcome {
            code: Code::Unavailable,
            sent,
            pushback,
        })
    };
    // Two may fail before anybody polls again.
    let both = (failure(), any::<bool>()).prop_map(|(how, both)| both.then_some(how));
    let round = (0..2u8, failure(), both, -1..=1i64).prop_map(|(which, how, other, aside)| {
        let end = [Step::Sleep(aside), Step::End(which, how)];
        let rest = other.map(|how| [Step::Sleep(aside), end[0], end[1], Step::End(1 - which, how)]);
        rest.map_or_else(|| end.to_vec(), |both| both.to_vec())
    });
    (any_settings(), 4..8u16, vec(round, 0..24)).prop_map(|(settings, max_attempts, rounds)| {
        let (caller, timeout) = (None, None);
        let settings = Settings { caller, timeout, max_attempts, max_hint: 50, ..settings };
        Script { settings, steps: rounds.concat() }
    })
}

/// Any script under settings at the ends of their ranges, with leaps through time.
pub fn extreme_script() -> impl Strategy<Value = Script> {
    let leap = select(vec![0, 1, 1 << 47, 1 << 62, u64::MAX]).prop_map(Step::Pass);
    let step = prop_oneof![10 => any_step(), 1 => leap];
    (extreme_settings(), vec(step, 0..24)).prop_map(|(settings, steps)| Script { settings, steps })
}

/// Any one thing that happens.
pub(super) fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => Just(Step::Poll),
        6 => (-1..=1i64).prop_map(Step::Sleep),
        6 => (0..3u8, any_outcome()).prop_map(|(which, how)| Step::End(which, how)),
        4 => (0..70u64).prop_map(Step::Pass),
        1 => (1..40u64).prop_map(Step::Back),
        1 => (0..3u8).prop_map(Step::Lose),
        2 => any_peers().prop_map(Step::Peers),
        1 => any::<bool>().prop_map(Step::Throttle),
        1 => select(vec![Step::Cancel, Step::Forbid]),
    ]
}

fn any_peers() -> impl Strategy<Value = Peers> {
    prop_oneof![
        3 => Just(Peers::Both),
        2 => (0..2u16).prop_map(Peers::Only),
        1 => Just(Peers::Nobody),
        1 => (1..80u64).prop_map(Peers::Refusing),
    ]
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    let code = prop_oneof![
        6 => Just(Code::Unavailable),
        1 => Just(Code::Ok),
        1 => Just(Code::DeadlineExceeded),
        1 => select(vec![Code::NotFound, Code::Cancelled]),
    ];
    (code, any_sent(), any_pushback()).prop_map(|(code, sent, pushback)| Outcome {
        code,
        sent,
        pushback,
    })
}

fn any_sent() -> impl Strategy<Value = Sent> {
    prop_oneof![
        4 => Just(Sent::Maybe),
        1 => select(vec![Sent::Never, Sent::NotConnected, Sent::Refused]),
    ]
}

fn any_pushback() -> impl Strategy<Value = Pushback> {
    let hint = select(vec![0, 1, 15, 50, 51, u64::MAX]).prop_map(Micros::from_micros);
    prop_oneof![
        8 => Just(Pushback::None),
        2 => hint.clone().prop_map(Pushback::Exactly),
        1 => hint.prop_map(Pushback::AtLeast),
        1 => Just(Pushback::Stop),
    ]
}

/// The moves of the exhaustive part: each is followed by a poll.
pub fn moves() -> Vec<Step> {
    let hint = Pushback::Exactly(Micros::from_micros(15));
    vec![
        Step::Sleep(0),
        Step::Pass(30),
        Step::End(0, Outcome::success()),
        Step::End(0, Outcome::unavailable()),
        Step::End(0, Outcome::unavailable().with_sent(Sent::Never)),
        Step::End(0, Outcome::unavailable().with_sent(Sent::Refused)),
        Step::End(1, Outcome::not_connected().with_pushback(hint)),
        Step::End(1, Outcome::unavailable().with_retry_after(Duration::from_micros(30))),
        Step::Peers(Peers::Refusing(35)),
        Step::Cancel,
    ]
}

/// The settings of the exhaustive part.
pub fn few_settings() -> [Settings; 4] {
    let hedged = Settings { hedge_after: Some(25), ..Settings::PLAIN };
    let endless = Settings {
        timeout: None,
        attempt_timeout: None,
        wait_for_ready: true,
        jitter: evenkeel_core::Jitter::Full,
        hedge_after: Some(0),
        max_attempts: 2,
        ..Settings::PLAIN
    };
    // A failure after one `Pass` whose wait would end at the deadline exactly.
    let tight = Settings {
        timeout: Some(60),
        attempt_timeout: None,
        initial: 30,
        max: 30,
        ..Settings::PLAIN
    };
    [Settings::PLAIN, hedged, endless, tight]
}

/// Calls `visit` with every script of exactly `depth` moves under each of a few settings; shorter
/// ones are the beginnings of these.
///
/// # Errors
///
/// The first error of `visit`.
pub fn every_script(
    depth: u32,
    mut visit: impl FnMut(&Script) -> Result<(), String>,
) -> Result<u64, String> {
    let moves = moves();
    let mut visited = 0;
    for settings in few_settings() {
        for number in 0..moves.len().pow(depth) {
            let mut rest = number;
            let mut steps = vec![Step::Poll];
            for _ in 0..depth {
                steps.extend([moves[rest % moves.len()], Step::Poll]);
                rest /= moves.len();
            }
            visit(&Script { settings, steps })?;
            visited += 1;
        }
    }
    Ok(visited)
}
