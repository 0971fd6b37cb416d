//! This file knows where gRPC messages begin and end in a stream of bytes.
//!
//! A stream that may be restarted must be given on in whole messages: half a message of the lost
//! attempt, followed by the first of the next, would make garbage of the decoder's framing.

use bytes::{Buf as _, Bytes, BytesMut};

/// Gives bytes on as soon as they make whole messages.
#[derive(Default)]
pub(crate) struct Messages {
    partial: BytesMut,
}

/// What a piece of the stream made whole.
pub(crate) enum Whole {
    /// These messages; perhaps none yet.
    Messages(Option<Bytes>),
    /// A message longer than is kept. These are all the bytes there were: from here on the stream
    /// can only be passed through.
    TooLong(Bytes),
}

impl Messages {
    /// Takes the next piece of the stream.
    pub(crate) fn push(&mut self, data: Bytes) -> Whole {
        if self.partial.is_empty() && whole(&data) == data.len() {
            return Whole::Messages(Some(data));
        }
        self.partial.extend_from_slice(&data);
        let whole = whole(&self.partial);
        if self.partial.len() - whole > LONGEST {
            return Whole::TooLong(self.partial.split().freeze());
        }
        let messages = self.partial.split_to(whole).freeze();
        Whole::Messages((!messages.is_empty()).then_some(messages))
    }
}

/// Whether `data` is one message, no more and no less.
pub(crate) fn is_one(data: &[u8]) -> bool {
    behind_first(data).is_some_and(<[u8]>::is_empty)
}

/// How many bytes of `data` are whole messages.
fn whole(data: &[u8]) -> usize {
    let mut rest = data;
    while let Some(after) = behind_first(rest) {
        rest = after;
    }
    data.len() - rest.len()
}

/// What follows the first message, if that is whole: a flag, a length of four bytes, and that many
/// more.
fn behind_first(data: &[u8]) -> Option<&[u8]> {
    let (prefix, rest) = data.split_at_checked(PREFIX)?;
    rest.get(usize::try_from((&prefix[1..]).get_u32()).ok()?..)
}

/// What stands in front of each message: a flag and its length.
pub(crate) const PREFIX: usize = 5;

/// tonic's decoder refuses larger messages by default.
pub(crate) const LONGEST: usize = PREFIX + 4 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_cut_gives_the_same_messages() {
        let stream = b"\0\0\0\0\x03abc\0\0\0\0\0\x01\0\0\0\x02de";
        for cut in 0..=stream.len() {
            let (mut messages, mut out) = (Messages::default(), Vec::new());
            for piece in [&stream[..cut], &stream[cut..]] {
                let Whole::Messages(whole) = messages.push(Bytes::copy_from_slice(piece)) else {
                    panic!("no message is too long");
                };
                out.extend_from_slice(&whole.unwrap_or_default());
                assert_eq!(super::whole(&out), out.len(), "cut at {cut}");
            }
            assert_eq!(out, stream, "cut at {cut}");
        }
    }

    #[test]
    fn half_a_message_is_kept_back() {
        let mut messages = Messages::default();
        let Whole::Messages(whole) = messages.push(Bytes::from_static(b"\0\0\0\0\x03ab")) else {
            panic!("it is short");
        };
        assert_eq!(whole, None);
    }

    #[test]
    fn a_message_beyond_the_limit_is_passed_through() {
        let mut messages = Messages::default();
        let mut huge = vec![0, 0x7f, 0xff, 0xff, 0xff];
        huge.resize(LONGEST + 1, 0);
        let Whole::TooLong(bytes) = messages.push(huge.into()) else { panic!("it is too long") };
        assert_eq!(bytes.len(), LONGEST + 1);
    }
}
