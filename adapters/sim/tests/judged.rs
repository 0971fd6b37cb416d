//! What `check` and `validate` judge, in words and for programs.

mod program;

use std::path::Path;
use std::sync::LazyLock;

use program::{evenkeel, file, path};

/// An outage of a few seconds, so that nobody waits for a test.
const SMALL: &str = "seeds = 1\nend = \"60s\"\n[fleet]\nclients = 10\nrate = 70.0\n[server]\n\
                     workers = 1\n[fault]\nstart = \"5s\"\nlength = \"10s\"\n";

#[test]
fn every_number_can_be_asserted_in_its_unit() {
    let lines = [
        ("attempts.max == 1", "1.00"),
        ("attempts.max <= 1.0", "1.00"),
        ("attempts.max >= 1", "1.00"),
        ("amp.mean == 1", "1.00"),
        ("amp.peak >= 0", ""),
        ("breaker.seconds == 0s", "0.0 s"),
        ("duration.max == 1000ms", "1.0 s"),
        ("duration.max <= 1s", "1.0 s"),
        ("never <= 100 %", " %"),
        ("recover.median >= 0s", ""),
        ("recover.p95 >= 0s", ""),
        ("safe.load >= 0 %", " %"),
        ("success.after <= 1", " %"),
        ("success.during < 100%", " %"),
        ("wasted >= 0", " %"),
    ];
    let (text, _) = check("no-retry", &lines.map(|(assertion, _)| assertion), &[], 0);
    for (assertion, got) in lines {
        let line = text.lines().find(|line| line.contains(assertion)).expect(assertion);
        assert!(line.starts_with("  ✓ ") && line.ends_with(got), "{line}");
    }
}

/// On which side it is of its bound, and by how much where that is little.
#[test]
fn a_number_is_told_with_the_digits_that_its_bound_needs() {
    let policy = |limit: &str| file("digits.toml", &format!("[timeout]\ndefault = \"{limit}\"\n"));
    for (limit, assertion, worst, told) in [
        ("1350ms", "duration.max == 1.35s", "1.35s", "✓ duration.max == 1.35s: 1.35 s"),
        ("4769100us", "duration.max > 4769ms", "4.77s", "✓ duration.max > 4769ms: 4.7691 s"),
        ("1999ms", "duration.max < 2s", "2.00s", "✓ duration.max < 2s: 1.999 s"),
        ("1999ms", "duration.max < 3s", "2.00s", "✓ duration.max < 3s: 2.0 s"),
        ("8001us", "duration.max < 1s", "8.1ms", "✓ duration.max < 1s: 0.0 s"),
        ("12001us", "duration.max > 12ms", "0.02s", "✓ duration.max > 12ms: 0.012001 s"),
    ] {
        let (text, _) = check(&policy(limit), &[assertion], &[], 0);
        assert!(text.contains(&format!("one call makes 1 attempt and takes {worst}.\n")), "{text}");
        assert!(text.contains(&format!("  {told}\n")), "{text}");
    }
}

#[test]
fn what_does_not_hold_is_said_and_fails() {
    for wrong in ["attempts.max < 1", "attempts.max > 1", "attempts.max >= 2", "amp.mean == 2"] {
        let (text, _) = check("no-retry", &["attempts.max == 1", wrong], &[], 1);
        assert!(text.contains("  ✓ attempts.max == 1: 1.00\n"), "{text}");
        assert!(text.contains(&format!("  ✗ {wrong}: 1.00\n")), "{text}");
    }
}

/// A worker that serves a million a second is too fast for the small fleets of other loads.
#[test]
fn what_is_too_large_at_other_loads_is_left_out_and_said_so() {
    let why = "its runs would have too many calls or events";
    let scenario = file("fast.toml", &SMALL.replace("workers = 1", "service = \"0s\""));
    let svg = path("fast");
    let (text, _) = evenkeel(&["simulate", &scenario, "--svg", &svg], 0);
    for what in ["The map leaves out 10 % load and more", "The safe load is not looked for"] {
        assert!(text.contains(&format!("{what}: {why}.")), "{text}");
    }
    assert!(!text.contains("Safe load for") && !Path::new(&svg).join("map.svg").exists(), "{text}");
    let all = ["check", "no-retry", "--scenario", &scenario, "--seeds", "1", "--assert"];
    evenkeel(&[&all[..], &["never == 0"]].concat(), 0);
    let (text, _) = evenkeel(&[&all[..], &["safe.load >= 0"]].concat(), 1);
    assert!(text.contains(&format!("  The safe load is not looked for: {why}.\n")), "{text}");
    assert!(text.contains(&format!("  ✗ safe.load >= 0: nothing, for {why}\n")), "{text}");
}

