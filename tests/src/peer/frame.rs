//! This file knows the HTTP/2 frames that `h2` would rather not send.
//!
//! Before changing it read RFC 9113, sections 4.1 and 6. Nothing here needs HPACK state: the only
//! header block is written as literals that are not indexed.

use bytes::{BufMut, Bytes, BytesMut};
use h2::Reason;

const HEADERS: u8 = 1;
const GO_AWAY: u8 = 7;
const CONTINUATION: u8 = 9;

/// `:status: 200`, from the static table.
const STATUS_200: &[u8] = &[0x88];

/// A GOAWAY without debug data.
pub(super) fn go_away(last_stream: u32, reason: Reason) -> Bytes {
    let mut payload = BytesMut::with_capacity(8);
    payload.put_u32(last_stream);
    payload.put_u32(reason.into());
    let mut frame = BytesMut::new();
    put_frame(&mut frame, GO_AWAY, 0, &payload);
    frame.freeze()
}

/// HEADERS and `count` CONTINUATIONs of 16 KiB, none of which says that the block has ended.
pub(super) fn flood(stream: u32, count: usize) -> Bytes {
    let mut frames = BytesMut::new();
    put_frame(&mut frames, HEADERS, stream, STATUS_200);
    let block = padding();
    for _ in 0..count {
        put_frame(&mut frames, CONTINUATION, stream, &block);
    }
    frames.freeze()
}

/// Almost 16 KiB (the frame size everybody accepts) of literal fields `x: yyy...`.
fn padding() -> Vec<u8> {
    const VALUE: [u8; 100] = [b'y'; 100];
    let mut field = vec![0, 1, b'x', 100];
    field.extend_from_slice(&VALUE);
    field.repeat(16_384 / field.len())
}

/// One frame without flags.
fn put_frame(frames: &mut BytesMut, kind: u8, stream: u32, payload: &[u8]) {
    let length = u64::try_from(payload.len()).expect("a payload fits a frame");
    frames.put_uint(length, 3);
    frames.put_u8(kind);
    frames.put_u8(0);
    frames.put_u32(stream);
    frames.put_slice(payload);
}
