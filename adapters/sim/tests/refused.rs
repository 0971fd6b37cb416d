//! A file that does not fit is refused with its name, the line, the key, and what would be right.

mod program;

use program::{evenkeel, file};

#[test]
fn every_problem_names_its_file_and_its_line() {
    let policy = file("twice.toml", "[retry]\nmax_attempts = 0\ncodez = []\n");
    let (_, errors) = evenkeel(&["check", &policy], 2);
    let lines: Vec<&str> = errors.trim_start_matches("evenkeel: ").lines().collect();
    assert_eq!(lines.len(), 2, "{errors}");
    for (line, place) in lines.iter().zip(["line 2", "line 3"]) {
        assert!(line.starts_with(&format!("{policy}: {place}, column")), "{errors}");
    }
    let scenario = file("partial.toml", "seeds = 1\n[fault]\nkind = \"partial\"\nshare = 2.0\n");
    let (_, errors) = evenkeel(&["simulate", &scenario], 2);
    assert!(errors.starts_with(&format!("evenkeel: {scenario}: line 4: fault.share")), "{errors}");
    let scenario = file("missing.toml", "seeds = 1\n[fault]\nkind = \"partial\"\n");
    let (_, errors) = evenkeel(&["simulate", &scenario], 2);
    assert!(errors.starts_with(&format!("evenkeel: {scenario}: line 2: fault.share")), "{errors}");
    let scenario = file("preset.toml", "seeds = 1\npolicy = \"stedy\"\n");
    let (_, errors) = evenkeel(&["simulate", &scenario], 2);
    assert!(errors.contains("preset.toml: line 2: policy: there is no preset"), "{errors}");
}

/// The file, the line, the key, and what would be right: never the reader's own words.
#[test]
fn what_does_not_fit_a_scenario_is_told_as_a_person_would() {
    let long = "x".repeat(1 << 16);
    for (text, told) in [
        (
            "[fault]\nkind = \"stal\"\n",
            "line 2: fault.kind = \"stal\": there is no such word; did you mean stall?",
        ),
        ("SEEDS = 1\n", "line 1: SEEDS: there is no such key; did you mean seeds?"),
        (
            "[server.law]\nkind = \"constant\"\n",
            "line 2: server.law: must be a word in quotes, and is a section\n",
        ),
        ("{\"seeds\": 1}\n", "is no TOML: it looks like JSON; write key = value\n"),
        ("seeds = 1\n[flet]\n", "line 2: flet: there is no such key; did you mean fleet?"),
        ("sead = 1\n", "line 1: sead: there is no such key; did you mean seed?"),
        (
            "fleet.clients = -1\n",
            "line 1: fleet.clients: must be a whole number from 1 to 5000000, and is -1",
        ),
        (
            "[fleet]\nrate = \"7\"\n",
            "line 2: fleet.rate: must be a number above zero, and is \"7\"",
        ),
        (
            "[fleet]\nrate = 1e400\n",
            "line 2: fleet.rate: must be a number above zero, and is 1e400",
        ),
        (
            "[fleet]\nlayers = 99999999999999999999 # too many\n",
            "line 2: fleet.layers: must be a whole number from 1 to 5, and is 99999999999999999999\n",
        ),
        (
            &format!("[fleet]\nlayers = 1{}\n", "0".repeat(99)),
            "line 2: fleet.layers: must be a whole number from 1 to 5, and is 10000",
        ),
        ("seeds = 3.5\n", "line 1: seeds: must be a whole number from 1 to 1000, and is 3.5\n"),
        (
            "[fleet]\npropagate_deadlines = 1\n",
            "line 2: fleet.propagate_deadlines: must be true or false, and is 1\n",
        ),
        (
            "end = {a = 1}\n",
            "line 1: end: must be a span of time with its unit, such as \"250ms\", and is a section\n",
        ),
        (
            "[fault]\nkind = {a = 1}\n",
            "line 2: fault.kind: must be a word in quotes, and is a section\n",
        ),
        (
            "[fault]\nkind = {stall = 1}\n",
            "line 2: fault.kind: must be a word in quotes, and is a section\n",
        ),
        (&format!("end = {}{}", "[".repeat(200), "]".repeat(200)), "line 1: nested too deeply\n"),
        (&format!("{}a = 1", "a.".repeat(200)), "nested too deeply\n"),
        ("[fleet]\nclients = 1_\n", "line 2: `_` may only go between digits\n"),
        ("end = \n", "line 1: string values must be quoted\n"),
        (
            "[server]\nservice = 10\n",
            "line 2: server.service: must be a span of time with its unit, such as \"250ms\", and is 10\n",
        ),
        ("[server]\nlaw = 1\n", "line 2: server.law: must be a word in quotes, and is 1\n"),
        ("[[fleet]]\nclients = 1\n", "line 1: fleet: no key here takes a list"),
        (
            "[fleet]\n\"a\\nb\" = 1\n",
            "line 2: fleet.\"a\\nb\": there is no such key; there are: clients",
        ),
        ("\n\nserver = 3\n", "line 3: server: must be a section, and is 3\n"),
        (
            "end = \"9 parsecs\"\n",
            "line 1: end: \"9 parsecs\" is no span of time; write a number and",
        ),
        (
            "end = \"invalid type: 1, expected u8\"\n",
            "line 1: end: \"invalid type: 1, expected u8\" is no span of time; write a number and",
        ),
        ("seeds = 1\nseeds = 2\n", "line 2: duplicate key"),
        ("policy = = 3", "line 1: "),
        (&format!("{long} = 1"), "line 1: xxx"),
        (&format!("end = \"{long}\""), "line 1: end: \"xxx"),
        ("end = \"1\\n\"\n", "line 1: end: \"1\\n\" is no span of time"),
        (&format!("[fault]\nkind = \"{long}\""), "line 2: fault.kind = \"xxx"),
    ] {
        let scenario = file("misread.toml", text);
        let (_, errors) = evenkeel(&["simulate", &scenario], 2);
        assert!(errors.starts_with(&format!("evenkeel: {scenario}: {told}")), "{errors}");
        assert!(errors.len() < scenario.len() + 300, "{errors}");
        for raw in ["expected", "unknown", "Raw", "TOML parse", "recur", "i128", "integer "] {
            assert!(
                !errors.contains(raw) || text.contains("= =") || text.contains(raw),
                "{errors}"
            );
        }
    }
}

