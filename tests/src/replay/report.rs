//! This file knows how the traces of one file are counted, and how that is told.

use core::fmt;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Rule, Rules, Verdict};

/// How the traces of one file compare with our machines.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The file.
    pub path: PathBuf,
    /// How many traces it holds.
    pub traces: usize,
    /// How many steps they have.
    pub steps: usize,
    /// Traces in which our machine does what the kit did, from the first step to the last.
    pub agree: usize,
    /// The others, by the rules behind the first difference.
    pub first: BTreeMap<Rules, usize>,
    /// Traces that each rule is needed in anywhere; one trace may need several.
    pub needed: BTreeMap<Rule, usize>,
    /// Traces that the model of the kit, all rules off, repeats in every step.
    pub model_is_kit: usize,
    /// Traces in which the model with all rules on does what our machine does in every step.
    pub model_is_ours: usize,
    /// What differs without a name, trace by trace. Must be empty.
    pub otherwise: Vec<String>,
}

impl Summary {
    pub(super) fn new(path: &Path) -> Self {
        Self {
            path: path.into(),
            traces: 0,
            steps: 0,
            agree: 0,
            first: BTreeMap::new(),
            needed: BTreeMap::new(),
            model_is_kit: 0,
            model_is_ours: 0,
            otherwise: vec![],
        }
    }

    pub(super) fn count(&mut self, trace: u32, steps: usize, verdict: Verdict) {
        self.traces += 1;
        self.steps += steps;
        let (mut model_is_kit, mut model_is_ours) = (true, true);
        match verdict {
            Verdict::Agrees => self.agree += 1,
            Verdict::Intended { first, all } => {
                *self.first.entry(first).or_default() += 1;
                for rule in all.iter() {
                    *self.needed.entry(rule).or_default() += 1;
                }
            }
            Verdict::Otherwise { from_kit, from_ours } => {
                (model_is_kit, model_is_ours) = (from_kit.is_none(), from_ours.is_none());
                let kit = from_kit.map(|at| format!("trace {trace}: the kit's model, {at}"));
                let ours = from_ours.map(|at| format!("trace {trace}: our machine, {at}"));
                let both: Vec<_> = kit.into_iter().chain(ours).collect();
                self.otherwise.push(both.join("\n    "));
            }
        }
        self.model_is_kit += usize::from(model_is_kit);
        self.model_is_ours += usize::from(model_is_ours);
    }

    /// Traces that differ, and only as intended.
    pub fn intended(&self) -> usize {
        self.first.values().sum()
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { traces, steps, .. } = self;
        writeln!(f, "{}: {traces} traces, {steps} steps", self.path.display())?;
        let mut line = |what: &str, count| writeln!(f, "  {what:<44}{count:>5}");
        line("agree exactly", self.agree)?;
        line("differ as intended", self.intended())?;
        for (rules, count) in &self.first {
            line(&format!("  first by {rules}"), *count)?;
        }
        for (rule, count) in &self.needed {
            line(&format!("  anywhere by {}", rule.name()), *count)?;
        }
        line("differ otherwise", self.otherwise.len())?;
        line("the kit's model repeats the recording", self.model_is_kit)?;
        line("with our rules it does what ours does", self.model_is_ours)?;
        for difference in &self.otherwise {
            writeln!(f, "    {difference}")?;
        }
        Ok(())
    }
}

/// Traces that cannot be replayed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unreadable {
    path: PathBuf,
    /// From 1; 0 for the file as a whole.
    line: usize,
    why: String,
}

impl Unreadable {
    pub(super) fn new(path: &Path, line: usize, why: String) -> Self {
        Self { path: path.into(), line, why }
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, why } = self;
        write!(f, "{}:{line}: {why}", path.display())
    }
}

impl core::error::Error for Unreadable {}
