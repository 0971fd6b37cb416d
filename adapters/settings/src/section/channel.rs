//! This file knows the section `[channel]`: which targets there are, and how they are connected.

use core::time::Duration;

use evenkeel_core::Invalid;

use crate::keys::{Block, Keys};
use crate::kind::{AnyTarget, Flag, List, Span, Unset};
use crate::section::Tls;
use crate::target::TargetName;

/// `[channel]`: which targets there are, and how they are connected.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Channel {
    targets: Option<Vec<TargetName>>,
    insecure: bool,
    tls: Option<Tls>,
    keepalive_interval: Option<Duration>,
    keepalive_timeout: Duration,
    idle_timeout: Option<Duration>,
    connect_timeout: Duration,
    initial_backoff: Duration,
    max_backoff: Duration,
}

impl Channel {
    /// The targets; `None`: none were given.
    pub fn targets(&self) -> Option<&[TargetName]> {
        self.targets.as_deref()
    }

    /// Whether connections are made without TLS.
    pub const fn insecure(&self) -> bool {
        self.insecure
    }

    /// Where the certificates are; `None`: TLS with the system's, unless insecure.
    pub const fn tls(&self) -> Option<&Tls> {
        self.tls.as_ref()
    }

    /// From one keepalive ping to the next while there are calls; `None` for no pings.
    pub const fn keepalive_interval(&self) -> Option<Duration> {
        self.keepalive_interval
    }

    /// How long the answer to a ping may take.
    pub const fn keepalive_timeout(&self) -> Duration {
        self.keepalive_timeout
    }

    /// After how long without a call a connection is closed; `None` for never.
    pub const fn idle_timeout(&self) -> Option<Duration> {
        self.idle_timeout
    }

    /// How long a dial may take.
    pub const fn connect_timeout(&self) -> Duration {
        self.connect_timeout
    }

    /// The pause after the first failed dial, before jitter.
    pub const fn initial_backoff(&self) -> Duration {
        self.initial_backoff
    }

    /// The longest pause between dials.
    pub const fn max_backoff(&self) -> Duration {
        self.max_backoff
    }
}

impl Block for Channel {
    const MEANING: &'static str = "Which targets there are, and how they are connected: with TLS, \
                                   unless insecure is true.";

    fn keys(&mut self, keys: &mut impl Keys) {
        keys.key(
            "targets",
            Unset(List { of: AnyTarget, filled: true }, r#"["dns:///orders:50051"]"#),
            &mut self.targets,
            "host:port, an IPv6 address in brackets, dns:///name:port for every address of a name, \
             or unix:/path. Not set: given in code.",
        );
        keys.key("insecure", Flag, &mut self.insecure, "Connects without TLS.");
        keys.key(
            "keepalive_interval",
            Span::OR_NONE,
            &mut self.keepalive_interval,
            "From one keepalive ping to the next while there are calls; 10 s or more, and above what the \
             server allows (5 minutes by gRPC's own default).",
        );
        keys.key(
            "keepalive_timeout",
            Span::POSITIVE,
            &mut self.keepalive_timeout,
            "How long the answer to a ping may take before the connection is given up.",
        );
        keys.key(
            "idle_timeout",
            Span::OR_NONE,
            &mut self.idle_timeout,
            "After how long without a call a connection is closed.",
        );
        keys.key(
            "connect_timeout",
            Span::POSITIVE,
            &mut self.connect_timeout,
            "How long a dial may take.",
        );
        keys.key(
            "initial_backoff",
            Span::POSITIVE,
            &mut self.initial_backoff,
            "The pause after the first failed dial; it grows by 1.6, ± 20 %.",
        );
        keys.key(
            "max_backoff",
            Span::POSITIVE,
            &mut self.max_backoff,
            "No pause between dials is longer.",
        );
        keys.block("tls", &mut self.tls);
    }

    fn check(&mut self) -> Result<(), Invalid> {
        if self.insecure && self.tls.is_some() {
            let rule = "must be false where [channel.tls] says how connections are secured";
            return Err(Invalid::new("channel.insecure", 1, "", rule));
        }
        match self.keepalive_interval {
            Some(interval) if interval < SHORTEST_INTERVAL => {
                let micros = u64::try_from(interval.as_micros()).unwrap_or(u64::MAX);
                let rule = "must be 10s or more: servers refuse clients that ping more often";
                Err(Invalid::new("channel.keepalive_interval", micros, " µs", rule))
            }
            _ => Ok(()),
        }
    }
}

impl Default for Channel {
    fn default() -> Self {
        Self {
            targets: None,
            insecure: false,
            tls: None,
            keepalive_interval: Some(Duration::from_secs(30)),
            keepalive_timeout: Duration::from_secs(10),
            idle_timeout: Some(Duration::from_secs(300)),
            connect_timeout: Duration::from_secs(20),
            initial_backoff: Duration::from_secs(1),
            max_backoff: Duration::from_secs(120),
        }
    }
}

/// gRPC A8, and what gRPC's servers tolerate.
const SHORTEST_INTERVAL: Duration = Duration::from_secs(10);
