//! This file knows settings that are targets, and names that must be.

use std::borrow::Cow;

use crate::fault::Faults;
use crate::keys::Kind;
use crate::node::Node;
use crate::target::{InvalidTarget, TargetName};

/// A target, as people write it down.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnyTarget;

impl Kind for AnyTarget {
    type Value = TargetName;

    fn read(&self, node: &Node<'_>, faults: &mut Faults<'_>) -> Option<TargetName> {
        let Some(text) = node.as_text() else {
            faults.refuse(node, format!("must be {}", self.words()));
            return None;
        };
        faults.take(node, target(text))
    }

    fn write(&self, target: &TargetName) -> Option<Node<'static>> {
        Some(Node::text(target.to_string()))
    }

    fn words(&self) -> String {
        "\"host:port\", \"dns:///name:port\" or \"unix:/path\"".to_owned()
    }

    fn schema(&self) -> Node<'static> {
        Node::table([("type", Node::text("string"))])
    }
}

/// The name of a target in the one form it is written out in.
pub(crate) fn target_name(text: &str) -> Result<Box<str>, Cow<'static, str>> {
    target(text).map(|target| target.to_string().into())
}

fn target(text: &str) -> Result<TargetName, Cow<'static, str>> {
    text.parse().map_err(|refused: InvalidTarget| refused.rule().into())
}