/// At another load calls would come at a rate, which is another fleet.
#[test]
fn what_clients_that_think_would_do_at_other_loads_is_left_out_and_said_so() {
    let why = "its calls would come at a rate, and not when a client has thought";
    let scenario = file("think.toml", &SMALL.replace("rate = 70.0", "think = \"100ms\""));
    let (text, _) = evenkeel(&["simulate", &scenario], 0);
    let told = format!("The map is not drawn: {why}. The safe load is not looked for: {why}.");
    assert!(text.contains(&told) && !text.contains("Safe load"), "{text}");
    let all = ["check", "no-retry", "--scenario", &scenario, "--assert", "safe.load >= 0"];
    let (text, _) = evenkeel(&all, 1);
    assert!(text.contains(&format!("  ✗ safe.load >= 0: nothing, for {why}\n")), "{text}");
}

/// Of what is dropped, refused, or never late, there is none.
#[test]
fn the_law_of_dead_work_is_told_only_where_it_holds() {
    let law = |policy: &str, scenario: &str| {
        let scenario = file("law.toml", scenario);
        let (text, _) = evenkeel(&["check", policy, "--scenario", &scenario, "--seeds", "1"], 0);
        let (_, after) = text.split_once("By the law attempts × load = 1, ")?;
        Some(after.split_once("cannot recover above ")?.1.split_once(" load")?.0.to_owned())
    };
    assert_eq!(law("naive", SMALL).as_deref(), Some("25 %"));
    for (fault, holds) in [("black-hole", true), ("fail-fast", false), ("none", false)] {
        let scenario = format!("{SMALL}kind = \"{fault}\"\n");
        assert_eq!(law("naive", &scenario).is_some(), holds, "{fault}");
    }
    for key in ["order = \"lifo\"", "order = \"drop-expired\"", "queue_limit = 500"] {
        let scenario = SMALL.replace("workers = 1", &format!("workers = 1\n{key}"));
        assert_eq!(law("naive", &scenario), None, "{key}");
    }
    for (fleet, rate) in [("layers = 2", "rate = 70.0"), ("think = \"100ms\"", "")] {
        let scenario = SMALL.replace("rate = 70.0", &format!("{fleet}\n{rate}"));
        assert_eq!(law("naive", &scenario), None, "{fleet}");
    }
    // As many as fit, where each runs into its time.
    for (timeout, told) in [
        ("default = \"1s\"", None),
        ("default = \"none\"", None),
        ("default = \"2s\"\nattempt_timeout = \"900ms\"", Some("50 %")),
        ("default = \"10s\"\nattempt_timeout = \"900ms\"", Some("33 %")),
    ] {
        let retry = "[retry]\nmax_attempts = 3\ncodes = [4, 14]\njitter = \"none\"";
        let policy = file("law-policy.toml", &format!("{retry}\n[timeout]\n{timeout}"));
        assert_eq!(law(&policy, SMALL).as_deref(), told, "{timeout}");
    }
}

/// The peak is that of a second, and whether an outage ends is seen in ten.
#[test]
fn no_assertion_that_too_few_calls_are_behind_holds() {
    let few = "nothing, for there are too few calls to judge by";
    let told = "Too few calls to judge whether the outage ends: fewer than one a second.";
    for (rate, served, never) in
        [("0.7", "10ms", false), ("7.0", "10ms", true), ("1.0", "1s", true)]
    {
        let text = SMALL.replace("rate = 70.0", &format!("rate = {rate}"));
        let text = text.replace("workers = 1", &format!("workers = 1\nservice = \"{served}\""));
        let scenario = file("few.toml", &text);
        let all =
            ["check", "steady", "--scenario", &scenario, "--seeds", "1", "--assert", "never >= 0"];
        let (text, _) = evenkeel(&all, if never { 0 } else { 1 });
        assert!(never || text.contains(&format!("  ✗ never >= 0: {few}\n")), "{text}");
        assert_eq!(text.contains(&format!("\n  warning: {told}\n")), !never, "{text}");
        let more = text.contains("Too few calls to judge what the same from more clients");
        assert_eq!(more, !never, "{text}");
        let (text, _) = evenkeel(&[&all[..7], &["amp.peak >= 0"]].concat(), 1);
        assert!(text.contains(&format!("  ✗ amp.peak >= 0: {few}\n")), "{text}");
        let slow = "its runs would have too few calls to judge by";
        let left_out = format!("The safe load is not looked for: {slow}.\n");
        assert_eq!(text.contains(&left_out), served == "1s", "{text}");
        let (text, _) = evenkeel(&["simulate", &scenario, "--quick"], 0);
        assert_eq!(text.matches(told).count(), if never { 0 } else { 2 }, "{text}");
        let (text, _) =
            evenkeel(&["compare", "--scenario", &scenario, "steady", "naive", "--quick"], 0);
        assert_eq!(text.contains("too few calls to judge which recovers sooner"), !never, "{text}");
    }
}

