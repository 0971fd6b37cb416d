//! This file knows how a person overrules a breaker.

use super::{CircuitBreaker, State, Transition, next_epoch};
use crate::Trip;

impl<T: Trip> CircuitBreaker<T> {
    /// Refuses everything until [`reset`](Self::reset) or [`force_closed`](Self::force_closed).
    pub fn force_open(&mut self) -> Option<Transition> {
        let epoch = next_epoch(self.epoch());
        let already = matches!(self.state, State::ForcedOpen { .. });
        self.state = State::ForcedOpen { epoch };
        (!already).then_some(Transition::ForcedOpen)
    }

    /// Lets everything through and counts nothing: disables the breaker until
    /// [`reset`](Self::reset) or [`force_open`](Self::force_open).
    pub fn force_closed(&mut self) -> Option<Transition> {
        let epoch = next_epoch(self.epoch());
        let already = matches!(self.state, State::ForcedClosed { .. });
        self.state = State::ForcedClosed { epoch };
        (!already).then_some(Transition::ForcedClosed)
    }

    /// Closes it with nothing counted, whatever it was; results still on their way change nothing.
    pub fn reset(&mut self) -> Option<Transition> {
        let was_closed = matches!(self.state, State::Closed { .. });
        *self = Self::with_epoch(next_epoch(self.epoch()));
        (!was_closed).then_some(Transition::Closed)
    }
}
