//! This file knows gRPC service configs: the JSON that says how a client calls a service.
//!
//! Before changing this file read gRPC A2, A6 and `grpc/service_config/service_config.proto`.
//!
//! Why not a [`Settings`](crate::Settings) file in another dress? A service config is written for
//! clients in all languages and often comes from the server's side. So what it does not say is off
//! rather than at our default, what we do not know is skipped rather than refused, and its numbers
//! mean what they mean there: `maxAttempts` above 5 is 5, and waits vary by ±20 %.

mod fields;
mod method;
mod value;

use std::collections::BTreeMap;

use evenkeel_core::{CallPolicy, RetryPolicy, ThrottlePolicy};

use crate::error::Problem;
use crate::fault::Source;
use crate::node::Node;
use crate::{SettingsError, Warning};
use fields::{Fields, Findings};
pub use method::MethodConfig;

/// What a gRPC service config says, as our policies.
///
/// ```
/// # #[cfg(feature = "json")] {
/// use evenkeel_settings::ServiceConfig;
///
/// let config = ServiceConfig::from_json(
///     r#"{
///         "methodConfig": [{
///             "name": [{ "service": "orders.v1.Orders" }],
///             "timeout": "1.5s",
///             "retryPolicy": {
///                 "maxAttempts": 9,
///                 "initialBackoff": "0.1s",
///                 "maxBackoff": "1s",
///                 "backoffMultiplier": 2,
///                 "retryableStatusCodes": ["UNAVAILABLE"]
///             }
///         }]
///     }"#,
/// )?;
/// let get = config.call_policy("/orders.v1.Orders/Get");
/// assert_eq!(get.retry().max_attempts(), 5, "more is used as 5");
/// let other = config.call_policy("/users.v1.Users/Get");
/// assert_eq!(other.retry().max_attempts(), 1, "what it does not mention is not retried");
/// # }
/// # Ok::<(), evenkeel_settings::SettingsError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServiceConfig {
    /// By `/service/method`, by `/service/`, and by nothing for all others.
    methods: BTreeMap<Box<str>, MethodConfig>,
    throttle: Option<ThrottlePolicy>,
    health_service: Option<Box<str>>,
    load_balancing: Option<LoadBalancing>,
    notes: Vec<Problem>,
}

/// How a service config wants targets to be chosen.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum LoadBalancing {
    /// The less busy of two drawn (`least_request_experimental`, gRPC A48).
    LeastRequest,
    /// The first that answers, for all calls.
    PickFirst,
    /// One after the other.
    RoundRobin,
    /// In proportion to what the targets report of their load (gRPC A58).
    WeightedRoundRobin,
}

impl ServiceConfig {
    /// Reads a service config.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it, each with its line and column. A `backoffMultiplier` below
    /// 1 is legal in gRPC, and refused here: waits would shrink while an outage lasts.
    #[cfg(feature = "json")]
    pub fn from_json(json: &str) -> Result<Self, SettingsError> {
        let mut found = Findings::new(Source::Text(json));
        let tree = crate::text::json(json, found.faults());
        Self::of(tree.as_ref(), found)
    }

    pub(crate) fn from_tree(tree: &Node<'_>) -> Result<Self, SettingsError> {
        Self::of(Some(tree), Findings::new(Source::Unknown))
    }

    fn of(tree: Option<&Node<'_>>, mut found: Findings<'_>) -> Result<Self, SettingsError> {
        let mut config = Self::default();
        if let Some(tree) = tree {
            config.read(tree, &mut found);
        }
        let (config, notes) = found.into_result(config)?;
        Ok(Self { notes, ..config })
    }

    /// What holds for the method with this full name: what its own name, else its service, else
    /// nobody in particular was given. The most specific one holds alone; nothing is inherited.
    pub fn method(&self, path: &str) -> Option<&MethodConfig> {
        let service = path.rfind('/').and_then(|slash| path.get(..=slash));
        [Some(path), service, Some("")]
            .into_iter()
            .flatten()
            .find_map(|name| self.methods.get(name))
    }

    /// Every name it has, and what holds there: `/service/method`, `/service/` for all of a
    /// service, and an empty name for all others.
    pub fn methods(&self) -> impl Iterator<Item = (&str, &MethodConfig)> {
        self.methods.iter().map(|(name, config)| (&**name, config))
    }

