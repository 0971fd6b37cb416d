//! This file knows how a CoAP client repeats a confirmable message: RFC 7252, sections 4.2 and 4.8.

use crate::rng::scale;
use crate::{Growth, Micros, Random};

/// CoAP's retransmissions: the first timeout is drawn once, between 2 and 3 s, and every later one
/// is twice the last.
///
/// After [`MAX_RETRANSMIT`](Self::MAX_RETRANSMIT) repetitions the message is given up, one more
/// timeout after the last of them. The schedule itself goes on doubling, saturating.
///
/// ```
/// use evenkeel_core::presets::Coap;
/// use evenkeel_core::{Growth, SmallRng};
///
/// let (mut growth, mut rng) = (Growth::START, SmallRng::seeded(7));
/// let first = Coap::RFC_7252.next_delay(&mut growth, &mut rng);
/// let second = Coap::RFC_7252.next_delay(&mut growth, &mut rng);
/// assert_eq!(second.as_micros(), 2 * first.as_micros());
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Coap {
    ack_timeout: Micros,
    /// `ACK_TIMEOUT * (ACK_RANDOM_FACTOR - 1)`.
    spread: Micros,
}

impl Coap {
    /// `ACK_TIMEOUT` 2 s, `ACK_RANDOM_FACTOR` 1.5.
    pub const RFC_7252: Self =
        Self { ack_timeout: Micros::from_millis(2_000), spread: Micros::from_millis(1_000) };
    /// `MAX_RETRANSMIT`.
    pub const MAX_RETRANSMIT: u16 = 4;
    /// `MAX_TRANSMIT_SPAN`: from the first transmission to the last, at most.
    pub const MAX_TRANSMIT_SPAN: Micros = Micros::from_millis(45_000);
    /// `MAX_TRANSMIT_WAIT`: from the first transmission to giving up, at most.
    pub const MAX_TRANSMIT_WAIT: Micros = Micros::from_millis(93_000);
    /// `EXCHANGE_LIFETIME`: for how long a message id must not be used again.
    pub const EXCHANGE_LIFETIME: Micros = Micros::from_millis(247_000);

    /// The next timeout; moves `growth` one step on and draws one random number for the first.
    pub fn next_delay(&self, growth: &mut Growth, rng: &mut impl Random) -> Micros {
        let delay = match growth.last() {
            Micros::ZERO => {
                let spread = self.spread.as_micros().wrapping_add(1);
                self.ack_timeout.plus(Micros::from_micros(scale(spread, rng.next_u32())))
            }
            last => last.plus(last),
        };
        *growth = Growth::after(delay);
        delay
    }
}