/// The section of a preset that the core does not ship.
#[test]
fn a_model_that_is_none_is_refused_in_words() {
    for (text, told) in [
        ("budget = \"awss\"", "budget = \"awss\": there is no such word; did you mean aws?"),
        ("capacity = 3", "budget is missing"),
        ("budget = 3", "a key must be a word in quotes, and is 3\n"),
        ("budget = \"aws\"\ncapacity = 1", "cost is missing"),
        (
            "budget = \"mongodb\"\nratio = 0.1\ncapacitty = 1",
            "\"capacitty\": there is no such key; did you",
        ),
        (
            "budget = \"mongodb\"\nratio = 0.1\ncapacity = 1.5",
            "a key must be a whole number from 0 to 4294967295, and is 1.5\n",
        ),
        (
            "budget = \"mongodb\"\ncapacity = 1\nratio = -1.0",
            "ratio must be a number from 0 to 1000, and is -1\n",
        ),
        (
            "budget = \"mongodb\"\ncapacity = 1\nratio = nan",
            "ratio must be a number from 0 to 1000, and is NaN\n",
        ),
        (
            "budget = \"mongodb\"\ncapacity = 1\nratio = \"few\"",
            "a key must be a number, and is \"few\"\n",
        ),
    ] {
        let policy = file("model.toml", &format!("[model]\n{text}\n"));
        let (_, errors) = evenkeel(&["check", &policy], 2);
        assert!(
            errors.starts_with(&format!("evenkeel: {policy}: line 1: [model]: {told}")),
            "{errors}"
        );
    }
    let policy = file("none.toml", "model = 3\n");
    let (_, errors) = evenkeel(&["check", &policy], 2);
    assert_eq!(errors, format!("evenkeel: {policy}: line 1: model: must be a section\n"));
    // The settings beside it are told in the same run, each in its line.
    let policy = file("both.toml", "[model]\nbudget = \"awss\"\n\n[retry]\nmax_attempts = 0\n");
    let (_, errors) = evenkeel(&["check", &policy], 2);
    let told: Vec<&str> =
        errors.lines().map(|line| line.split(".toml: ").last().unwrap()).collect();
    let right = [
        "line 1: [model]: budget = \"awss\": there is no such word; did you mean aws?",
        "line 5, column 16: retry.max_attempts = 0: must be a whole number from 1 to 65535",
    ];
    assert_eq!(told, right, "{errors}");
    let deep = file("deep.json", &format!("{}{}", "[".repeat(200), "]".repeat(200)));
    let (_, errors) = evenkeel(&["check", &deep], 2);
    assert_eq!(errors, format!("evenkeel: {deep}: line 1, column 33: is nested too deeply\n"));
}

