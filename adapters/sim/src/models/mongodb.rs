//! This file knows the retry bucket of `MongoDB`'s drivers.
//!
//! The accepted specification "client backpressure": a retry costs 1 of 1000 tokens; a call that
//! succeeds at once gives 0.1, one that succeeds on a retry 1.1, and a retry that fails with
//! something other than overload gives its token back. Thousandths of a token, in integers.

/// The bucket.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct MongoDb {
    /// The most there can be, and the start, in thousandths.
    pub capacity: u32,
    /// What a success gives, in thousandths.
    pub ratio: u32,
}

impl MongoDb {
    /// As specified.
    pub const SPECIFIED: Self = Self { capacity: 1_000_000, ratio: 100 };
}

/// What one client has left, in thousandths.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct MongoDbMemory(u32);

impl MongoDbMemory {
    /// With all the tokens `rule` allows.
    pub const fn full(rule: &MongoDb) -> Self {
        Self(rule.capacity)
    }

    /// An attempt has ended: it succeeded, or it failed, with `overload` or otherwise; `retried`
    /// says whether it was a retry.
    pub fn ended(&mut self, rule: &MongoDb, success: bool, overload: bool, retried: bool) {
        let back = match (success, retried) {
            (true, false) => rule.ratio,
            (true, true) => rule.ratio + TOKEN,
            (false, true) if !overload => TOKEN,
            (false, _) => 0,
        };
        self.0 = self.0.saturating_add(back).min(rule.capacity);
    }

    /// Whether a retry may be made; pays for it.
    pub const fn allow(&mut self) -> bool {
        let paid = self.0.checked_sub(TOKEN);
        if let Some(left) = paid {
            self.0 = left;
        }
        paid.is_some()
    }

    /// What is left, in thousandths.
    pub const fn millitokens(&self) -> u32 {
        self.0
    }
}

const TOKEN: u32 = 1_000;
