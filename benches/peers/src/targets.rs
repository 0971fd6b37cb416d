//! This file knows what it costs to pick one of several targets, each behind its own breaker. Each
//! call begins with the next one, and all are healthy, or all but the first are open.

use core::hint::black_box;

use evenkeel_core::{Clock, Deadline, Target, Tried, Verdict, pick};
use evenkeel_std::{SharedBreaker, StdClock};

use crate::case::{Case, Group};
use crate::shared::POLICY;

pub(crate) fn groups() -> Vec<Group> {
    let of = |title, open| Group {
        title,
        cases: NUMBERS.map(|(name, targets)| Case::new(name, picks(targets, open))).into(),
    };
    vec![of("a pick, all healthy", false), of("a pick, all but one open", true)]
}

fn picks(targets: u16, open: bool) -> impl Fn(u64) {
    let breakers: Vec<SharedBreaker> = (0..targets).map(|_| SharedBreaker::new()).collect();
    if open {
        breakers.iter().skip(1).for_each(|breaker| _ = breaker.force_open());
    }
    move |times| {
        for time in 0..times {
            let now = StdClock.now();
            let next = u16::try_from(time % u64::from(targets)).expect("below `targets`");
            let eligible = (next..targets).chain(0..next).map(Target::new);
            let of = |target: Target| &breakers[usize::from(target.number())];
            let ask = |target| of(target).admit(now, Deadline::NONE, &POLICY);
            if let Ok((target, permit)) = pick(eligible, Tried::NONE, ask) {
                black_box(of(target).record(now, permit, Verdict::Success, &POLICY));
            }
        }
    }
}

/// The first is what the others are compared with.
const NUMBERS: [(&str, u16); 4] = [
    ("1 target", 1),
    ("evenkeel, 10 targets", 10),
    ("evenkeel, 100 targets", 100),
    ("evenkeel, 1,000 targets", 1_000),
];
