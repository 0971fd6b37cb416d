//! This file knows what a throttle should hold: its tokens, kept exactly.

use evenkeel_core::{Code, CodeSet, Pushback, Report, Throttle, ThrottlePolicy, Weight};

use crate::ensure;

/// A throttle in plain numbers.
#[derive(Clone, Copy, Debug)]
pub struct Tokens {
    grpc: bool,
    /// The most there can be, in thousandths.
    pub max: i64,
    ratio: i64,
    milli: i64,
}

impl Tokens {
    /// The tokens of a full throttle of one kind or the other, and its policy.
    pub fn new(grpc: bool, tokens: u16, ratio: u32) -> (Self, ThrottlePolicy) {
        let make = if grpc { ThrottlePolicy::grpc } else { ThrottlePolicy::success_refilled };
        let max = i64::from(tokens) * 1_000;
        let policy = make(tokens, ratio).expect("these are in range");
        (Self { grpc, max, ratio: i64::from(ratio), milli: max }, policy)
    }

    /// Whether a retry is granted; the success-refilled kind pays for it.
    pub fn ask(&mut self) -> bool {
        if self.grpc {
            return self.milli * 2 > self.max;
        }
        let granted = self.milli >= 1_000;
        self.milli -= if granted { 1_000 } else { 0 };
        granted
    }

    /// Books the end of an attempt.
    pub fn book(&mut self, report: &Report, retryable: CodeSet) {
        let stops = report.outcome.pushback == Pushback::Stop;
        let counts = matches!(report.weight, Weight::Counts | Weight::CutShort);
        if report.outcome.code == Code::Ok {
            self.milli = (self.milli + self.ratio).min(self.max);
        } else if self.grpc && counts && (stops || retryable.contains(report.outcome.code)) {
            self.milli = (self.milli - 1_000).max(0);
        }
    }

    /// Compares with what `throttle` holds.
    ///
    /// # Errors
    ///
    /// When it holds anything else.
    pub fn compare(&self, throttle: &Throttle) -> Result<(), String> {
        let left = i64::from(throttle.millitokens());
        ensure!(left == self.milli, "{left} left, due is {self:?}");
        Ok(())
    }
}
