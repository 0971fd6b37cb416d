//! Writes into `docs/scenarios.md` which scenarios run where: `cargo run -p evenkeel-scripted`.
//!
//! The test `the page is as it would be written` says when that is due.

use std::fs;
use std::path::Path;

fn main() -> Result<(), Box<dyn core::error::Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(evenkeel_scripted::PAGE);
    let page = evenkeel_scripted::page(&fs::read_to_string(&path)?)?;
    fs::write(path, page)?;
    Ok(())
}
