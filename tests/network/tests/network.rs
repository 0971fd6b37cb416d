//! What makes the runs of the failing network worth something: they can be repeated. The runs
//! themselves are the parts `network` of `tests/run` and `tests/deep`; to see one with everything
//! that happened: `cargo run --profile testrelease -p evenkeel-network -- seed 17`.

use std::process::{Command, Output};

fn network(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_network")).args(words).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Down to the last event and its microsecond: so a failing seed fails again when it is looked at.
#[test]
fn same_seed_same_trace() {
    for seed in ["0", "1", "2", "3", "4"] {
        let [first, second] = [(); 2].map(|()| network(&["seed", seed]));
        assert!(first.status.success(), "{}", text(&first));
        let [first, second] = [first, second].map(|output| text(&output));
        assert!(first.lines().count() > 1_000, "{first}");
        assert!(first == second, "seed {seed} is not what it was");
    }
}

#[test]
fn other_seed_other_trace() {
    assert_ne!(text(&network(&["seed", "3"])), text(&network(&["seed", "4"])));
}

/// What cannot be understood is refused, so that nobody takes a typo for 200 good seeds.
#[test]
fn words_it_does_not_know() {
    for words in [&[][..], &["many"], &["seed"], &["seed", "x"], &["5..x"]] {
        let output = network(words);
        assert_eq!((output.status.code(), text(&output).as_str()), (Some(2), ""), "{words:?}");
    }
}
