//! This file knows which format somebody wrote who called a text by the name of another.
//!
//! A reader that meets another format stops at its first unknown character, and what it says of that
//! leads nowhere.

/// What a text can be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Format {
    Json,
    Toml,
    /// Nobody reads it here.
    Yaml,
}

/// The format that the first line with anything in it is of, and where that line begins; `None` where
/// it could be of several.
pub(super) fn looks_like(text: &str) -> Option<(usize, Format)> {
    let mut at = 0_usize;
    for line in text.split_inclusive('\n') {
        let said = line.trim_start_matches('\u{feff}').trim_start();
        let begins = at.saturating_add(line.len().saturating_sub(said.len()));
        at = at.saturating_add(line.len());
        if !said.is_empty() && !said.starts_with('#') {
            return of_line(said.trim_end()).map(|format| (begins, format));
        }
    }
    None
}

fn of_line(line: &str) -> Option<Format> {
    let is_key = |key: &str| {
        let key = key.trim_end();
        !key.is_empty()
            && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.\"".contains(&byte))
    };
    if line.starts_with('{') {
        return Some(Format::Json);
    }
    if line.starts_with("---") || line.starts_with("%YAML") {
        return Some(Format::Yaml);
    }
    if let Some((section, _)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let name = section.trim_start_matches('[').trim();
        let is_name = is_key(name) && name.starts_with(|first: char| first.is_ascii_alphabetic());
        return is_name.then_some(Format::Toml);
    }
    let end = line.find(['=', ':'])?;
    let (key, rest) = line.split_at(end);
    match rest.as_bytes() {
        [b'=', ..] if is_key(key) => Some(Format::Toml),
        [b':'] | [b':', b' ', ..] if is_key(key) && !key.starts_with('"') => Some(Format::Yaml),
        _ => None,
    }
}
