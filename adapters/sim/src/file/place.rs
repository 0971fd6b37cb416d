//! This file knows in which line of a text a key is.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What is wrong with a key, such as `fault.share`, with its line: that of the key, else of the
/// section it is missing from, else none.
pub(super) fn of(source: &str, key: &str, why: &str) -> String {
    match line(source, key) {
        Some(line) => format!("line {line}: {why}"),
        None => why.into(),
    }
}

/// The line itself.
pub(super) fn line(source: &str, key: &str) -> Option<usize> {
    let tree = DeTable::parse(source).ok()?;
    let mut table = tree.get_ref();
    let mut found = None;
    for step in key.split('.') {
        let here = table.iter().find(|(name, _)| &**name.get_ref() == step);
        let Some((name, value)) = here else { break };
        found = Some(name.span().start);
        match Spanned::get_ref(value) {
            DeValue::Table(inner) => table = inner,
            _ => break,
        }
    }
    Some(source.get(..found?)?.matches('\n').count() + 1)
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn a_key_is_in_its_line_and_a_missing_one_in_that_of_its_section() {
        let text = "end = \"20s\"\n\n[fault]\nkind = \"partial\"\nshare = 2.0\n";
        assert_eq!(of(text, "end", "why"), "line 1: why");
        assert_eq!(of(text, "fault.share", "why"), "line 5: why");
        assert_eq!(of(text, "fault.capacity", "why"), "line 3: why");
        assert_eq!(of(text, "fleet.rate", "why"), "why");
    }
}
