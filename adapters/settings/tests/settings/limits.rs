//! Absurd texts end at once, and secrets are not repeated.

use evenkeel_settings::{Place, Settings};

use crate::{refused, toml};

#[test]
fn a_huge_file_is_refused_by_its_size() {
    let huge = "a".repeat(100_000_000);
    let rule = "is 100000000 bytes long: must be at most 1 MiB";
    assert_eq!(refused(&huge), rule);
    assert_eq!(Settings::from_json(&huge).unwrap_err().to_string(), rule);
}

#[test]
fn endless_nesting_is_refused() {
    let deep = 10_000;
    let told = |text: &str| {
        let said = refused(text);
        assert!(said.ends_with("is nested too deeply") && !said.contains('\n'), "{said}");
        said.split(": ").next().unwrap_or_default().to_owned()
    };
    for (levels, column) in [(deep, 85), (81, 85), (32, 36), (33, 36)] {
        let lists = format!("a = {}{}", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(told(&lists), format!("line 1, column {column}"), "{levels}");
    }
    for levels in [33, 79, 90, deep] {
        let tables = format!("x = {}1{}", "{ a = ".repeat(levels), "}".repeat(levels));
        assert!(told(&tables).starts_with("line 1, column "), "{levels}");
        let dotted = format!("[retry]\n[{}b]\nc = 1", "a.".repeat(levels));
        assert!(told(&dotted).starts_with("line 2, column "), "{levels}");
        let key = format!("[retry]\n{}b = 1", "a.".repeat(levels));
        assert!(told(&key).starts_with("line 2, column "), "{levels}");
    }
    let allowed = refused(&format!("a = {}{}", "[".repeat(31), "]".repeat(31)));
    assert!(allowed.contains("a: there is no such setting"), "{allowed}");
    for json in [
        format!("{}1{}", "{\"a\":".repeat(deep), "}".repeat(deep)),
        format!("{{\"retry\":{}{}}}", "[".repeat(deep), "]".repeat(deep)),
    ] {
        let refused = Settings::from_json(&json).unwrap_err();
        assert_eq!(refused.problems()[0].rule(), "is nested too deeply");
    }
    assert!(Settings::from_json(&"[".repeat(1_000_000)).is_err());
}

#[test]
fn a_file_of_mistakes_is_told_in_part() {
    let many: String = (0..50_000).map(|number| format!("x{number} = 1\n")).collect();
    let refused = Settings::from_toml(&many).unwrap_err();
    assert_eq!((refused.problems().len(), refused.more()), (100, 49_900));
    assert!(refused.to_string().ends_with("\nand 49900 more"));
    let items = vec!["99"; 50_000].join(",");
    let refused = Settings::from_json(&format!("{{\"retry\":{{\"codes\":[{items}]}}}}"));
    assert_eq!(refused.unwrap_err().more(), 49_900);
}

#[test]
fn what_is_quoted_is_short() {
    let long = "a".repeat(10_000);
    let text =
        format!("[retry]\ncommit = \"{long}\"\n{long} = 1\n[timeout.per_method]\n{long} = 1\n");
    for line in refused(&text).lines() {
        assert!(line.len() < 300, "{line}");
    }
}

#[test]
fn a_key_in_the_place_of_its_path_is_not_repeated() {
    let key = "-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANBg\\n-----END PRIVATE KEY-----";
    for text in [
        format!("[channel.tls]\nkey_file = \"{key}\"\ncert_file = \"a\""),
        format!("[channel.tls]\nkey = \"{key}\""),
        format!("[health]\nservice = \"{key}\""),
        // Not even where the text is no TOML.
        format!("[channel.tls]\nkey_file = \"{key}"),
        format!("[channel.tls]\nkey_file = {key}"),
    ] {
        let refused = Settings::from_toml(&text).unwrap_err();
        assert!(!format!("{refused} {refused:?}").contains("MIIE"), "{refused}");
    }
    let variable = [("EVENKEEL__CHANNEL__TLS__KEY_FILE", key)];
    let refused = Settings::new().with_environment(variable).unwrap_err();
    assert!(!format!("{refused} {refused:?}").contains("MIIE"), "{refused}");
}

#[test]
fn it_is_printed_as_it_is_written() {
    assert_eq!(format!("{:?}", Settings::new()), "Settings");
    let settings = toml("[throttle]\n[channel.tls]\nca_file = \"/etc/ca.pem\"");
    let shown = format!("{settings:?}");
    let start = r#"Settings { throttle: { kind = "success_refilled", max_tokens = 10, "#;
    assert!(shown.starts_with(start), "{shown}");
    let end = r#", tls = { ca_file = "/etc/ca.pem" } } }"#;
    assert!(shown.ends_with(end), "{shown}");
}

#[test]
fn a_place_counts_characters_and_lines_of_any_kind() {
    let refused =
        Settings::from_toml("# ä\r\n[retry]\r\njitter = [\"ä\", 1] # ö\r\n\"ä\" = 1").unwrap_err();
    let places: Vec<_> = refused.problems().iter().map(|problem| problem.place()).collect();
    assert_eq!(places[0], Place::Text { line: 3, column: 10 }, "{refused}");
    let refused = Settings::from_json("\u{feff}{\"ä\": 1, \"retry\": 2}").unwrap_err();
    let places: Vec<_> = refused.problems().iter().map(|problem| problem.place()).collect();
    assert_eq!(
        places,
        [2, 19].map(|column| Place::Text { line: 1, column: column + 1 }),
        "{refused}"
    );
}

#[test]
fn what_is_just_within_a_limit_is_read() {
    let service = |length: usize| format!("[health]\nservice = \"{}\"", "a".repeat(length));
    toml(&service(4_096));
    assert!(refused(&service(4_097)).ends_with("must be one line of at most 4096 bytes"));
    let ratio = |digits: &str| format!("[throttle]\ntoken_ratio = {digits}");
    toml(&ratio("0.125"));
    toml(&ratio("0.1250"));
    assert!(refused(&ratio("0.1255")).ends_with("must have at most three decimals"));
    assert!(refused(&ratio("-0.12")).ends_with("from 0.001 to 1000.0, to three decimals"));
    // As many letters as the name that was meant may have, to be looked for among those there are.
    let near = |length: usize| {
        let key = format!("idempotent_method{}", "s".repeat(length - "idempotent_method".len()));
        refused(&format!("[retry]\n{key} = []")).contains("did you mean")
    };
    assert!(near(19) && !near(49));
}
