//! This file knows what can be measured: a thing done any number of times, beside what it is
//! compared with.

/// Cases that do the same for their caller; the first is what the others are compared with.
pub(crate) struct Group {
    pub(crate) title: &'static str,
    pub(crate) cases: Vec<Case>,
}

/// One way to do it.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    run: Box<dyn Fn(u64)>,
}

impl Case {
    pub(crate) fn new(name: &'static str, run: impl Fn(u64) + 'static) -> Self {
        Self { name, run: Box::new(run) }
    }

    /// Does it so many times.
    pub(crate) fn run(&self, times: u64) {
        (self.run)(times);
    }
}

/// What one more time costs, from the costs of `FEW` and of `MANY`.
pub(crate) fn each(few: u64, many: u64) -> f64 {
    (many as f64 - few as f64) / (MANY - FEW) as f64
}

/// Above every table and pool that fills up in the first calls.
pub(crate) const FEW: u64 = 100;
pub(crate) const MANY: u64 = 1_100;
