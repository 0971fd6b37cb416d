//! This file knows how settings are named: a section lists its keys once, and reading, writing,
//! the reference page, the JSON Schema and the example all walk that one list.

use evenkeel_core::Invalid;

use crate::fault::Faults;
use crate::node::Node;

/// A table of settings: a section, or one within a section.
pub(crate) trait Block: Default {
    /// What it is for, in one or two sentences.
    const MEANING: &'static str;

    /// Names every key, what may stand there, where it is kept, and what it means.
    fn keys(&mut self, keys: &mut impl Keys);

    /// Makes the policies of what the keys hold.
    ///
    /// # Errors
    ///
    /// Whatever the core refuses: settings that are right one by one and impossible together.
    fn check(&mut self) -> Result<(), Invalid> {
        Ok(())
    }
}

/// Whoever walks the keys of a block.
pub(crate) trait Keys {
    /// A setting.
    fn key<K: Kind>(
        &mut self,
        name: &'static str,
        kind: K,
        slot: &mut K::Value,
        meaning: &'static str,
    );

    /// A table of settings that is off unless it is named.
    fn block<B: Block>(&mut self, name: &'static str, slot: &mut Option<B>);
}

/// What may stand behind a key.
pub(crate) trait Kind {
    /// What it is kept as.
    type Value;

    /// The value, or `None` and the reason among the faults.
    fn read(&self, node: &Node<'_>, faults: &mut Faults<'_>) -> Option<Self::Value>;

    /// The value as a file holds it; `None` when that is said by leaving the key out.
    fn write(&self, value: &Self::Value) -> Option<Node<'static>>;

    /// What may stand there: `a whole number from 1 to 65535`.
    fn words(&self) -> String;

    /// The same for a JSON Schema.
    fn schema(&self) -> Node<'static>;

    /// What could stand there, as TOML, where nothing stands by default.
    fn sample(&self) -> Option<&'static str> {
        None
    }
}
