//! This file knows what is on the wire: messages, each in a place that the event of its arrival
//! names.

use evenkeel_core::Outcome;

use crate::server::Job;

/// On the wire.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Message {
    Reply { slot: u32, token: u32, outcome: Outcome },
    Request(Job),
}

/// All of them; a place that is free is used again.
#[derive(Debug, Default)]
pub(crate) struct Transit {
    places: Vec<Message>,
    free: Vec<u32>,
}

impl Transit {
    pub(crate) fn put(&mut self, message: Message) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = message;
                place
            }
            None => {
                self.places.push(message);
                (self.places.len() - 1) as u32
            }
        }
    }

    pub(crate) fn at(&self, place: u32) -> Message {
        self.places[place as usize]
    }

    pub(crate) fn take(&mut self, place: u32) -> Message {
        self.free.push(place);
        self.at(place)
    }
}
