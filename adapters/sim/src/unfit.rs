//! This file knows how a scenario is refused: with the field and what would be right.

use core::fmt;

/// A scenario that cannot be simulated.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unfit {
    field: &'static str,
    why: String,
}

impl Unfit {
    /// Refuses `field`; `why` says what would be right.
    pub fn new(field: &'static str, why: impl Into<String>) -> Self {
        Self { field, why: why.into() }
    }

    /// The setting, as `block.name`.
    pub const fn field(&self) -> &'static str {
        self.field
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.why)
    }
}

impl core::error::Error for Unfit {}
