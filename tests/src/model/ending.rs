//! This file knows how a call that was played came to its end, and what is left to show for it.

use evenkeel_core::{Next, Refusal, Report, StopReason, Weight};

use super::ghost::Contact;
use super::run::{Event, Run, Seen, What};

/// When the call was over, and why.
pub fn end_of(run: &Run) -> Option<(usize, StopReason)> {
    run.events.iter().enumerate().find_map(|(at, event)| match event.what {
        What::Cancelled => Some((at, StopReason::Cancelled)),
        What::Completed { next: Next::Stop(reason), .. } => Some((at, reason)),
        What::Polled(Seen::Finish(reason)) => Some((at, reason)),
        What::Completed { .. } | What::Forbidden | What::Polled(_) => None,
    })
}

/// What a driver could still show for the call.
#[derive(Clone, Copy, Debug)]
pub struct Last {
    /// The last end of an attempt that was its own.
    pub attempt: Option<Report>,
    /// The last refusal of an attempt.
    pub refusal: Option<Refusal>,
    /// The attempts that ended and count.
    pub counted: usize,
}

/// What there was to show after `events`.
pub fn last_of(events: &[Event]) -> Last {
    let mut last = Last { attempt: None, refusal: None, counted: 0 };
    let (mut uncounted, mut before) = (None, 0);
    for event in events {
        // The first that is booked has ended; others that ran into their deadline are booked with it.
        let mut ended = None;
        for contact in &event.contacts {
            match contact {
                Contact::Recorded { report, .. } => {
                    last.counted += usize::from(report.weight != Weight::Transparent);
                    if report.weight == Weight::Transparent {
                        uncounted = Some(*report);
                    }
                    if matches!(report.weight, Weight::Counts | Weight::CutShort) {
                        ended.get_or_insert(*report);
                    }
                }
                Contact::Refused(refusal) => last.refusal = Some(*refusal),
                Contact::Admitted { .. } | Contact::Asked { .. } | Contact::Renewed { .. } => {}
            }
        }
        last.attempt = ended.or(last.attempt);
        // What was to be repeated without being counted, and may not be, is the call's one attempt.
        if event.what == What::Forbidden && event.attempts > before {
            (last.counted, last.attempt) = (1, uncounted);
        }
        before = event.attempts;
    }
    last
}
