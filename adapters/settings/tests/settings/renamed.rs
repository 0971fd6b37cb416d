//! The names of grpc-client-kit's settings are answered with ours, as the page says them.

use evenkeel_settings::Settings;

use crate::refused;

/// A row of "Settings by their old names".
struct Row {
    theirs: Vec<String>,
    /// Names, and values in quotes.
    ours: Vec<String>,
    has_none: bool,
}

#[test]
fn every_old_name_of_the_page_is_answered_with_its_new_one() {
    let mut names = 0;
    for row in rows() {
        for (index, old) in row.theirs.iter().enumerate() {
            let paired = (row.theirs.len() == row.ours.len()).then(|| &row.ours[index]);
            let ours = paired.map_or(&row.ours[..], core::slice::from_ref);
            if row.ours.iter().any(|ours| ours == old || ours.starts_with('"')) && is_ours(old) {
                zero_and_null_are_answered(old, row.ours.last().unwrap());
            } else {
                let hint = hint_for(old);
                let gone = row.has_none && hint.contains("; leave it out: ");
                assert!(gone || ours.iter().any(|ours| answers(&hint, old, ours)), "{hint}");
            }
            names += 1;
        }
    }
    assert!(names >= 30, "{names}");
}

/// Everything that is said of an old name, in a section if it has one.
fn hint_for(old: &str) -> String {
    match old.split_once('.') {
        Some((section, "*")) => refused(&format!("[{section}]")),
        Some((section, key)) => refused(&format!("[{section}]\n{key} = 1")),
        None => refused(&format!("{} = 1", old.replace('*', "any"))),
    }
}

/// A key that kept its name is answered with its section, another with its whole name.
fn answers(hint: &str, old: &str, ours: &str) -> bool {
    match (old.split_once('.'), ours.split_once('.')) {
        (Some((theirs, old_key)), Some((section, key))) if old_key == key => hint
            .contains(&format!("{theirs}: there is no such setting; it is called {section} here")),
        (Some((_, old_key)), Some(_)) => {
            hint.lines().any(|line| line.contains(&format!("{old_key}: ")) && line.contains(ours))
        }
        _ => hint.split("; ").skip(1).any(|hint| hint.contains(ours)),
    }
}

/// What was none there is a word here, and the refusal names it.
fn zero_and_null_are_answered(path: &str, word: &str) {
    let (section, key) = path.split_once('.').unwrap();
    for value in ["0", "null"] {
        let value = match key {
            "per_method" => format!("{{\"/a.B/C\": {value}}}"),
            _ => value.to_owned(),
        };
        let json = format!("{{\"{section}\": {{\"{key}\": {value}}}}}");
        let said = Settings::from_json(&json).expect_err(&json).to_string();
        assert!(said.contains(word), "{json}: {said}");
    }
}

fn is_ours(path: &str) -> bool {
    Settings::paths().iter().any(|known| known == path)
}

/// Their keys in a section of ours: half of the file was brought over by hand.
#[test]
fn an_old_key_in_a_new_section_is_answered_too() {
    for (path, ours) in [
        ("channel.keepalive_time", "channel.keepalive_interval"),
        ("channel.KEEPALIVE-TIME", "channel.keepalive_interval"),
        ("breaker.retryable_codes", "retry.codes"),
        ("channel.max_reconnect_backoff", "channel.max_backoff"),
    ] {
        let (section, key) = path.split_once('.').unwrap();
        let said = refused(&format!("[{section}]\n{key} = 1"));
        let hint = format!("{path}: there is no such setting; it is called {ours} here");
        assert!(said.lines().next().unwrap().ends_with(&hint), "{said}");
    }
    let keepalive = refused("[channel]\nkeepalive_timeot = \"1s\"");
    assert!(keepalive.ends_with("did you mean keepalive_timeout?"), "{keepalive}");
}

