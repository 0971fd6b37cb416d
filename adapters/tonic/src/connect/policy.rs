//! This file knows how long a client waits between two dials of the same target.

use core::time::Duration;

use evenkeel_tokio::core::{Backoff, Invalid, Jitter, Micros, checked};

/// When a target that could not be reached is dialled again, and how long a dial may take.
///
/// Pauses grow ×1.6 with ±20 % jitter and start afresh after a good connection: gRPC's
/// `connection-backoff.md`. Growth and jitter are no settings, as in gRPC's C core: a fleet whose
/// members chose "no jitter" would come back in step.
///
/// | setting | default | why |
/// |---|---|---|
/// | `initial` | 1 s | gRPC's |
/// | `max` | 120 s | gRPC's |
/// | `waiting` | 20 ms | a call that waits wants to hear of a restarted server soon |
/// | `connect_timeout` | 20 s | gRPC's minimum; several lost SYNs are repeated within it |
///
/// ```
/// use core::time::Duration;
/// use evenkeel_tonic::connect::DialPolicy;
///
/// let policy = DialPolicy::new(Duration::from_millis(500), Duration::from_secs(30))?
///     .with_connect_timeout(Duration::from_secs(5))?;
/// assert_eq!(policy.connect_timeout().as_duration(), Duration::from_secs(5));
///
/// let refused = DialPolicy::new(Duration::ZERO, Duration::from_secs(30)).unwrap_err();
/// assert_eq!(refused.field(), "dial.initial");
/// # Ok::<_, evenkeel_tokio::core::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct DialPolicy {
    ordinary: Backoff,
    waiting: Backoff,
    /// `waiting` without jitter: where it stands, not what was drawn.
    waiting_raw: Backoff,
    connect_timeout: Micros,
}

impl DialPolicy {
    /// 1 s to 120 s, from 20 ms while a call waits, 20 s for a dial.
    pub const DEFAULT: Self = Self {
        ordinary: checked!(growing(Duration::from_secs(1), Duration::from_secs(120))),
        waiting: checked!(growing(Duration::from_millis(20), UNCAPPED)),
        waiting_raw: checked!(plain(growing(Duration::from_millis(20), UNCAPPED))),
        connect_timeout: Micros::from_millis(20_000),
    };

    /// Pauses from `initial` to at most `max`.
    ///
    /// A `max` below `initial` is accepted and wins.
    ///
    /// # Errors
    ///
    /// Refuses zero, which would dial in a loop, and 2^48 µs (8.9 years) or more.
    pub fn new(initial: Duration, max: Duration) -> Result<Self, Invalid> {
        Micros::positive_setting("dial.initial", initial)?;
        Micros::positive_setting("dial.max", max)?;
        Ok(Self { ordinary: growing(initial, max)?, ..Self::DEFAULT })
    }

    /// Pauses from `first` while at least one call waits, until they reach `initial`.
    ///
    /// From `initial` on there is no difference; a `first` that is not shorter makes none at all.
    ///
    /// # Errors
    ///
    /// Refuses zero, which would dial in a loop, and 2^48 µs (8.9 years) or more.
    pub fn with_waiting(self, first: Duration) -> Result<Self, Invalid> {
        Micros::positive_setting("dial.waiting", first)?;
        let waiting = growing(first, UNCAPPED);
        Ok(Self { waiting: waiting?, waiting_raw: plain(waiting)?, ..self })
    }

    /// A dial that takes longer than `limit` has failed.
    ///
    /// It bounds name resolution and the connection of the transport. What tonic does above it,
    /// TLS, is bounded by `ClientTlsConfig::timeout`. Leave `Endpoint::connect_timeout` unset: it
    /// ends the call, not the dial.
    ///
    /// # Errors
    ///
    /// Refuses zero, with which no dial succeeds, and 2^48 µs (8.9 years) or more.
    pub fn with_connect_timeout(self, limit: Duration) -> Result<Self, Invalid> {
        let connect_timeout = Micros::positive_setting("dial.connect_timeout", limit)?;
        Ok(Self { connect_timeout, ..self })
    }

    /// How long a dial may take.
    pub const fn connect_timeout(&self) -> Micros {
        self.connect_timeout
    }

    /// The first pause while no call waits, before jitter.
    pub const fn initial(&self) -> Micros {
        self.ordinary.initial().shorter(self.ordinary.max())
    }

    pub(super) const fn ordinary(&self) -> &Backoff {
        &self.ordinary
    }

    pub(super) const fn waiting(&self) -> &Backoff {
        &self.waiting
    }

    pub(super) const fn waiting_raw(&self) -> &Backoff {
        &self.waiting_raw
    }
}

impl Default for DialPolicy {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// gRPC's growth and jitter.
const fn growing(initial: Duration, max: Duration) -> Result<Backoff, Invalid> {
    match Backoff::new(initial, max) {
        Ok(backoff) => match backoff.with_multiplier(1_600) {
            Ok(backoff) => backoff.with_jitter(Jitter::Proportional(200)),
            refused => refused,
        },
        refused => refused,
    }
}

const fn plain(backoff: Result<Backoff, Invalid>) -> Result<Backoff, Invalid> {
    match backoff {
        Ok(backoff) => backoff.with_jitter(Jitter::None),
        refused => refused,
    }
}

/// The pauses of waiting calls end by joining the ordinary ones; a cap below these would keep
/// them from it.
const UNCAPPED: Duration = Duration::from_micros(Micros::SETTING_END.as_micros() - 1);