/// All of them, each in the line where it stands, as a policy's are.
#[test]
fn all_that_does_not_fit_a_scenario_is_told_at_once() {
    let text = "sead = 1\n[fleet]\nrate = \"7\"\nclients = -1 # few\n[fault]\nkind = \"stal\"\n\
                [server]\nservice = \"\"\"\n1\n\"\"\"\nlaw = 1\n";
    let scenario = file("all.toml", text);
    let (_, errors) = evenkeel(&["simulate", &scenario], 2);
    let place = |line: &str| line[line.find("line ")?..].split(':').next().map(str::to_owned);
    let places: Vec<Option<String>> = errors.lines().map(place).collect();
    let right = [1, 3, 4, 6, 8, 11].map(|line| Some(format!("line {line}")));
    assert_eq!(places, right, "{errors}");
    // Nobody mends a thousand at once.
    let many: String = (0..1_000).map(|key| format!("k{key} = 1\n")).collect();
    let (_, errors) = evenkeel(&["simulate", &file("many.toml", &many)], 2);
    assert_eq!(errors.lines().count(), 10, "{errors}");
}

/// Nor does a section that is none hide what is wrong elsewhere; what is in it is read by nobody.
#[test]
fn a_section_that_is_none_hides_no_other_mistake() {
    let text = "[flet]\nworker = 1\nrate = \"x\"\n[server]\nqueue_limt = 1\n[fault]\nkinds = \"stall\"\n\
                [extra]\na = { b = 1 }\n[fleet.more]\nx = 1\n[[lists]]\ny = 1\n[[server.law]]\nz = 1\n";
    let scenario = file("sections.toml", text);
    let (_, errors) = evenkeel(&["simulate", &scenario], 2);
    let told: Vec<&str> = errors.lines().map(|line| &line[line.find("line ").unwrap()..]).collect();
    let right = [
        "line 1: flet: there is no such key; did you mean fleet?",
        "line 5: server.queue_limt: there is no such key; did you mean queue_limit?",
        "line 7: fault.kinds: there is no such key; did you mean kind?",
        "line 8: extra: there is no such key; there are: policy, method, seeds, seed, end, \
         max_events, fleet, server, fault",
        "line 10: fleet.more: there is no such key; there are: clients, rate, think, layers, \
         propagate_deadlines",
        "line 12: lists: no key here takes a list",
        "line 14: server.law: no key here takes a list",
    ];
    assert_eq!(told, right, "{errors}");
}

/// What is beyond its bounds is told at once, as what is of the wrong kind; but not what follows from
/// it.
#[test]
fn all_that_is_out_of_bounds_is_told_at_once() {
    let text = "seeds = 0\n[fleet]\nclients = 0\nlayers = 5\n[server]\nworkers = 0\n\
                [fault]\nkind = \"partial\"\nstart = \"900h\"\n";
    let scenario = file("bounds.toml", text);
    let (_, errors) = evenkeel(&["simulate", &scenario], 2);
    let told: Vec<&str> = errors.lines().map(|line| &line[line.find("line ").unwrap()..]).collect();
    let right = [
        "line 1: seeds: must be from 1 to 1000",
        "line 3: fleet.clients: must be from 1 to 5000000",
        "line 6: server.workers: must be from 1 to 1000000; for a server that serves nothing use a \
         fault",
        "line 7: fault.share: kind = \"partial\" needs it: the share of the requests that fail, \
         such as 0.3",
        "line 7: fault: must begin and end within 30 days",
    ];
    assert_eq!(told, right, "{errors}");
}

/// The end that nobody wrote follows from the fault, and so the fault is told, with its line.
#[test]
fn a_run_that_a_fault_makes_too_long_is_told_of_the_fault() {
    for (text, told) in [
        (
            "[fault]\nstart = \"700h\"\nlength = \"600h\"\n",
            "line 1: fault: must begin and end within 30 days\n",
        ),
        (
            "\nfault.start = \"715h\"\nfault.length = \"4.95h\"\n",
            "line 2: fault: the run would end 330 s after it, and must end within 30 days; let the \
             fault end sooner, or set end\n",
        ),
        (
            "end = \"720h\"\n[fault]\nstart = \"700h\"\nlength = \"600h\"\n",
            "line 2: fault: must begin and end within 30 days\n",
        ),
        ("end = \"721h\"\n", "line 1: end: must be longer than zero and at most 30 days\n"),
    ] {
        let scenario = file("long.toml", text);
        let (_, errors) = evenkeel(&["simulate", &scenario], 2);
        assert_eq!(errors, format!("evenkeel: {scenario}: {told}"));
    }
}
