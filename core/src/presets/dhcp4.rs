//! This file knows how a `DHCPv4` client repeats a message: RFC 2131, section 4.1.

use crate::rng::scale;
use crate::{Growth, Micros, Random};

/// `DHCPv4`'s retransmissions: 4, 8, 16, 32, 64, 64 … seconds, each ± 1 s.
///
/// The spread is a fixed second and not a share, so a fleet is spread well at first and hardly at
/// all at the cap: the RFC's choice, kept as it is. The last second comes on top of the cap, so
/// nothing is longer than 65 s.
///
/// ```
/// use evenkeel_core::presets::Dhcp4;
/// use evenkeel_core::{Growth, SmallRng};
///
/// let (mut growth, mut rng) = (Growth::START, SmallRng::seeded(7));
/// let first = Dhcp4::RFC_2131.next_delay(&mut growth, &mut rng).as_micros();
/// assert!((3_000_000..=5_000_000).contains(&first));
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Dhcp4 {
    initial: Micros,
    max: Micros,
    side: Micros,
}

impl Dhcp4 {
    /// 4 s, × 2, at most 64 s, ± 1 s.
    pub const RFC_2131: Self = Self {
        initial: Micros::from_millis(4_000),
        max: Micros::from_millis(64_000),
        side: Micros::from_millis(1_000),
    };

    /// The next delay; moves `growth` one step on and draws one random number.
    pub fn next_delay(&self, growth: &mut Growth, rng: &mut impl Random) -> Micros {
        let raw = match growth.last() {
            Micros::ZERO => self.initial,
            last => last.plus(last).shorter(self.max),
        };
        *growth = Growth::after(raw);
        let width = self.side.plus(self.side).as_micros().wrapping_add(1);
        raw.minus(self.side).plus(Micros::from_micros(scale(width, rng.next_u32())))
    }
}
