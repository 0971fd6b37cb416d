//! This file knows `evenkeel presets`: which policies have names, and what is in them.

use evenkeel_sim::advice;
use evenkeel_sim::presets::{PRESETS, named};

use crate::out::tell;

/// Lists the policies that have names, or prints one as a settings file.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The one to print.
    name: Option<String>,
    /// As Rust.
    #[arg(long, requires = "name")]
    rust: bool,
}

pub(crate) fn run(args: &Args) -> Result<bool, String> {
    let Some(name) = &args.name else {
        for preset in PRESETS {
            tell!("{:14} {}", preset.name, preset.about);
        }
        return Ok(true);
    };
    let preset = named(name).ok_or_else(|| {
        let known = PRESETS.each_ref().map(|preset| preset.name);
        format!("there is no preset called \"{name}\"; {}", advice(name, &known))
    })?;
    if args.rust {
        tell!("// {}\n{}", preset.about, preset.spec.to_rust().trim_end());
    } else {
        tell!("{}", preset.to_toml().trim_end());
    }
    Ok(true)
}
