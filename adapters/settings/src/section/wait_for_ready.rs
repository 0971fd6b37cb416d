//! This file knows the section `[wait_for_ready]`: which calls wait for a connection.

use std::collections::BTreeMap;

use crate::fault::Faults;
use crate::keys::{Block, Keys, Kind};
use crate::kind::{ByName, Flag};
use crate::method::method_name;
use crate::node::Node;

/// `[wait_for_ready]`: which calls wait until their target can be reached.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WaitForReady {
    default: bool,
    per_method: BTreeMap<Box<str>, Option<bool>>,
    require_deadline: bool,
}

impl WaitForReady {
    /// Whether calls wait that have no other setting.
    pub const fn default_wait(&self) -> bool {
        self.default
    }

    /// The methods with a setting of their own, by full name; `None` exempts them.
    pub fn per_method(&self) -> impl Iterator<Item = (&str, Option<bool>)> {
        self.per_method.iter().map(|(method, wait)| (&**method, *wait))
    }

    /// Whether only calls with a deadline wait.
    pub const fn require_deadline(&self) -> bool {
        self.require_deadline
    }

    /// Whether the method with this full name waits; `None` leaves it to the call.
    pub fn waits(&self, method: &str) -> Option<bool> {
        self.per_method.get(method).copied().unwrap_or(Some(self.default))
    }
}

impl Block for WaitForReady {
    const MEANING: &'static str = "Which calls wait for a connection until their deadline, instead \
                                   of failing at once. What a call says itself always wins.";

    fn keys(&mut self, keys: &mut impl Keys) {
        keys.key("default", Flag, &mut self.default, "Whether calls wait that have no other.");
        keys.key(
            "per_method",
            ByName { of: Exemptible, names: "full method names", name: method_name },
            &mut self.per_method,
            "Another answer for some methods; \"exempt\" leaves their calls alone.",
        );
        keys.key(
            "require_deadline",
            Flag,
            &mut self.require_deadline,
            "Lets only calls with a deadline wait: without one a call would wait for ever. Those \
             fail fast, with one warning.",
        );
    }
}

impl Default for WaitForReady {
    fn default() -> Self {
        Self { default: true, per_method: BTreeMap::new(), require_deadline: true }
    }
}

/// Yes, no, or "exempt".
#[derive(Clone, Copy, Debug)]
struct Exemptible;

impl Kind for Exemptible {
    type Value = Option<bool>;

    fn read(&self, node: &Node<'_>, faults: &mut Faults<'_>) -> Option<Option<bool>> {
        if node.as_text() == Some("exempt") {
            return Some(None);
        }
        let rule = || format!("must be {}", self.words()).into();
        faults.take(node, node.as_bool().map(Some).ok_or_else(rule))
    }

    fn write(&self, wait: &Option<bool>) -> Option<Node<'static>> {
        Some(wait.map_or_else(|| Node::text("exempt"), Node::flag))
    }

    fn words(&self) -> String {
        "true, false or \"exempt\"".to_owned()
    }

    fn schema(&self) -> Node<'static> {
        let values = [Node::flag(true), Node::flag(false), Node::text("exempt")];
        Node::table([("enum", Node::list(values))])
    }
}
