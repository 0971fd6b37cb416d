//! This file knows what is looked at between steps: breakers and tokens.

use core::fmt;
use core::str::FromStr;

use evenkeel_core::{BreakerState, Instant, Micros, Snapshot};

use crate::time;

/// A look at what calls share, at a moment at which nothing else happens.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Look {
    /// When.
    pub at: Micros,
    /// At what, and what it is to show.
    pub shows: Shows,
}

/// What a look shows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Shows {
    /// The breaker of this method.
    Breaker(&'static str, Circuit),
    /// The retry tokens left, in thousandths.
    Tokens(u32),
}

/// A breaker at one moment.
///
/// `closed(1)` has counted a failure, `open(2 until 10)` was opened by two and lets nobody through
/// before 10, `half-open(1)` has a trial under way; `, again 3` says how often in a row a failed
/// trial has opened it again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Circuit {
    state: BreakerState,
    /// Failures counted, or trials under way.
    count: u16,
    until: Option<Micros>,
    again: u8,
}

impl Circuit {
    /// One that nobody has asked for yet.
    pub const NEW: Self = Self { state: BreakerState::Closed, count: 0, until: None, again: 0 };

    /// What `snapshot` shows; times since `began`.
    pub fn of(snapshot: &Snapshot, began: Instant) -> Self {
        let trying = snapshot.state == BreakerState::HalfOpen;
        Self {
            state: snapshot.state,
            count: if trying { snapshot.trials.into() } else { snapshot.failures },
            until: snapshot.retry_at.map(|at| at.since(began)),
            again: snapshot.reopenings,
        }
    }
}

impl FromStr for Circuit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no breaker such as closed(1) or open(2 until 10)");
        let (name, inner) = text.split_once('(').ok_or_else(wrong)?;
        let inner = inner.strip_suffix(')').ok_or_else(wrong)?;
        let (inner, again) = inner.split_once(", again ").unwrap_or((inner, "0"));
        let (count, until) = match inner.split_once(" until ") {
            Some((count, until)) => (count, Some(time::parse(until)?)),
            None => (inner, None),
        };
        let states = [BreakerState::Closed, BreakerState::HalfOpen, BreakerState::Open];
        let state = states.into_iter().find(|state| state.name() == name).ok_or_else(wrong)?;
        if (state == BreakerState::Open) != until.is_some() {
            return Err(wrong());
        }
        let count = count.parse().map_err(|_| wrong())?;
        Ok(Self { state, count, until, again: again.parse().map_err(|_| wrong())? })
    }
}

impl fmt::Display for Circuit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({}", self.state.name(), self.count)?;
        if let Some(until) = self.until {
            write!(f, " until {}", time::written(until))?;
        }
        if self.again > 0 {
            write!(f, ", again {}", self.again)?;
        }
        f.write_str(")")
    }
}

impl fmt::Display for Look {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = time::written(self.at);
        match self.shows {
            Shows::Breaker(method, circuit) => write!(f, "{at} {method} {circuit}"),
            Shows::Tokens(left) => {
                write!(f, "{at} {} tokens", time::written(Micros::from_millis(left.into())))
            }
        }
    }
}