/// Whatever is asserted: what is simulated of a run that was cut says nothing.
#[test]
fn no_assertion_about_a_run_that_was_cut_holds() {
    let scenario = file("cut.toml", &format!("max_events = 1\n{SMALL}"));
    let (junit, cut) = (path("cut.xml"), "1 of 1 runs were cut short at max_events = 1, ");
    let check = |more: &[&str], status| {
        let all = ["check", "no-retry", "--scenario", &scenario, "--seeds", "1"];
        evenkeel(&[&all[..], more].concat(), status).0
    };
    for assertion in
        ["never == 0", "never > 0", "recover.p95 < 60s", "amp.peak < 9", "safe.load >= 0"]
    {
        let text = check(&["--assert", assertion, "--junit", &junit], 1);
        let got = "nothing, for a run was cut short at max_events";
        assert!(text.contains(&format!("  ✗ {assertion}: {got}\n")), "{text}");
        let (before, _) = text.split_once("In the outage").unwrap();
        assert!(before.contains(&format!("  warning: {cut}")), "{text}");
        assert!(std::fs::read_to_string(&junit).unwrap().contains(&format!("got {got}")));
    }
    // Nor is it a result for fleets of other sizes, which are cut as soon.
    let scenario_text = format!("max_events = 9000\n{SMALL}");
    let cut_later = file("cut-later.toml", &scenario_text);
    let (text, _) = evenkeel(&["check", "steady", "--scenario", &cut_later, "--seeds", "1"], 0);
    assert!(text.contains("10000 clients: cut short at max_events = 9000\n"), "{text}");
    assert!(text.contains("    10 clients: "), "{text}");
    let (text, _) = evenkeel(&["check", "breaker-only", "--scenario", &file("all.toml", SMALL)], 0);
    assert!(!text.contains("recovered never"), "{text}");
    // Arithmetic is not simulated.
    check(&["--assert", "attempts.max == 1"], 0);
    check(&["--deny-warnings"], 1);
    let html = path("cut.html");
    let (text, _) = evenkeel(&["simulate", &scenario, "--quick", "--html", &html], 0);
    assert!(text.lines().nth(2).unwrap().starts_with(cut), "{text}");
    assert!(std::fs::read_to_string(&html).unwrap().contains(&format!("\"conclusion\">{cut}")));
    let (_, errors) = evenkeel(&["simulate", &scenario, "--csv"], 0);
    assert!(errors.contains(&format!("evenkeel: {cut}")), "{errors}");
    let arguments = ["compare", "--scenario", &scenario, "steady", "naive", "--quick"];
    let (text, _) = evenkeel(&arguments, 0);
    assert!(text.starts_with(&format!("steady: {cut}")), "{text}");
}

#[test]
fn an_assertion_that_is_none_is_refused_with_what_would_be_right() {
    for (assertion, words) in [
        ("recover.p95", "write a number, one of < <= == >= >, and a bound"),
        ("speed < 1", "speed is no number of a check; those are recover.median, recover.p95, "),
        ("amp.mean < many", "\"many\" is no number"),
        ("amp.mean < inf", "\"inf\" is no number"),
        ("never < few %", "\"few %\" is no share"),
        ("duration.max < soon", "\"duration.max < soon\": "),
        ("duration.max < NaN", "\"duration.max < NaN\": "),
        ("recover.p95 < 60", "\"recover.p95 < 60\": needs a unit: 60s, 60ms, …\n"),
        ("duration.max <= 2", "needs a unit: 2s, 2ms, …\n"),
        ("breaker.seconds == 0", "needs a unit: 0s, 0ms, …\n"),
        ("recover.median < -1", "\"-1\" is no span of time"),
        ("never <= 5", "a share is at most 1: write 5 %, or a share from 0 to 1\n"),
        // They would hold whatever comes out, or never.
        ("never < 200%", "a share is from 0 to 100 %\n"),
        ("success.after > 950 %", "a share is from 0 to 100 %\n"),
        ("success.after >= -3 %", "a share is from 0 to 100 %\n"),
        ("success.after >= -3", "-3 is below zero, as no number here is\n"),
        ("amp.mean > -1", "-1 is below zero, as no number here is\n"),
    ] {
        let (_, errors) = check("no-retry", &[assertion], &[], 2);
        assert!(errors.contains(words), "{assertion}: {errors}");
    }
}

