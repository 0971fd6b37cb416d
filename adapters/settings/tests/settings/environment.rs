//! What the environment says otherwise.

use evenkeel_settings::{Place, Settings};

use crate::toml;

#[test]
fn a_variable_wins_over_the_file_and_leaves_the_rest_of_it() {
    let settings = toml("[retry]\nmax_attempts = 5\njitter = \"full\"\n");
    let variables = [("EVENKEEL__RETRY__MAX_ATTEMPTS", "4"), ("HOME", "/root")];
    let settings = settings.with_environment(variables).unwrap();
    assert_eq!(settings, toml("[retry]\nmax_attempts = 4\njitter = \"full\"\n"));
}

#[test]
fn a_variable_turns_its_section_on() {
    let variables = [("EVENKEEL__BREAKER__MODE", "time")];
    let settings = Settings::new().with_environment(variables).unwrap();
    assert_eq!(settings, toml("[breaker]\nmode = \"time\""));
}

#[test]
fn tables_within_sections_are_reached() {
    let variables = [
        ("EVENKEEL__CHANNEL__TLS__CA_FILE", "/etc/ca.pem"),
        ("EVENKEEL__BALANCING__EJECTION__MAX_PERCENT", "20"),
    ];
    let settings = Settings::new().with_environment(variables).unwrap();
    let tls = settings.channel().unwrap().tls().unwrap();
    assert_eq!(tls.ca_file(), Some("/etc/ca.pem"));
    assert!(settings.balancing().unwrap().outlier().ejection().is_some());
}

#[test]
fn case_and_order_do_not_matter() {
    let variables = [
        ("evenkeel__retry__codes", "unavailable, 8"),
        ("EVENKEEL__TIMEOUT__PER_METHOD", "/a.B/C = 2s, /a.B/D = none"),
    ];
    let settings = Settings::new().with_environment(variables).unwrap();
    let other = variables.into_iter().rev();
    assert_eq!(Settings::new().with_environment(other).as_ref(), Ok(&settings));
    let methods: Vec<_> = settings.timeout().unwrap().per_method().map(|(name, _)| name).collect();
    assert_eq!(methods, ["/a.B/C", "/a.B/D"]);
}

#[test]
fn an_empty_value_is_an_empty_list_and_no_number() {
    let empty = [("EVENKEEL__RETRY__IDEMPOTENT_METHODS", "")];
    let settings = Settings::new().with_environment(empty).unwrap();
    assert_eq!(settings.retry().unwrap().idempotent_methods(), Some(&[][..]));
    assert!(Settings::new().with_environment([("EVENKEEL__RETRY__MAX_ATTEMPTS", "")]).is_err());
}

#[test]
fn every_mistake_is_told_by_the_name_of_its_variable() {
    let variables = [
        ("EVENKEEL__RETRY__MAX_ATTEMPTS", "0"),
        ("EVENKEEL__RETRY__MAX_ATEMPTS", "4"),
        ("EVENKEEL__TIMEOUT__DEFAULT", "10"),
        ("EVENKEEL__TIMEOUT__PER_METHOD", "/a.B/C=soon"),
        ("EVENKEEL__RETRYS", "1"),
        ("EVENKEEL__", "1"),
        ("EVENKEEL__BREAKER", "on"),
        ("EVENKEEL__BUDGET__MODE__STRICT", "true"),
    ];
    let refused = Settings::new().with_environment(variables).unwrap_err();
    assert!(refused.problems().iter().all(|problem| problem.place() == Place::Environment));
    let said = refused.to_string();
    let mut lines: Vec<_> = said.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "EVENKEEL__: there is no such setting; there are: timeout, budget, \
             wait_for_ready, retry, breaker, throttle, hedging, health, balancing, channel",
            "EVENKEEL__BREAKER = \"on\": is a table of settings: write a variable for each, \
             EVENKEEL__BREAKER__…",
            "EVENKEEL__BUDGET__MODE__STRICT (budget.mode) = {…}: must be \"floor\" or \"strict\"",
            "EVENKEEL__RETRYS: there is no such setting; did you mean retry?",
            "EVENKEEL__RETRY__MAX_ATEMPTS: there is no such setting; did you mean max_attempts?",
            "EVENKEEL__RETRY__MAX_ATTEMPTS = \"0\": must be a whole number from 1 to 65535",
            "EVENKEEL__TIMEOUT__DEFAULT = \"10\": needs a unit: \"10s\", \"10ms\", …",
            "EVENKEEL__TIMEOUT__PER_METHOD (\"/a.B/C\") = \"soon\": must be a number and a unit, such \
             as \"1.5s\" or \"250ms\"",
        ]
    );
}

