//! This file knows chance: random numbers and the laws drawn from them.
//!
//! A run must come out the same on every platform, bit for bit, so nothing here asks the platform's
//! mathematics library, whose last digits differ. Everything is integers, or the four operations
//! and the square root that IEEE 754 defines exactly; the logarithm and the exponential are series.
//!
//! The generator is xoroshiro128++ (Blackman and Vigna, 2019), seeded through `SplitMix64`.

use evenkeel_core::Random;

/// A stream of random numbers; the same seed gives the same stream everywhere.
///
/// ```
/// use evenkeel_sim::Chance;
///
/// let (mut a, mut b) = (Chance::seeded(7), Chance::seeded(7));
/// assert_eq!(a.exponential(1_000), b.exponential(1_000));
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Chance {
    state: [u64; 2],
}

impl Chance {
    /// A stream of its own for each `seed`.
    pub const fn seeded(seed: u64) -> Self {
        let first = split_mix(seed.wrapping_add(GOLDEN));
        let second = split_mix(seed.wrapping_add(GOLDEN.wrapping_mul(2)));
        // The one state it cannot leave is all zero; the two halves are never zero together.
        Self { state: [first, second] }
    }

    /// The next 64 random bits.
    #[inline]
    pub const fn next_u64(&mut self) -> u64 {
        let [a, b] = self.state;
        let result = a.wrapping_add(b).rotate_left(17).wrapping_add(a);
        let b = a ^ b;
        self.state = [a.rotate_left(49) ^ b ^ (b << 21), b.rotate_left(28)];
        result
    }

    /// Uniform over `[0, 1)`.
    #[inline]
    pub const fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform over `0..end`; 0 when `end` is 0.
    #[inline]
    pub const fn below(&mut self, end: u32) -> u32 {
        (((self.next_u64() >> 32) * end as u64) >> 32) as u32
    }

    /// True with probability `share`.
    #[inline]
    pub const fn happens(&mut self, share: f64) -> bool {
        self.unit() < share
    }

    /// Exponential with this mean, rounded to the nearest whole number.
    #[inline]
    pub const fn exponential(&mut self, mean: u64) -> u64 {
        (self.standard_exponential() * mean as f64 + 0.5) as u64
    }

    /// Exponential with mean 1.
    #[inline]
    pub const fn standard_exponential(&mut self) -> f64 {
        -ln(1.0 - self.unit())
    }

    /// Normal with mean 0 and deviation 1 (Marsaglia's polar method: no sine).
    pub fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                // √ is one of the five operations IEEE 754 rounds exactly.
                return x * (-2.0 * ln(square) / square).sqrt();
            }
        }
    }

    /// Log-normal with this mean, rounded, and `sigma` the deviation of its logarithm.
    pub fn log_normal(&mut self, mean: u64, sigma: f64) -> u64 {
        let factor = exp(sigma * self.normal() - sigma * sigma / 2.0);
        (factor * mean as f64 + 0.5) as u64
    }
}

impl Random for Chance {
    fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }
}

/// Another seed for each `index`, so that a fleet's members and a batch's runs are strangers.
pub const fn subseed(seed: u64, index: u64) -> u64 {
    split_mix(seed ^ split_mix(index.wrapping_add(GOLDEN)))
}

/// The natural logarithm of a positive, normal number, to about 1e-15.
pub const fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let mut exponent = ((bits >> 52) as i64 - 1023) as f64;
    let mut mantissa = f64::from_bits(bits & MANTISSA | ONE);
    if mantissa > SQRT_2 {
        mantissa *= 0.5;
        exponent += 1.0;
    }
    // ln m = 2 artanh s; |s| is at most 0.172, so nine terms are enough.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let z = s * s;
    let tail = 1.0 / 13.0 + z * (1.0 / 15.0 + z * (1.0 / 17.0 + z * (1.0 / 19.0)));
    let series = 1.0 / 5.0 + z * (1.0 / 7.0 + z * (1.0 / 9.0 + z * (1.0 / 11.0 + z * tail)));
    exponent * LN_2 + 2.0 * s * (1.0 + z * (1.0 / 3.0 + z * series))
}

/// e to the power of `x`, to about 1e-15; saturates outside ±700.
pub const fn exp(x: f64) -> f64 {
    let x = x.clamp(-700.0, 700.0);
    let half = if x < 0.0 { -0.5 } else { 0.5 };
    let twos = (x / LN_2 + half) as i64;
    let rest = x - twos as f64 * LN_2;
    let (mut sum, mut term, mut n) = (1.0, 1.0, 1.0);
    while n < 18.0 {
        term *= rest / n;
        sum += term;
        n += 1.0;
    }
    sum * f64::from_bits(((twos + 1023) as u64) << 52)
}

const fn split_mix(seed: u64) -> u64 {
    let mut x = seed;
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
const MANTISSA: u64 = (1 << 52) - 1;
const ONE: u64 = 1023 << 52;
const SQRT_2: f64 = core::f64::consts::SQRT_2;
const LN_2: f64 = core::f64::consts::LN_2;

#[cfg(test)]
mod tests {
    use super::{Chance, exp, ln};

    #[test]
    fn logarithm_and_exponential_are_right_to_a_few_units_in_the_last_place() {
        for step in 1..2_000 {
            let x = f64::from(step) * 0.01;
            assert!((ln(x) - x.ln()).abs() <= 4e-15 * (1.0 + x.ln().abs()), "ln {x}");
            let y = x - 10.0;
            assert!((exp(y) / y.exp() - 1.0).abs() < 1e-14, "exp {y}");
        }
        assert!(ln(f64::MIN_POSITIVE).is_finite());
    }

    #[test]
    fn laws_have_their_moments() {
        let mut chance = Chance::seeded(1);
        let draws = 200_000;
        let (mut sum, mut squares, mut waits) = (0.0, 0.0, 0u64);
        for _ in 0..draws {
            let x = chance.normal();
            sum += x;
            squares += x * x;
            waits += chance.exponential(10_000);
        }
        let n = f64::from(draws);
        assert!((sum / n).abs() < 0.01);
        assert!((squares / n - 1.0).abs() < 0.02);
        assert!((waits as f64 / n - 10_000.0).abs() < 100.0);
    }
}
