//! Spans of time, exactly.

use core::time::Duration;

use evenkeel_settings::Settings;
use proptest::prelude::*;

use crate::{refused, toml};

fn read(span: &str) -> Duration {
    toml(&format!("[budget]\nreserve_for_next = \"{span}\"")).budget().unwrap().reserve_for_next()
}

#[test]
fn a_span_is_what_it_says() {
    let cases = [
        ("0s", 0),
        ("10us", 10),
        ("10µs", 10),
        ("0.1ms", 100),
        ("250ms", 250_000),
        ("1.5s", 1_500_000),
        ("1.500000s", 1_500_000),
        ("0.000001s", 1),
        ("2m", 120_000_000),
        ("0.5m", 30_000_000),
        ("1.25h", 4_500_000_000),
        ("007s", 7_000_000),
        ("281474976710655us", (1 << 48) - 1),
    ];
    for (text, micros) in cases {
        assert_eq!(read(text), Duration::from_micros(micros), "{text}");
    }
}

#[test]
fn a_span_that_is_not_exact_or_has_no_unit_is_refused() {
    let cases = [
        ("\"0.0000001s\"", "must be whole microseconds"),
        ("\"0.3us\"", "must be whole microseconds"),
        ("\"281474976710656us\"", "must be less than 2^48 µs (8.9 years)"),
        ("\"9999999999999999999999h\"", "must be less than 2^48 µs (8.9 years)"),
        ("\"1d\"", "must end in a unit: us, ms, s, m or h"),
        ("\"1secs\"", "must end in a unit: us, ms, s, m or h"),
        ("\"1\"", "must end in a unit: us, ms, s, m or h"),
        ("\"1m30s\"", "must be a plain number and a unit, such as \"1.5s\" or \"250ms\""),
        ("\"1e9s\"", "must be a plain number and a unit, such as \"1.5s\" or \"250ms\""),
        ("\"1_000ms\"", "must be a plain number and a unit, such as \"1.5s\" or \"250ms\""),
        ("\"1,5s\"", "must be a plain number and a unit, such as \"1.5s\" or \"250ms\""),
        ("\"1 s\"", "must be a plain number and a unit, such as \"1.5s\" or \"250ms\""),
        ("\"-1s\"", "must be a number and a unit, such as \"1.5s\" or \"250ms\""),
        ("2.5", "needs a unit: \"2.5s\", \"2.5ms\", …"),
    ];
    for (value, rule) in cases {
        let said = refused(&format!("[budget]\nmin_timeout = {value}"));
        assert!(said.ends_with(rule), "{said}");
    }
}

#[test]
fn zero_is_not_none() {
    let said = refused("[timeout]\ndefault = \"0s\"");
    assert_eq!(
        said,
        "line 2, column 11: timeout.default = \"0s\": must be longer than zero, or \"none\""
    );
    assert_eq!(toml("[timeout]\ndefault = \"none\"").timeout().unwrap().default_timeout(), None);
    // "none" is a word where it means something, and nowhere else.
    assert!(refused("[budget]\nmin_timeout = \"none\"").contains("must be a number and a unit"));
}

/// Whoever writes zero for none is told the word, with the unit and without it, wherever the page of
/// settings says that there is such a word; and is not told it anywhere else.
#[test]
fn zero_is_answered_with_none_where_that_is_a_word() {
    let page = evenkeel_settings::reference::page();
    let (mut section, mut with_the_word, mut without) = ("", 0, 0);
    for line in page.lines() {
        section = line.strip_prefix("## [").map_or(section, |title| title.trim_end_matches(']'));
        let Some((key, may_be)) = line.strip_prefix("| `").and_then(|row| row.split_once('`'))
        else {
            continue;
        };
        let rule = if may_be.contains("longer than zero, or \"none\"") {
            with_the_word += 1;
            "must be longer than zero, or \"none\""
        } else if may_be.contains("longer than zero") {
            without += 1;
            "must be longer than zero"
        } else {
            continue;
        };
        for zero in ["0", "0.0", "\"0s\"", "\"0.0ms\""] {
            let value = match may_be.contains("a table of") {
                true => format!("{{ \"/a.B/C\" = {zero} }}"),
                false => zero.to_owned(),
            };
            let said = refused(&format!("[{section}]\n{key} = {value}"));
            assert!(said.ends_with(&format!(" = {zero}: {rule}")), "{said}");
        }
    }
    assert!(with_the_word >= 8 && without >= 8, "{with_the_word} and {without}");
}

proptest! {
    #[test]
    fn every_span_comes_back(micros in 0..1u64 << 48) {
        let settings = toml(&format!("[budget]\nreserve_for_next = \"{micros}us\""));
        let again = Settings::from_toml(&settings.to_toml()).unwrap();
        let span = again.budget().unwrap().reserve_for_next();
        prop_assert_eq!(span, Duration::from_micros(micros));
    }
}