#[test]
fn a_ci_system_reads_the_verdicts() {
    let junit = path("verdicts.xml");
    let asserted = ["attempts.max == 1", "attempts.max < 1"];
    check("no-retry", &asserted, &["--junit", &junit], 1);
    let xml = std::fs::read_to_string(&junit).unwrap();
    assert_eq!(
        xml,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuite name=\"evenkeel check no-retry\" tests=\"3\" failures=\"1\">\n\
         \x20 <testcase classname=\"evenkeel\" name=\"warnings\"/>\n\
         \x20 <testcase classname=\"evenkeel\" name=\"attempts.max == 1\"/>\n\
         \x20 <testcase classname=\"evenkeel\" name=\"attempts.max &lt; 1\">\
         <failure message=\"got 1.00\"/></testcase>\n\
         </testsuite>\n"
    );
    // Warnings only count where they were forbidden.
    check("naive", &[], &["--junit", &junit], 0);
    assert!(std::fs::read_to_string(&junit).unwrap().contains("tests=\"1\" failures=\"0\""));
    check("naive", &[], &["--junit", &junit, "--deny-warnings"], 1);
    let xml = std::fs::read_to_string(&junit).unwrap();
    assert!(xml.contains("failures=\"1\"") && xml.contains("name=\"warnings\"><failure"), "{xml}");
    let (_, errors) = check("no-retry", &[], &["--junit", "/no/such/folder/a.xml"], 2);
    assert!(errors.contains("/no/such/folder/a.xml: "), "{errors}");
}

#[test]
fn a_validation_lists_every_number_it_compared() {
    let (text, _) = evenkeel(&["validate", "--only", "V7,V22"], 0);
    for line in ["\nV7 SRE book", "\nV22 RFC 7252"] {
        assert!(text.contains(line), "{text}");
    }
    let agree = text.matches("  ✓ ").count();
    assert!(agree >= 2 && text.ends_with(&format!("\n{agree} agree, 0 do not\n")), "{text}");
    let (json, _) = evenkeel(&["validate", "--only", "V22,V7", "--json"], 0);
    let rows: Vec<serde_json::Value> = serde_json::from_str(&json).unwrap();
    assert_eq!(rows.len(), agree);
    for row in rows {
        let sentence = format!(
            "{:<58} expected {:<18} {:<14} got {}",
            row["what"].as_str().unwrap(),
            row["expected"].as_str().unwrap(),
            row["tolerance"].as_str().unwrap(),
            row["got"].as_str().unwrap()
        );
        assert!(row["passes"] == true && text.contains(&sentence), "{sentence}\n{text}");
    }
}

#[test]
fn a_validation_that_there_is_not_is_met_with_those_there_are() {
    let (_, errors) = evenkeel(&["validate", "--only", "V7,V99"], 2);
    assert!(errors.starts_with("evenkeel: there is no check V99; there are V1, V2, "), "{errors}");
    assert!(errors.ends_with("V25 and outage\n"), "{errors}");
    // The help promises no range, in which there would be holes.
    let (help, _) = evenkeel(&["validate", "--help"], 0);
    assert!(help.contains("V1 and so on") && !help.contains("V1 to"), "{help}");
}

fn check(policy: &str, assertions: &[&str], more: &[&str], status: i32) -> (String, String) {
    static SCENARIO: LazyLock<String> = LazyLock::new(|| file("judged.toml", SMALL));
    let mut arguments = vec!["check", policy, "--scenario", &SCENARIO, "--seeds", "1"];
    for assertion in assertions {
        arguments.extend(["--assert", assertion]);
    }
    arguments.extend(more);
    evenkeel(&arguments, status)
}
