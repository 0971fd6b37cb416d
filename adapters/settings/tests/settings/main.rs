//! What a settings file may say, and what comes of it.

mod any;
mod bounds;
mod environment;
mod every_key;
mod limits;
mod members;
mod names;
mod policies;
mod refused;
mod renamed;
mod spans;
mod values;
mod warnings;

use evenkeel_settings::Settings;

/// The settings of a TOML text that is right.
fn toml(text: &str) -> Settings {
    Settings::from_toml(text).unwrap_or_else(|refused| panic!("{text}\n{refused}"))
}

/// What is said of a TOML text that is wrong.
fn refused(text: &str) -> String {
    Settings::from_toml(text).expect_err(text).to_string()
}
