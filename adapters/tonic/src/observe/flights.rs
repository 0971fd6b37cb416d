//! This file knows the attempts of one call that are under way, as its record sees them.

use evenkeel_tokio::core::{Attempt, Instant, Report, Target};

use super::spans::Scope;

/// Attempts under way; nearly always one.
#[derive(Debug, Default)]
pub(super) struct Flights {
    first: Option<Flight>,
    more: Vec<Flight>,
}

/// One of them.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) target: Target,
    pub(super) started: Instant,
    pub(super) scope: Scope,
}

impl Flights {
    pub(super) fn put(&mut self, flight: Flight) {
        match self.first {
            None => self.first = Some(flight),
            Some(_) => self.more.push(flight),
        }
    }

    /// The span of `attempt`.
    pub(super) fn scope(&self, attempt: &Attempt) -> Option<&Scope> {
        let mut all = self.first.iter().chain(&self.more);
        let found = all.find(|flight| {
            flight.started == attempt.started() && flight.target == attempt.target()
        });
        found.map(|flight| &flight.scope)
    }

    /// The one that has ended. Two at one target are told apart by how long they took, which a
    /// report that nobody completed does not say; then it is the older one.
    pub(super) fn take(&mut self, now: Instant, target: Target, report: &Report) -> Option<Flight> {
        let exact =
            |flight: &Flight| flight.target == target && now.since(flight.started) == report.took;
        self.take_if(exact).or_else(|| self.take_if(|flight| flight.target == target))
    }

    /// Any that is left.
    pub(super) fn pop(&mut self) -> Option<Flight> {
        self.take_if(|_| true)
    }

    fn take_if(&mut self, is_it: impl Fn(&Flight) -> bool) -> Option<Flight> {
        if let Some(flight) = self.first.take_if(|flight| is_it(flight)) {
            return Some(flight);
        }
        let at = self.more.iter().position(is_it)?;
        Some(self.more.remove(at))
    }
}
