//! This file knows what a breaker should show: a ledger of its periods and of the permits it gave,
//! kept from nothing but what it was asked and told.

use evenkeel_core::{BreakerState, Instant, Snapshot, Transition, Verdict};

use super::rule::Rule;
use crate::ensure;

/// The settings of a breaker in plain numbers; times in microseconds.
#[derive(Clone, Debug)]
pub struct Terms {
    /// From opening to the first trial.
    pub open_for: u64,
    /// Doubled with every reopening in a row, up to this.
    pub max_open: u64,
    /// Trials at a time.
    pub max_trials: usize,
    /// Successful trials that close.
    pub successes: u8,
}

impl Terms {
    /// How long the opening after `reopenings` in a row lasts.
    pub fn open_time(&self, reopenings: u8) -> u64 {
        let first = self.open_for.min(self.max_open);
        (0..reopenings).fold(first, |span, _| (span * 2).min(self.max_open))
    }

    /// Until when an attempt of this lease is waited for.
    pub fn lease_end(&self, now: u64, lease: Option<u64>) -> u64 {
        lease.unwrap_or_else(|| now + self.open_for.max(1_000_000))
    }
}

/// One period of a breaker: no result of an earlier one means anything in it.
#[derive(Clone, Debug, PartialEq)]
enum Period {
    Closed,
    ForcedClosed,
    ForcedOpen,
    HalfOpen { opened_at: u64, reopenings: u8, successes: u8, live: usize, lease: u64 },
    Open { opened_at: u64, reopenings: u8, failures: Option<u16> },
}

/// The ledger of one breaker.
#[derive(Clone, Debug)]
pub struct Ledger {
    terms: Terms,
    rule: Rule,
    period: Period,
    /// Which period it is; permits of any other are stale.
    pub number: u32,
}

impl Ledger {
    /// Of a breaker that has just been made.
    pub fn new(terms: Terms, rule: Rule) -> Self {
        Self { terms, rule, period: Period::Closed, number: 0 }
    }

    /// Whether every trial under way has lost its lease.
    pub fn is_lost(&self, now: u64) -> bool {
        matches!(self.period, Period::HalfOpen { live, lease, .. } if live > 0 && now >= lease)
    }

    /// Whether it is closed.
    pub fn is_closed(&self) -> bool {
        self.period == Period::Closed
    }

    /// Whether it is closed and has this many bad calls counted.
    pub fn is_closed_with(&self, bad: u16) -> bool {
        self.is_closed() && self.rule.bad() == Some(bad)
    }

    /// Enters an admission; the error is the refusal it must be.
    ///
    /// # Errors
    ///
    /// The refusal a breaker with this past gives.
    pub fn admit(&mut self, now: u64, lease: Option<u64>) -> Result<(), u64> {
        let until = self.terms.lease_end(now, lease);
        if self.is_lost(now)
            && let Period::HalfOpen { live, successes, .. } = &mut self.period
        {
            (*live, *successes) = (0, 0);
            self.number += 1;
        }
        match &mut self.period {
            Period::Closed | Period::ForcedClosed => Ok(()),
            Period::ForcedOpen => Err(u64::MAX),
            Period::Open { opened_at, reopenings, .. } => {
                let (opened_at, reopenings) = (*opened_at, *reopenings);
                let retry_at = opened_at + self.terms.open_time(reopenings);
                if now < retry_at {
                    return Err(retry_at);
                }
                let (live, lease, successes) = (1, until, 0);
                self.begin(Period::HalfOpen { opened_at, reopenings, successes, live, lease });
                Ok(())
            }
            Period::HalfOpen { live, lease, .. } => {
                if *live >= self.terms.max_trials {
                    return Err(*lease);
                }
                *lease = if *live == 0 { until } else { until.max(*lease) };
                *live += 1;
                Ok(())
            }
        }
    }

