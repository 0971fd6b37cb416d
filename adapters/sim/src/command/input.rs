//! This file knows what a person names on the command line: scenarios and policies, which are taken
//! for one another.

use std::path::Path;

use evenkeel_sim::{Named, ScenarioFile, presets, read_policy};

/// The scenario at `path`; `instead` is the command that takes a policy, for who names one here.
pub(crate) fn scenario(path: &Path, instead: &str) -> Result<ScenarioFile, String> {
    ScenarioFile::read(path).map_err(|why| {
        let name = path.to_string_lossy();
        let is_policy = presets::named(&name).is_some() || policy_file(path);
        if !is_policy {
            return why;
        }
        let command = instead.replace("POLICY", &name);
        format!("{name} is a policy, and a scenario is needed here; try: evenkeel {command}")
    })
}

/// The policy of this name, for calls to `method`.
pub(crate) fn policy(name: &str, method: Option<&str>) -> Result<Named, String> {
    let named = read_policy(name, Path::new("")).map_err(|why| {
        if ScenarioFile::read(Path::new(name)).is_err() {
            return why;
        }
        format!(
            "{name} is a scenario, and a policy is needed here; try: evenkeel simulate {name}, or \
             evenkeel check POLICY --scenario {name}"
        )
    })?;
    match method {
        Some(method) => named.calling(method),
        None => Ok(named),
    }
}

fn policy_file(path: &Path) -> bool {
    path.is_file() && read_policy(&path.to_string_lossy(), Path::new("")).is_ok()
}
