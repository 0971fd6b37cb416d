//! Calls are to a method on the policy's list, and everything that is said is about that method.

use std::path::{Path, PathBuf};
use std::process::Command;

use evenkeel_sim::{Named, ScenarioFile, read_policy};

/// Retried more than is good for a server: with a list of methods or without it.
const REPEATS: &str = "[timeout]\ndefault = \"10s\"\nattempt_timeout = \"500ms\"\n[retry]\n\
                       max_attempts = 4\ncodes = [\"UNAVAILABLE\", \"DEADLINE_EXCEEDED\"]\n";

/// An outage of a few seconds, so that nobody waits for a test.
const SMALL: &str = "seeds = 1\nend = \"60s\"\n[fleet]\nclients = 10\nrate = 70.0\n[server]\n\
                     workers = 1\n[fault]\nstart = \"5s\"\nlength = \"10s\"\n";

#[test]
fn a_policy_with_a_list_is_judged_for_a_method_on_it() {
    let listed = read("listed", &with_list("[\"Get*\", \"List*\"]"));
    let same = read("same", REPEATS);
    assert_eq!(format!("{:?}", listed.policy), format!("{:?}", same.policy));
    assert_eq!(words(&listed), "calls are to a method like Get*, which may be repeated");
    assert_eq!(words(&same), "calls are to any method; no list: every method is repeated");
    let asked = same.clone().calling("Get").unwrap();
    assert_eq!(words(&asked), "calls are to Get; no list: every method is repeated");
    assert!(listed.method.warning().is_none());
    for (list, path) in [
        ("[\"/orders.v1.Orders/Get\"]", "/orders.v1.Orders/Get"),
        ("[\"/orders.v1.Orders/*\"]", "/orders.v1.Orders/Method"),
    ] {
        let named = read("one", &with_list(list));
        assert_eq!((named.method.path(), named.policy.attempts()), (path, 4), "{list}");
    }
}

#[test]
fn of_the_listed_methods_it_is_the_one_with_the_most_time() {
    let list = with_list("[\"/a.A/Short\", \"/a.A/Long\", \"/a.A/Plain\"]");
    let times = "per_method = { \"/a.A/Short\" = \"1s\", \"/a.A/Long\" = \"60s\" }\n[retry]\n";
    let named = read("times", &list.replace("[retry]\n", times));
    assert_eq!(words(&named), "calls are to /a.A/Long, which may be repeated");
}

#[test]
fn another_method_is_another_policy_and_the_sums_follow() {
    let listed = read("asked", &with_list("[\"/orders.v1.Orders/Get\", \"List*\"]"));
    for (asked, shown, attempts) in [
        ("/orders.v1.Orders/Cancel", "/orders.v1.Orders/Cancel, which is not", 1),
        ("Cancel", "Cancel, which is not", 1),
        ("Get", "/orders.v1.Orders/Get, which may be", 4),
        ("List*", "a method like List*, which may be", 4),
        ("ListAll", "ListAll, which may be", 4),
    ] {
        let named = listed.clone().calling(asked).unwrap();
        assert_eq!(words(&named), format!("calls are to {shown} repeated"));
        assert_eq!(named.policy.attempts(), attempts, "{asked}");
        assert_eq!(named.method.may_be_repeated(), attempts > 1);
        let warned = named.warnings.iter().any(|warning| warning.contains("no simulated call"));
        assert_eq!(warned, attempts == 1, "{asked}: {:?}", named.warnings);
        assert_eq!(named.name, listed.name);
    }
    for wrong in ["", "/", "//", "Orders/Get", "/a/b/c", "a b", "*", "/orders.v1.Orders/"] {
        let why = listed.clone().calling(wrong).unwrap_err();
        assert!(why.contains("write \"/package.Service/Method\""), "{wrong}: {why}");
    }
}

#[test]
fn an_empty_list_is_warned_about_and_no_retries_are_not() {
    let named = read("empty", &with_list("[]"));
    let warning = named.method.warning().unwrap();
    assert!(warning.contains("the list retry.idempotent_methods is empty"), "{warning}");
    assert!(named.warnings.contains(&warning) && named.policy.attempts() == 1);
    let named = read("off", &with_list("[]").replace("max_attempts = 4", "max_attempts = 1"));
    assert_eq!(named.method.warning(), None);
    let preset = read_policy("no-retry", Path::new("")).unwrap();
    assert_eq!(words(&preset), "calls are to any method, which is not repeated");
    assert_eq!(preset.method.warning(), None);
}

