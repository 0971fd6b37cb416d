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
