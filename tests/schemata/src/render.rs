//! This file knows how a choice between mutants is written down.

use crate::sites::{Site, What};
use std::{fmt::Write as _, ops::Range};

/// The source with every site made into a choice.
///
/// Each mutant stands on a line of its own and has its number there in a comment, so that a compiler
/// that refuses it says which one it was.
pub(crate) fn file(source: &str, sites: &[Site]) -> String {
    text(source, 0..source.len(), sites)
}

/// A part of the source; `sites` are those that may be in it, outer ones first.
fn text(source: &str, part: Range<usize>, sites: &[Site]) -> String {
    let mut written = String::new();
    let mut at = part.start;
    for (index, site) in sites.iter().enumerate() {
        // What lies in one that was written already was written with it.
        if site.whole.start < at || site.whole.end > part.end {
            continue;
        }
        written += &source[at..site.whole.start];
        written += &choice(source, site, &sites[index + 1..]);
        at = site.whole.end;
    }
    written + &source[at..part.end]
}

fn choice(source: &str, site: &Site, inner: &[Site]) -> String {
    let within = |part: &Range<usize>| text(source, part.clone(), inner);
    match &site.what {
        What::Body => {
            site.mutants.iter().fold(String::new(), |mut written, (number, value)| {
                let _ = write!(
                    written,
                    "\nif crate::chosen::is({number}) {{ return {value}; }} /*#{number}*/"
                );
                written
            }) + "\n"
        }
        What::Arm => {
            let never = site.mutants.iter().fold(String::new(), |mut written, (number, _)| {
                let _ = write!(written, "\n!crate::chosen::is({number}) /*#{number}*/");
                written
            });
            if site.whole.is_empty() {
                return format!(" if {never}\n");
            }
            format!("{never} && ({})", within(&site.whole))
        }
        What::Fields(fields) => {
            let without = |field: &Range<usize>| {
                within(&(site.whole.start..field.start)) + &within(&(field.end..site.whole.end))
            };
            let mut fields = fields.iter();
            let mutated = |_: &str| fields.next().map(without).unwrap_or_default();
            chain(site, mutated, &within(&site.whole))
        }
        What::Guard => chain(site, |value| value.to_owned(), &within(&site.whole)),
        What::Unary { operand } => {
            let operand = within(operand);
            let whole = format!("{}({operand})", &source[site.whole.start..site.whole.start + 1]);
            chain(site, |_| format!("({operand})"), &whole)
        }
        What::Binary { left, operator, right } => {
            let (left, right) = (within(left), within(right));
            let with = |operator: &str| format!("({left}) {operator} ({right})");
            chain(site, with, &with(&source[operator.clone()]))
        }
    }
}

fn chain(site: &Site, mut mutated: impl FnMut(&str) -> String, original: &str) -> String {
    let mut written = String::from("(");
    for (number, value) in &site.mutants {
        let mutated = mutated(value);
        let _ = write!(
            written,
            "if crate::chosen::is({number}) {{\n/*#{number}*/ {mutated} /*#{number}*/\n}} else "
        );
    }
    written + "{ " + original + " })"
}
