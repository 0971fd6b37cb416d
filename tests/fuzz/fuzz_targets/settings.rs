//! Any bytes, as a settings file, a service config and a target.
#![no_main]

use evenkeel_settings::target::TargetName;
use evenkeel_settings::{ServiceConfig, Settings};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    for read in [Settings::from_toml(text), Settings::from_json(text)].into_iter().flatten() {
        // What is accepted is written as something that means the same.
        assert_eq!(Settings::from_toml(&read.to_toml()).as_ref(), Ok(&read));
        let _ = read.warnings();
    }
    if let Ok(config) = ServiceConfig::from_json(text) {
        let _ = (config.call_policy("/a.B/C"), config.notes().len());
    }
    if let Ok(target) = text.parse::<TargetName>() {
        assert_eq!(target.to_string().parse::<TargetName>().as_ref(), Ok(&target));
    }
});
