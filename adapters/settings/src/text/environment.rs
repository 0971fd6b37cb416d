//! This file knows which variables of the environment are settings.

use super::{DEEPEST, TOO_DEEP, misnamed};
use crate::fault::{Faults, push_step};
use crate::in_quotes;
use crate::node::{Entry, Node, Value};

/// How the name of every variable begins that is one.
pub(crate) const PREFIX: &str = "EVENKEEL__";

/// The variables that are settings as a tree: `EVENKEEL__RETRY__MAX_ATTEMPTS` is `max_attempts` in
/// `retry`. Case does not matter: some systems know none.
pub(crate) fn tree<'t>(variables: &[(&'t str, &'t str)], faults: &mut Faults<'_>) -> Node<'t> {
    misnamed::refuse(variables.iter().map(|(name, _)| *name), faults);
    let named = |(at, (name, words)): (usize, &(&str, &'t str))| {
        setting(name).map(|path| (path.to_ascii_lowercase(), Set { words, at }))
    };
    let mut settings: Vec<_> = variables.iter().enumerate().filter_map(named).collect();
    // A shorter name comes before those it begins.
    settings.sort_by(|(one, set), (other, its)| {
        (one, set.words, set.at).cmp(&(other, its.words, its.at))
    });
    let mut root = Vec::new();
    for (path, set) in settings {
        let steps: Vec<_> = path.split("__").collect();
        if steps.len() > DEEPEST {
            faults.within(&path, |faults| faults.refuse_at(Some(set.at), TOO_DEEP));
        } else {
            insert(&mut root, &steps, set, faults);
        }
    }
    Node::new(Value::Table(root))
}

/// What a variable was set to, and its number.
#[derive(Clone, Copy)]
struct Set<'t> {
    words: &'t str,
    at: usize,
}

fn setting(name: &str) -> Option<&str> {
    let (start, path) = name.split_at_checked(PREFIX.len())?;
    start.eq_ignore_ascii_case(PREFIX).then_some(path)
}

/// A variable as it was set, and behind it, where its name does not say so, in which setting it is
/// wrong: `EVENKEEL__RETRY__CODES ([1])`, `EVENKEEL__RETY__CODES (rety)`.
pub(crate) fn variable_as_set(name: &str, path: &str) -> String {
    let shown = match name.char_indices().nth(LONGEST_SHOWN) {
        Some((end, _)) => format!("{}…", name.get(..end).unwrap_or_default()),
        None => name.to_owned(),
    };
    let is_plain = name.bytes().all(|byte| byte.is_ascii_graphic());
    let shown = if is_plain { shown } else { in_quotes(&shown) };
    // One that only looks like a setting's has no path.
    let Some(own) = setting(name).map(path_of) else { return shown };
    let inside =
        path.strip_prefix(&*own).filter(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
    match inside {
        Some("") => shown,
        Some(inside) => format!("{shown} ({})", inside.trim_start_matches('.')),
        None => format!("{shown} ({path})"),
    }
}

/// The path of the setting that a variable's name says, as the faults in it have it.
fn path_of(name: &str) -> String {
    let mut path = String::new();
    let name = name.to_ascii_lowercase();
    let steps: Vec<_> = name.split("__").collect();
    if steps.len() > DEEPEST {
        push_step(&mut path, &name);
    } else {
        steps.into_iter().for_each(|step| push_step(&mut path, step));
    }
    path
}

fn insert<'t>(table: &mut Vec<Entry<'t>>, steps: &[&str], set: Set<'t>, faults: &mut Faults<'_>) {
    let Some((step, rest)) = steps.split_first() else { return };
    let place = table.iter().position(|entry| entry.name == *step);
    faults.within(step, |faults| match (place.and_then(|at| table.get_mut(at)), rest) {
        (Some(_), []) => {
            faults.refuse_at(Some(set.at), "is there twice, in upper and in lower case");
        }
        (Some(entry), _) => match &mut entry.node.value {
            Value::Table(inner) => insert(inner, rest, set, faults),
            _ => faults.refuse_at(entry.at, "is the beginning of another variable that is set too"),
        },
        (None, []) => table.push(entry(step, Value::Words(set.words), set.at)),
        (None, _) => {
            let mut inner = Vec::new();
            insert(&mut inner, rest, set, faults);
            table.push(entry(step, Value::Table(inner), set.at));
        }
    });
}

fn entry<'t>(step: &str, value: Value<'t>, at: usize) -> Entry<'t> {
    let at = Some(at);
    Entry { name: step.to_owned().into(), at, node: Node { value, at } }
}

/// So much of a name is repeated.
const LONGEST_SHOWN: usize = 100;
