//! This file knows which of some names was meant.

/// The one of `known` that is so near to `name` that it was meant.
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    if name.len() > LONGEST {
        return None;
    }
    // Whoever writes it in capitals has misspelled nothing else.
    let name = name.to_ascii_lowercase();
    let apart = |known: &str| strsim::damerau_levenshtein(&name, &known.to_ascii_lowercase());
    let nearest = known.into_iter().min_by_key(|known| apart(known));
    nearest.filter(|known| apart(known) <= known.len().div_ceil(3))
}

/// What to tell somebody who wrote `name`: which of `known` was meant, else all of them.
pub fn advice(name: &str, known: &[&str]) -> String {
    match nearest(name, known.iter().copied()) {
        Some(nearest) => format!("did you mean {nearest}?"),
        None => format!("there are: {}", known.join(", ")),
    }
}

/// Longer than any name there is, and short enough to compare with all of them.
const LONGEST: usize = 48;
