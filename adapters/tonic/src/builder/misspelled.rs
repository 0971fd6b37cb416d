//! This file knows which names of methods in a builder are misspelled, by its table of methods.
//!
//! A name that nothing is called by is no error: it does nothing, silently, and what it was meant
//! for goes without its retries or its timeout.

use evenkeel_settings::{MethodPattern, Warning};

use super::Builder;
use crate::{AllowList, MethodInfo};

impl Builder {
    /// One for each name that is nearly that of a method or service of the table; without a table
    /// nobody knows.
    pub(crate) fn misspelled(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for (path, mut names) in self.names_of_methods() {
            names.sort_by_key(ToString::to_string);
            for name in names {
                let known = self.methods.methods().iter().map(MethodInfo::path);
                let Some(meant) = name.meant(known) else { continue };
                let warning = Warning::Misspelled { path, name, meant };
                if !warnings.contains(&warning) {
                    warnings.push(warning);
                }
            }
        }
        warnings
    }

    /// Where methods are named, and how.
    fn names_of_methods(&self) -> [(&'static str, Vec<MethodPattern>); 6] {
        let listed = self.idempotent.iter().flat_map(AllowList::patterns);
        let ready = self.ready.iter().flat_map(|ready| ready.per_method.keys());
        let hedged = self.hedges.iter().flat_map(|hedges| hedges.per_method.keys());
        let configured = self.service_config.methods().map(|(name, _)| name);
        [
            ("retry.idempotent_methods", listed.cloned().collect()),
            ("timeout.per_method", self.timeouts.keys().map(|name| of(name)).collect()),
            ("wait_for_ready.per_method", ready.map(|name| of(name)).collect()),
            ("method_hedge", hedged.map(|name| of(name)).collect()),
            ("sensitive", self.observing.sensitive.patterns().to_vec()),
            ("methodConfig.name", configured.map(of).collect()),
        ]
    }
}

/// A full name, or `/package.Service/` for all of a service.
fn of(name: &str) -> MethodPattern {
    let service = || format!("{name}*").parse().ok();
    let all = name.ends_with('/').then(service).flatten();
    all.unwrap_or_else(|| MethodPattern::method(name))
}
