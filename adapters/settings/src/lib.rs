#![cfg_attr(feature = "toml", doc = include_str!("../README.md"))]
//!
//! # The picture
//!
//! ```text
//!   TOML ─┐                                              ┌─▶ policies of evenkeel-core
//!   JSON ─┼─▶ tree of values ─▶ sections, one list of ───┼─▶ warnings
//!   env  ─┘   with places       keys for each            └─▶ TOML, JSON, page, schema, example
//! ```
//!
//! Each section lists its keys once, with what may stand there and what it means; whoever reads,
//! writes or describes settings walks that list. [`ServiceConfig`] is a reader of its own, because
//! gRPC's rules differ from ours where ours are strict.
//!
//! # Map
//!
//! `node, error, fault → text, keys, kind → section → reader, writer → settings, together → lint, reference`, and
//! `service_config` beside them.
#![doc(test(attr(deny(warnings))))]

mod any;
mod error;
mod fault;
mod keys;
mod kind;
mod lint;
mod method;
mod names;
mod node;
mod quoted;
mod reader;
pub mod reference;
mod renamed;
mod section;
mod service_config;
mod settings;
pub mod target;
mod text;
mod together;
mod warning;
mod writer;

pub use error::{Place, Problem, SettingsError};
pub use evenkeel_core as core;
pub use method::{MethodPattern, NotAPattern};
pub use names::path_of;
pub use quoted::in_quotes;
pub use section::{
    Balancing, Breaker, BreakerRule, Budget, Channel, Commit, Health, HealthMode, Hedging, Retry,
    Throttling, Timeout, Tls, WaitForReady,
};
pub use service_config::{LoadBalancing, MethodConfig, ServiceConfig};
pub use settings::Settings;
pub use together::{Hedges, Listed, Retries, Together};
pub use warning::Warning;
