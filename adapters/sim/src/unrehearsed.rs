//! This file knows that the engine alone plays no scripts: nobody is ever on its stage, and the
//! compiler leaves out what would be asked of them.

use core::convert::Infallible;
use core::marker::PhantomData;

use evenkeel_core::{Code, StopReason};

use crate::world::World;

/// There is none.
#[derive(Debug)]
pub(crate) struct Stage<'a>(Infallible, PhantomData<&'a ()>);

impl Stage<'_> {
    pub(crate) fn entered(&self, _slot: u32) {
        match self.0 {}
    }

    pub(crate) fn left(&self, _slot: u32, _now: u64, _reason: StopReason, _code: Code) {
        match self.0 {}
    }
}

impl World<'_> {
    pub(crate) fn prompt(&self, _slot: u32, _token: u32) {}
}