/// What is counted is what `explain` comes to at most, whatever else the settings say.
#[test]
fn attempts_are_bounded_by_time_codes_and_the_list() {
    let time = "[timeout]\ndefault = \"2s\"\n[retry]\njitter = 0.0\n";
    let waits = |initial: &str| {
        format!(
            "{time}initial_backoff = \"{initial}\"\nmax_backoff = \"{initial}\"\nmax_attempts = 4\n"
        )
    };
    let any = "calls are to any method";
    let never = Some("the first wait is no shorter than the call's timeout");
    for (text, attempts, shown, warned) in [
        (waits("3s"), 1, ", which is not repeated", never),
        (waits("2s"), 1, ", which is not repeated", never),
        (waits("1999ms"), 2, "; no list: every method is repeated", None),
        (waits("1s"), 2, "; no list: every method is repeated", None),
        (waits("900ms"), 3, "; no list: every method is repeated", None),
        (waits("1ms"), 4, "; no list: every method is repeated", None),
        // The shortest wait counts.
        (waits("3s").replace("0.0", "\"full\""), 4, "; no list: every method is repeated", None),
        (waits("2100ms").replace("0.0", "0.1"), 2, "; no list: every method is repeated", None),
        (
            "[retry]\ncodes = []\n".into(),
            1,
            ", which is not repeated",
            Some("retry.codes is empty"),
        ),
        ("[hedging]\n".into(), 1, ", which is not repeated", Some("no call is hedged: ")),
        (
            "[hedging]\n[retry]\n".into(),
            3,
            "; no list: every method is repeated",
            Some("no call is hedged: "),
        ),
    ] {
        let named = read("bounded", &text);
        assert_eq!(
            (named.policy.possible_attempts(), words(&named)),
            (attempts, format!("{any}{shown}"))
        );
        let warnings = named.simulated_warnings();
        let is_told = |why: &str| warnings.iter().any(|warning| warning.contains(why));
        assert!(warned.is_none_or(is_told), "{text}: {warnings:?}");
        assert_eq!(named.method.warning().is_some(), warned.is_some(), "{text}");
        let path = file("bounded.toml", &text);
        let (told, _) = evenkeel(&["explain", path.to_str().unwrap(), "--takes", "0s"]);
        let made = told.matches(" goes out, ").count();
        let is_drawn = text.contains("full") || text.contains("0.1");
        assert!(made <= attempts.into() && (is_drawn || made == usize::from(attempts)), "{told}");
    }
    // What is on a list is hedged.
    let hedged = read("hedged", "[hedging]\n[retry]\nidempotent_methods = [\"Get*\"]\n");
    assert_eq!((hedged.policy.possible_attempts(), hedged.method.warning()), (2, None));
    let (policy, scenario) = (file("one.toml", &waits("3s")), file("small.toml", SMALL));
    let [policy, scenario] = [&policy, &scenario].map(|path| path.to_str().unwrap());
    let (text, _) = evenkeel(&["check", policy, "--scenario", scenario, "--seeds", "1"]);
    assert!(text.contains("At worst, one call makes 1 attempt and takes 2.00s."), "{text}");
    assert!(text.contains("\n  4 layers: 1\n"), "{text}");
}

#[test]
fn of_a_service_config_it_is_the_method_with_the_most_attempts() {
    let retry = |attempts: u8| {
        format!(
            r#""retryPolicy": {{ "maxAttempts": {attempts}, "initialBackoff": "0.1s",
            "maxBackoff": "1s", "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"] }}"#
        )
    };
    let text = format!(
        r#"{{ "methodConfig": [
            {{ "name": [{{}}], "timeout": "1s" }},
            {{ "name": [{{ "service": "a.A", "method": "Get" }}], {} }},
            {{ "name": [{{ "service": "b.B" }}], {} }} ] }}"#,
        retry(2),
        retry(4)
    );
    let path = file("config.json", &text);
    let named = read_policy(path.to_str().unwrap(), Path::new("")).unwrap();
    assert_eq!(words(&named), "calls are to a method like /b.B/*, which may be repeated");
    assert_eq!(named.policy.attempts(), 4);
    let get = named.clone().calling("Get").unwrap();
    assert_eq!((get.method.path(), get.policy.attempts()), ("/a.A/Get", 2));
    // By retrying all that it does not name, a service config says that they may be repeated.
    let all = file(
        "all.json",
        &format!("{{ \"methodConfig\": [{{ \"name\": [{{}}], {} }}] }}", retry(2)),
    );
    let all = read_policy(all.to_str().unwrap(), Path::new("")).unwrap();
    assert_eq!(words(&all), "calls are to any method, which may be repeated");
    let other = named.calling("/c.C/Other").unwrap();
    assert!(other.method.warning().unwrap().ends_with("/c.C/Other has no retryPolicy"));
}

