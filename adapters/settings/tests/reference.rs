//! What is made from the list of settings is checked in as it is made.

use std::fs;

use boon::{Compiler, SchemaIndex, Schemas};
use evenkeel_settings::{Settings, reference};
use serde_json::Value;

#[path = "settings/values.rs"]
mod values;

fn checked_in(path: &str) -> String {
    let path = format!("{}/{path}", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

const HOW: &str = "run: cargo run -p evenkeel-settings --example reference";

#[test]
fn the_files_are_current() {
    assert!(checked_in("../../docs/settings.md") == reference::page(), "{HOW}");
    assert!(checked_in("settings.schema.json") == reference::schema(), "{HOW}");
    assert!(checked_in("examples/settings.toml") == reference::example(), "{HOW}");
}

#[test]
fn the_example_is_every_default() {
    let sections: String = sections().map(|section| format!("[{section}]\n")).collect();
    let defaults = Settings::from_toml(&sections).unwrap();
    assert_eq!(Settings::from_toml(&reference::example()), Ok(defaults));
}

#[test]
fn the_example_names_every_setting() {
    let mut section = String::new();
    let mut named = Vec::new();
    for line in reference::example().lines() {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']').to_owned();
        } else if let Some((key, _)) = line.split_once(" = ")
            && !key.contains(' ')
        {
            named.push(format!("{section}.{}", key.trim_start_matches('#')));
        }
    }
    assert_eq!(named, Settings::paths());
}

/// What has no default is a comment, and right when it is none.
#[test]
fn the_samples_of_the_example_are_right() {
    let uncommented = reference::example()
        .lines()
        .map(|line| match line.strip_prefix('#') {
            Some(key) if !key.starts_with([' ', ':']) => key,
            _ => line,
        })
        .fold(String::new(), |text, line| text + line + "\n");
    let settings = Settings::from_toml(&uncommented).unwrap();
    assert!(settings.retry().unwrap().may_repeat("/orders.v1.Orders/ListRecent"));
    assert_eq!(settings.channel().unwrap().tls().unwrap().server_name(), Some("orders.internal"));
}

#[test]
fn the_page_has_every_setting_and_its_default() {
    let page = reference::page();
    for path in Settings::paths() {
        let (section, key) = path.rsplit_once('.').unwrap();
        let (_, part) = page.split_once(&format!("\n## [{section}]\n")).unwrap();
        let part = part.split("\n## ").next().unwrap();
        assert!(part.contains(&format!("| `{key}` | ")), "{path}");
    }
    assert!(page.contains("| `recovery_timeout` | `\"1m\"` |"));
}

#[test]
fn whatever_is_accepted_is_valid_by_the_schema() {
    let schema = Schema::new();
    for (path, right, wrong) in values::VALUES {
        for value in *right {
            let file = nested(path, value);
            assert_eq!(schema.refuses(&file), None, "{file}");
        }
        // The schema may be laxer than the code, never stricter.
        for file in wrong.iter().map(|value| nested(path, value)) {
            let is_wrong = schema.refuses(&file).is_some();
            assert!(!is_wrong || Settings::from_json(&file).is_err(), "{file}");
        }
    }
    let example = Settings::from_toml(&reference::example()).unwrap().to_json();
    assert_eq!(schema.refuses(&example), None);
    let with_schema = r#"{"$schema": "settings.schema.json", "retry": {}}"#;
    assert_eq!(schema.refuses(with_schema), None);
}

#[test]
fn the_schema_refuses_what_an_editor_should_show() {
    let schema = Schema::new();
    for wrong in [
        r#"{"retry": {"max_attempts": 0}}"#,
        r#"{"retry": {"max_attempts": 65536}}"#,
        r#"{"retry": {"max_atempts": 3}}"#,
        r#"{"retyr": {}}"#,
        r#"{"retry": {"initial_backoff": 10}}"#,
        r#"{"retry": {"initial_backoff": "10"}}"#,
        r#"{"retry": {"codes": ["NOPE"]}}"#,
        r#"{"retry": {"codes": [17]}}"#,
        r#"{"retry": {"jitter": 1.5}}"#,
        r#"{"retry": {"jitter": "some"}}"#,
        r#"{"breaker": {"mode": "other"}}"#,
        r#"{"channel": {"targets": []}}"#,
    ] {
        assert!(schema.refuses(wrong).is_some(), "{wrong}");
        assert!(Settings::from_json(wrong).is_err(), "{wrong}");
    }
}

struct Schema {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Schema {
    fn new() -> Self {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        let schema: Value = serde_json::from_str(&reference::schema()).unwrap();
        compiler.add_resource("settings.schema.json", schema).unwrap();
        let index = compiler.compile("settings.schema.json", &mut schemas).unwrap();
        Self { schemas, index }
    }

    fn refuses(&self, json: &str) -> Option<String> {
        let value: Value = serde_json::from_str(json).ok()?;
        self.schemas.validate(&value, self.index).err().map(|error| error.to_string())
    }
}

fn nested(path: &str, value: &str) -> String {
    let open: String = path.split('.').map(|step| format!("{{{step:?}: ")).collect();
    format!("{open}{value}{}", "}".repeat(path.split('.').count()))
}

fn sections() -> impl Iterator<Item = String> {
    let mut sections: Vec<_> = Settings::paths()
        .iter()
        .filter_map(|path| path.rsplit_once('.').map(|(section, _)| section.to_owned()))
        .collect();
    sections.dedup();
    sections.into_iter()
}
