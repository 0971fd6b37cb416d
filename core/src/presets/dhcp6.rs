//! This file knows how a `DHCPv6` client repeats a message: RFC 8415, section 15 (RFC 3315, section
//! 14, before it).

use crate::num::{share_to_q16, times_q16};
use crate::rng::{mix, scale};
use crate::{Growth, Micros, Random};

/// `DHCPv6`'s retransmissions: about doubling, each spread by ± 10 % of the last.
///
/// ```text
/// first   RT = IRT + RAND × IRT            RAND uniform over ±0.1
/// later   RT = 2 × RTprev + RAND × RTprev
/// capped  RT = MRT + RAND × MRT            when RT > MRT, and MRT is not zero
/// ```
///
/// The cap is spread again, so a delay reaches 1.1 × MRT. With [`Dhcp4`](super::Dhcp4) it is one of
/// two that go above their cap, and it does so because the RFC says so.
///
/// How often a message is repeated (MRC) and for how long (MRD) is the caller's to count.
///
/// ```
/// use evenkeel_core::presets::Dhcp6;
/// use evenkeel_core::{Growth, SmallRng};
///
/// let (mut growth, mut rng) = (Growth::START, SmallRng::seeded(7));
/// let first = Dhcp6::SOLICIT.next_delay(&mut growth, &mut rng).as_micros();
/// assert!(first > 1_000_000, "a solicit's first delay is longer than IRT");
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Dhcp6 {
    irt: Micros,
    mrt: Micros,
    first: First,
}

/// Which half of the spread the first delay is drawn from.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
enum First {
    AboveIrt,
    AroundIrt,
}

impl Dhcp6 {
    /// Solicit: 1 s to 3600 s. Its first delay is strictly longer than IRT (section 18.2.1).
    pub const SOLICIT: Self = Self::new(1, 3_600, First::AboveIrt);
    /// Request: 1 s to 30 s, at most ten times.
    pub const REQUEST: Self = Self::new(1, 30, First::AroundIrt);
    /// Confirm: 1 s to 4 s, for 10 s.
    pub const CONFIRM: Self = Self::new(1, 4, First::AroundIrt);
    /// Renew: 10 s to 600 s.
    pub const RENEW: Self = Self::new(10, 600, First::AroundIrt);
    /// Rebind: 10 s to 600 s.
    pub const REBIND: Self = Self::new(10, 600, First::AroundIrt);
    /// Information-request: 1 s to 3600 s.
    pub const INFORMATION_REQUEST: Self = Self::new(1, 3_600, First::AroundIrt);
    /// Release: 1 s, without a cap, at most four times.
    pub const RELEASE: Self = Self::new(1, 0, First::AroundIrt);
    /// Decline: 1 s, without a cap, at most four times.
    pub const DECLINE: Self = Self::new(1, 0, First::AroundIrt);

    const fn new(irt_seconds: u64, mrt_seconds: u64, first: First) -> Self {
        let second = 1_000;
        Self {
            irt: Micros::from_millis(irt_seconds.saturating_mul(second)),
            mrt: Micros::from_millis(mrt_seconds.saturating_mul(second)),
            first,
        }
    }

    /// The next delay; moves `growth` one step on and draws one random number.
    pub fn next_delay(&self, growth: &mut Growth, rng: &mut impl Random) -> Micros {
        let random = rng.next_u32();
        let delay = match (growth.last(), self.first) {
            (Micros::ZERO, First::AroundIrt) => spread(self.irt, self.irt, random),
            (Micros::ZERO, First::AboveIrt) => {
                let above = scale(side(self.irt).as_micros(), random).saturating_add(1);
                self.irt.plus(Micros::from_micros(above))
            }
            (last, _) => {
                let doubled = spread(last.plus(last), last, random);
                let capped = !self.mrt.is_zero() && doubled > self.mrt;
                // Mixed, because a draw that led here is a high one more often than not.
                if capped { spread(self.mrt, self.mrt, mix(random)) } else { doubled }
            }
        };
        *growth = Growth::after(delay);
        delay
    }
}

/// `around`, ± 10 % of `of`.
fn spread(around: Micros, of: Micros, random: u32) -> Micros {
    let side = side(of);
    let width = side.plus(side).as_micros().saturating_add(1);
    around.minus(side).plus(Micros::from_micros(scale(width, random)))
}

/// RAND × `of`: a tenth, rounded down.
fn side(of: Micros) -> Micros {
    Micros::from_micros(times_q16(of.shorter(Micros::SETTING_END).as_micros(), TENTH_Q16))
}

const TENTH_Q16: u32 = share_to_q16(100);