#[test]
fn a_scenario_says_the_method_too_and_keeps_it_for_another_policy() {
    let policy = file("said.toml", &with_list("[\"Get*\"]"));
    let name = policy.to_str().unwrap();
    let text = format!("policy = \"{name}\"\nmethod = \"Cancel\"");
    let mut read = ScenarioFile::parse(&text, Path::new("")).unwrap();
    assert_eq!((read.policy.policy.attempts(), read.method()), (1, Some("Cancel")));
    read.use_policy(name, Path::new("")).unwrap();
    assert_eq!(read.policy.policy.attempts(), 1);
    read.use_method("Get").unwrap();
    assert_eq!(read.policy.policy.attempts(), 4);
    let wrong = ScenarioFile::parse("seeds = 1\nmethod = \"a b\"", Path::new("")).unwrap_err();
    assert!(wrong.starts_with("line 2: method: \"a b\" is none"), "{wrong}");
}

/// The linter's sums, the simulation and the explanation are about one method.
#[test]
fn the_command_never_contradicts_itself() {
    let policy = file("command.toml", &with_list("[\"Get*\", \"List*\"]"));
    let scenario = file("scenario.toml", SMALL);
    let (policy, scenario) = (policy.to_str().unwrap(), scenario.to_str().unwrap());
    let check = |more: &[&str]| {
        let first = ["check", policy, "--scenario", scenario, "--seeds", "1", "--deny-warnings"];
        let amp = ["--assert", "never == 0"];
        evenkeel(&[&first[..], &amp[..], more].concat())
    };
    let (text, status) = check(&[]);
    assert!(text.starts_with("command: calls are to a method like Get*, which may be"), "{text}");
    assert!(text.contains("one call makes 4 attempts") && text.contains("no warnings"), "{text}");
    assert!(text.contains("above 25 % load") && text.contains("✗ never == 0"), "{text}");
    assert_eq!(status, Some(1));
    let (text, status) = check(&["--method", "Cancel"]);
    assert!(text.contains("one call makes 1 attempt and"), "{text}");
    assert!(text.contains("warning: no simulated call may be repeated"), "{text}");
    assert!(!text.contains("% load.\n") && text.contains("✓ never == 0"), "{text}");
    assert_eq!(status, Some(1), "a warning is denied");

    for (method, attempts, repeated) in [("Get*", 4, "may be"), ("Cancel", 1, "is not")] {
        let (text, _) = evenkeel(&["explain", policy, "--method", method]);
        assert!(text.contains(&format!("{repeated} repeated")), "{text}");
        let end = ["the end after 1 attempt:", "the end after 4 attempts:"];
        assert!(text.contains(end[usize::from(attempts > 1)]), "{text}");
        assert_eq!(text.contains("warning: no simulated call"), attempts == 1, "{text}");
        let simulate = ["simulate", scenario, "--policy", policy, "--quick", "--method", method];
        let (text, _) = evenkeel(&simulate);
        assert!(text.contains(&format!("which {repeated} repeated.")), "{text}");
        assert_eq!(text.contains("warning: no simulated call"), attempts == 1, "{text}");
        let compare =
            ["compare", "--scenario", scenario, policy, "naive", "--quick", "--method", method];
        let (text, _) = evenkeel(&compare);
        assert!(text.contains(&format!("which {repeated} repeated.")), "{text}");
        assert_eq!(text.contains("command: warning: no simulated"), attempts == 1, "{text}");
    }
}

fn with_list(list: &str) -> String {
    format!("{REPEATS}idempotent_methods = {list}\n")
}

fn words(named: &Named) -> String {
    named.method.to_string()
}

fn read(name: &str, text: &str) -> Named {
    read_policy(file(&format!("{name}.toml"), text).to_str().unwrap(), Path::new("")).unwrap()
}

/// A file for this test alone.
fn file(name: &str, text: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("method");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn evenkeel(arguments: &[&str]) -> (String, Option<i32>) {
    let output = Command::new(env!("CARGO_BIN_EXE_evenkeel")).args(arguments).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() != Some(2), "{arguments:?}: {errors}");
    (String::from_utf8(output.stdout).unwrap(), output.status.code())
}
