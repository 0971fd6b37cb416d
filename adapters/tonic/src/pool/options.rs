//! This file knows how connections are kept, and when they are not.

use core::time::Duration;

use evenkeel_tokio::core::{Invalid, Micros};
use tonic::transport::Endpoint;

use crate::connect::DialPolicy;

/// How a member's connection is made and kept.
///
/// | setting | default | why |
/// |---|---|---|
/// | `dial` | [`DialPolicy::DEFAULT`] | gRPC's connection backoff |
/// | `keepalive` | a ping after 30 s, 10 s for its answer | finds a cable that was pulled |
/// | `idle` | closed after 300 s without a call | gRPC's; a connection nobody uses costs both sides |
///
/// Pings are sent only while calls are in flight: servers take offence at others.
///
/// ```
/// use core::time::Duration;
/// use evenkeel_tonic::pool::ChannelOptions;
///
/// let options = ChannelOptions::DEFAULT.with_idle(Duration::from_secs(60))?;
/// let refused = options.with_idle(Duration::ZERO).unwrap_err();
/// assert_eq!(refused.field(), "channel.idle_timeout");
/// # Ok::<_, evenkeel_tonic::core::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ChannelOptions {
    dial: DialPolicy,
    keepalive: Option<(Micros, Micros)>,
    idle: Option<Micros>,
}

impl ChannelOptions {
    /// gRPC's backoff, keepalive 30 s and 10 s, idle after 300 s.
    pub const DEFAULT: Self = Self {
        dial: DialPolicy::DEFAULT,
        keepalive: Some((Micros::from_millis(30_000), Micros::from_millis(10_000))),
        idle: Some(Micros::from_millis(300_000)),
    };

    /// Another schedule of dials.
    pub const fn with_dial(mut self, dial: DialPolicy) -> Self {
        self.dial = dial;
        self
    }

    /// A ping after `interval` without a word from the server, and the connection is lost when
    /// nothing comes for `timeout` more.
    ///
    /// Set it above what the server allows, which with gRPC's own defaults is 5 minutes. One that says
    /// GOAWAY for too many pings is pinged half as often from then on, but only where it says so of a
    /// call that it refused: of one that it had accepted tonic tells no reason, and a call that is silent
    /// for long is cut off again and again.
    ///
    /// # Errors
    ///
    /// Refuses an interval below 10 s, which servers answer with GOAWAY (gRFC A8), a timeout of
    /// zero, and 2^48 µs (8.9 years) or more.
    pub fn with_keepalive(
        mut self,
        interval: Duration,
        timeout: Duration,
    ) -> Result<Self, Invalid> {
        let interval = Micros::positive_setting("channel.keepalive_interval", interval)?;
        if interval < SHORTEST_INTERVAL {
            let rule = "must be 10 s or more: servers refuse clients that ping more often";
            let value = interval.as_micros();
            return Err(Invalid::new("channel.keepalive_interval", value, " µs", rule));
        }
        let timeout = Micros::positive_setting("channel.keepalive_timeout", timeout)?;
        self.keepalive = Some((interval, timeout));
        Ok(self)
    }

    /// No pings: a connection that died without a word is found out by its calls' deadlines.
    pub const fn without_keepalive(mut self) -> Self {
        self.keepalive = None;
        self
    }

    /// Another time until an unused connection is closed. The next call makes a new one.
    ///
    /// # Errors
    ///
    /// Refuses zero and 2^48 µs (8.9 years) or more.
    pub fn with_idle(mut self, idle: Duration) -> Result<Self, Invalid> {
        self.idle = Some(Micros::positive_setting("channel.idle_timeout", idle)?);
        Ok(self)
    }

    /// Keeps unused connections until the server closes them.
    pub const fn without_idle(mut self) -> Self {
        self.idle = None;
        self
    }

    /// The schedule of dials.
    pub const fn dial(&self) -> DialPolicy {
        self.dial
    }

    /// How long a connection may be unused; `None` is for ever.
    pub const fn idle(&self) -> Option<Micros> {
        self.idle
    }

    /// `endpoint` with these, its interval of pings doubled `calmed` times.
    pub(crate) fn apply(&self, mut endpoint: Endpoint, calmed: u8) -> Endpoint {
        if let Some((interval, timeout)) = self.keepalive {
            let factor = 1_u32.checked_shl(calmed.into()).unwrap_or(u32::MAX);
            endpoint = endpoint
                .http2_keep_alive_interval(interval.as_duration().saturating_mul(factor))
                .keep_alive_timeout(timeout.as_duration())
                .keep_alive_while_idle(false);
        }
        endpoint
    }
}

impl Default for ChannelOptions {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// gRFC A8, and what gRPC's servers tolerate.
const SHORTEST_INTERVAL: Micros = Micros::from_millis(10_000);
