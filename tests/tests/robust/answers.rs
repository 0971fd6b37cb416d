//! Answers nobody thought of, and those a fuzzer found worth keeping.

use std::fs;
use std::path::Path;

use evenkeel_tests::answers::live;
use evenkeel_tests::model::on_random;
use proptest::collection::vec;
use proptest::prelude::any;

#[test]
fn a_call_lives_through_any_answer() {
    on_random(vec(any::<u8>(), 0..200), |bytes| live(&bytes));
}

#[test]
fn a_call_lives_again_through_what_was_found_once() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/answers");
    let mut lived = 0;
    for entry in fs::read_dir(corpus).expect("a corpus") {
        let file = entry.expect("a file").path();
        let bytes = fs::read(&file).expect("its bytes");
        live(&bytes).unwrap_or_else(|fault| panic!("{}: {fault}", file.display()));
        lived += 1;
    }
    assert!(lived >= 4, "only {lived}");
}
