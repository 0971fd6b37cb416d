//! The world of all machines, on random bytes and on those a fuzzer found worth keeping.

use std::fs;
use std::path::Path;

use evenkeel_tests::model::on_random;
use evenkeel_tests::model::world::live;
use proptest::collection::vec;
use proptest::prelude::any;

#[test]
fn every_world_keeps_the_rules() {
    on_random(vec(any::<u8>(), 0..256), |bytes| {
        for machine in 0..4 {
            let bytes: Vec<u8> = [machine].into_iter().chain(bytes.iter().copied()).collect();
            live(&bytes).map_err(|fault| format!("{fault}\nmachine {machine}"))?;
        }
        Ok(())
    });
}

#[test]
fn what_was_found_once_is_lived_again() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/machines");
    let mut lived = 0;
    for entry in fs::read_dir(corpus).expect("a corpus") {
        let file = entry.expect("a file").path();
        let bytes = fs::read(&file).expect("its bytes");
        live(&bytes).unwrap_or_else(|fault| panic!("{}: {fault}", file.display()));
        lived += 1;
    }
    assert!(lived >= 4, "only {lived}");
}
