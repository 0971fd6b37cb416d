//! Absurd scenarios end in a clear message, and soon.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A file that is gone afterwards.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str, text: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("evenkeel-{}-{name}", std::process::id()));
        std::fs::File::create(&path).unwrap().write_all(text).unwrap();
        Self(path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn evenkeel(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_evenkeel")).args(arguments).output().unwrap()
}

/// The message with which a scenario is refused.
fn refusal(name: &str, text: &str) -> String {
    let file = Temporary::new(name, text.as_bytes());
    let output = evenkeel(&["simulate", file.0.to_str().unwrap(), "--quick"]);
    assert_eq!(output.status.code(), Some(2), "{text}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn absurd_scenarios_are_refused_in_words() {
    for (name, text, words) in [
        ("zero.toml", "[server]\nworkers = 0", "server.workers: must be from 1"),
        (
            "million.toml",
            "[fleet]\nclients = 1\nrate = 1e6\n",
            "line 3: fleet.rate: 3.9 × 10^8 calls are more than the 20 million calls a run may have; lower the rate or shorten the run",
        ),
        ("most.toml", "[fleet]\nrate = 1e308\n", "line 2: fleet.rate: countless calls are more"),
        (
            "busy.toml",
            "[fleet]\nthink = \"0s\"\n[server]\nservice = \"1us\"",
            "line 2: fleet.think: 3.9",
        ),
        ("long.toml", "seeds = 1\nend = \"20h\"", "line 2: end: 5.0 × 10^7 calls are more"),
        ("late.toml", "[fault]\n\nstart = \"20h\"", "line 3: fault.start: 5.1 × 10^7 calls are"),
        ("lasting.toml", "[fault]\nlength = \"20h\"", "line 2: fault.length: 5.1 × 10^7 calls"),
        ("rate.toml", "[fleet]\nrate = -1.0\n", "above zero"),
        ("nan.toml", "[fleet]\nrate = nan\n", "above zero"),
        ("infinite.toml", "[fleet]\nrate = inf\n", "above zero"),
        ("negative.toml", "[fault]\nlength = \"-3s\"", "is not a span"),
        ("endless.toml", "end = \"9000h\"", "at most 30 days"),
        ("never.toml", "end = \"0s\"", "longer than zero"),
        (
            "early.toml",
            "end = \"20s\"",
            "line 1: end: must be at least 11 s after the fault, which ends at 60 s",
        ),
        (
            "soon.toml",
            "end = \"40.4s\"\n[fault]\nlength = \"500ms\"",
            "line 1: end: must be at least 11 s after the fault, which ends at 30.5 s",
        ),
        (
            "none.toml",
            "end = \"70.9s\"\n[fault]\nkind = \"none\"",
            "which for no fault, too, end at 60 s",
        ),
        ("unit.toml", "[server]\nservice = 10", "a span of time with its unit"),
        (
            "unknown.toml",
            "[server]\nworker = 10",
            "line 2: server.worker: there is no such key; did you mean workers?",
        ),
        ("section.toml", "[fleets]\n", "line 1: fleets: there is no such key; did you mean fleet?"),
        ("stedy.toml", "policy = \"stedy\"", "no such file; did you mean steady?"),
        ("preset.toml", "policy = \"nonsense\"", "no such file; there are: steady, "),
        ("file.toml", "policy = \"no/such.toml\"", "no/such.toml"),
        (
            "both.toml",
            "[fleet]\nrate = 1.0\nthink = \"1s\"",
            "line 3: fleet.think: is in place of fleet.rate; take one out",
        ),
        ("brownout.toml", "[fault]\nkind = \"brownout\"", "needs it"),
        ("full.toml", "[fault]\nkind = \"brownout\"\ncapacity = 1.0", "above 0 and below 1"),
        ("share.toml", "[fault]\nkind = \"partial\"\nshare = 2.0", "from 0 to 1"),
        ("seeds.toml", "seeds = 0", "seeds: must be from 1"),
        ("events.toml", "max_events = 0", "line 1: max_events: must be above zero"),
        ("clients.toml", "[fleet]\nclients = 0", "fleet.clients"),
        ("layers.toml", "[fleet]\nlayers = 9", "fleet.layers"),
        ("sigma.toml", "[server]\nsigma = 1.0", "belongs to law"),
        ("toml.toml", "policy = = 3", "line 1: "),
        ("slow.toml", "[server]\nservice = \"900h\"", "server.service: must be at most 30 days"),
        ("cost.toml", "[server]\nreject_cost = \"900h\"", "longer than 30 days to answer"),
        ("network.toml", "[server]\nnetwork = \"900h\"", "longer than 30 days to answer"),
        ("start.toml", "[fault]\nstart = \"900h\"", "must begin and end within 30 days"),
        ("length.toml", "[fault]\nlength = \"900h\"", "must begin and end within 30 days"),
        ("setup.toml", "[fault]\nkind = \"restart\"\nsetup = \"900h\"", "at most 30 days"),
        ("think.toml", "[fleet]\nthink = \"900h\"", "line 2: fleet.think: must be at most 30 days"),
    ] {
        let message = refusal(name, text);
        assert!(message.contains(words), "{text}: {message}");
    }
}

/// The shortest run there may be is long enough for the best there is.
#[test]
fn a_recovery_can_be_seen_in_the_shortest_run() {
    let text = "end = \"5.5s\"\nseeds = 1\n[fleet]\nclients = 1\nrate = 50.0\n[server]\nworkers = 1\n\
                [fault]\nkind = \"fail-fast\"\nstart = \"1s\"\nlength = \"500ms\"\n";
    refusal("shorter.toml", text);
    let file = Temporary::new("shortest.toml", text.replace("5.5s", "12.5s").as_bytes());
    let output =
        evenkeel(&["simulate", file.0.to_str().unwrap(), "--policy", "no-retry", "--quick"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("the calls are good as soon as the server is."), "{text}");
}

#[test]
fn a_file_of_a_hundred_megabytes_is_not_read() {
    let file = Temporary::new("large.toml", b"# ");
    std::fs::OpenOptions::new().write(true).open(&file.0).unwrap().set_len(100 << 20).unwrap();
    for command in ["simulate", "check", "explain"] {
        let output = evenkeel(&[command, file.0.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains("larger than 1 MiB"));
    }
}

#[test]
fn what_is_no_text_is_said_to_be_none() {
    let file = Temporary::new("binary.toml", &[0xff, 0xfe, 0]);
    let output = evenkeel(&["simulate", file.0.to_str().unwrap()]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("not text in UTF-8"));
    let output = evenkeel(&["simulate", "/no/such/file.toml"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn assertions_decide_the_exit_status() {
    let scenario = "end = \"20s\"\n[fault]\nkind = \"fail-fast\"\nstart = \"2s\"\nlength = \"2s\"";
    let file = Temporary::new("small.toml", scenario.as_bytes());
    let path = file.0.to_str().unwrap();
    let check = |assertion: &str| {
        let arguments =
            ["check", "no-retry", "--scenario", path, "--seeds", "1", "--assert", assertion];
        evenkeel(&arguments).status.code()
    };
    assert_eq!(check("recover.p95 < 60s"), Some(0));
    assert_eq!(check("attempts.max > 1"), Some(1));
    assert_eq!(check("success.during >= 50%"), Some(1));
    for wrong in ["recover.p96 < 60s", "never", "never == x", "recover.p95 < 60 parsecs"] {
        assert_eq!(check(wrong), Some(2), "{wrong}");
    }
}

#[test]
fn a_call_is_explained_step_by_step() {
    let output = evenkeel(&["explain", "kit", "--fail", "UNAVAILABLE,UNAVAILABLE,OK"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    assert!(text.contains("the end after 3 attempts: it succeeded"), "{text}");
    assert!(!evenkeel(&["explain", "kit", "--fail", "MAYBE"]).status.success());
    let by_number = evenkeel(&["explain", "kit", "--fail", "14,14,0"]);
    assert_eq!(String::from_utf8(by_number.stdout).unwrap(), text);
    for none in ["17", "-1", "1.5", "99999999999"] {
        let output = evenkeel(&["explain", "kit", &format!("--fail={none}")]);
        let told = format!(
            "--fail: \"{none}\" is no status code; write UNAVAILABLE, OK and so on, a number from 0"
        );
        assert!(String::from_utf8_lossy(&output.stderr).contains(&told), "{output:?}");
    }
    let policy = Temporary::new("wrong.toml", b"[retry]\nmax_attempts = 0\n");
    let output = evenkeel(&["explain", policy.0.to_str().unwrap()]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("max_attempts"));
}

#[test]
fn attempts_without_end_end() {
    let scenario =
        "max_events = 200_000\nseeds = 1\npolicy = \"POLICY\"\n[fault]\nkind = \"fail-fast\"";
    let policy = Temporary::new(
        "endless.toml",
        b"[retry]\nmax_attempts = 65535\ninitial_backoff = \"0s\"\nmax_backoff = \"0s\"\n",
    );
    let scenario = scenario.replace("POLICY", policy.0.to_str().unwrap());
    let file = Temporary::new("endless-scenario.toml", scenario.as_bytes());
    let output = evenkeel(&["simulate", file.0.to_str().unwrap(), "--quick"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let first = text.lines().nth(2).unwrap();
    let cut = "1 of 1 runs were cut short at max_events = 200000, and what is told of them is ";
    assert!(output.status.success() && first.starts_with(cut), "{text}");
}
