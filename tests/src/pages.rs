//! This file knows the page about scenarios, and which of them a test says it is about.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const SCENARIOS: &str = include_str!("../../docs/scenarios.md");

/// The rows of `docs/scenarios.md`: each id, and the places where it is a test.
pub fn scenarios() -> impl Iterator<Item = (String, Vec<&'static str>)> {
    SCENARIOS.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split(" | ").collect();
        let (id, places) = (cells.first()?.strip_prefix("| ")?, cells.last()?);
        let places = places.trim_end_matches(" |").split(", ").collect();
        (ids_of(id).next()? == id).then(|| (id.to_owned(), places))
    })
}

/// The names of all tests in a folder of `tests/tests`, read from the sources: a binary cannot list
/// its own.
///
/// # Panics
/// When there is no such folder.
pub fn tests_in(folder: &str) -> BTreeSet<String> {
    tests_under(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder))
}

fn tests_under(folder: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder).expect("a folder of tests") {
        let path = entry.expect("a file").path();
        if path.is_dir() {
            names.append(&mut tests_under(&path));
            continue;
        }
        let source = fs::read_to_string(path).expect("a source");
        let after = source.split("#[test]\nfn ").skip(1);
        let paused = source.split("#[tokio::test(start_paused = true)]\nasync fn ").skip(1);
        let real = source.split("#[tokio::test]\nasync fn ").skip(1);
        for after in after.chain(paused).chain(real) {
            names.extend(after.split('(').next().map(str::to_owned));
        }
    }
    names
}

/// The ids a test's name begins with, such as `C4` and `G73` of `c04_and_g73_a_threshold`.
///
/// ```
/// let ids: Vec<_> = evenkeel_tests::ids_of("c04_and_g73_a_threshold_of_2").collect();
/// assert_eq!(ids, ["C4", "G73"]);
/// ```
pub fn ids_of(test: &str) -> impl Iterator<Item = String> {
    test.split('_').filter(|word| *word != "and").map_while(id)
}

fn id(word: &str) -> Option<String> {
    let (letter, number) = word.split_at_checked(1)?;
    let number: u16 = number.parse().ok()?;
    "bcdfghloprwBCDFGHLOPRW".contains(letter).then(|| format!("{}{number}", letter.to_uppercase()))
}
