//! This file knows the settings of a link.

use core::time::Duration;

use super::Rung;
use crate::rng::scale;
use crate::{Backoff, Invalid, Jitter, Micros, Random};

/// When a link is dialled, when it counts as good, and what is done when it stays down.
///
/// Default: a splay of 20 s before the first dial after boot; then 1 s doubling to 120 s with full
/// jitter; 20 s for a dial; a session proves itself in 60 s; peers may ask for up to an hour; no
/// ladder; never given up. The reasons are in `docs/defaults.md`.
///
/// ```
/// use core::time::Duration;
/// use evenkeel_core::{ReconnectPolicy, Rung, checked};
///
/// // Ten failures reset the modem, ten more do it again, and twenty more reboot the device.
/// const LADDER: &[Rung] =
///     &[Rung::reset_peripheral(10), Rung::reset_peripheral(10), Rung::reboot(20)];
/// static POLICY: ReconnectPolicy = checked!(
///     checked!(ReconnectPolicy::DEFAULT.with_stable_after(Duration::from_secs(30)))
///         .with_ladder(LADDER)
/// );
/// assert_eq!(POLICY.ladder().len(), 3);
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct ReconnectPolicy {
    splay: Micros,
    backoff: Backoff,
    stable_after: Micros,
    dial_timeout: Micros,
    max_hint: Micros,
    give_up_after: Micros,
    ladder: &'static [Rung],
}

impl ReconnectPolicy {
    /// Splay 20 s, 1 s × 2 to 120 s with full jitter, stable after 60 s.
    pub const DEFAULT: Self = Self {
        splay: Micros::from_millis(20_000),
        backoff: BACKOFF,
        stable_after: Micros::from_millis(60_000),
        dial_timeout: Micros::from_millis(20_000),
        max_hint: Micros::from_millis(3_600_000),
        give_up_after: Micros::MAX,
        ladder: &[],
    };

    /// With the first dial after boot somewhere in this window. Choose it so that the fleet divided
    /// by it is what the peer accepts: a thousand devices over 20 s are fifty a second. Zero dials
    /// at once.
    ///
    /// # Errors
    ///
    /// Refuses 2^48 µs (8.9 years) or more.
    pub const fn with_splay(mut self, window: Duration) -> Result<Self, Invalid> {
        self.splay = match Micros::setting("reconnect.splay", window) {
            Ok(window) => window,
            Err(invalid) => return Err(invalid),
        };
        Ok(self)
    }

    /// With these waits after a failed dial or a lost session, and with their jitter: what
    /// [`Backoff::new`] gives has a tenth to either side, which is little for many who lost the same
    /// peer, where the default has full jitter.
    ///
    /// # Errors
    ///
    /// Refuses an initial or longest wait of zero: a peer that hangs up at once would be dialled in
    /// a loop.
    pub const fn with_backoff(mut self, backoff: Backoff) -> Result<Self, Invalid> {
        if backoff.initial().is_zero() || backoff.max().is_zero() {
            return Err(Invalid::new("reconnect.backoff", 0, " µs", "must be longer than zero"));
        }
        self.backoff = backoff;
        Ok(self)
    }

    /// With this long a session counted as proof that the link is good. Zero resets the backoff
    /// with every session, however short; a peer that accepts and hangs up then meets the shortest
    /// wait for ever.
    ///
    /// A device whose sessions are shorter than this on purpose, because it wakes, sends and sleeps,
    /// sets it below the shortest: otherwise each good session counts as a failure, climbs the ladder
    /// and runs into `give_up_after`.
    ///
    /// ```
    /// use core::time::Duration;
    /// use evenkeel_core::{Instant, Micros, Reconnect, ReconnectAction, ReconnectPolicy, checked};
    ///
    /// // Five seconds of session an hour; what lasts three of them was good.
    /// static POLICY: ReconnectPolicy =
    ///     checked!(ReconnectPolicy::DEFAULT.with_stable_after(Duration::from_secs(3)));
    ///
    /// let (mut link, mut now) = (Reconnect::new(7), Instant::ZERO);
    /// for _hour in 0..10 {
    ///     let dial = loop {
    ///         match link.poll(now, &POLICY) {
    ///             ReconnectAction::Dial(dial) => break dial,
    ///             ReconnectAction::WaitUntil(at) => now = at,
    ///             other => panic!("{other:?}"),
    ///         }
    ///     };
    ///     assert!(link.connected(now, dial, &POLICY));
    ///     now = now + Micros::from_millis(5_000);
    ///     let ended = link.lost(now, None, &POLICY).unwrap(); // before the sleep
    ///     assert_eq!(ended.failures, 0);
    ///     now = now + Micros::from_millis(3_600_000);
    ///     link.carrier_back(now, &POLICY);
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Refuses 2^48 µs (8.9 years) or more.
    pub const fn with_stable_after(mut self, span: Duration) -> Result<Self, Invalid> {
        self.stable_after = match Micros::setting("reconnect.stable_after", span) {
            Ok(span) => span,
            Err(invalid) => return Err(invalid),
        };
        Ok(self)
    }

