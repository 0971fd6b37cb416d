//! This file knows what the network and the lists of members were like at any time, as far as the
//! book says.

use core::time::Duration;

use crate::book::{Entry, Event};
use crate::plan::{APP, Change, LATENCY, TICK};

/// When what was sent must have arrived, and who was a member when.
pub(super) struct Network {
    /// When segments were held somewhere.
    held: Vec<(Duration, Duration)>,
    /// When a host was no member of `app`'s.
    away: Vec<(&'static str, Duration, Duration)>,
    /// When a host went down.
    crashes: Vec<(&'static str, Duration)>,
}

impl Network {
    pub(super) fn of(entries: &[Entry]) -> Self {
        let mut held = Vec::new();
        let mut open = Vec::new();
        let mut away: Vec<(&'static str, Duration, Duration)> = Vec::new();
        let mut crashes = Vec::new();
        for (at, event) in entries {
            match event {
                Event::Fault(Change::Crash(host)) => crashes.push((*host, *at)),
                Event::Fault(Change::Hold(link)) => open.push((link, *at)),
                Event::Fault(Change::Release(link)) => {
                    let begun = open.iter().position(|(other, _)| *other == link);
                    let since = begun.map_or(*at, |index| open.swap_remove(index).1);
                    held.push((since, *at));
                }
                Event::Members { members, .. } => {
                    let back = |(host, _, to): &mut (&'static str, _, Duration)| {
                        if *to == Duration::MAX && members.contains(host) {
                            *to = *at;
                        }
                    };
                    away.iter_mut().for_each(back);
                    let gone =
                        crate::plan::BACKENDS.into_iter().filter(|host| !members.contains(host));
                    away.extend(gone.map(|host| (host, *at, Duration::MAX)));
                }
                _ => {}
            }
        }
        Self { held, away, crashes }
    }

    /// Whether what was sent at `sent` or before may still arrive at `at`.
    pub(super) fn may_be_under_way(&self, sent: Duration, at: Duration) -> bool {
        // A segment waits for those before it, which may have been held.
        let since = |(from, to): &(Duration, Duration)| *from <= at && *to + UNDER_WAY >= sent;
        at <= sent + UNDER_WAY || self.held.iter().any(since)
    }

    /// Whether `host` was no member of `app`'s all the time from `began` to `arrived`.
    pub(super) fn was_away(&self, host: &str, began: Duration, arrived: Duration) -> bool {
        let away = |(other, from, to): &(&str, Duration, Duration)| {
            // Not in the very instant: who was first within it the book does not say.
            *other == host && *from < began && arrived < *to
        };
        self.away.iter().any(away)
    }

    /// When `host` crashed, if what it held was dropped by `at` for that.
    pub(super) fn crashed(&self, host: &str, at: Duration) -> Option<Duration> {
        let crashes = self.crashes.iter().filter(|(other, _)| *other == host);
        crashes.map(|(_, crash)| *crash).find(|crash| *crash <= at && at <= *crash + TICK)
    }

    /// Health checks of hosts that were no members any more.
    pub(super) fn probes_of_strangers(&self, entries: &[Entry]) -> Vec<String> {
        let mut wrong = Vec::new();
        for (at, event) in entries {
            let Event::Probed { host } = event else { continue };
            let away = self.away.iter().find(|(other, from, to)| {
                other == host && !self.may_be_under_way(*from, *at) && at < to
            });
            if let Some((_, from, _)) = away {
                wrong.push(format!(
                    "{host} was probed at {at:?}, no member of {APP} since {from:?}"
                ));
            }
        }
        wrong
    }
}

/// A segment, those before it, and the step in which it is delivered.
const UNDER_WAY: Duration = LATENCY.saturating_mul(2).saturating_add(TICK.saturating_mul(2));
