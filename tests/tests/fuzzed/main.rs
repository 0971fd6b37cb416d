//! The worlds of the fuzzer, lived through without one: bytes drawn at random, and those it found
//! worth keeping.
//!
//! `tests/deep fuzz` draws them by what they reach, for as long as it is given. A file it leaves in
//! `tests/fuzz/corpus` is lived again here, by every run.

mod drawn;

use std::fs;
use std::path::Path;

use evenkeel_tests::worlds::{WORLDS, corpus, live};

#[test]
fn what_was_found_once_is_lived_again() {
    for (world, _) in WORLDS {
        let mut lived = 0;
        for (file, bytes) in corpus(world) {
            println!("{}", file.display());
            live(world, &bytes);
            lived += 1;
        }
        assert!(lived >= 3, "{world}: only {lived}");
    }
}

/// A world nobody fuzzes is only half a world.
#[test]
fn every_world_is_a_target_of_the_fuzzer_and_of_the_deep_checks() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let deep = fs::read_to_string(tests.join("deep")).expect("the script");
    let fuzz = deep.split("part_fuzz()").nth(1).expect("the part");
    let targets = fuzz.split("for target in ").nth(1).and_then(|text| text.split(';').next());
    let targets: Vec<&str> = targets.expect("a list of targets").split_whitespace().collect();
    assert_eq!(targets, WORLDS.map(|(world, _)| world));
    for (world, _) in WORLDS {
        let target = tests.join("fuzz/fuzz_targets").join(format!("{world}.rs"));
        let source = fs::read_to_string(&target).expect("a target");
        let lives = source.contains(&format!("live(\"{world}\", bytes)"));
        let is_the_models = world == "machines" && source.contains("live(bytes)");
        assert!(lives || is_the_models, "{}", target.display());
    }
}
