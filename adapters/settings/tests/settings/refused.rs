//! How mistakes are told.

use evenkeel_settings::Settings;

use crate::refused;

#[test]
fn all_of_a_file_is_told_at_once_and_in_order() {
    let text = r#"
[timeout]
default = 10
per_metod = {}
max_attempts = 4

[retry]
max_attempts = 0
initial-backoff = "1s"
jitter = nan
codes = ["FOO", 14, 99]

[brekaer]

[breaker]
mode = "count"
window_calls = 10

[hedging]
delay = 2000-01-01
"#;
    let said = refused(text);
    let expected = [
        r#"line 3, column 11: timeout.default = 10: needs a unit: "10s", "10ms", …"#,
        "line 4, column 1: timeout.per_metod: there is no such setting; did you mean per_method?",
        "line 5, column 1: timeout.max_attempts: there is no such setting; did you mean \
         retry.max_attempts?",
        "line 8, column 16: retry.max_attempts = 0: must be a whole number from 1 to 65535",
        "line 9, column 1: retry.initial-backoff: there is no such setting; did you mean \
         initial_backoff?",
        "line 10, column 10: retry.jitter = nan: must be finite",
        "line 11, column 10: retry.codes[0] = \"FOO\": must be the name of a gRPC status code, or \
         its number from 1 to 16",
        "line 11, column 21: retry.codes[2] = 99: must be the name of a gRPC status code, or its \
         number from 1 to 16",
        "line 13, column 2: brekaer: there is no such setting; did you mean breaker?",
        "line 15, column 1: breaker.min_calls = 20: must be from 1 to breaker.window_calls",
        "line 20, column 9: hedging.delay = <date>: must be a span of time such as \"1.5s\" or \
         \"250ms\"",
    ];
    assert_eq!(said.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn a_text_that_is_no_toml_is_told_with_every_place() {
    let said = refused("a = \nb = = 3\n[x\n");
    assert!(said.lines().count() >= 3, "{said}");
    assert!(said.starts_with("line 1, column 5: "), "{said}");
}

#[test]
fn a_text_that_is_no_json_is_told_with_its_place() {
    let said = |json: &str| Settings::from_json(json).unwrap_err().to_string();
    assert_eq!(said(""), "line 1, column 1: EOF while parsing a value");
    assert_eq!(said("{\n  \"retry\": {,}\n}"), "line 2, column 13: key must be a string");
    assert_eq!(said("[]"), "line 1, column 1: […]: must be a table of settings");
    assert_eq!(said("{} {}"), "line 1, column 4: trailing characters");
    let twice = said(r#"{"retry": {}, "retry": {}}"#);
    assert_eq!(twice, "line 1, column 15: retry: is there twice");
    let half = said(r#"{"health": {"service": "a\ud800b"}}"#);
    assert!(half.starts_with("line 1, column 3"), "{half}");
}

/// A file with the wrong ending, or in a format that is not read.
#[test]
fn a_text_of_another_format_is_told_as_that() {
    let json = |text: &str| Settings::from_json(text).unwrap_err().to_string();
    let toml = "it looks like TOML, which is read from a file named .toml";
    for text in ["[retry]\nmax_attempts = 3", "[channel.tls]\n", "retry.max_attempts = 3", "[[a]]"]
    {
        assert_eq!(json(text), format!("line 1, column 1: is no JSON: {toml}"));
    }
    assert_eq!(
        json("\u{feff}# ours\n\n  [retry]\n"),
        format!("line 3, column 3: is no JSON: {toml}")
    );
    let yaml = "it looks like YAML, which is not read; write ";
    for text in ["retry:\n  max_attempts: 3", "---\nretry: {}", "retry: { max_attempts: 3 }"] {
        assert_eq!(json(text), format!("line 1, column 1: is no JSON: {yaml}TOML or JSON"));
        assert_eq!(refused(text), format!("line 1, column 1: is no TOML: {yaml}key = value"));
    }
    for text in ["{\"retry\": {}}", "\n {\n}"] {
        let said = refused(text);
        let rest = ": is no TOML: it looks like JSON, which is read from a file named .json";
        assert!(said.ends_with(rest) && !said.contains('\n'), "{said}");
    }
    // What is of the right format is told by its own mistake.
    for text in ["{\"retry\": {}", "[1, 2", "[\"a\", ]", "", "retry", "\"a\": 1"] {
        assert!(!json(text).contains("looks like"), "{text}");
    }
    for text in ["[retry\n", "a = \n", "retry", "a b: c", "http://a"] {
        assert!(!refused(text).contains("looks like"), "{text}");
    }
}

/// It would apply to nothing: only the list of what may be executed twice has patterns.
#[test]
fn a_star_where_one_method_is_named_is_refused() {
    let rule = "must be one full method, \"/package.Service/Method\"; a star has a meaning only in \
                retry.idempotent_methods";
    for (table, value) in [
        ("timeout.per_method", "\"1s\""),
        ("wait_for_ready.per_method", "true"),
        ("budget.call_caps", "\"1s\""),
    ] {
        for name in ["/shop.v1.Shop/*", "/shop.v1.Shop/Get*", "Get*", "*"] {
            let said = refused(&format!("[{table}]\n{name:?} = {value}"));
            assert_eq!(said, format!("line 2, column 1: {table}.{name:?}: {rule}"));
        }
    }
}

#[test]
fn b11_each_refusal_names_another_field() {
    let cases = [
        ("max_attempts = 0", "retry.max_attempts = 0: must be a whole number from 1 to 65535"),
        (
            "initial_backoff = \"-1s\"",
            "retry.initial_backoff = \"-1s\": must be a number and a unit",
        ),
        ("max_backoff = \"-1s\"", "retry.max_backoff = \"-1s\": must be a number and a unit"),
        ("multiplier = 0.5", "retry.multiplier = 0.5: must be a number from 1.0 to 65535.0"),
        ("jitter = 1.5", "retry.jitter = 1.5: must be a number from 0.0 to 1.0"),
        ("jitter = -0.1", "retry.jitter = -0.1: must be a number from 0.0 to 1.0"),
    ];
    for (line, said) in cases {
        let text = format!("[retry]\n{line}\n");
        assert!(refused(&text).contains(said), "{}", refused(&text));
    }
}

#[test]
fn l11_a_timeout_that_cannot_be_meant_is_refused_for_each_method_too() {
    for timeout in ["\"0s\"", "\"-1s\"", "inf", "\"9y\"", "\"99999999h\"", "0"] {
        assert!(refused(&format!("[timeout]\ndefault = {timeout}")).contains("timeout.default = "));
        let said = refused(&format!("[timeout.per_method]\n\"/a.B/C\" = {timeout}"));
        assert!(said.contains("timeout.per_method.\"/a.B/C\" = "), "{said}");
    }
}

#[test]
fn c35_a_breaker_that_could_not_work_is_refused() {
    for (key, value) in [
        ("fail_threshold", "0"),
        ("half_open_max_calls", "0"),
        ("successes_to_close", "0"),
        ("max_methods", "0"),
        ("recovery_timeout", "\"none\""),
        ("recovery_timeout", "\"99999999h\""),
    ] {
        let said = refused(&format!("[breaker]\n{key} = {value}"));
        assert!(said.contains(&format!("breaker.{key} = {value}: must be ")), "{said}");
    }
}

#[test]
fn a_misspelt_code_is_met_with_the_right_one() {
    for (wrong, hint) in [
        ("UNAVAILABEL", "16; did you mean UNAVAILABLE?"),
        ("unavaliable", "16; did you mean UNAVAILABLE?"),
        ("DEADLINE-EXCEEDED", "16; did you mean DEADLINE_EXCEEDED?"),
        ("Not Found", "16; did you mean NOT_FOUND?"),
        // Nothing is near, nothing is short enough to compare, and nobody means OK.
        ("FOO", "from 1 to 16"),
        ("OKK", "from 1 to 16"),
        ("", "from 1 to 16"),
        (&"UNAVAILABLE".repeat(1_000), "from 1 to 16"),
    ] {
        for (section, key) in [("retry", "codes"), ("hedging", "non_fatal_codes")] {
            let said = refused(&format!("[{section}]\n{key} = [\"{wrong}\"]"));
            assert!(said.ends_with(hint), "{said}");
        }
    }
    let variable = [("EVENKEEL__RETRY__CODES", "unavailabel,aborted")];
    let said = Settings::new().with_environment(variable).unwrap_err().to_string();
    assert!(said.ends_with("did you mean UNAVAILABLE?"), "{said}");
}

/// Zero is refused where it cannot be meant, and never read as the default.
#[test]
fn f21_zero_is_honoured_or_refused() {
    assert!(refused("[retry]\nmax_attempts = 0").contains("max_attempts = 0"));
    let settings = crate::toml("[retry]\ninitial_backoff = \"0s\"\nmax_hint = \"0s\"");
    let policy = settings.retry().unwrap().policy();
    assert!(policy.backoff().initial().is_zero() && policy.max_hint().is_zero());
}

#[test]
fn a_schema_is_for_editors_in_json_alone() {
    let json = r#"{"$schema": "settings.schema.json", "retry": {}}"#;
    assert_eq!(Settings::from_json(json).as_ref(), Ok(&crate::toml("[retry]")));
    assert!(Settings::from_json(r#"{"retry": {"$schema": "x"}}"#).is_err());
    assert!(refused("\"$schema\" = \"x\"").contains("there is no such setting"));
}

/// `main` prints what it returns with `Debug`.
#[test]
fn what_main_prints_of_a_refusal_is_what_it_says() {
    let refused = Settings::from_toml("[retry]\nmax_attempts = 0\ncodez = []\n").unwrap_err();
    assert_eq!(format!("{refused:?}"), refused.to_string());
    assert_eq!(format!("{refused:#?}").lines().count(), 2);
    let target = "orders".parse::<evenkeel_settings::target::TargetName>().unwrap_err();
    assert_eq!(format!("{target:?}"), target.to_string());
    let pattern = "*Get".parse::<evenkeel_settings::MethodPattern>().unwrap_err();
    assert_eq!(format!("{pattern:?}"), pattern.to_string());
    let invalid = evenkeel_core::Invalid::new("retry.max_attempts", 0, "", "must be at least 1");
    assert_eq!(format!("{invalid:?}"), "retry.max_attempts = 0: must be at least 1");
}
