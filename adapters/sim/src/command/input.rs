//! This file knows what a person names on the command line: scenarios and policies, which are taken
//! for one another.

use std::path::Path;

use evenkeel_sim::{Named, ScenarioFile, is_policy, is_scenario, presets, read_policy};

use crate::out;

/// The scenario at `path`; `instead` is the command that takes a policy, for who names one here.
pub(crate) fn scenario(path: &Path, instead: &str) -> Result<ScenarioFile, String> {
    let file = ScenarioFile::read(path).map_err(|why| {
        let name = path.to_string_lossy();
        if presets::named(&name).is_none() && !is_policy(path) {
            return why;
        }
        let command = instead.replace("POLICY", &name);
        format!("{name} is a policy, and a scenario is needed here; try: evenkeel {command}")
    })?;
    if file.is_empty() {
        let name = path.display();
        out::aside(format_args!("evenkeel: {name} sets nothing: everything is at its default"));
    }
    Ok(file)
}

/// The policy of this name, for calls to `method`.
pub(crate) fn policy(name: &str, method: Option<&str>) -> Result<Named, String> {
    let named = read_policy(name, Path::new("")).map_err(|why| {
        if !is_scenario(Path::new(name)) {
            return why;
        }
        format!(
            "{name} is a scenario, and a policy is needed here; try: evenkeel simulate {name}, or \
             evenkeel check POLICY --scenario {name}"
        )
    });
    if presets::named(name).is_none() && named.as_ref().is_ok_and(Named::is_empty) {
        out::aside(format_args!("evenkeel: {name} sets nothing: every section of it is off"));
    }
    match method {
        Some(method) => named?.calling(method),
        None => named,
    }
}
