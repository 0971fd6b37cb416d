//! This file knows a scenario's file: what is simulated, under which policy, and how often.

use std::path::Path;

use super::raw::Raw;
use super::{Named, misread, place, read, read_policy, taken};
use crate::Scenario;

/// A scenario as it stands in a file.
#[derive(Clone, Debug)]
pub struct ScenarioFile {
    /// What is simulated.
    pub scenario: Scenario,
    /// Under which policy.
    pub policy: Named,
    /// How many seeds, the first of them [`seed`](Self::seed).
    pub seeds: u32,
    /// The first seed.
    pub seed: u64,
    /// The method its calls are to, where the file or somebody else says one.
    method: Option<String>,
    /// The text it was read from.
    pub source: String,
}

impl ScenarioFile {
    /// Reads and checks the scenario at `path`; a policy's file is looked for beside it.
    ///
    /// # Errors
    ///
    /// A text that names the file, the place in it, and what would be right.
    pub fn read(path: &Path) -> Result<Self, String> {
        let source = read(path)?;
        let folder = path.parent().unwrap_or_else(|| Path::new(""));
        Self::parse(&source, folder).map_err(|why| match taken::has_keys_of_a_policy(&source) {
            true => format!("{} is a policy, and a scenario is needed here", path.display()),
            false => format!("{}: {why}", path.display()),
        })
    }

    /// Checks a scenario's text; a policy's file is looked for in `folder`.
    ///
    /// # Errors
    ///
    /// A text that names the place and what would be right.
    pub fn parse(source: &str, folder: &Path) -> Result<Self, String> {
        let raw: Raw = misread::read(source)?;
        let scenario = raw.scenario().map_err(|mut all| {
            all.sort_by_key(|unfit| place::line(source, unfit.field()));
            let told = all.iter().map(|unfit| place::of(source, unfit.field(), &unfit.to_string()));
            told.collect::<Vec<_>>().join("\n  ")
        })?;
        let name = raw.policy.as_deref().unwrap_or("steady");
        let policy = read_policy(name, folder).map_err(|why| place::of(source, "policy", &why))?;
        let (seeds, seed) = (raw.seeds.unwrap_or(5), raw.seed.unwrap_or(11));
        let mut file = Self { scenario, policy, seeds, seed, method: None, source: source.into() };
        if let Some(method) = raw.method {
            file.use_method(&method).map_err(|why| place::of(source, "method", &why))?;
        }
        Ok(file)
    }

    /// With another policy than the file's: a preset, or a file that is looked for in `folder`.
    ///
    /// # Errors
    ///
    /// What [`read_policy`] says, and [`Named::calling`].
    pub fn use_policy(&mut self, name: &str, folder: &Path) -> Result<(), String> {
        self.policy = read_policy(name, folder)?;
        match self.method.take() {
            Some(method) => self.use_method(&method),
            None => Ok(()),
        }
    }

    /// With calls to another method than the file's.
    ///
    /// # Errors
    ///
    /// What [`Named::calling`] says.
    pub fn use_method(&mut self, method: &str) -> Result<(), String> {
        self.policy = self.policy.clone().calling(method)?;
        self.method = Some(method.into());
        Ok(())
    }

    /// The method its calls are to, where one was chosen.
    pub fn method(&self) -> Option<&str> {
        self.method.as_deref()
    }

    /// Whether it sets nothing, so that everything is at its default.
    pub fn is_empty(&self) -> bool {
        let table: Result<toml::Table, _> = self.source.parse();
        let is_empty = |value: &toml::Value| value.as_table().is_some_and(toml::Table::is_empty);
        table.is_ok_and(|table| table.values().all(is_empty))
    }

    /// The seeds.
    pub fn seeds(&self) -> Vec<u64> {
        (0..u64::from(self.seeds)).map(|index| self.seed.wrapping_add(11 * index)).collect()
    }
}
