//! This file knows how a text that a file holds is quoted to whoever wrote the file: as TOML writes
//! it, and not as Rust would.

/// A text in quotes, with an escape of TOML's for each character that cannot be seen. A terminal
/// obeys some of those.
///
/// ```
/// use evenkeel_settings::in_quotes;
///
/// assert_eq!(in_quotes("Get*"), "\"Get*\"");
/// assert_eq!(in_quotes("a\u{1b}[2J\n\"b\""), r#""a\u001b[2J\n\"b\"""#);
/// ```
pub fn in_quotes(text: &str) -> String {
    // Rust knows which characters cannot be seen, and writes some in its own way.
    let written = format!("{text:?}");
    let mut quoted = String::with_capacity(written.len());
    let mut letters = written.chars();
    while let Some(letter) = letters.next() {
        quoted.push(letter);
        if letter != '\\' {
            continue;
        }
        match letters.next() {
            Some('u') => {
                let digits = letters.by_ref().skip(1).take_while(|digit| *digit != '}');
                let digits: String = digits.collect();
                let is_long = digits.len() > 4;
                quoted.push_str(&if is_long {
                    format!("U{digits:0>8}")
                } else {
                    format!("u{digits:0>4}")
                });
            }
            Some('0') => quoted.push_str("u0000"),
            Some(same) => quoted.push(same),
            None => {}
        }
    }
    quoted
}

#[cfg(all(test, feature = "toml"))]
mod tests {
    use super::in_quotes;

    #[test]
    fn what_is_quoted_is_read_back_as_it_was() {
        let odd = [
            "",
            "\0",
            "\u{7f}\u{9b}\u{200b}\u{202e}",
            "\u{e0001}",
            r"\u{1b}",
            "\\\\u",
            "'\"",
            "ä\t\r",
        ];
        for text in odd {
            let quoted = in_quotes(text);
            let table: toml::Table = format!("a = {quoted}").parse().unwrap();
            assert_eq!(table["a"].as_str(), Some(text), "{quoted}");
            assert!(!quoted.contains(['\0', '\u{9b}', '\u{202e}', '\t']), "{quoted}");
        }
    }
}
