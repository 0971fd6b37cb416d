//! This file knows what kinds of values there are, one file for each.

mod code;
mod jitter;
mod many;
mod number;
mod span;
mod target;
mod word;

pub(crate) use code::Codes;
pub(crate) use code::known_code;
pub(crate) use jitter::AnyJitter;
pub(crate) use many::{ByName, List, OrNone, Unset};
pub(crate) use number::{Bytes, Count, Decimal};
pub(crate) use number::{cut_thousandths, decimal, thousandths};
pub(crate) use span::Span;
pub(crate) use target::{AnyTarget, target_name};
pub(crate) use word::{Flag, OneOf, Text};
