//! This file knows a whole settings file: its sections, and the policies that follow from them.

use core::fmt;

use evenkeel_core::{CallPolicy, RetryPolicy};

use crate::fault::{Faults, Source};
use crate::keys::{Block, Keys};
use crate::node::{Node, Value};
use crate::reference::inline;
use crate::section::{
    Balancing, Breaker, Budget, Channel, Health, Hedging, Retry, Throttling, Timeout, WaitForReady,
};
use crate::{SettingsError, reader, text, writer};

/// Everything a settings file says. A section it does not have is `None`, and what the section is
/// about does not happen; a key a section does not have is at its default.
///
/// ```
/// use evenkeel_settings::Settings;
///
/// let settings = Settings::from_toml(
///     r#"
///     [timeout]
///     default = "2s"
///     per_method = { "/orders.v1.Orders/Export" = "none" }
///
///     [retry]
///     max_attempts = 4
///     jitter = "full"
///     "#,
/// )?;
/// let settings = settings.with_environment([("EVENKEEL__RETRY__MAX_ATTEMPTS", "2")])?;
///
/// let retry = settings.retry().expect("the file has the section");
/// assert_eq!(retry.policy().max_attempts(), 2);
/// assert_eq!(settings.breaker(), None);
/// let policy = settings.call_policy("/orders.v1.Orders/Get");
/// assert_eq!(policy.timeout().as_duration().as_secs(), 2);
/// # Ok::<(), evenkeel_settings::SettingsError>(())
/// ```
#[derive(Clone, Default, Eq, PartialEq)]
pub struct Settings {
    timeout: Option<Timeout>,
    budget: Option<Budget>,
    wait_for_ready: Option<WaitForReady>,
    retry: Option<Retry>,
    breaker: Option<Breaker>,
    throttle: Option<Throttling>,
    hedging: Option<Hedging>,
    health: Option<Health>,
    balancing: Option<Balancing>,
    channel: Option<Channel>,
}

impl Settings {
    /// Nothing configured.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a TOML text.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it, each with its line and column.
    #[cfg(feature = "toml")]
    pub fn from_toml(toml: &str) -> Result<Self, SettingsError> {
        let mut faults = Faults::new(Source::Text(toml));
        let tree = text::toml(toml, &mut faults);
        Self::new().with(tree, faults)
    }

    /// Reads a JSON text. A `$schema` at the top is for editors, and is skipped.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it, each with its line and column.
    #[cfg(feature = "json")]
    pub fn from_json(json: &str) -> Result<Self, SettingsError> {
        let mut faults = Faults::new(Source::Text(json));
        let mut tree = text::json(json, &mut faults);
        if let Some(Node { value: Value::Table(entries), .. }) = &mut tree {
            entries.retain(|entry| entry.name != "$schema");
        }
        Self::new().with(tree, faults)
    }

    /// With what the environment says otherwise; `std::env::vars()` is such a list.
    ///
    /// `EVENKEEL__RETRY__MAX_ATTEMPTS=4` is `max_attempts` in `[retry]`, and turns that section on
    /// if it was not. Lists are written `a,b`, and tables `name=value,name=value`, never as a
    /// variable for each name: those have their case, and variables have none. A table replaces the
    /// one before. A variable that begins with one underscore, `EVENKEEL_RETRY__MAX_ATTEMPTS`, and
    /// goes on as a section or a key does, is refused: somebody believes that it is set. Variables
    /// that begin otherwise are none of our business.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the variables, those that name no setting included.
    pub fn with_environment<N: AsRef<str>, V: AsRef<str>>(
        self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Self, SettingsError> {
        let variables: Vec<_> = variables.into_iter().collect();
        let variables: Vec<_> =
            variables.iter().map(|(name, value)| (name.as_ref(), value.as_ref())).collect();
        let mut faults = Faults::new(Source::Environment(&variables));
        let tree = text::environment(&variables, &mut faults);
        self.with(Some(tree), faults)
    }

    pub(crate) fn from_tree(tree: &Node<'_>) -> Result<Self, SettingsError> {
        let mut settings = Self::new();
        let mut faults = Faults::new(Source::Unknown);
        reader::read(&mut settings, tree, &mut faults);
        faults.into_result(settings)
    }

    fn with(
        mut self,
        tree: Option<Node<'_>>,
        mut faults: Faults<'_>,
    ) -> Result<Self, SettingsError> {
        if let Some(tree) = tree {
            reader::read(&mut self, &tree, &mut faults);
        }
        faults.into_result(self)
    }

    /// The settings as TOML, with every key of every section there is.
    #[cfg(feature = "toml")]
    pub fn to_toml(&self) -> String {
        // A tree of tables, lists, text and finite numbers has nothing that TOML cannot say.
        ::toml::to_string(&self.tree()).unwrap_or_default()
    }

    /// The settings as JSON, with every key of every section there is.
    #[cfg(feature = "json")]
    pub fn to_json(&self) -> String {
        // A tree with text for keys has nothing that JSON cannot say.
        serde_json::to_string_pretty(&self.tree()).unwrap_or_default()
    }

    pub(crate) fn tree(&self) -> Node<'static> {
        writer::write(&mut self.clone())
    }