    /// The policy of the method with this full name: unbounded and tried once, but for what the
    /// config says. That a method may be executed twice is what a config says by retrying it.
    pub fn call_policy(&self, path: &str) -> CallPolicy {
        let call = CallPolicy::DEFAULT.unbounded().with_retry(RetryPolicy::OFF);
        self.method(path).map_or(call, |config| config.applied_to(call))
    }

    /// How many retries all calls together may make (`retryThrottling`).
    pub const fn throttle(&self) -> Option<ThrottlePolicy> {
        self.throttle
    }

    /// The service to ask targets about (`healthCheckConfig`).
    pub fn health_service(&self) -> Option<&str> {
        self.health_service.as_deref()
    }

    /// How targets are chosen.
    pub const fn load_balancing(&self) -> Option<LoadBalancing> {
        self.load_balancing
    }

    /// What was skipped or read otherwise than it is written, as gRPC has it; for a linter.
    pub fn notes(&self) -> &[Problem] {
        &self.notes
    }

    /// What a client of ours does otherwise than the config says.
    pub fn warnings(&self) -> Vec<Warning> {
        let all = "attempts go to all members, one after the other";
        let balancing = match self.load_balancing {
            Some(LoadBalancing::PickFirst) => Some(("loadBalancingConfig: pick_first", all)),
            Some(LoadBalancing::WeightedRoundRobin) => {
                Some(("loadBalancingConfig: weighted_round_robin", all))
            }
            Some(LoadBalancing::LeastRequest | LoadBalancing::RoundRobin) | None => None,
        };
        let limits = |limit: fn(&MethodConfig) -> Option<u32>| {
            self.methods.values().any(|method| limit(method).is_some())
        };
        let request = limits(MethodConfig::max_request_bytes)
            .then_some(("maxRequestMessageBytes", "set max_encoding_message_size of the client"));
        let response = limits(MethodConfig::max_response_bytes)
            .then_some(("maxResponseMessageBytes", "set max_decoding_message_size of the client"));
        let found = [balancing, request, response].into_iter().flatten();
        found.map(|(path, instead)| Warning::NotFollowed { path, instead }).collect()
    }

    fn read(&mut self, tree: &Node<'_>, found: &mut Findings<'_>) {
        let Some(mut fields) = Fields::of(tree, found) else { return };
        fields.with("methodConfig", |node, found| method::read_all(node, &mut self.methods, found));
        self.throttle = fields.with("retryThrottling", throttle).flatten();
        self.health_service = fields.with("healthCheckConfig", health_service).flatten();
        self.load_balancing = fields.with("loadBalancingConfig", load_balancing).flatten();
        let named = fields.optional("loadBalancingPolicy", value::policy);
        self.load_balancing = self.load_balancing.or(named);
        fields.finish();
    }
}

fn throttle(node: &Node<'_>, found: &mut Findings<'_>) -> Option<ThrottlePolicy> {
    let mut fields = Fields::of(node, found)?;
    let tokens = fields.required("maxTokens", value::tokens);
    let ratio = fields.required("tokenRatio", value::ratio);
    fields.finish();
    ThrottlePolicy::grpc(tokens?, ratio?).ok()
}

fn health_service(node: &Node<'_>, found: &mut Findings<'_>) -> Option<Box<str>> {
    let mut fields = Fields::of(node, found)?;
    let service = fields.optional("serviceName", value::text);
    fields.finish();
    service
}

/// The first policy of the list that is known.
fn load_balancing(node: &Node<'_>, found: &mut Findings<'_>) -> Option<LoadBalancing> {
    let Some(items) = node.as_list() else {
        found.refuse(node, "must be a list of policies");
        return None;
    };
    let named = |(number, item): (usize, &Node<'_>)| {
        let entries = item.as_table();
        let [entry] = entries.as_deref().unwrap_or_default() else {
            found.item(number, |found| found.refuse(item, "must have one policy's name in it"));
            return None;
        };
        let policy = value::known_policy(&entry.name);
        if policy.is_none() {
            found.item(number, |found| {
                found.within(&entry.name, |found| {
                    found.note_at(entry.at, "is not known here, and skipped");
                });
            });
        }
        policy
    };
    let known: Vec<_> = items.iter().enumerate().filter_map(named).collect();
    if known.is_empty() {
        found.refuse(node, "must have a policy in it that is known here, such as round_robin");
    }
    known.first().copied()
}
