//! The texts that the command reads and prints, to the byte.

mod program;

use std::path::Path;

use program::{evenkeel, file, path};

/// An outage of a few seconds, so that nobody waits for a test.
const SMALL: &str = "seeds = 1\nend = \"60s\"\n[fleet]\nclients = 10\nrate = 70.0\n[server]\n\
                     workers = 1\n[fault]\nstart = \"5s\"\nlength = \"10s\"\n";

/// Each second of each run, and nothing beside; the page says what each number is.
#[test]
fn comma_separated_values_have_the_columns_of_the_page() {
    let scenario = file("csv.toml", SMALL);
    let (text, _) = evenkeel(&["simulate", &scenario, "--csv"], 0);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/simulate.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, table) = page.split_once("\n| column | ").unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with("| `"));
    let told: Vec<&str> = rows.map(|row| row.split('`').nth(1).unwrap()).collect();
    assert_eq!(text.lines().next().unwrap().split(',').collect::<Vec<_>>(), told);
    assert_eq!(text.lines().count(), 1 + 60);
    let nowhere = path("csv-nowhere");
    for option in ["--html", "--svg"] {
        let (text, errors) = evenkeel(&["simulate", &scenario, "--csv", option, &nowhere], 2);
        assert!(text.is_empty() && errors.contains("'--csv' cannot be used with '--"), "{errors}");
        assert!(!Path::new(&nowhere).exists());
    }
}

/// As some editors write it: the readers of settings pass over it too.
#[test]
fn a_mark_of_the_byte_order_is_no_part_of_a_file() {
    let settings = "{\"retry\": {\"max_attempts\": 2}}";
    let config = "{\"methodConfig\": [{\"name\": [{}], \"timeout\": \"1s\"}]}";
    let (toml, empty) = ("[retry]\nmax_attempts = 2\n", "{}");
    for (name, text) in
        [("mark.json", settings), ("config.json", config), ("mark.toml", toml), ("no.json", empty)]
    {
        let plain = evenkeel(&["explain", &file(name, text)], 0);
        assert_eq!(evenkeel(&["explain", &file(name, &format!("\u{feff}{text}"))], 0), plain);
    }
    let scenario = file("mark-scenario.toml", &format!("\u{feff}{SMALL}"));
    evenkeel(&["simulate", &scenario, "--quick"], 0);
    let policy = file("mark.json", &format!("\u{feff}{settings}"));
    let (_, errors) = evenkeel(&["simulate", &policy], 2);
    assert!(errors.contains("is a policy, and a scenario is needed here"), "{errors}");
}
