//! This file knows two products for machines that have no wide multiply.
//!
//! Long, so they are kept out of line: they run only after a failure. On 64-bit targets they are built
//! for their tests alone, which hold them against the wide ones.

use crate::num::widen;

/// `floor(value * factor / 2^16)`, exact below 2^48 for every factor.
#[inline(never)]
pub(crate) const fn times_q16(value: u64, factor: u32) -> u64 {
    let factor = widen(factor);
    let high = (value >> 16).wrapping_mul(factor);
    high.saturating_add((value & 0xffff).wrapping_mul(factor) >> 16)
}

/// `floor(span * random / 2^32)`: a point in `0..span`, exact, without division or overflow.
#[inline(never)]
pub(crate) const fn scale(span: u64, random: u32) -> u64 {
    let random = widen(random);
    let high = (span >> 32).wrapping_mul(random);
    let low = (span & 0xffff_ffff).wrapping_mul(random) >> 32;
    high.wrapping_add(low)
}

#[cfg(test)]
#[expect(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    reason = "what overflows here fails the test"
)]
mod tests {
    use super::{scale, times_q16};

    /// Around every power of two, where bits move from one half of a product to the other.
    fn edges(end: u32) -> impl Iterator<Item = u64> + Clone {
        (0..end).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1, MIXED >> (63 - bit)])
    }

    const MIXED: u64 = 0xb504_f333_f9de_6485;

    #[test]
    fn both_ways_to_multiply_come_to_the_same() {
        let factors = edges(32).map(|factor| factor as u32).chain([u32::MAX]);
        for (span, factor) in
            edges(64).chain([u64::MAX]).flat_map(|span| factors.clone().map(move |by| (span, by)))
        {
            assert_eq!(scale(span, factor), crate::rng::scale(span, factor), "{span} {factor}");
            let value = span % (1 << 48);
            let wide = crate::num::times_q16(value, factor);
            assert_eq!(times_q16(value, factor), wide, "{value} {factor}");
        }
    }
}
