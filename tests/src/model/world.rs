//! This file knows one world for all machines: bytes become settings and what happens, and every
//! answer is held against the models.
//!
//! Why bytes? Because a fuzzer has nothing else, and what it found is a file that every later run
//! lives again. Four bytes draw one value each, so that a fuzzer that changes a few changes a
//! step, and leaves the others as they are.

use core::slice::Chunks;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::breaker::Walk;
use super::oracle;
use super::run::{Manner, play};
use super::script::{Script, any_step};
use super::settings::{any_settings, extreme_settings};
use super::table::{Setting, World, any_move, any_start};

/// Lives through what `bytes` describe: the first says which machine, the others what happens.
///
/// # Errors
///
/// The first answer that is not the one the models give.
pub fn live(bytes: &[u8]) -> Result<(), String> {
    let Some((machine, bytes)) = bytes.split_first() else { return Ok(()) };
    let draws = &mut Draws(bytes.chunks(BYTES_EACH));
    match machine % 4 {
        0 => {
            let settings = draws.one(any_settings());
            call(&Script { settings, steps: draws.rest(any_step()) })
        }
        1 => {
            let settings = draws.one(extreme_settings());
            call(&Script { settings, steps: draws.rest(any_step()) })
        }
        2 => Walk::read(draws).every_step(&mut |_, _| Ok(())),
        _ => table(draws.one(any_start()), &draws.rest(any_move())),
    }
}

fn call(script: &Script) -> Result<(), String> {
    oracle::follow(&play::<1>(script, Manner::Plain), 1)?;
    oracle::follow(&play::<3>(script, Manner::Plain), 3)
}

fn table(start: u64, moves: &[super::table::Move]) -> Result<(), String> {
    let (setting, mut world) = (Setting::two_failures(6), World::<4>::new(start));
    for to in moves {
        if let Some((_, end)) = world.go(&setting, *to)? {
            world = end;
        }
    }
    Ok(())
}

/// Values that bytes draw.
pub(crate) struct Draws<'a>(Chunks<'a, u8>);

impl Draws<'_> {
    /// The next value; where the bytes have ended, the one that none of them draw.
    pub(crate) fn one<S: Strategy>(&mut self, values: S) -> S::Value {
        let chunk = self.0.next().unwrap_or_default();
        drawn(&values, chunk)
    }

    /// A value for each of the next bytes, up to a number no longer walk has anything to add to.
    pub(crate) fn rest<S: Strategy>(&mut self, values: S) -> Vec<S::Value> {
        self.0.by_ref().take(STEPS).map(|chunk| drawn(&values, chunk)).collect()
    }
}

fn drawn<S: Strategy>(values: &S, chunk: &[u8]) -> S::Value {
    let mut seed = [0; 32];
    for (place, byte) in seed.iter_mut().zip(chunk) {
        *place = *byte;
    }
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    values.new_tree(&mut runner).expect("nothing here is filtered").current()
}

const BYTES_EACH: usize = 4;
const STEPS: usize = 100;
