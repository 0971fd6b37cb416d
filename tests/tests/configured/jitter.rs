//! A kind of jitter is lost nowhere between a policy and a file, in either direction.

use evenkeel_settings::Settings;
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

/// A word that the reference offers without a meaning, or that the simulator's page does not offer.
#[test]
fn every_word_for_a_jitter_is_explained_and_offered() {
    let reference = include_str!("../../../docs/settings.md");
    let row = reference.lines().find(|line| line.contains("How the waits are spread")).unwrap();
    let cells: Vec<&str> = row.split('|').collect();
    let [_, _, _, meaning, values, _] = cells[..] else { panic!("{row}") };
    let page = include_str!("../../../adapters/sim/page/web/index.html");
    let menu = page.lines().find(|line| line.contains("name=\"jitter\"")).unwrap();
    let words: Vec<&str> = values.split('"').skip(1).step_by(2).collect();
    assert!(words.len() >= 4, "{values}");
    for word in words {
        let is_explained = word == "none" || meaning.contains(&format!("{word} "));
        assert!(is_explained, "what {word} means is not said at the key, in section/retry.rs");
        assert!(menu.contains(word), "the simulator's page does not offer {word}");
    }
}
