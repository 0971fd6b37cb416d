//! This file knows how to visit every state a machine can reach.
//!
//! The machines of the core make this possible: their state is plain and comparable, time is an
//! argument, and nothing is random that was not given. Once time is written relative to "now" the
//! graph is finite, so the search is complete for its setting, and its way to a fault is a
//! shortest one. What it cannot show are overflow and wrapping; the boundary products do.

use std::collections::HashSet;

/// How much there was.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Extent {
    /// Different states.
    pub states: usize,
    /// Steps from one to another, or to itself.
    pub steps: usize,
    /// Steps to the farthest state.
    pub depth: usize,
}

/// Visits every state reachable from `start`, nearest first, up to `depth` steps away.
///
/// States with one `key` are the same. `expand` hands every step's name and end to its second
/// argument.
///
/// # Errors
///
/// The first error of `expand`, with the steps that lead to it.
pub fn search<S>(
    start: S,
    depth: usize,
    key: impl Fn(&S) -> String,
    mut expand: impl FnMut(&S, &mut dyn FnMut(String, S)) -> Result<(), String>,
) -> Result<Extent, String> {
    let mut seen = HashSet::from([key(&start)]);
    // For each state found: the number of the one before it, and the step between.
    let mut trail = vec![(0, String::from("start"))];
    let mut level = vec![(0, start)];
    let mut extent = Extent { states: 1, steps: 0, depth: 0 };
    while !level.is_empty() && extent.depth < depth {
        let mut next = Vec::new();
        for (number, state) in level {
            let found = expand(&state, &mut |step, end| {
                extent.steps += 1;
                if seen.insert(key(&end)) {
                    next.push((trail.len(), end));
                    trail.push((number, step));
                }
            });
            found.map_err(|fault| format!("{fault}\nafter {}", way_to(&trail, number)))?;
        }
        extent.depth += usize::from(!next.is_empty());
        extent.states += next.len();
        level = next;
    }
    Ok(extent)
}

fn way_to(trail: &[(usize, String)], mut number: usize) -> String {
    let mut steps = Vec::new();
    while number != 0 {
        steps.push(trail[number].1.as_str());
        number = trail[number].0;
    }
    steps.reverse();
    steps.join(", ")
}

/// A debug print with every `Instant(..)` replaced by its distance from `now`, cut off where more
/// decides nothing (`reach`), and every number behind one of `names` by what `rename` makes of it.
pub fn relative(
    text: &str,
    now: u64,
    reach: (i128, i128),
    names: &[&str],
    rename: impl Fn(&str, u64) -> String,
) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let (before, tail) = rest.split_at(at);
        let end = tail.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(tail.len());
        let number: u64 = tail[..end].parse().expect("these are digits");
        out.push_str(before);
        if before.ends_with("Instant(") {
            let distance = i128::from(number) - i128::from(now);
            out.push_str(&distance.clamp(reach.0, reach.1).to_string());
        } else if let Some(name) = names.iter().find(|name| before.ends_with(**name)) {
            out.push_str(&rename(name, number));
        } else {
            out.push_str(&tail[..end]);
        }
        rest = &tail[end..];
    }
    out.push_str(rest);
    out
}