/// Whoever comes from the code, or from another library, is met as well.
#[test]
fn the_names_of_code_are_answered_too() {
    for (path, ours) in [
        ("breaker.open_for", "breaker.recovery_timeout"),
        ("breaker.success_threshold", "breaker.successes_to_close"),
        ("breaker.failure-threshold", "breaker.fail_threshold"),
        ("breaker.max_trials", "breaker.half_open_max_calls"),
        ("retry.max_retries", "retry.max_attempts, which counts the first one too,"),
    ] {
        let (section, key) = path.split_once('.').unwrap();
        let said = refused(&format!("[{section}]\n{key} = 1"));
        let hint = format!("{path}: there is no such setting; it is called {ours} here");
        assert!(said.lines().next().unwrap().ends_with(&hint), "{said}");
    }
}

/// A key of the same section before one of another, or two; more are no answer.
#[test]
fn a_key_without_its_first_word_is_one_of_its_section() {
    for (path, hint) in [
        ("health.interval", "check_interval"),
        ("retry.limit", "replay_limit"),
        ("breaker.threshold", "fail_threshold"),
        ("timeout.method", "per_method"),
        ("health.quarantine", "balancing.quarantine"),
    ] {
        let (section, key) = path.split_once('.').unwrap();
        let said = refused(&format!("[{section}]\n{key} = 1"));
        assert!(said.ends_with(&format!("; did you mean {hint}?")), "{said}");
    }
    let two = refused("[retry]\nbackoff = \"1s\"");
    assert!(two.ends_with("; did you mean initial_backoff or max_backoff?"), "{two}");
    let three = refused("[channel]\ntimeout = \"1s\"");
    assert!(!three.contains("did you mean keepalive_timeout"), "{three}");
    let span = refused("[timeout]\ntimeout = \"1s\"");
    assert!(span.ends_with("did you mean default?"), "{span}");
}

#[test]
fn a_whole_old_section_is_answered_at_once() {
    let text = "[connectivity]\nkeepalive_time = \"30s\"\nkeepalive_timeout = \"10s\"\noptions = {}\n\
                [pool]\n[circuit_breaker]\nfail_threshold = 5\n";
    let here = |section| format!("there is no such setting; it is called {section} here");
    let expected = [
        format!("line 1, column 2: connectivity: {}", here("channel")),
        format!("line 2, column 1: connectivity.keepalive_time: {}", here("channel.keepalive_interval")),
        "line 4, column 1: connectivity.options: there is no such setting; leave it out: no channel \
         options are passed on"
            .to_owned(),
        format!("line 5, column 2: pool: {}", here("channel")),
        format!("line 6, column 2: circuit_breaker: {}", here("breaker")),
    ];
    assert_eq!(refused(text).lines().collect::<Vec<_>>(), expected);
    let variable = [("EVENKEEL__CONNECTIVITY__KEEPALIVE_TIME", "30")];
    let said = Settings::new().with_environment(variable).unwrap_err().to_string();
    assert!(said.contains("EVENKEEL__CONNECTIVITY__KEEPALIVE_TIME: "), "{said}");
    assert!(said.contains("channel.keepalive_interval"), "{said}");
}

