//! What a person gets wrong on the command line is told in a person's words.

mod program;

use program::{evenkeel, file};

/// An outage of a few seconds, so that nobody waits for a test.
const SMALL: &str = "seeds = 1\nend = \"60s\"\n[fleet]\nclients = 10\nrate = 70.0\n[server]\n\
                     workers = 1\n[fault]\nstart = \"5s\"\nlength = \"10s\"\n";

#[test]
fn a_policy_is_not_a_scenario_and_the_other_way_round() {
    let policy = file("policy.toml", "[retry]\nmax_attempts = 2\n");
    let scenario = file("scenario.toml", SMALL);
    let inner = file("inner.toml", &format!("policy = \"scenario.toml\"\n{SMALL}"));
    let no_scenario = file("no-scenario.toml", "[fleet]\nclients = 0\n[server]\nx = 1\n");
    let no_policy = file("no-policy.toml", "[retry]\nmax_attempts = 0\n[throttle]\nx = 1\n");
    let no_config = file("no-config.json", "{\"methodConfig\": 3}");
    let neither = file("neither.toml", "nonsense = 1\n");
    let both = file("both.toml", "seeds = 1\n[retry]\n");
    for (arguments, words) in [
        (&["compare", &policy, &policy][..], "compare --scenario SCENARIO"),
        (&["compare", "naive", "steady"], "naive is a policy, and a scenario is needed here"),
        (&["simulate", &policy], "simulate SCENARIO --policy"),
        (&["check", "naive", "--scenario", &policy], "is a policy, and a scenario is needed"),
        (&["check", &scenario], "is a scenario, and a policy is needed here"),
        (&["explain", &scenario], "is a scenario, and a policy is needed here"),
        (&["simulate", &scenario, "--policy", &scenario], "is a scenario, and a policy is needed"),
        (&["simulate", &inner], "inner.toml: line 1: "),
        (&["simulate", &inner], "scenario.toml is a scenario, and a policy is needed here"),
        // Whatever else is wrong with them.
        (&["check", &no_scenario], "is a scenario, and a policy is needed here; try: "),
        (&["simulate", &no_policy], "is a policy, and a scenario is needed here; try: "),
        (&["simulate", &no_config], "is a policy, and a scenario is needed here; try: "),
        // Who can tell.
        (&["check", &neither], "nonsense"),
        (&["simulate", &both], "retry: there is no such key"),
    ] {
        let (_, errors) = evenkeel(arguments, 2);
        assert!(errors.contains(words), "{arguments:?}: {errors}");
        assert!(!words.contains("needed") || errors.lines().count() == 1, "{errors}");
    }
}

/// Not in those of the system, with its number.
#[test]
fn a_file_that_is_refused_is_told_in_words() {
    let scenario = file("words.toml", SMALL);
    let (folder, inside) = (env!("CARGO_TARGET_TMPDIR"), format!("{scenario}/x"));
    let long = format!("/{}.toml", "x".repeat(5_000));
    let is_no_folder = "a part of this path is a file, and no folder";
    for (arguments, path, words) in [
        (&["simulate"][..], "/no/such.toml", "there is no such file"),
        (&["simulate"], folder, "is a folder"),
        (&["simulate"], &inside, is_no_folder),
        (&["simulate"], &long, "the name is too long"),
        (&["check"], "/no/such.toml", "there is no such file"),
        (&["check", "steady", "--scenario"], "/no/such.toml", "there is no such file"),
        (&["simulate", &scenario, "--policy"], "/no/such.toml", "there is no such file"),
        (&["simulate", &scenario, "--html"], "/no/such/x", "there is no such folder"),
        (&["simulate", &scenario, "--html"], folder, "is a folder"),
        (&["simulate", &scenario, "--svg"], &scenario, "is a file, and a folder is needed"),
        (&["simulate", &scenario, "--svg"], &inside, is_no_folder),
        (&["check", "steady", "--junit"], "/no/such/x", "there is no such folder"),
        (&["check", "steady", "--junit"], &inside, is_no_folder),
    ] {
        let (_, errors) = evenkeel(&[arguments, &[path]].concat(), 2);
        assert_eq!(errors, format!("evenkeel: {path}: {words}\n"), "{arguments:?}");
    }
}

#[test]
fn a_number_that_is_none_is_refused_with_its_option_and_what_would_be_right() {
    for (arguments, words) in [
        (
            &["check", "kit", "--seeds", "abc"][..],
            "--seeds <SEEDS>': must be a whole number from 1 to 1000",
        ),
        (
            &["check", "kit", "--seeds", "-1"],
            "--seeds <SEEDS>': must be a whole number from 1 to 1000",
        ),
        (
            &["simulate", "x", "--seeds", "1001"],
            "--seeds <SEEDS>': must be a whole number from 1 to 1000",
        ),
        (
            &["explain", "kit", "--calls", "0"],
            "--calls <CALLS>': must be a whole number from 1 to 100",
        ),
        (
            &["explain", "kit", "--seed", "-1"],
            "--seed <SEED>': must be a whole number from 0 to 4294967295",
        ),
        (&["explain", "kit", "--takes", "5"], "--takes <SPAN>': \"5\" is no span of time; write a"),
        (&["explain", "kit", "--takes", "-5ms"], "--takes <SPAN>': \"-5ms\" is not a span from 0"),
        (
            &["explain", "kit", "--timeout", "soon"],
            "--timeout <SPAN>': \"soon\" is no span of time",
        ),
    ] {
        let (_, errors) = evenkeel(arguments, 2);
        assert!(errors.contains(words) && !errors.contains("tip:"), "{errors}");
    }
    evenkeel(&["explain", "kit", "--seed", "4294967295", "--takes", "0s", "--timeout", "1m"], 0);
}

#[test]
fn a_scenario_that_sets_nothing_is_said_to() {
    for text in ["", "# nothing\n", "[fleet]\n"] {
        let scenario = file("nothing.toml", text);
        // Refused before it is run, so that nobody waits for the standard outage.
        let arguments = ["simulate", &scenario, "--html", "/no/such/x"];
        let (_, errors) = evenkeel(&arguments, 2);
        let told = format!("evenkeel: {scenario} sets nothing: everything is at its default\n");
        assert!(errors.starts_with(&told), "{errors}");
    }
    let (_, errors) = evenkeel(&["simulate", &file("some.toml", SMALL), "--quick"], 0);
    assert!(!errors.contains("default"), "{errors}");
}

#[test]
fn a_misspelt_code_is_met_with_the_right_one() {
    for (wrong, right) in [
        ("unavaliable", "did you mean UNAVAILABLE?"),
        ("DEADLINE-EXCEDED", "did you mean DEADLINE_EXCEEDED?"),
        ("timout", "did you mean TIMEOUT?"),
        ("nonsense", "write UNAVAILABLE, OK and so on, a number from 0 to 16, or timeout"),
    ] {
        let (_, errors) = evenkeel(&["explain", "kit", "--fail", wrong], 2);
        assert!(errors.contains(right), "{errors}");
    }
    evenkeel(&["explain", "kit", "--fail", "deadline-exceeded,timeout"], 0);
}
