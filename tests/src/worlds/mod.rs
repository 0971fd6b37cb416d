//! This file knows the worlds that bytes describe, by name, and what was found in them once.
//!
//! A fuzzer has nothing but bytes (`tests/fuzz`); the same worlds are lived through by ordinary
//! tests, on random bytes and on those a fuzzer found worth keeping. What is on the other side of
//! each world comes from the wire or from a person: nothing may panic, hang or grow, whatever it is.

mod health;
mod names;
mod requests;
mod texts;

use std::fs;
use std::path::{Path, PathBuf};

/// One life: what `bytes` describe, held against what must be true of it.
pub type Live = fn(&[u8]) -> Result<(), String>;

/// All worlds; each is a target of the fuzzer and a folder of its corpus.
pub const WORLDS: [(&str, Live); 6] = [
    ("answers", crate::answers::live),
    ("health", health::live),
    ("machines", crate::model::world::live),
    ("names", names::live),
    ("requests", requests::live),
    ("settings", texts::live),
];

/// Lives through `bytes` in the world of this name.
///
/// # Panics
///
/// With the words of what was not true, and for a name that no world has.
pub fn live(world: &str, bytes: &[u8]) {
    let (_, live) = WORLDS.iter().find(|(name, _)| *name == world).expect("a world of this name");
    if let Err(fault) = live(bytes) {
        panic!("{fault}");
    }
}

/// What was found worth keeping in a world: each file, and its bytes.
///
/// # Panics
///
/// When there is no corpus.
pub fn corpus(world: &str) -> impl Iterator<Item = (PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(world);
    let entries = fs::read_dir(folder).expect("a corpus");
    entries.map(|entry| {
        let file = entry.expect("a file").path();
        let bytes = fs::read(&file).expect("its bytes");
        (file, bytes)
    })
}

/// What is left to be read of some bytes; zeros once they have ended.
#[derive(Clone, Debug)]
struct Script<'a>(&'a [u8]);

impl<'a> Script<'a> {
    fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }

    /// As many bytes as the next one says, or as there are.
    fn take(&mut self) -> &'a [u8] {
        let length = usize::from(self.byte()).min(self.0.len());
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken
    }

    const fn is_over(&self) -> bool {
        self.0.is_empty()
    }
}

/// Runs a life in virtual time.
fn in_virtual_time<F: Future>(life: F) -> F::Output {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().start_paused(true).build().expect("a runtime").block_on(life)
}