#[test]
fn a_variable_that_is_an_underscore_short_is_refused_with_its_right_name() {
    for (name, right) in [
        ("EVENKEEL_RETRY__MAX_ATTEMPTS", "EVENKEEL__RETRY__MAX_ATTEMPTS"),
        ("EVENKEEL_RETRY_MAX_ATTEMPTS", "EVENKEEL__RETRY__MAX_ATTEMPTS"),
        ("EVENKEEL_RETRY__MAX_ATEMPTS", "EVENKEEL__RETRY__MAX_ATTEMPTS"),
        ("evenkeel_retry__max_attempts", "EVENKEEL__RETRY__MAX_ATTEMPTS"),
        (
            "EVENKEEL_MAX_ATTEMPTS",
            "EVENKEEL__RETRY__MAX_ATTEMPTS or EVENKEEL__HEDGING__MAX_ATTEMPTS",
        ),
        ("EVENKEEL_CHANNEL__TLS__CA_FILE", "EVENKEEL__CHANNEL__TLS__CA_FILE"),
        ("EVENKEEL_CHANNEL_TLS_CA_FILE", "EVENKEEL__CHANNEL__TLS__CA_FILE"),
        ("EVENKEEL_RETRY", "EVENKEEL__RETRY"),
        ("EVENKEEL_RETRY__NONSENSE", "EVENKEEL__RETRY__NONSENSE"),
    ] {
        let refused = Settings::new().with_environment([(name, "oops")]).unwrap_err();
        assert_eq!(refused.to_string(), format!("{name}: sets nothing; write {right}"));
        assert_eq!(refused.problems()[0].place(), Place::Environment);
    }
}

/// The prefix is right, and an underscore is missing further on.
#[test]
fn a_setting_whose_parts_are_run_together_is_told_with_its_right_name() {
    for (name, right) in [
        ("EVENKEEL__RETRY_MAX_ATTEMPTS", "EVENKEEL__RETRY__MAX_ATTEMPTS"),
        ("evenkeel__wait_for_ready_default", "EVENKEEL__WAIT_FOR_READY__DEFAULT"),
        ("EVENKEEL__CHANNEL_TLS_CA_FILE", "EVENKEEL__CHANNEL__TLS__CA_FILE"),
        ("EVENKEEL__CHANNEL__TLS_CA_FILE", "EVENKEEL__CHANNEL__TLS__CA_FILE"),
    ] {
        let said = Settings::new().with_environment([(name, "3")]).unwrap_err().to_string();
        let rest = format!(": there is no such setting; did you mean {right}?");
        assert!(said.ends_with(&rest) && !said.contains('\n'), "{said}");
    }
    let said = crate::refused("retry_max_attempts = 3");
    assert!(said.ends_with("did you mean retry.max_attempts?"), "{said}");
}

/// Whoever looks for what to mend finds what was set, and not what is made of it.
#[test]
fn a_variable_is_named_as_it_was_set() {
    for ((name, value), told) in [
        (
            ("EVENKEEL__RETY__MAX_ATTEMPTS", "3"),
            "EVENKEEL__RETY__MAX_ATTEMPTS (rety): there is no such setting; did you mean retry?",
        ),
        (
            ("evenkeel__Retry__max_attempts", "0"),
            "evenkeel__Retry__max_attempts = \"0\": must be a whole number from 1 to 65535",
        ),
        (
            ("EVENKEEL__RETRY__CODES", "14, UNAVAILBLE"),
            "EVENKEEL__RETRY__CODES ([1]) = \"UNAVAILBLE\": must be the name of a gRPC status code, \
             or its number from 1 to 16; did you mean UNAVAILABLE?",
        ),
        (
            ("EVENKEEL__TIMEOUT__PER_METHOD", "Get=1s"),
            "EVENKEEL__TIMEOUT__PER_METHOD (Get): must be the full name of a method, \
             \"/package.Service/Method\"",
        ),
        (
            ("EVENKEEL__TIMEOUT__PER_METHOD", "1s"),
            "EVENKEEL__TIMEOUT__PER_METHOD = \"1s\": must be a table of full method names to a span \
             of time such as \"1.5s\" or \"250ms\", longer than zero, or \"none\"; a table is written \
             name=value,name=value",
        ),
        (
            ("EVENKEEL__TIMEOUT__PER_METHOD__GET", "1s"),
            "EVENKEEL__TIMEOUT__PER_METHOD__GET: there is no such setting; a table is written \
             name=value,name=value",
        ),
        (
            ("EVENKEEL__RETRY__a b", "1"),
            "\"EVENKEEL__RETRY__a b\": there is no such setting; there are: ",
        ),
    ] {
        let said = Settings::new().with_environment([(name, value)]).unwrap_err().to_string();
        assert!(said.starts_with(told) && !said.contains('\n'), "{said}");
    }
    let total = [("EVENKEEL__BUDGET__TOTAL", "1s")];
    let margin = toml("[budget]\nsafety_margin = \"2s\"");
    let said = margin.with_environment(total).unwrap_err().to_string();
    assert!(said.starts_with("EVENKEEL__BUDGET__TOTAL (budget.safety_margin) = "), "{said}");
}

