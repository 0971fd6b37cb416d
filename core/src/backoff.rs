//! This file knows how long to wait before the next attempt.
//!
//! Why jitter? Clients that failed together and wait the same time fail together again; spread
//! over the wait, they do not. Before changing this file read "Exponential Backoff And Jitter"
//! (M. Brooker, AWS, 2015) for every shape but the proportional one, and gRPC A6 for the growth.
//!
//! Two faults are on file again and again elsewhere, and both are excluded by the shape of this
//! code: the growth saturates in integers and meets the cap at *every* step (no exponent, no
//! float), and jitter is drawn from a range that ends at the cap at the latest, never added to a
//! capped value, so that clients stay spread once they all wait for the cap.

use core::time::Duration;

use crate::linked::Linked;
use crate::num::{
    grown_q16, q16_to_thousandths, share_to_q16, thousandths_to_q16, times_q16, widen, widen16,
};
use crate::rng::scale;
use crate::{Invalid, Micros, Random};

/// How a delay is spread around its exponential value `raw`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Jitter {
    /// Uniform over `[initial, min(max, 3 × previous delay)]`; grows by chance, not by multiplier.
    Decorrelated,
    /// Uniform over `[raw / 2, raw]`: never at once.
    Equal,
    /// Uniform over `[0, raw]`: the least work for a crowd; may be at once.
    Full,
    /// Exactly `raw`. Uses no randomness.
    None,
    /// Uniform over `[raw − share, min(raw + share, max)]`, the share in thousandths of `raw`,
    /// 0 to 1000.
    Proportional(u16),
}

/// Exponential growth from `initial` to `max` with [`Jitter`].
///
/// The delay before retry *n* is drawn around `raw = min(max, initial × multiplier^(n−1))`, except
/// with [`Jitter::Decorrelated`], where it is drawn from the delay before it.
/// Default: 100 ms doubling to 10 s, ±10 % (the values of grpc-client-kit).
///
/// ```
/// use core::time::Duration;
/// use evenkeel_core::{Backoff, Growth, Jitter, SmallRng, checked};
///
/// const BACKOFF: Backoff =
///     checked!(Backoff::new(Duration::from_secs(1), Duration::from_secs(5)));
/// let backoff = checked!(BACKOFF.with_jitter(Jitter::None));
///
/// let (mut growth, mut rng) = (Growth::START, SmallRng::seeded(1));
/// let mut next = || backoff.next_delay(&mut growth, &mut rng).as_duration().as_secs();
/// assert_eq!([next(), next(), next(), next(), next()], [1, 2, 4, 5, 5]);
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Backoff {
    initial: Micros,
    max: Micros,
    /// 16.16 fixed point.
    multiplier: u32,
    shape: Shape,
    grown: Linked<fn(u64, u32) -> u64>,
    range: Linked<fn(&Self, Step) -> Range>,
}

/// [`Jitter`] as it is computed with: the share as a 16.16 fraction.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
enum Shape {
    Decorrelated,
    Equal,
    Full,
    None,
    Proportional { thousandths: u16, share: u32 },
}

/// How far a backoff has grown. One per call; starts at [`START`](Self::START).
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Growth(u64);

impl Growth {
    /// Before the first delay.
    pub const START: Self = Self(0);

    /// Grown to `delay`, for schedules of other shapes.
    pub(crate) const fn after(delay: Micros) -> Self {
        Self(delay.as_micros())
    }

    /// What it has grown to, zero before the first delay.
    pub(crate) const fn last(self) -> Micros {
        Micros::from_micros(self.0)
    }
}

impl Backoff {
    /// 100 ms, × 2, at most 10 s, ±10 %.
    pub const DEFAULT: Self = Self {
        initial: Micros::from_millis(100),
        max: Micros::from_millis(10_000),
        multiplier: 2 << 16,
        shape: Shape::Proportional { thousandths: 100, share: share_to_q16(100) },
        grown: Linked(doubled),
        range: Linked(Self::proportional),
    };
    /// gRPC's `connection-backoff.md`: 1 s, × 1.6, at most 120 s, ±20 %.
    pub const CONNECTION: Self = Self {
        initial: Micros::from_millis(1_000),
        max: Micros::from_millis(120_000),
        multiplier: thousandths_to_q16(1_600),
        shape: Shape::Proportional { thousandths: 200, share: share_to_q16(200) },
        grown: Linked(grown_q16),
        range: Linked(Self::proportional),
    };

    /// Doubling from `initial` to at most `max`, ±10 %.
    ///
    /// An `initial` of zero never waits. A `max` below `initial` is accepted and wins: every
    /// delay is then drawn around `max`.
    ///
    /// # Errors
    ///
    /// Refuses either span at 2^48 µs (8.9 years) or more.
    pub const fn new(initial: Duration, max: Duration) -> Result<Self, Invalid> {
        let initial = match Micros::setting("backoff.initial", initial) {
            Ok(initial) => initial,
            Err(invalid) => return Err(invalid),
        };
        match Micros::setting("backoff.max", max) {
            Ok(max) => Ok(Self { initial, max, ..Self::DEFAULT }),
            Err(invalid) => Err(invalid),
        }
    }

    /// With this multiplier in thousandths: 2000 doubles, 1600 is gRPC's 1.6, 1000 is constant.
    ///
    /// Of no effect with [`Jitter::Decorrelated`].
    ///
    /// # Errors
    ///
    /// Refuses less than 1000 (delays would shrink) and more than 65,535,000.
    pub const fn with_multiplier(mut self, thousandths: u32) -> Result<Self, Invalid> {
        if thousandths < 1_000 || thousandths > 65_535_000 {
            let rule = "must be from 1000 (constant) to 65535000, in thousandths";
            return Err(Invalid::new("backoff.multiplier", widen(thousandths), "/1000", rule));
        }
        self.multiplier = thousandths_to_q16(thousandths);
        self.grown = Linked(if thousandths == 2_000 { doubled } else { grown_q16 });
        Ok(self)
    }

