//! Incidents of what is wired up by default: F63. What happened is in `docs/incidents.md`.

use evenkeel_settings::Settings;
use evenkeel_tonic::Resilient;
use tonic::Code;

use crate::lab::{ECHO, Lab, busy};

/// The preset's file for a method of the lab's, with attempts that only its throttle bounds, and a
/// circuit that does not open before a thousand calls have failed.
#[tokio::test(start_paused = true)]
async fn f63_the_preset_has_its_throttle() {
    let steady = include_str!("../../../adapters/sim/presets/steady.toml");
    let file = steady.replace("Get*", ECHO).replace("max_attempts = 3", "max_attempts = 100");
    let file = file.replace("min_calls = 20", "min_calls = 300000");
    assert_eq!(file.matches("100\n").count() + file.matches("300000").count(), 2, "{file}");
    let settings = Settings::from_toml(&file).unwrap();
    let lab = Lab::new(Resilient::builder().settings(&settings).unwrap(), [busy()]);
    for _ in 0..1_000 {
        assert_eq!(lab.code(ECHO).await, Code::Unavailable);
    }
    // A thousand first attempts and ten tokens, of which those are lost whose wait would have been too
    // long.
    assert!((1_001..=1_010).contains(&lab.requests()), "{}", lab.requests());
}
