//! This file knows how the calls of one method are named in spans and metrics, worked out once.

use std::sync::Arc;

use super::{Meters, Observing};
use crate::settings::Settings;

/// What is told about the calls of one method, and to whom.
#[derive(Debug)]
pub(crate) struct View {
    pub(super) observing: Arc<Observing>,
    pub(super) names: Names,
    /// Whether no error detail may appear anywhere.
    pub(super) sensitive: bool,
    /// Whether a failed call of it may be tried again, so that not to do so is a decision.
    pub(super) repeats: bool,
    /// Whether it is hedged instead of retried.
    pub(super) hedged: bool,
    /// Where its numbers go.
    pub(super) meters: Option<Meters>,
}

/// What spans are called. Prepared, so that no call puts a string together.
#[derive(Debug)]
pub(super) struct Names {
    /// `package.Service/Method`.
    pub(super) method: Box<str>,
    /// What gRPC (A72) calls a call, and an attempt.
    pub(super) sent: Box<str>,
    pub(super) attempt: Box<str>,
    /// Who is called, where that has a name: of a kit its own, which stands for all members.
    pub(super) address: Option<Arc<str>>,
}

impl View {
    /// Of the method with this path; `None` where nobody looks.
    pub(crate) fn of(
        settings: &Settings,
        path: &str,
        repeats: bool,
        hedged: bool,
    ) -> Option<Arc<Self>> {
        let observing = settings.observing.as_ref()?;
        let method = path.strip_prefix('/').unwrap_or(path);
        let named = Some(&settings.target).filter(|name| !name.is_empty());
        let names = Names {
            method: method.into(),
            sent: format!("Sent.{method}").into(),
            attempt: format!("Attempt.{method}").into(),
            address: named.cloned(),
        };
        Some(Arc::new(Self {
            observing: Arc::clone(observing),
            sensitive: observing.sensitive.contains(path),
            repeats,
            hedged,
            meters: Meters::of(settings, path, names.address.as_ref()),
            names,
        }))
    }
}
