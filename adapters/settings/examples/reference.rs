//! Writes what is made from the list of settings: the page, the JSON Schema and the example.

use std::{fs, io};

use evenkeel_settings::reference;

fn main() -> io::Result<()> {
    let package = env!("CARGO_MANIFEST_DIR");
    fs::write(format!("{package}/../../docs/settings.md"), reference::page())?;
    fs::write(format!("{package}/settings.schema.json"), reference::schema())?;
    fs::write(format!("{package}/examples/settings.toml"), reference::example())
}
