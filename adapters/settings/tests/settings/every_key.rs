//! Every key there is, from every source there is.

use evenkeel_settings::{Place, Problem, Settings};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::values::VALUES;

#[test]
fn the_values_are_of_every_key() {
    let paths = Settings::paths();
    for (row, _, _) in VALUES {
        assert!(paths.iter().any(|path| path == row), "`{row}`, a row of values.rs, is no key");
    }
    for (number, path) in paths.iter().enumerate() {
        let row = VALUES.get(number).map_or("", |(row, _, _)| row);
        assert_eq!(row, path, "`{path}` has no row in values.rs, or not in this place");
    }
    assert_eq!(VALUES.len(), paths.len(), "a key has a second row in values.rs");
}

#[test]
fn what_is_right_is_read_alike_from_every_source() {
    for (path, right, _) in VALUES {
        for value in *right {
            let value: Value = serde_json::from_str(value).unwrap();
            let file = nested(path, value.clone());
            let from_json = Settings::from_json(&file.to_string())
                .unwrap_or_else(|refused| panic!("{file}: {refused}"));
            let from_toml = Settings::from_toml(&toml_line(path, &value));
            assert_eq!(from_toml.as_ref(), Ok(&from_json), "{file}");
            let from_serde = serde_json::from_value::<Settings>(file.clone()).unwrap();
            assert_eq!(from_serde, from_json, "{file}");
            if let Some(words) = words(&value) {
                let variable = (variable(path), words);
                let from_variable = Settings::new().with_environment([variable.clone()]);
                assert_eq!(from_variable.as_ref(), Ok(&from_json), "{variable:?}");
            }
            comes_back(&from_json);
        }
    }
}

#[test]
fn what_is_wrong_is_refused_with_its_path_and_place() {
    for (path, _, wrong) in VALUES {
        for value in *wrong {
            let file = wrong_file(path, value);
            let refused = Settings::from_json(&file).expect_err(&file);
            let [problem] = refused.problems() else { panic!("{file}: {refused}") };
            let within = problem.path().strip_prefix(path).unwrap_or("not at all");
            assert!(matches!(within.chars().next(), None | Some('.' | '[')), "{file}: {problem}");
            assert!(matches!(problem.place(), Place::Text { line: 2, .. }), "{file}: {problem}");
            let Ok(value) = serde_json::from_str::<Value>(value) else { continue };
            if value.to_string().contains("null") {
                continue; // TOML has none.
            }
            let text = toml_line(path, &value);
            let refused = Settings::from_toml(&text).expect_err(&text);
            let [from_toml] = refused.problems() else { panic!("{text}: {refused}") };
            let said = |problem: &Problem| (problem.path().to_owned(), problem.rule().to_owned());
            assert_eq!(said(from_toml), said(problem), "{text}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever was accepted is the same after it was written and read again.
    #[test]
    fn any_accepted_file_comes_back(picks in prop::collection::vec(any::<prop::sample::Index>(), VALUES.len()), chosen in prop::collection::vec(any::<bool>(), VALUES.len())) {
        let mut file = json!({});
        for (((path, right, _), pick), chosen) in VALUES.iter().zip(&picks).zip(&chosen) {
            if *chosen && !right.is_empty() {
                let value: Value = serde_json::from_str(right[pick.index(right.len())]).unwrap();
                merge(&mut file, nested(path, value));
            }
        }
        // Right one by one; together some are not.
        if let Ok(settings) = Settings::from_json(&file.to_string()) {
            comes_back(&settings);
        }
    }

    #[test]
    fn no_text_panics(text in ".{0,200}") {
        let _ = Settings::from_toml(&text);
        let _ = Settings::from_json(&text);
        let _ = Settings::new().with_environment([("EVENKEEL__RETRY__CODES", &text)]);
        let _ = Settings::new().with_environment([(format!("EVENKEEL__{text}"), "1")]);
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let text = String::from_utf8_lossy(&bytes);
        let _ = Settings::from_toml(&text);
        let _ = Settings::from_json(&text);
    }

    /// Text that nearly is a settings file, which is where a parser is weakest.
    #[test]
    fn no_broken_file_panics(at in any::<prop::sample::Index>(), with in "\\PC{0,3}", gone in 0..40usize) {
        let mut text: Vec<char> = evenkeel_settings::reference::example().chars().collect();
        let at = at.index(text.len());
        text.splice(at..text.len().min(at + gone), with.chars());
        if let Ok(settings) = Settings::from_toml(&text.into_iter().collect::<String>()) {
            comes_back(&settings);
        }
    }
}

fn comes_back(settings: &Settings) {
    let toml = settings.to_toml();
    assert_eq!(Settings::from_toml(&toml).as_ref(), Ok(settings), "{toml}");
    let json = settings.to_json();
    assert_eq!(Settings::from_json(&json).as_ref(), Ok(settings), "{json}");
}

/// `{"retry": {"max_attempts": value}}`
fn nested(path: &str, value: Value) -> Value {
    path.rsplit('.').fold(value, |value, step| json!({ step: value }))
}

fn merge(file: &mut Value, more: Value) {
    match (file, more) {
        (Value::Object(file), Value::Object(more)) => {
            for (name, value) in more {
                merge(file.entry(name).or_insert(Value::Null), value);
            }
        }
        (file, more) => *file = more,
    }
}

/// With the key on the second line, and the value as it is written.
fn wrong_file(path: &str, value: &str) -> String {
    let (section, key) = path.rsplit_once('.').unwrap();
    let open: String = section.split('.').map(|step| format!("{{\"{step}\": ")).collect();
    let close = "}".repeat(section.split('.').count());
    format!("{open}{{\n  \"{key}\": {value}}}{close}")
}

fn toml_line(path: &str, value: &Value) -> String {
    let (section, key) = path.rsplit_once('.').unwrap();
    format!("[{section}]\n{key} = {}\n", inline(value))
}

fn inline(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", "))
        }
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| format!("{name:?} = {}", inline(value));
            format!("{{ {} }}", members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        // What JSON escapes is escaped alike in TOML.
        plain => plain.to_string(),
    }
}

fn variable(path: &str) -> String {
    format!("EVENKEEL__{}", path.to_uppercase().replace('.', "__"))
}

/// A value as the environment says it, if it can.
fn words(value: &Value) -> Option<String> {
    match value {
        Value::Array(items) => {
            items.iter().map(words).collect::<Option<Vec<_>>>().map(|it| it.join(","))
        }
        Value::Object(members) if !members.contains_key("proportional") => {
            let member =
                |(name, value): (&String, &Value)| Some(format!("{name}={}", words(value)?));
            members.iter().map(member).collect::<Option<Vec<_>>>().map(|it| it.join(", "))
        }
        Value::Object(_) => None,
        Value::String(text) => Some(text.clone()),
        plain => Some(plain.to_string()),
    }
}
