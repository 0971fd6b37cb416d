//! This file knows the few conversions that `From` cannot do in a `const fn`.
#![expect(
    clippy::as_conversions,
    reason = "`From` is not const; every cast here widens, or is compared before"
)]

pub(crate) const fn widen(value: u32) -> u64 {
    value as u64
}

pub(crate) const fn widen8(value: u8) -> u32 {
    value as u32
}

pub(crate) const fn widen16(value: u16) -> u64 {
    value as u64
}

pub(crate) const fn widen8to64(value: u8) -> u64 {
    value as u64
}

pub(crate) const fn widen16to_usize(value: u16) -> usize {
    value as usize
}

pub(crate) const fn widen_usize(value: usize) -> u64 {
    value as u64
}

/// `floor(value * factor / 2^16)`, exact below 2^48 for every factor, and saturating above.
#[cfg(target_pointer_width = "64")]
pub(crate) const fn times_q16(value: u64, factor: u32) -> u64 {
    let product = (value as u128).wrapping_mul(factor as u128) >> 16;
    if product > u64::MAX as u128 { u64::MAX } else { product as u64 }
}

#[cfg(not(target_pointer_width = "64"))]
pub(crate) use crate::narrow::times_q16;

/// `value` grown by `factor` of one or more, rounded down but never to a standstill: a value of a
/// few units times 1.1 would round back to itself, and a backoff would not back off.
pub(crate) const fn grown_q16(value: u64, factor: u32) -> u64 {
    let grown = times_q16(value, factor);
    if grown == value && value != 0 && factor > ONE_Q16 { value.saturating_add(1) } else { grown }
}

/// Thousandths as 16.16, rounded to the nearest, because 1.6 has no exact value there.
pub(crate) const fn thousandths_to_q16(thousandths: u32) -> u32 {
    let rest = (thousandths % 1_000).wrapping_mul(65_536).wrapping_add(500) / 1_000;
    ((thousandths / 1_000) << 16).wrapping_add(rest)
}

/// A share in thousandths as 16.16, rounded down, so that a range is never wider than asked for.
pub(crate) const fn share_to_q16(thousandths: u16) -> u32 {
    (thousandths as u32).wrapping_mul(65_536) / 1_000
}

/// Back to thousandths: the nearest, which is what it was made from.
#[expect(clippy::as_conversions, reason = "`From` is not const; no factor has 2^32 thousandths")]
pub(crate) const fn q16_to_thousandths(factor: u32) -> u32 {
    ((factor as u64).wrapping_mul(1_000).wrapping_add(1 << 15) >> 16) as u32
}

/// One as 16.16.
pub(crate) const ONE_Q16: u32 = 1 << 16;

#[cfg(test)]
mod tests {
    use super::{ONE_Q16, grown_q16};

    /// No setting reaches so far; a factor of one or two may.
    #[cfg(target_pointer_width = "64")]
    #[test]
    fn what_does_not_fit_is_the_most_there_is() {
        for factor in [ONE_Q16, ONE_Q16 + 1, 2 * ONE_Q16, u32::MAX] {
            for value in [1, 1 << 48, (1 << 63) - 1, 1 << 63, u64::MAX] {
                let exact = (u128::from(value) * u128::from(factor)) >> 16;
                let due = u64::try_from(exact).unwrap_or(u64::MAX);
                assert_eq!(super::times_q16(value, factor), due, "{value} {factor}");
            }
        }
    }

    #[test]
    fn what_grows_does_so_by_one_at_least() {
        let tenth = ONE_Q16 / 10;
        assert_eq!(
            [0, 1, 9, 10, 100].map(|value| grown_q16(value, ONE_Q16 + tenth)),
            [0, 2, 10, 11, 109]
        );
        // By a factor of one nothing grows.
        assert_eq!([0, 1, 9].map(|value| grown_q16(value, ONE_Q16)), [0, 1, 9]);
    }
}
