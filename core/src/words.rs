//! This file knows the words that several messages share.

use core::fmt;

use crate::Instant;

/// When asking a breaker again makes sense. Here that is known on the clock of whoever asked; how
/// long it is from now is for a driver to say, which reads that clock.
pub(crate) struct NextTry(pub(crate) Instant);

impl fmt::Display for NextTry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == Instant::MAX {
            return f.write_str("forced by hand");
        }
        write!(f, "next try at {} on its clock", self.0.since(Instant::ZERO))
    }
}