/// Values too: whoever has renamed everything has nothing left to mend.
#[test]
fn values_under_old_names_are_checked_as_those_of_the_new_ones() {
    let text = "[circuit_breaker]\nfail_threshold = 0\nrecovery_timeout = 60\nnonsense = 1\n\
                [connectivity]\nkeepalive_time = 30\n[retry]\nretries = 0\nretryable_codes = [\"OK\"]\n\
                [balancer]\nweights = 3\n[balancer.ejection]\nfailure_threshold = 101\n";
    let said = refused(text);
    let span = "needs a unit: ";
    let whole = "must be a whole number from 1 to 65535";
    for line in [
        "line 1, column 2: circuit_breaker: there is no such setting; it is called breaker here",
        &format!("line 2, column 18: circuit_breaker.fail_threshold = 0: {whole}"),
        &format!("line 3, column 20: circuit_breaker.recovery_timeout = 60: {span}"),
        "line 4, column 1: circuit_breaker.nonsense: there is no such setting; there are: mode, ",
        &format!("line 6, column 18: connectivity.keepalive_time = 30: {span}"),
        &format!("line 8, column 11: retry.retries = 0: {whole}"),
        "line 9, column 20: retry.retryable_codes[0] = \"OK\": OK is no failure",
        "line 11, column 11: balancer.weights = 3: must be a table of targets",
        "line 13, column 21: balancer.ejection.failure_threshold = 101: must be",
    ] {
        assert!(said.lines().any(|told| told.starts_with(line)), "{line}: {said}");
    }
    assert_eq!(said.lines().count(), 14, "{said}");
    let variable = [("EVENKEEL__CIRCUIT_BREAKER__FAIL_THRESHOLD", "0")];
    let said = Settings::new().with_environment(variable).unwrap_err().to_string();
    assert!(
        said.contains(&format!("EVENKEEL__CIRCUIT_BREAKER__FAIL_THRESHOLD = \"0\": {whole}")),
        "{said}"
    );
}

/// Nothing is named that could not do it: no builder has a switch for messages or for metadata.
#[test]
fn what_has_no_switch_is_sent_to_none() {
    for (name, told) in [
        ("log_request", "leave it out: messages and metadata are never logged, and which levels"),
        (
            "success_log_level",
            "leave it out: messages and metadata are never logged, and which levels",
        ),
        ("sensitive_headers", "leave it out: messages and metadata are never logged"),
        ("sensitive_patterns", "leave it out: messages and metadata are never logged"),
        ("sensitive_methods", "it is set in code: Builder::sensitive"),
        ("logging_enabled", "it is set in code: Builder::spans"),
    ] {
        let said = refused(&format!("{name} = 1"));
        assert!(said.contains(&format!("{name}: there is no such setting; {told}")), "{said}");
    }
    // A threshold of health checks is no breaker's.
    for section in ["health", "health_checker"] {
        for (theirs, ours) in [("failure_threshold", "fall"), ("success_threshold", "rise")] {
            let said = refused(&format!("[{section}]\n{theirs} = 1"));
            let told = format!(
                "{section}.{theirs}: there is no such setting; it is called health.{ours} here"
            );
            assert!(said.contains(&told), "{said}");
        }
    }
}

#[test]
fn a_name_without_end_is_compared_with_nothing() {
    let long = "log_".repeat(1 << 17);
    let said = refused(&format!("{long} = 1"));
    assert!(said.ends_with(": there is no such setting") && said.len() < 200, "{said}");
}

fn rows() -> Vec<Row> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/migrating.md");
    let page = std::fs::read_to_string(page).unwrap();
    let chapter = page.split("### Settings by their old names").nth(1).unwrap();
    let table = chapter.split("\n\n").find(|part| part.starts_with("| there")).unwrap();
    table
        .lines()
        .skip(2)
        .map(|line| {
            let cells: Vec<&str> = line.split('|').collect();
            let [_, theirs, ours, _] = cells[..] else { panic!("{line}") };
            let has_none = ours.trim_start().starts_with("none");
            Row { theirs: names(theirs), ours: names(ours), has_none }
        })
        .collect()
}

/// What is in code quotes; a key without a section is in that of the one before it.
fn names(cell: &str) -> Vec<String> {
    let mut section = String::new();
    let mut names = Vec::new();
    for name in cell.split('`').skip(1).step_by(2) {
        if let Some((new, _)) = name.split_once('.') {
            section = format!("{new}.");
            names.push(name.to_owned());
        } else if name.starts_with('"') {
            names.push(name.to_owned());
        } else {
            names.push(format!("{section}{name}"));
        }
    }
    names
}