/// Names of methods and targets have their case, and what a variable is called has none.
#[test]
fn no_variable_is_an_entry_of_a_table() {
    for (name, value) in [
        ("EVENKEEL__TIMEOUT__PER_METHOD__/a.B/C", "2s"),
        ("EVENKEEL__WAIT_FOR_READY__PER_METHOD__/a.b/c", "false"),
        ("EVENKEEL__BUDGET__CALL_CAPS__/a.B/C", "2s"),
        ("evenkeel__balancing__weights__host:1", "2"),
        ("EVENKEEL__TIMEOUT__PER_METHOD__/a.B__/C", "2s"),
    ] {
        let refused = Settings::new().with_environment([(name, value)]).unwrap_err().to_string();
        let told = "there is no such setting; a table is written name=value,name=value";
        assert!(refused.starts_with(name) && refused.ends_with(told), "{refused}");
        assert!(!refused.contains('\n'), "{refused}");
    }
}

#[test]
fn a_variable_of_many_levels_is_refused() {
    let deep = format!("EVENKEEL__RETRY{}", "__A".repeat(100_000));
    let said = Settings::new().with_environment([(deep, "1")]).unwrap_err().to_string();
    assert!(said.ends_with("…: is nested too deeply") && said.len() < 150, "{said}");
}

/// A value of white space, or of none, can be seen.
#[test]
fn a_value_is_quoted() {
    for (value, shown) in [("", "\"\""), ("  4 ", "\"  4 \""), ("a\nb", "\"a\\nb\"")] {
        let variable = [("EVENKEEL__RETRY__MAX_ATTEMPTS", value)];
        let said = Settings::new().with_environment(variable).unwrap_err().to_string();
        let expected = format!("EVENKEEL__RETRY__MAX_ATTEMPTS = {shown}: must be a whole number");
        assert!(said.starts_with(&expected), "{said}");
    }
}

#[test]
fn a_name_that_nobody_wrote_is_told_shortly() {
    let long = format!("EVENKEEL_RETRY__{}", "Y".repeat(1 << 20));
    let said = Settings::new().with_environment([(long, "oops")]).unwrap_err().to_string();
    assert!(said.starts_with("EVENKEEL_RETRY__YYY") && said.len() < 160, "{said}");
    assert!(said.ends_with("Y…: sets nothing; write EVENKEEL__RETRY"), "{said}");
}

#[test]
fn variables_of_somebody_elses_are_left_alone() {
    let names = [
        "EVENKEEL",
        "EVENKEEL_",
        "EVENKEEL_HOME",
        "EVENKEEL_PYTHON",
        "EVENKEEL_RETRYING",
        "EVENKEELÄ",
        "EVENKEEL_Ä__RETRY",
        "MY_EVENKEEL_RETRY",
        "EVENKEELS_RETRY",
        "EVENKEEL_CHANNELS",
    ];
    let variables = names.map(|name| (name, "oops"));
    assert_eq!(Settings::new().with_environment(variables), Ok(Settings::new()));
}

#[test]
fn variables_that_contradict_each_other_are_refused() {
    let twice =
        [("EVENKEEL__RETRY__COMMIT", "on_headers"), ("evenkeel__retry__commit", "on_headers")];
    let said = Settings::new().with_environment(twice).unwrap_err().to_string();
    assert_eq!(said, "evenkeel__retry__commit: is there twice, in upper and in lower case");
    let beside = [("EVENKEEL__RETRY__CODES", "14"), ("EVENKEEL__RETRY__CODES__X", "14")];
    let said = Settings::new().with_environment(beside).unwrap_err().to_string();
    let reversed = Settings::new().with_environment(beside.into_iter().rev()).unwrap_err();
    assert_eq!(reversed.to_string(), said);
    assert_eq!(
        said,
        "EVENKEEL__RETRY__CODES: is the beginning of another variable that is set too"
    );
}

#[test]
fn a_file_and_a_variable_that_are_wrong_together_are_refused() {
    let settings = toml("[budget]\ntotal = \"1s\"");
    let margin = [("EVENKEEL__BUDGET__SAFETY_MARGIN", "1s")];
    let said = settings.with_environment(margin).unwrap_err().to_string();
    assert_eq!(said, "EVENKEEL__BUDGET__SAFETY_MARGIN = \"1s\": must be shorter than budget.total");
}
