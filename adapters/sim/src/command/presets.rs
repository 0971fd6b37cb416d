//! This file knows `evenkeel presets`: which policies have names.

use evenkeel_sim::presets::PRESETS;

/// Lists the policies that have names.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> Result<bool, String> {
    for preset in PRESETS {
        println!("{:14} {}", preset.name, preset.about);
    }
    Ok(true)
}