    /// The path of every setting there is, such as `retry.max_attempts`.
    pub fn paths() -> Vec<String> {
        writer::paths::<Self>()
    }

    /// How long a call may take.
    pub const fn timeout(&self) -> Option<&Timeout> {
        self.timeout.as_ref()
    }

    /// What a whole request may still spend.
    pub const fn budget(&self) -> Option<&Budget> {
        self.budget.as_ref()
    }

    /// Which calls wait for a connection.
    pub const fn wait_for_ready(&self) -> Option<&WaitForReady> {
        self.wait_for_ready.as_ref()
    }

    /// What is tried again.
    pub const fn retry(&self) -> Option<&Retry> {
        self.retry.as_ref()
    }

    /// When a circuit opens.
    pub const fn breaker(&self) -> Option<&Breaker> {
        self.breaker.as_ref()
    }

    /// How many retries all calls together may make.
    pub const fn throttle(&self) -> Option<&Throttling> {
        self.throttle.as_ref()
    }

    /// Which attempts are sent beside others.
    pub const fn hedging(&self) -> Option<&Hedging> {
        self.hedging.as_ref()
    }

    /// How targets are asked whether they are well.
    pub const fn health(&self) -> Option<&Health> {
        self.health.as_ref()
    }

    /// Which target an attempt goes to.
    pub const fn balancing(&self) -> Option<&Balancing> {
        self.balancing.as_ref()
    }

    /// Which targets there are.
    pub const fn channel(&self) -> Option<&Channel> {
        self.channel.as_ref()
    }

    /// Everything that holds for a call of the method with this full name: its time, and whether
    /// and how it is retried or hedged. Without sections it is unbounded, and tried once.
    pub fn call_policy(&self, method: &str) -> CallPolicy {
        let timeout = self.timeout.as_ref();
        let mut call =
            timeout.map_or(CallPolicy::DEFAULT.unbounded(), |timeout| timeout.call_policy(method));
        if let Some(breaker) = &self.breaker {
            // Only a slice that is too long is refused, and that was when the section was read.
            call = call.with_short_slice(breaker.short_slice()).unwrap_or(call);
        }
        let repeats = self.retry.as_ref().is_none_or(|retry| retry.may_repeat(method));
        match (&self.hedging, &self.retry) {
            (Some(hedging), _) if repeats => hedging.hedged(call),
            (_, Some(retry)) if repeats => call.with_retry(retry.policy()),
            (_, Some(retry)) => call.with_retry(retry.policy().not_idempotent()),
            (_, None) => call.with_retry(RetryPolicy::OFF),
        }
    }
}

impl Block for Settings {
    const MEANING: &'static str = "A section that is left out is off; a key that is left out is at \
                                   its default.";

    fn keys(&mut self, keys: &mut impl Keys) {
        keys.block("timeout", &mut self.timeout);
        keys.block("budget", &mut self.budget);
        keys.block("wait_for_ready", &mut self.wait_for_ready);
        keys.block("retry", &mut self.retry);
        keys.block("breaker", &mut self.breaker);
        keys.block("throttle", &mut self.throttle);
        keys.block("hedging", &mut self.hedging);
        keys.block("health", &mut self.health);
        keys.block("balancing", &mut self.balancing);
        keys.block("channel", &mut self.channel);
    }
}

/// Only what was configured.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Settings");
        if let Value::Table(sections) = self.tree().value {
            for section in sections {
                shown.field(&section.name, &format_args!("{}", inline(&section.node)));
            }
        }
        shown.finish()
    }
}