    /// With this limit for one dial: name look-up, connecting and logging in, all together.
    ///
    /// # Errors
    ///
    /// Refuses zero and 2^48 µs (8.9 years) or more.
    pub const fn with_dial_timeout(mut self, limit: Duration) -> Result<Self, Invalid> {
        self.dial_timeout = match Micros::positive_setting("reconnect.dial_timeout", limit) {
            Ok(limit) => limit,
            Err(invalid) => return Err(invalid),
        };
        Ok(self)
    }

    /// With this longest wait a peer may ask for; more is taken as this, because a link that was
    /// told "in a year" by mistake must still come back. Zero ignores what peers ask for.
    ///
    /// # Errors
    ///
    /// Refuses 2^48 µs (8.9 years) or more.
    pub const fn with_max_hint(mut self, limit: Duration) -> Result<Self, Invalid> {
        self.max_hint = match Micros::setting("reconnect.max_hint", limit) {
            Ok(limit) => limit,
            Err(invalid) => return Err(invalid),
        };
        Ok(self)
    }

    /// With an end: given up once there was no good session for so long, from the first failure
    /// after the last one on. For devices that have something better to do than to dial.
    ///
    /// Not for one that sleeps between sessions: the window goes on over a sleep, so that one failed
    /// dial before a sleep longer than the window is the end. Nor where sessions are shorter than
    /// `stable_after` on purpose: each of them [counts as a failure](Self::with_stable_after).
    ///
    /// # Errors
    ///
    /// Refuses zero and 2^48 µs (8.9 years) or more.
    pub const fn with_give_up_after(mut self, window: Duration) -> Result<Self, Invalid> {
        self.give_up_after = match Micros::positive_setting("reconnect.give_up_after", window) {
            Ok(window) => window,
            Err(invalid) => return Err(invalid),
        };
        Ok(self)
    }

    /// With this escalation ladder, from its foot on. Empty: none.
    ///
    /// # Errors
    ///
    /// Refuses a rung after no failure, which would be reached without end, and more than 255 rungs.
    pub const fn with_ladder(mut self, ladder: &'static [Rung]) -> Result<Self, Invalid> {
        if ladder.len() > MAX_RUNGS {
            let rungs = crate::num::widen_usize(ladder.len());
            return Err(Invalid::new("reconnect.ladder", rungs, " rungs", "must be at most 255"));
        }
        let mut rest = ladder;
        while let Some((rung, above)) = rest.split_first() {
            if rung.after == 0 {
                return Err(Invalid::new("reconnect.ladder", 0, "", "must be after 1 or more"));
            }
            rest = above;
        }
        self.ladder = ladder;
        Ok(self)
    }

    /// The window of the first dial.
    pub const fn splay(&self) -> Micros {
        self.splay
    }

    /// The waits.
    pub const fn backoff(&self) -> &Backoff {
        &self.backoff
    }

    /// How long a session must stay up to prove the link.
    pub const fn stable_after(&self) -> Micros {
        self.stable_after
    }

    /// The limit for one dial.
    pub const fn dial_timeout(&self) -> Micros {
        self.dial_timeout
    }

    /// The longest wait a peer may ask for.
    pub const fn max_hint(&self) -> Micros {
        self.max_hint
    }

    /// The give-up window, [`Micros::MAX`] for none.
    pub const fn give_up_after(&self) -> Micros {
        self.give_up_after
    }

    /// The escalation ladder.
    pub const fn ladder(&self) -> &'static [Rung] {
        self.ladder
    }

    pub(super) fn draw_splay(&self, rng: &mut impl Random) -> Micros {
        Micros::from_micros(scale(self.splay.as_micros().wrapping_add(1), rng.next_u32()))
    }
}

impl Default for ReconnectPolicy {
    fn default() -> Self {
        Self::DEFAULT
    }
}

const BACKOFF: Backoff = checked!(
    checked!(Backoff::new(Duration::from_secs(1), Duration::from_secs(120)))
        .with_jitter(Jitter::Full)
);

/// As many as a link counts.
const MAX_RUNGS: usize = 255;
