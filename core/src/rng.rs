//! This file knows randomness: who gives it, and how a random number picks a point in a span.
//!
//! Why own it? A fleet whose members draw the same "random" delays retries in step, and the usual
//! way to get there is a seed taken from the time since boot. So no seed here ever comes from a
//! clock: the caller gives one (a device id, the operating system's entropy), and every seed
//! passes a mixer, so that neighbouring ids give unrelated streams.
//!
//! The generator is Marsaglia's xorshift32 ("Xorshift RNGs", 2003), the mixer the finaliser of
//! `MurmurHash3`. Both are a handful of instructions on a Cortex-M0; neither is for secrets.

/// A source of random numbers, such as a hardware generator or [`SmallRng`].
pub trait Random {
    /// The next 32 random bits.
    fn next_u32(&mut self) -> u32;
}

impl<R: Random + ?Sized> Random for &mut R {
    fn next_u32(&mut self) -> u32 {
        (**self).next_u32()
    }
}

/// A small seedable generator: four bytes of state, period 2^32 - 1.
///
/// ```
/// use evenkeel_core::{Random, SmallRng};
///
/// let (mut a, mut b) = (SmallRng::seeded(7), SmallRng::seeded(7));
/// assert_eq!(a.next_u32(), b.next_u32());
/// assert_ne!(SmallRng::seeded(7).next_u32(), SmallRng::seeded(8).next_u32());
/// ```
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct SmallRng(u32);

impl SmallRng {
    /// A stream of its own for each `seed` (two of all share theirs); zero is as good as any other.
    pub const fn seeded(seed: u32) -> Self {
        let state = mix(seed.wrapping_add(GOLDEN));
        // The one state xorshift cannot leave.
        Self(if state == 0 { GOLDEN } else { state })
    }
}

impl Random for SmallRng {
    fn next_u32(&mut self) -> u32 {
        let mut x = self.0;
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        self.0 = x;
        x
    }
}

/// The same number each time: 0 is the lower end of whatever is drawn, and `u32::MAX` the upper, so
/// that the bounds of a policy need no formula of their own.
///
/// ```
/// use evenkeel_core::rng::Always;
/// use evenkeel_core::{Backoff, Growth, Jitter, Micros};
///
/// let backoff = Backoff::DEFAULT.with_jitter(Jitter::Full).unwrap();
/// let first = |draw| {
///     let mut growth = Growth::START;
///     backoff.next_delay(&mut growth, &mut Always(draw))
/// };
/// assert_eq!(first(0), Micros::ZERO);
/// assert_eq!(first(u32::MAX), Micros::from_millis(100));
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Always(pub u32);

impl Random for Always {
    fn next_u32(&mut self) -> u32 {
        self.0
    }
}

/// Spreads a seed over all 32 bits: inputs that differ in one bit give unrelated outputs.
pub const fn mix(seed: u32) -> u32 {
    let mut x = seed;
    x ^= x >> 16;
    x = x.wrapping_mul(0x85eb_ca6b);
    x ^= x >> 13;
    x = x.wrapping_mul(0xc2b2_ae35);
    x ^ (x >> 16)
}

/// A seed from what tells one device from another: a chip id, a MAC address, a serial number.
///
/// ```
/// use evenkeel_core::rng::seed_from;
///
/// assert_ne!(seed_from(b"\x02\x00\x00\x00\x00\x01"), seed_from(b"\x02\x00\x00\x00\x00\x02"));
/// ```
pub const fn seed_from(id: &[u8]) -> u32 {
    // FNV-1a, mixed: plain FNV leaves neighbouring ids close together.
    let mut hash: u32 = 0x811c_9dc5;
    let mut rest = id;
    while let Some((byte, tail)) = rest.split_first() {
        hash = (hash ^ crate::num::widen8(*byte)).wrapping_mul(0x0100_0193);
        rest = tail;
    }
    mix(hash)
}

/// `floor(span * random / 2^32)`: a point in `0..span`, exact, without division or overflow.
#[cfg(target_pointer_width = "64")]
#[expect(clippy::as_conversions, reason = "widens, and then the product is shorter than `span`")]
pub(crate) const fn scale(span: u64, random: u32) -> u64 {
    ((span as u128).wrapping_mul(random as u128) >> 32) as u64
}

#[cfg(not(target_pointer_width = "64"))]
pub(crate) use crate::narrow::scale;

const GOLDEN: u32 = 0x9e37_79b9;
