//! This file knows how the kits of a run are configured: for each seed differently, within what a
//! program might choose.

use core::time::Duration;

use crate::pb::METHODS;
use evenkeel_core::{
    Backoff, BreakerPolicy, Consecutive, HealthPolicy, Jitter, RetryPolicy, Strategy,
    ThrottlePolicy,
};
use evenkeel_tonic::connect::DialPolicy;
use evenkeel_tonic::health::HealthMode;
use evenkeel_tonic::pool::ChannelOptions;
use evenkeel_tonic::{BuildError, Builder, HedgePolicy, Kit, Pool, PoolBuilder, Resilient};

use crate::dice::Dice;
use crate::plan::{BACKENDS, GATEWAY};
use crate::socket::{Dialer, PORT};

/// What each kit gives its calls at most.
pub(crate) const APP_TIMEOUT: Duration = Duration::from_millis(2_000);
pub(crate) const GATEWAY_TIMEOUT: Duration = Duration::from_millis(1_500);
pub(crate) const WEB_TIMEOUT: Duration = Duration::from_millis(2_500);

/// Attempts of the longest call there is.
pub(crate) const MOST_ATTEMPTS: u16 = 4;

/// What was drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taste {
    attempts: u16,
    threshold: u16,
    open_for: Duration,
    strategy: Strategy,
    mode: HealthMode,
    hedged: bool,
    restarts: bool,
    throttled: bool,
    attempt_timeout: bool,
}

impl Taste {
    pub(crate) fn of(seed: u32) -> Self {
        let mut dice = Dice::of(seed, "taste");
        let strategies = [Strategy::LeastRequest, Strategy::Random, Strategy::RoundRobin];
        Self {
            attempts: dice.between(1, u64::from(MOST_ATTEMPTS) + 1) as u16,
            threshold: dice.between(2, 6) as u16,
            open_for: dice.millis(200, 2_000),
            strategy: dice.pick(&strategies),
            mode: dice.pick(&[HealthMode::Check, HealthMode::Watch]),
            hedged: dice.one_in(2),
            restarts: dice.one_in(2),
            throttled: dice.one_in(3),
            attempt_timeout: dice.one_in(2),
        }
    }

    /// Over the servers themselves, whose health it checks.
    pub(crate) fn app(self, dialer: Dialer) -> Result<Kit, BuildError> {
        let mut calls = self.calls(APP_TIMEOUT)?;
        if self.hedged {
            let hedge = HedgePolicy::after(Duration::from_millis(60))?.with_max_attempts(3)?;
            calls = calls.method_hedge("/lab.v1.Lab/Put", Some(hedge))?;
        }
        if self.restarts {
            calls = calls.retry_streaming();
        }
        if self.attempt_timeout {
            calls = calls.attempt_timeout(Duration::from_millis(500))?;
        }
        let policy = HealthPolicy::DEFAULT
            .with_interval(Duration::from_secs(1))?
            .with_timeout(Duration::from_millis(800))?
            .with_max_backoff(Duration::from_secs(2))?;
        Kit::builder("app")
            .pool(pool(&BACKENDS, dialer)?.strategy(self.strategy))
            .calls(calls)
            .health(move |checker| checker.policy(policy).mode(self.mode))
            .build()
    }

    /// Over the servers, for a server.
    pub(crate) fn gateway(self, dialer: Dialer) -> Result<Kit, BuildError> {
        let pool = pool(&BACKENDS, dialer)?.strategy(self.strategy);
        Kit::builder("gateway").pool(pool).calls(self.calls(GATEWAY_TIMEOUT)?).build()
    }

    /// Over the gateway, for which its calls wait.
    pub(crate) fn web(self, dialer: Dialer) -> Result<Kit, BuildError> {
        let calls = self.calls(WEB_TIMEOUT)?.wait_for_ready(true);
        Kit::builder("web").pool(pool(&[GATEWAY], dialer)?).calls(calls).build()
    }

    fn calls(self, timeout: Duration) -> Result<Builder, BuildError> {
        let (initial, max) = (Duration::from_millis(20), Duration::from_millis(500));
        let backoff = Backoff::new(initial, max)?.with_jitter(Jitter::Full)?;
        let retry = RetryPolicy::DEFAULT.with_max_attempts(self.attempts)?.with_backoff(backoff);
        let breaker = BreakerPolicy::new(Consecutive::new(self.threshold)?);
        let calls = Resilient::builder()
            .methods(&METHODS)
            .timeout(timeout)?
            .retry(retry)
            .breaker(breaker.with_open_for(self.open_for)?);
        Ok(if self.throttled { calls.throttle(ThrottlePolicy::SUCCESS_REFILLED) } else { calls })
    }
}

/// Members that are dialled in the simulation, and pinged as often as a client may.
fn pool(members: &[&'static str], dialer: Dialer) -> Result<PoolBuilder, BuildError> {
    let dial = DialPolicy::new(Duration::from_millis(100), Duration::from_millis(1_000))?
        .with_connect_timeout(Duration::from_millis(500))?;
    let options = ChannelOptions::DEFAULT
        .with_dial(dial)
        .with_keepalive(Duration::from_secs(10), Duration::from_millis(600))?;
    let targets = members.iter().map(|member| format!("{member}:{PORT}"));
    Ok(Pool::builder().targets(targets)?.insecure().connector(dialer).options(options))
}
