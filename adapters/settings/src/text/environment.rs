//! This file knows which variables of the environment are settings.

use super::misnamed;
use crate::fault::Faults;
use crate::node::{Entry, Node, Value};

/// How the name of every variable begins that is one.
pub(crate) const PREFIX: &str = "EVENKEEL__";

/// The variables that are settings as a tree: `EVENKEEL__RETRY__MAX_ATTEMPTS` is `max_attempts` in
/// `retry`. Case does not matter: some systems know none.
pub(crate) fn tree<'t>(
    variables: impl Iterator<Item = (&'t str, &'t str)> + Clone,
    faults: &mut Faults<'_>,
) -> Node<'t> {
    misnamed::refuse(variables.clone().map(|(name, _)| name), faults);
    let named = |(name, words)| setting(name).map(|path| (path.to_ascii_lowercase(), words));
    let mut settings: Vec<_> = variables.filter_map(named).collect();
    // A shorter name comes before those it begins.
    settings.sort();
    let mut root = Vec::new();
    for (path, words) in settings {
        let steps: Vec<_> = path.split("__").collect();
        insert(&mut root, &steps, words, faults);
    }
    Node::new(Value::Table(root))
}

fn setting(name: &str) -> Option<&str> {
    let (start, path) = name.split_at_checked(PREFIX.len())?;
    start.eq_ignore_ascii_case(PREFIX).then_some(path)
}

fn insert<'t>(table: &mut Vec<Entry<'t>>, steps: &[&str], words: &'t str, faults: &mut Faults<'_>) {
    let Some((step, rest)) = steps.split_first() else { return };
    let place = table.iter().position(|entry| entry.name == *step);
    faults.within(step, |faults| match (place.and_then(|at| table.get_mut(at)), rest) {
        (Some(_), []) => faults.refuse_at(None, "is there twice, in upper and in lower case"),
        (Some(entry), _) => match &mut entry.node.value {
            Value::Table(inner) => insert(inner, rest, words, faults),
            _ => faults.refuse_at(None, "is the beginning of another variable that is set too"),
        },
        (None, []) => table.push(entry(step, Value::Words(words))),
        (None, _) => {
            let mut inner = Vec::new();
            insert(&mut inner, rest, words, faults);
            table.push(entry(step, Value::Table(inner)));
        }
    });
}

fn entry<'t>(step: &str, value: Value<'t>) -> Entry<'t> {
    Entry { name: step.to_owned().into(), at: None, node: Node::new(value) }
}
