//! Every numeric key at its bounds, read off the JSON Schema: what lies within is read, what lies
//! beyond is refused, and nothing is clamped.

use evenkeel_settings::{Settings, reference};
use serde_json::{Value, json};

#[test]
fn every_number_is_bounded_where_the_schema_says() {
    let schema: Value = serde_json::from_str(&reference::schema()).unwrap();
    let mut numbers = Vec::new();
    find_numbers(&schema, String::new(), &mut numbers);
    assert!(numbers.len() > 25, "{numbers:?}");
    for (path, least, most, is_whole) in numbers {
        let step = if is_whole { 1.0 } else { 0.001 };
        let within = [least, most, least + step, most - step];
        let beyond = [least - step, most + step, -1.0, -0.001, 1e300, 0.0005];
        for number in within {
            let read = Settings::from_json(&file(&path, &written(number, is_whole)));
            // Nobody would be left.
            let none = path == "balancing.weights" && number == 0.0;
            assert_eq!(read.is_ok(), !none, "{path} = {number}: {read:?}");
        }
        for number in beyond
            .into_iter()
            .filter(|number| !(least..=most).contains(number) || *number == 0.0005)
        {
            let refused = Settings::from_json(&file(&path, &format!("{number}")));
            let refused = refused.expect_err(&format!("{path} = {number}"));
            assert!(refused.problems()[0].path().starts_with(&path), "{refused}");
        }
        for word in ["nan", "inf", "-inf", "+nan", "1e999", "-1e999", "99999999999999999999999"] {
            let (section, key) = path.rsplit_once('.').unwrap();
            let value = if path == "balancing.weights" {
                format!("{{ \"a:1\" = {word} }}")
            } else {
                word.into()
            };
            let text = format!("[{section}]\n{key} = {value}\n");
            let refused = Settings::from_toml(&text).expect_err(&text);
            assert_eq!(refused.problems().len(), 1, "{refused}");
        }
    }
}

/// Right by itself, and too much for the window it is of.
#[test]
fn a_window_of_calls_holds_the_calls_it_is_judged_from() {
    let refused = |keys: &str| Settings::from_toml(&format!("[breaker]\nmode = \"count\"\n{keys}"));
    assert!(refused("window_calls = 128\nmin_calls = 128").is_ok());
    for (keys, said) in [
        ("window_calls = 128\nmin_calls = 129", "line 4, column 13: breaker.min_calls = 129: "),
        ("min_calls = 327670", "line 3, column 13: breaker.min_calls = 327670: "),
        // At its default, it is the section that is wrong.
        ("window_calls = 19", "line 1, column 1: breaker.min_calls = 20: "),
    ] {
        let refused = refused(keys).unwrap_err().to_string();
        assert_eq!(refused, format!("{said}must be from 1 to breaker.window_calls"));
    }
    assert!(Settings::from_toml("[breaker]\nmode = \"time\"\nmin_calls = 327670").is_ok());
}

/// Those with a minimum and a maximum.
fn find_numbers(schema: &Value, path: String, numbers: &mut Vec<(String, f64, f64, bool)>) {
    if let (Some(least), Some(most)) = (schema["minimum"].as_f64(), schema["maximum"].as_f64()) {
        let is_whole = schema["type"] != json!("number");
        numbers.push((path.clone(), least, most, is_whole));
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let dot = if path.is_empty() { "" } else { "." };
        find_numbers(property, format!("{path}{dot}{name}"), numbers);
    }
    for inner in schema["anyOf"].as_array().into_iter().flatten() {
        if inner["type"] != json!("object") {
            find_numbers(inner, path.clone(), numbers);
        }
    }
    if schema["additionalProperties"].is_object() {
        find_numbers(&schema["additionalProperties"], path, numbers);
    }
}

fn written(number: f64, is_whole: bool) -> String {
    if is_whole { format!("{number:.0}") } else { format!("{number:.3}") }
}

fn file(path: &str, number: &str) -> String {
    let number = match path {
        "balancing.weights" => format!(r#"{{"a:1": {number}}}"#),
        _ => number.to_owned(),
    };
    let steps = path.split('.');
    let open: String = steps.clone().map(|step| format!("{{{step:?}: ")).collect();
    format!("{open}{number}{}", "}".repeat(steps.count()))
}