    /// Enters the end of an attempt that was admitted in period `number`; `showed` is what the
    /// breaker turned into where the rule leaves it open.
    ///
    /// # Errors
    ///
    /// What the breaker did though its rule forbids it.
    pub fn record(
        &mut self,
        now: u64,
        number: u32,
        verdict: Verdict,
        showed: Option<Transition>,
    ) -> Result<Option<Transition>, String> {
        if number != self.number {
            return Ok(None);
        }
        match &mut self.period {
            Period::HalfOpen { live, .. } if verdict == Verdict::Ignored => *live -= 1,
            _ if verdict == Verdict::Ignored => {}
            Period::Closed => {
                let opens = self.rule.count(now, verdict);
                let opened = showed == Some(Transition::Opened);
                ensure!(opened || !opens.must, "it stayed closed");
                ensure!(!opened || opens.may, "it opened");
                if opened {
                    let failures = self.rule.bad();
                    self.begin(Period::Open { opened_at: now, reopenings: 0, failures });
                    return Ok(Some(Transition::Opened));
                }
            }
            Period::HalfOpen { successes, live, .. } if verdict == Verdict::Success => {
                (*live, *successes) = (*live - 1, *successes + 1);
                if *successes == self.terms.successes {
                    self.rule.clear();
                    self.begin(Period::Closed);
                    return Ok(Some(Transition::Closed));
                }
            }
            Period::HalfOpen { reopenings, .. } => {
                let (reopenings, failures) = (*reopenings + 1, Some(1));
                self.begin(Period::Open { opened_at: now, reopenings, failures });
                return Ok(Some(Transition::Opened));
            }
            Period::Open { .. } | Period::ForcedClosed | Period::ForcedOpen => {}
        }
        Ok(None)
    }

    /// Enters a trial said to be under way.
    pub fn renew(&mut self, now: u64, number: u32) {
        let until = self.terms.lease_end(now, None);
        if number == self.number
            && let Period::HalfOpen { lease, .. } = &mut self.period
        {
            *lease = until.max(*lease);
        }
    }

    /// Enters what a person did.
    pub fn force(&mut self, state: BreakerState) {
        self.rule.clear();
        self.begin(match state {
            BreakerState::ForcedOpen => Period::ForcedOpen,
            BreakerState::ForcedClosed => Period::ForcedClosed,
            _ => Period::Closed,
        });
    }

    fn begin(&mut self, period: Period) {
        self.period = period;
        self.number += 1;
    }

    /// Compares with what the breaker shows.
    ///
    /// # Errors
    ///
    /// When it shows anything else.
    pub fn compare(&self, shown: &Snapshot) -> Result<(), String> {
        let mut due = Snapshot {
            state: BreakerState::Closed,
            failures: 0,
            opened_at: None,
            retry_at: None,
            trials: 0,
            reopenings: 0,
        };
        let at = Instant::from_micros;
        match &self.period {
            Period::Closed => due.failures = self.rule.bad().unwrap_or(shown.failures),
            Period::ForcedClosed => due.state = BreakerState::ForcedClosed,
            Period::ForcedOpen => due.state = BreakerState::ForcedOpen,
            Period::HalfOpen { opened_at, reopenings, live, .. } => {
                due.state = BreakerState::HalfOpen;
                due.opened_at = Some(at(*opened_at));
                due.reopenings = *reopenings;
                due.trials = u8::try_from(*live).unwrap_or(u8::MAX);
            }
            Period::Open { opened_at, reopenings, failures } => {
                due.state = BreakerState::Open;
                due.opened_at = Some(at(*opened_at));
                due.retry_at = Some(at(*opened_at + self.terms.open_time(*reopenings)));
                due.reopenings = *reopenings;
                due.failures = failures.unwrap_or(shown.failures);
            }
        }
        ensure!(due == *shown, "due {due:?}, shown {shown:?}");
        Ok(())
    }

    /// Everything that decides what comes, relative to `now`.
    pub fn key(&self, now: u64) -> String {
        match &self.period {
            Period::HalfOpen { successes, live, lease, .. } => {
                format!("{live}, {successes}, {}", lease.saturating_sub(now))
            }
            Period::Closed => self.rule.key(now),
            Period::ForcedClosed | Period::ForcedOpen | Period::Open { .. } => String::new(),
        }
    }
}