    /// With this spread.
    ///
    /// # Errors
    ///
    /// Refuses a proportional share above 1000 thousandths: delays would be negative.
    pub const fn with_jitter(mut self, jitter: Jitter) -> Result<Self, Invalid> {
        let (shape, range): (Shape, fn(&Self, Step) -> Range) = match jitter {
            Jitter::Decorrelated => (Shape::Decorrelated, Self::decorrelated),
            Jitter::Equal => (Shape::Equal, Self::equal),
            Jitter::Full => (Shape::Full, Self::full),
            Jitter::None => (Shape::None, Self::none),
            Jitter::Proportional(thousandths) => {
                if thousandths > 1_000 {
                    let rule = "must be from 0 to 1000, in thousandths of the delay";
                    let value = widen16(thousandths);
                    return Err(Invalid::new("backoff.jitter", value, "/1000", rule));
                }
                let share = share_to_q16(thousandths);
                (Shape::Proportional { thousandths, share }, Self::proportional)
            }
        };
        self.shape = shape;
        self.range = Linked(range);
        Ok(self)
    }

    /// The first delay, before jitter; a shorter [`max`](Self::max) takes its place. With
    /// [`Jitter::Decorrelated`] no delay is shorter, and the first is drawn from this to three times
    /// this.
    pub const fn initial(&self) -> Micros {
        self.initial
    }

    /// No delay is longer.
    pub const fn max(&self) -> Micros {
        self.max
    }

    /// What the delay before is multiplied by, in thousandths.
    pub const fn multiplier(&self) -> u32 {
        q16_to_thousandths(self.multiplier)
    }

    /// The spread.
    pub const fn jitter(&self) -> Jitter {
        match self.shape {
            Shape::Decorrelated => Jitter::Decorrelated,
            Shape::Equal => Jitter::Equal,
            Shape::Full => Jitter::Full,
            Shape::None => Jitter::None,
            Shape::Proportional { thousandths, .. } => Jitter::Proportional(thousandths),
        }
    }

    /// The next delay; moves `growth` one step on and draws at most one random number.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub fn next_delay(&self, growth: &mut Growth, rng: &mut impl Random) -> Micros {
        let (raw, Range { low, width }) = self.next_range(*growth);
        let drawn = if width == 0 { 0 } else { scale(width.wrapping_add(1), rng.next_u32()) };
        let delay = low.wrapping_add(drawn);
        growth.0 = if matches!(self.shape, Shape::Decorrelated) { delay } else { raw };
        Micros::from_micros(delay)
    }

    /// The longest that the next delay may be.
    pub(crate) fn longest_next(&self, growth: Growth) -> Micros {
        let (_, Range { low, width }) = self.next_range(growth);
        Micros::from_micros(low.wrapping_add(width))
    }

    /// The next delay before jitter, and what it is drawn from.
    #[cfg_attr(target_pointer_width = "64", inline)]
    fn next_range(&self, Growth(last): Growth) -> (u64, Range) {
        let grown = if last == 0 {
            self.initial.as_micros()
        } else {
            (self.grown.0)(last, self.multiplier)
        };
        let raw = grown.min(self.max.as_micros());
        (raw, (self.range.0)(self, Step { raw, last }))
    }

    #[cfg_attr(target_pointer_width = "64", inline)]
    const fn none(&self, step: Step) -> Range {
        Range { low: step.raw, width: 0 }
    }

    #[cfg_attr(target_pointer_width = "64", inline)]
    const fn full(&self, step: Step) -> Range {
        Range { low: 0, width: step.raw }
    }

    #[cfg_attr(target_pointer_width = "64", inline)]
    const fn equal(&self, step: Step) -> Range {
        let half = step.raw >> 1;
        Range { low: step.raw.wrapping_sub(half), width: half }
    }

    #[cfg_attr(target_pointer_width = "64", inline)]
    fn proportional(&self, step: Step) -> Range {
        let share = if let Shape::Proportional { share, .. } = self.shape { share } else { 0 };
        let side = times_q16(step.raw, share);
        let high = step.raw.wrapping_add(side).min(self.max.as_micros());
        let low = step.raw.wrapping_sub(side);
        Range { low, width: high.wrapping_sub(low) }
    }

    #[cfg_attr(target_pointer_width = "64", inline)]
    fn decorrelated(&self, step: Step) -> Range {
        let (cap, initial) = (self.max.as_micros(), self.initial.as_micros());
        let previous = step.last.max(initial);
        let low = initial.min(cap);
        let high = previous.wrapping_add(previous << 1).min(cap);
        Range { low, width: high.wrapping_sub(low) }
    }
}

/// Below 2^48, as every delay is, it cannot overflow.
const fn doubled(value: u64, _factor: u32) -> u64 {
    value << 1
}

/// What the next delay is drawn around, and what the last one was.
#[derive(Clone, Copy, Debug)]
struct Step {
    raw: u64,
    last: u64,
}

/// What a delay is drawn from: `low..=low + width`.
#[derive(Clone, Copy, Debug)]
struct Range {
    low: u64,
    width: u64,
}

impl Default for Backoff {
    fn default() -> Self {
        Self::DEFAULT
    }
}
