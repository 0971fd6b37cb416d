//! This file knows the few conversions that `From` cannot do in a `const fn`.
#![expect(clippy::as_conversions, reason = "`From` is not const; every cast here widens")]

pub(crate) const fn widen(value: u32) -> u64 {
    value as u64
}

pub(crate) const fn widen8(value: u8) -> u32 {
    value as u32
}

pub(crate) const fn widen16(value: u16) -> u64 {
    value as u64
}

/// `floor(value * factor / 2^16)`, exact below 2^48 for every factor.
pub(crate) const fn times_q16(value: u64, factor: u32) -> u64 {
    let factor = widen(factor);
    let high = (value >> 16).wrapping_mul(factor);
    high.saturating_add((value & 0xffff).wrapping_mul(factor) >> 16)
}
