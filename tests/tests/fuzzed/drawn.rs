//! Bytes drawn at random, with the words of each world among them more often than chance would.

use evenkeel_tests::model::on_random;
use evenkeel_tests::worlds::{WORLDS, corpus};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Draws `law` of bytes in this world: any at all, and files of its corpus with pieces replaced.
fn on_bytes(world: &str, words: &'static [&'static [u8]]) {
    let (_, live) = WORLDS.iter().find(|(name, _)| *name == world).expect("a world of this name");
    let files: Vec<Vec<u8>> = corpus(world).map(|(_, bytes)| bytes).collect();
    let piece = || prop_oneof![vec(any::<u8>(), 0..6), select(words).prop_map(<[u8]>::to_vec),];
    let wild = vec(piece(), 0..40).prop_map(|pieces| pieces.concat());
    let altered = (select(files), vec((any::<prop::sample::Index>(), 0..12usize, piece()), 1..6));
    let altered = altered.prop_map(|(mut bytes, changes)| {
        for (at, length, with) in changes {
            let from = at.index(bytes.len() + 1);
            let to = (from + length).min(bytes.len());
            bytes.splice(from..to, with);
        }
        bytes
    });
    on_random(prop_oneof![wild, altered], |bytes| live(&bytes));
}

#[test]
fn a_checker_believes_only_what_was_said() {
    on_bytes(
        "health",
        &[b"\x02\x01\x04\x02\x08\x01", b"\x02\x01\x04\x02\x08\x02", b"\x01\x98", b"\x0c"],
    );
}

#[test]
fn members_are_those_of_the_last_good_answer() {
    on_bytes(
        "names",
        &[b"\x03\x03\x01\x02\x03", b"\x09", b"\x08\x28", b"\x07\x01", b"\x06\x05", b"\x01"],
    );
}

#[test]
fn a_budget_is_what_the_grammar_says() {
    on_bytes(
        "requests",
        &[b"\x00\x00\x00", b"\x0299", b"\x03100", b"99999999H", b"\x021S", b"\x031u", b"\x09"],
    );
}

#[test]
fn what_is_accepted_is_written_as_the_same() {
    on_bytes(
        "settings",
        &[
            b"[retry]\n",
            b"max_attempts = ",
            b"\"10s\"",
            b"0",
            b"-1",
            b"1e400",
            b"{",
            b"}",
            b"[",
            b"]",
        ],
    );
}
