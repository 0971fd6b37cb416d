//! The policies of evenkeel from TOML, JSON, the environment and gRPC service configs.
//!
//! ```
//! # #[cfg(feature = "toml")] {
//! use evenkeel_settings::Settings;
//!
//! let file = r#"
//!     [timeout]
//!     default = "2s"
//!
//!     [retry]
//!     codes = ["UNAVAILABLE"]
//!     idempotent_methods = ["/orders.v1.Orders/Get", "List*"]
//!
//!     [breaker]
//!     mode = "time"
//!     recovery_timeout = "10s"
//! "#;
//! let variables = [("EVENKEEL__TIMEOUT__DEFAULT", "1500ms"), ("PATH", "/bin")];
//! let settings = Settings::from_toml(file)?.with_environment(variables)?;
//!
//! let policy = settings.call_policy("/orders.v1.Orders/ListRecent");
//! assert_eq!(policy.timeout().as_duration().as_millis(), 1_500);
//! assert!(policy.retry().is_idempotent());
//! assert!(!settings.call_policy("/orders.v1.Orders/Cancel").retry().is_idempotent());
//! # }
//! # Ok::<(), evenkeel_settings::SettingsError>(())
//! ```
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
//! # What this crate does not do
//!
//! It opens no file and reads no environment: it takes texts and pairs. It builds no client, knows
//! no secret (certificates are paths), and decides nothing a policy of the core decides. It never
//! clamps: what cannot be right is refused, all of it at once, with its place, its value and what
//! would be right; what only looks wrong is a [`Warning`].
//!
//! # Features
//!
//! `toml` and `json`, both on by default. Without either there is still the environment, and any
//! format that serde knows: [`Settings`] is `Deserialize` and `Serialize`, [`ServiceConfig`]
//! `Deserialize`.
//!
//! # Map
//!
//! `node, error, fault → text, keys, kind → section → reader, writer → settings → lint, reference`, and
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
mod reader;
pub mod reference;
mod section;
mod service_config;
mod settings;
pub mod target;
mod text;
mod warning;
mod writer;

pub use error::{Place, Problem, SettingsError};
pub use evenkeel_core as core;
pub use method::{MethodPattern, NotAPattern};
pub use names::path_of;
pub use section::{
    Balancing, Breaker, BreakerRule, Budget, Channel, Commit, Health, HealthMode, Hedging, Retry,
    Throttling, Timeout, Tls, WaitForReady,
};
pub use service_config::{LoadBalancing, MethodConfig, ServiceConfig};
pub use settings::Settings;
pub use warning::Warning;
