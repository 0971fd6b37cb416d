//! A kind of jitter is lost nowhere between a policy and a file, in either direction.

use evenkeel_settings::{Settings, reference::page};
use evenkeel_sim::presets::named;
use evenkeel_tests::model::settings::JITTERS;

/// Both ways that the house has of writing a jitter down, and the one it has of reading it.
#[test]
fn every_kind_of_jitter_survives_a_round_trip() {
    for jitter in JITTERS {
        let mut spec = named("steady").unwrap().spec;
        spec.retry.jitter = jitter;
        let by_simulator = Settings::from_toml(&spec.to_toml()).unwrap();
        let by_settings = Settings::from_toml(&by_simulator.to_toml()).unwrap();
        for (read, writer) in [(by_simulator, "the simulator"), (by_settings, "the settings")] {
            let read = read.retry().map(|retry| retry.policy().backoff().jitter());
            assert_eq!(read, Some(jitter), "as {writer} writes it");
        }
    }
}

/// A word that the reference offers without a meaning, or that the simulator's page does not know.
#[test]
fn every_word_for_a_jitter_is_explained_and_offered() {
    let reference = page();
    let row = line_with(&reference, "How the waits are spread");
    let cells: Vec<&str> = row.split('|').collect();
    let [_, _, _, meaning, values, _] = cells[..] else { panic!("{row}") };
    let menu = line_with(include_str!("../../../adapters/sim/page/web/index.html"), "\"jitter\"");
    let request = include_str!("../../../adapters/sim/page/src/request.rs");
    let words: Vec<&str> = values.split('"').skip(1).step_by(2).collect();
    assert!(words.len() >= 4, "{values}");
    for word in words {
        let is_explained = word == "none" || meaning.contains(&format!("{word} "));
        assert!(is_explained, "what {word} means is not said at the key, in section/retry.rs");
        assert!(menu.contains(word), "adapters/sim/page/web/index.html does not offer {word}");
        let is_read = request.contains(&format!("\"{word}\" => Jitter::"))
            && line_with(request, "jitter: must be").contains(word);
        assert!(is_read, "adapters/sim/page/src/request.rs does not read {word}, or not name it");
    }
}

fn line_with<'a>(text: &'a str, words: &str) -> &'a str {
    text.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("no {words:?}"))
}
