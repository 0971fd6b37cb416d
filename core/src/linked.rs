//! This file knows how the code behind a setting is left out of an image that never uses it.
//!
//! A firmware's policies are constants, but a linker does not follow a reference to one into the
//! branches that its values rule out. It does drop a function that nobody names. So what a setting
//! does hangs on a pointer that only the setting's constructor puts into the policy: a breaker
//! whose open times neither grow nor vary contains no arithmetic for either.

use core::fmt;
use core::hash::{Hash, Hasher};

/// The code behind a setting, linked because the setting was made. Says nothing about the setting
/// itself, so it is equal to any other.
#[derive(Clone, Copy)]
pub(crate) struct Linked<F>(pub(crate) F);

impl<F> PartialEq for Linked<F> {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl<F> Eq for Linked<F> {}

impl<F> Hash for Linked<F> {
    fn hash<H: Hasher>(&self, _state: &mut H) {}
}

impl<F> fmt::Debug for Linked<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("..")
    }
}

#[cfg(feature = "defmt")]
impl<F> defmt::Format for Linked<F> {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "..");
    }
}
