//! This file knows the walks: everything that can happen to a link, and what is seen of it.

use evenkeel_core::{
    Dial, Escalation, Instant, Micros, Reconnect, ReconnectAction, ReconnectPolicy,
};
use evenkeel_tests::ensure;
use proptest::collection::vec;
use proptest::prelude::*;

/// One thing that can happen.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// The session comes up in this share (of 256) of the dial's time; at 255 just too late.
    Connect(u8),
    /// The dial fails, and the peer asks for so many seconds.
    Fail(Option<u16>),
    /// Nobody reports what came of the dial.
    Forget,
    /// The session lasts so many seconds, then ends, and the peer asks for so many.
    Last(u16, Option<u16>),
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let hint = || prop_oneof![2 => Just(None), 1 => (0..5_000u16).prop_map(Some)];
    let step = prop_oneof![
        2 => any::<u8>().prop_map(Step::Connect),
        3 => hint().prop_map(Step::Fail),
        1 => Just(Step::Forget),
        3 => (prop_oneof![0..59u16, 60..200u16], hint()).prop_map(|(s, h)| Step::Last(s, h)),
    ];
    vec(step, 1..60)
}

pub(crate) const SECOND: u64 = 1_000_000;

/// What a walk saw.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Seen {
    /// When each dial went out.
    pub(crate) dials: Vec<u64>,
    /// Until when each wait was, from its beginning on.
    pub(crate) waits: Vec<(u64, u64)>,
    pub(crate) escalations: Vec<Escalation>,
    /// How many failures in a row there were, after each setback.
    pub(crate) failures: Vec<u16>,
    pub(crate) gave_up: Option<u64>,
}

/// A link, its driver, and the clock.
pub(crate) struct Walk {
    pub(crate) link: Reconnect,
    pub(crate) now: u64,
    pub(crate) policy: &'static ReconnectPolicy,
    pub(crate) seen: Seen,
}

impl Walk {
    pub(crate) fn new(seed: u32, policy: &'static ReconnectPolicy) -> Self {
        Self { link: Reconnect::new(seed), now: 5, policy, seen: Seen::default() }
    }

    pub(crate) fn instant(&self) -> Instant {
        Instant::from_micros(self.now)
    }

    /// Polls until there is a dial; `None` when there will be none.
    pub(crate) fn next_dial(&mut self) -> Result<Option<Dial>, String> {
        for _ in 0..4 {
            match self.link.poll(self.instant(), self.policy) {
                ReconnectAction::Dial(dial) => {
                    self.seen.dials.push(self.now);
                    let left = dial.deadline().instant().since(self.instant());
                    ensure!(!left.is_zero(), "a dial without time");
                    ensure!(left <= self.policy.dial_timeout(), "{left} for a dial");
                    return Ok(Some(dial));
                }
                ReconnectAction::WaitUntil(at) => {
                    ensure!(at > self.instant(), "time stands still at {}", self.now);
                    let mut again = self.link.clone();
                    let same = again.poll(self.instant(), self.policy);
                    ensure!(
                        same == ReconnectAction::WaitUntil(at) && again == self.link,
                        "polling twice changed something"
                    );
                    self.seen.waits.push((self.now, at.as_micros()));
                    self.now = at.as_micros();
                }
                ReconnectAction::Escalate(step) => self.seen.escalations.push(step),
                ReconnectAction::GiveUp => {
                    self.seen.gave_up.get_or_insert(self.now);
                    return Ok(None);
                }
            }
        }
        Err("polled four times and no dial".into())
    }

    /// Lets `step` happen to `dial`.
    pub(crate) fn happen(&mut self, step: Step, dial: Dial) -> Result<(), String> {
        let hint =
            |seconds: Option<u16>| seconds.map(|s| Micros::from_millis(u64::from(s) * 1_000));
        let limit = dial.deadline().instant().as_micros() - self.now;
        match step {
            Step::Fail(asked) => {
                self.now += limit / 3;
                let setback = self.link.failed(self.instant(), dial, hint(asked), self.policy);
                let setback = setback.ok_or("a current dial was ignored")?;
                self.seen.failures.push(setback.failures);
            }
            Step::Forget => {
                let before = self.link.failures();
                self.now += limit;
                drop(dial);
                if let ReconnectAction::Escalate(step) = self.link.poll(self.instant(), self.policy)
                {
                    self.seen.escalations.push(step);
                }
                ensure!(self.link.failures() == before + 1, "a lost dial was not counted");
            }
            Step::Connect(share) => {
                self.now += limit * u64::from(share) / 255;
                let counts = self.link.connected(self.instant(), dial, self.policy);
                ensure!(counts == (share < 255), "in {share}/255 of the time: {counts}");
            }
            Step::Last(seconds, asked) => {
                self.now += limit / 2;
                ensure!(self.link.connected(self.instant(), dial, self.policy), "not connected");
                let idle = self.link.poll(self.instant(), self.policy);
                ensure!(idle == ReconnectAction::WaitUntil(Instant::MAX), "{idle:?} while up");
                self.now += u64::from(seconds) * SECOND;
                let before = self.link.failures();
                let setback = self.link.lost(self.instant(), hint(asked), self.policy);
                let setback = setback.ok_or("a session was ignored")?;
                let due = if seconds >= 60 { 0 } else { before + 1 };
                ensure!(setback.failures == due, "{setback:?} after {seconds} s");
                ensure!(setback.dial_at > self.instant(), "at once after a drop");
                self.seen.failures.push(due);
            }
        }
        Ok(())
    }

    pub(crate) fn run(mut self, steps: &[Step]) -> Result<Seen, String> {
        for step in steps {
            let Some(dial) = self.next_dial()? else { break };
            self.happen(*step, dial)?;
            if self.link.is_connected() {
                self.now += 30 * SECOND;
                let _ = self.link.lost(self.instant(), None, self.policy);
            }
        }
        Ok(self.seen)
    }
}
