//! This file knows how a jitter is written.

use std::borrow::Cow;

use evenkeel_core::Jitter;

use super::number::{Decimal, decimal};
use super::word::OneOf;
use crate::fault::Faults;
use crate::keys::Kind;
use crate::node::{Node, Value};

/// A word, or the share of a proportional jitter: `0.1` or `{ proportional = 0.1 }`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnyJitter;

impl AnyJitter {
    fn parse(self, node: &Node<'_>) -> Result<Jitter, Cow<'static, str>> {
        let text = node.as_text();
        let word = WORDS.0.iter().find(|(word, _)| Some(*word) == text);
        if let Some((_, jitter)) = word {
            return Ok(*jitter);
        }
        let share = match &node.value {
            Value::Number(_) => Some(node),
            Value::Words(words) if words.parse::<f64>().is_ok() => Some(node),
            Value::Table(entries) => match entries.as_slice() {
                [entry] if entry.name == "proportional" => Some(&entry.node),
                _ => None,
            },
            _ => None,
        };
        let share = share.ok_or_else(|| format!("must be {}", self.words()))?;
        let share = SHARE.parse(share)?;
        Ok(Jitter::Proportional(u16::try_from(share).unwrap_or(u16::MAX)))
    }
}

impl Kind for AnyJitter {
    type Value = Jitter;

    fn read(&self, node: &Node<'_>, faults: &mut Faults<'_>) -> Option<Jitter> {
        faults.take(node, self.parse(node))
    }

    fn write(&self, jitter: &Jitter) -> Option<Node<'static>> {
        match jitter {
            // A kind that is new here wants its word below.
            Jitter::Decorrelated | Jitter::Equal | Jitter::Full | Jitter::None => {
                WORDS.write(jitter)
            }
            Jitter::Proportional(share) => Some(Node::number(decimal((*share).into()))),
        }
    }

    fn words(&self) -> String {
        format!("{}, or the share of a proportional one, from 0.0 to 1.0", WORDS.words())
    }

    fn schema(&self) -> Node<'static> {
        let table = Node::table([
            ("type", Node::text("object")),
            ("properties", Node::table([("proportional", SHARE.schema())])),
            ("required", Node::list([Node::text("proportional")])),
            ("additionalProperties", Node::flag(false)),
        ]);
        Node::table([("anyOf", Node::list([WORDS.schema(), SHARE.schema(), table]))])
    }
}

const SHARE: Decimal = Decimal(0..=1_000);

const WORDS: OneOf<Jitter> = OneOf(&[
    ("none", Jitter::None),
    ("full", Jitter::Full),
    ("equal", Jitter::Equal),
    ("decorrelated", Jitter::Decorrelated),
]);
