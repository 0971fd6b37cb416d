//! The command answers what a person takes for something else, and says things where they look.

mod program;

use std::process::{Command, Stdio};

use program::{evenkeel, file, path};

/// An outage of a few seconds, so that nobody waits for a test.
const SMALL: &str = "seeds = 1\nend = \"60s\"\n[fleet]\nclients = 10\nrate = 70.0\n[server]\n\
                     workers = 1\n[fault]\nstart = \"5s\"\nlength = \"10s\"\n";

#[test]
fn a_reader_who_leaves_is_no_failure() {
    let scenario = file("pipe.toml", SMALL);
    for arguments in [
        &["presets"][..],
        &["presets", "steady"],
        &["explain", "kit", "--calls", "50"],
        &["simulate", &scenario, "--csv"],
        &["simulate", &scenario, "--quick"],
        &["check", "steady", "--scenario", &scenario, "--seeds", "1"],
        &["--help"],
    ] {
        assert_eq!(status_without_a_reader(arguments), Some(0), "{arguments:?}");
    }
    let check = ["check", "steady", "--scenario", &scenario, "--assert", "attempts.max == 9"];
    assert_eq!(status_without_a_reader(&check), Some(1), "the verdict stands");
    assert_eq!(status_without_a_reader(&["simulate", "/no/such"]), Some(2));
}

/// Both outputs go to a reader who has left, as after `2>&1 | head`.
fn status_without_a_reader(arguments: &[&str]) -> Option<i32> {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command.args(arguments).stderr(writer.try_clone().unwrap()).stdout(writer);
    command.status().unwrap().code()
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_failure() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    let output = command.arg("presets").stdout(full).stderr(Stdio::piped()).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.starts_with("evenkeel: standard output: the disk is full"), "{errors}");
    assert_eq!(output.status.code(), Some(2));
}

/// Nobody reads ten million lines.
#[test]
fn a_call_with_more_attempts_than_anybody_reads_is_told_in_short() {
    for (attempts, untold) in
        [(101, Some("1 more attempts")), (100, None), (65_535, Some("65435 more attempts"))]
    {
        let text = format!("[retry]\nmax_attempts = {attempts}\nmax_backoff = \"100ms\"\n");
        let (text, _) = evenkeel(&["explain", &file("many.toml", &text)], 0);
        assert_eq!(text.matches(" goes out, ").count(), 100, "{text}");
        let told = text.lines().find(|line| line.contains("... and "));
        assert_eq!(
            told.map(|line| line.trim_start_matches([' ', '.'])),
            untold.map(|words| format!("and {words}")).as_deref()
        );
        assert!(text.contains(&format!("the end after {attempts} attempts: ")), "{text}");
    }
}

/// Before it runs anything, and so before it prints anything.
#[test]
fn a_file_that_cannot_be_written_is_refused_at_once() {
    let scenario = file("unwritten.toml", SMALL);
    let (nowhere, under) = ("/no/such/folder/x", format!("{scenario}/x"));
    for path in [nowhere, &under, env!("CARGO_TARGET_TMPDIR")] {
        for arguments in [
            &["simulate", &scenario, "--html", path][..],
            &["compare", &scenario, &scenario, "--html", path],
            &["check", "steady", "--scenario", &scenario, "--junit", path],
        ] {
            let (text, errors) = evenkeel(arguments, 2);
            assert!(
                text.is_empty() && errors.starts_with(&format!("evenkeel: {path}: ")),
                "{errors}"
            );
        }
    }
    let (text, errors) = evenkeel(&["simulate", &scenario, "--svg", &under], 2);
    assert!(text.is_empty() && errors.starts_with(&format!("evenkeel: {under}: ")), "{errors}");
    let (_, errors) = evenkeel(&["simulate", &scenario, "--quick"], 0);
    let last = errors.lines().last().unwrap();
    assert!(last.starts_with("took ") && last.ends_with(" s"), "{errors}");
}

#[test]
fn two_policies_are_compared_in_one_scenario() {
    let scenario = file("one.toml", SMALL);
    let more = ["--html", &path("two.html"), "--quick"];
    let arguments = ["compare", "--scenario", &scenario, "naive", "no-retry"];
    let (text, _) = evenkeel(&[&arguments[..], &more[..]].concat(), 0);
    let head: Vec<&str> = text.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(head, ["naive", "no-retry"]);
    let row = text.lines().find(|line| line.starts_with("Time to recover, p95")).unwrap();
    assert!(row.contains("never") && row.contains(" s"), "{text}");
    let verdict = "\nBy p95, no-retry recovers, within ";
    let (_, end) = text.split_once(verdict).unwrap_or_else(|| panic!("{text}"));
    assert!(
        end.contains(" s, and naive does not: 100 % of its runs do not before they end.\n"),
        "{text}"
    );
    let (help, _) = evenkeel(&["compare", "--help"], 0);
    assert!(help.contains("one policy: a preset, or its file"), "{help}");
    let html = std::fs::read_to_string(path("two.html")).unwrap();
    for name in ["<h1>naive</h1>", "<h1>no-retry</h1>"] {
        assert!(html.contains(name));
    }
    // Their axes are marked alike.
    for (id, marks) in [("rates", "tick end"), ("herd", "tick end"), ("call", "tick middle")] {
        let of = |figure: &str| -> Vec<String> {
            let svg = figure.split("</figure>").next().unwrap();
            let begins = format!("<text class=\"{marks}\"");
            let marks = svg.split(&begins).skip(1).map(|mark| mark.split("</text>").next());
            // How high the picture of one call is depends on its attempts.
            let place = |mark: &str| match (id, mark.split('"').nth(1), mark.split('>').nth(1)) {
                ("call", Some(x), Some(word)) => format!("{x} {word}"),
                _ => mark.to_owned(),
            };
            marks.map(|mark| place(mark.unwrap())).collect()
        };
        let figures: Vec<&str> = html.split(&format!("<figure id=\"{id}\">")).skip(1).collect();
        let (left, right) = (of(figures[0]), of(figures[1]));
        assert!(left.len() > 3 && left == right, "{id}: {left:?} {right:?}");
    }
}

#[test]
fn a_misspelt_preset_is_met_with_the_right_one_or_with_all() {
    let scenario = file("presets.toml", SMALL);
    for arguments in [
        &["presets", "PRESET"][..],
        &["presets", "PRESET", "--rust"],
        &["check", "PRESET"],
        &["explain", "PRESET"],
        &["simulate", &scenario, "--policy", "PRESET"],
        &["compare", "--scenario", &scenario, "naive", "PRESET"],
    ] {
        for (wrong, right) in [
            ("stedy", "did you mean steady?"),
            ("grpc_a6", "did you mean grpc-a6?"),
            ("nonsense", "there are: steady, no-retry, naive, kit, "),
        ] {
            let arguments: Vec<&str> =
                arguments.iter().map(|it| if *it == "PRESET" { wrong } else { it }).collect();
            let (_, errors) = evenkeel(&arguments, 2);
            let told = format!("there is no preset called \"{wrong}\"");
            assert!(errors.contains(&told) && errors.contains(right), "{errors}");
        }
    }
}

#[test]
fn a_check_says_that_nothing_is_warned_about_and_what_more_clients_do() {
    let scenario = file("check.toml", SMALL);
    let check = |policy: &str| {
        let more = ["--scenario", &scenario, "--seeds", "1"];
        evenkeel(&[&["check", policy][..], &more[..]].concat(), 0).0
    };
    let text = check("steady");
    assert!(text.contains("until its retries are throttled or its breaker opens)\n"), "{text}");
    assert!(text.contains("  no warnings\n") && text.contains("10000 clients:"), "{text}");
    let load = "check.toml, 70 calls/s from more clients, each with a throttle and a breaker of";
    assert!(text.contains(load), "{text}");
    assert!(text.contains("  1 layer: ") && text.contains("  2 layers: "), "{text}");
    let careful = "[timeout]\n[retry]\nidempotent_methods = [\"Get*\"]\n[throttle]\n";
    let text = check(&file("careful.toml", careful));
    assert!(text.contains("\n  no warnings\n"), "{text}");
    // gRPC's example retries no DEADLINE_EXCEEDED; every preset is given a limit for an attempt.
    let text = check("grpc-a6");
    assert!(text.contains("  warning: timeout.attempt_timeout = 1s cuts an attempt off"), "{text}");
    assert!(text.contains("the attempts alone until its retries are throttled)\n"), "{text}");
    let text = check("breaker-only");
    assert!(text.contains("the attempts alone until its breaker opens)\n"), "{text}");
    assert!(text.contains("each with a breaker of its own") && text.contains("10000 c"), "{text}");
    let text = check("naive");
    assert!(text.contains("  (bounded by the attempts alone)\n"), "{text}");
    assert!(text.contains("as many from more clients are the same"), "{text}");
    assert!(!text.contains("no warnings") && text.contains("  warning: "), "{text}");
    for line in ["Attempts per call in the fault", "Added by the breaker"] {
        let line = text.lines().find(|row| row.contains(line)).unwrap();
        assert!(line.ends_with("  amp.mean") || line.ends_with("  breaker.seconds"), "{line}");
    }
}

/// As the guide tells to: written down, and checked where a warning is a failure.
#[test]
fn our_own_preset_is_warned_of_nowhere() {
    let scenario = file("ours-scenario.toml", SMALL);
    let (text, _) = evenkeel(&["presets", "steady"], 0);
    assert!(text.contains("\nidempotent_methods = [\"Get*\"] # yours: "), "{text}");
    for policy in ["steady", &file("ours.toml", &text)] {
        let more = ["--deny-warnings", "--scenario", &scenario, "--seeds", "1"];
        let (text, _) = evenkeel(&[&["check", policy][..], &more[..]].concat(), 0);
        assert!(
            text.contains(": calls are to a method like Get*, which may be repeated\n"),
            "{text}"
        );
    }
    // Another library's tries again whatever it was.
    let (text, _) = evenkeel(&["presets", "naive"], 0);
    assert!(!text.contains("idempotent_methods"), "{text}");
}

/// Without a timeout a stall of half an hour is no failure: each call was answered, in the end.
#[test]
fn a_policy_without_a_bound_is_warned_of_wherever_it_is_simulated() {
    let late = "warning: no timeout: every answer counts as good, however late\n";
    let scenario = file("endless-scenario.toml", SMALL);
    let empty = file("empty.toml", "");
    let json = file("empty.json", "{\"methodConfig\": []}");
    for policy in [&empty, &json] {
        let more = ["--scenario", &scenario, "--seeds", "1"];
        let (text, _) = evenkeel(&[&["check", policy][..], &more[..]].concat(), 0);
        assert!(text.contains(&format!("\n  {late}")) && !text.contains("no warnings"), "{text}");
        evenkeel(&[&["check", policy, "--deny-warnings"][..], &more[..]].concat(), 1);
        let (text, _) = evenkeel(&["simulate", &scenario, "--quick", "--policy", policy], 0);
        assert!(text.contains(&format!("\n{late}")), "{text}");
    }
    let (text, _) = evenkeel(&["compare", "--scenario", &scenario, "kit", &empty, "--quick"], 0);
    assert!(text.contains(&format!("\nempty: {late}")) && !text.contains("kit: w"), "{text}");
    for bounded in ["default = \"none\"\nattempt_timeout = \"1s\"", "default = \"1s\""] {
        let bounded = file("bounded.toml", &format!("[timeout]\n{bounded}\n"));
        let (text, _) = evenkeel(&["simulate", &scenario, "--quick", "--policy", &bounded], 0);
        assert!(!text.contains("no timeout"), "{text}");
    }
    let at_once = "[retry]\nmax_attempts = 65535\ninitial_backoff = \"0s\"\nmax_backoff = \"0s\"\n";
    let at_once = file("at-once.toml", at_once);
    let cut = file("at-once-scenario.toml", &format!("max_events = 1000\n{SMALL}"));
    let (text, _) = evenkeel(&["check", &at_once, "--scenario", &cut, "--seeds", "1"], 0);
    let words = "no backoff: a call that fails at once makes all its 65535 attempts at once\n";
    assert!(text.contains(late) && text.contains(words), "{text}");
    assert!(text.contains("one call makes 65535 attempts and may take for ever.\n"), "{text}");
    assert!(text.contains("\n  1 layer: 65535\n  2 layers: 4.3 × 10^9\n"), "{text}");
    assert!(text.contains("\n  4 layers: 1.8 × 10^19\n"), "{text}");
}

#[test]
fn a_report_holds_the_policy_it_is_about() {
    let policy = file("kept.toml", "# kept <for ever>\n[retry]\nmax_attempts = 2\n");
    let scenario = file("kept-scenario.toml", &format!("policy = \"kept.toml\"\n{SMALL}"));
    let html = path("kept.html");
    for more in [&[][..], &["--policy", &policy]] {
        let arguments = ["simulate", &scenario, "--quick", "--html", &html];
        evenkeel(&[&arguments[..], more].concat(), 0);
        let report = std::fs::read_to_string(&html).unwrap();
        let kept = "<summary>The policy</summary><pre># kept &lt;for ever&gt;\n[retry]";
        assert!(report.contains(kept) && report.contains("policy = &quot;kept.toml&quot;"));
        assert!(
            report.contains("In it, calls are to any method; no list: every method is repeated.")
        );
    }
    evenkeel(&["simulate", &scenario, "--quick", "--html", &html, "--policy", "steady"], 0);
    let report = std::fs::read_to_string(&html).unwrap();
    assert!(report.contains("max_attempts = 3") && !report.contains("for ever"));
}

/// It opens with the fifth failure, which is the second of the second call, and not at its end.
#[test]
fn a_breaker_s_change_is_told_when_it_happens() {
    let (text, _) = evenkeel(&["explain", "kit", "--calls", "2"], 0);
    let lines: Vec<&str> = text.lines().collect();
    let opened = lines.iter().position(|line| line.ends_with("the breaker opens")).unwrap();
    assert!(lines[opened - 1].ends_with("attempt 2 ends: UNAVAILABLE"), "{text}");
    assert_eq!(lines[opened][..12], lines[opened - 1][..12], "{text}");
    assert_eq!(text.matches("  the breaker ").count(), 1, "{text}");
    // It is told as it goes on, and in no word of a program.
    let soon = "[breaker]\nfail_threshold = 1\nrecovery_timeout = \"10ms\"\n\
                [retry]\njitter = \"none\"\n";
    let soon = file("soon.toml", soon);
    let (text, _) = evenkeel(&["explain", &soon, "--fail", "UNAVAILABLE,OK"], 0);
    for told in
        ["the breaker opens", "the breaker is half-open: this is a trial", "the breaker closes"]
    {
        assert!(text.contains(&format!("  {told}\n")), "{text}");
    }
}

#[test]
fn no_help_has_quotes_of_another_medium() {
    for command in ["check", "compare", "explain", "presets", "simulate", "speed", "validate"] {
        let (text, _) = evenkeel(&[command, "--help"], 0);
        assert!(!text.contains('`') && text.contains("Usage:"), "{text}");
    }
}

/// Nobody may write to it, and then nothing would be said for ever.
#[cfg(unix)]
#[test]
fn a_pipe_is_no_file_but_that_of_our_own_is_read() {
    use std::io::Write as _;

    let pipe = path("fifo.toml");
    let _ = std::fs::remove_file(&pipe);
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let scenario = file("beside.toml", SMALL);
    for arguments in [
        &["check", &pipe][..],
        &["check", "steady", "--scenario", &pipe],
        &["simulate", &pipe],
        &["simulate", &scenario, "--policy", &pipe],
        &["compare", &pipe, &scenario],
        &["explain", &pipe],
    ] {
        let (_, errors) = evenkeel(arguments, 2);
        assert_eq!(errors, format!("evenkeel: {pipe}: is no regular file\n"));
    }
    let mut explain = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
        .args(["explain", "/dev/stdin", "--fail", "14,OK"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    explain.stdin.take().unwrap().write_all(b"[retry]\n").unwrap();
    let output = explain.wait_with_output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("the end after 2 attempts: it succeeded"), "{text}");
}

/// As `simulate` says of an empty scenario; a section that is there is on, be it empty.
#[test]
fn a_policy_that_sets_nothing_is_said_to() {
    for (name, text, is_told) in [
        ("empty.toml", "", true),
        ("comment.toml", "# nothing yet\n", true),
        ("empty.json", "{}", true),
        ("section.toml", "[retry]\n", false),
    ] {
        let policy = file(name, text);
        let (_, errors) = evenkeel(&["explain", &policy], 0);
        let told = format!("evenkeel: {policy} sets nothing: every section of it is off\n");
        assert_eq!(errors, if is_told { told } else { String::new() });
    }
    let (_, errors) = evenkeel(&["explain", "no-retry"], 0);
    assert_eq!(errors, "", "a preset is meant as it is");
}

/// In the escapes of the file that it stands in, and not in those of the language we are written in.
#[test]
fn what_cannot_be_printed_is_told_as_the_file_writes_it() {
    let policy = file("odd.toml", "[retry]\n\"a\\u001bb\" = 1\njitter = \"\\u200b\"\n");
    let (_, errors) = evenkeel(&["check", &policy], 2);
    assert!(errors.contains("retry.\"a\\u001bb\": there is no such setting"), "{errors}");
    assert!(errors.contains("retry.jitter = \"\\u200b\": must be"), "{errors}");
    let keys = "policy = \"\\u001b[2J\"\n";
    let scenario = file("odd-policy.toml", keys);
    let (_, errors) = evenkeel(&["simulate", &scenario], 2);
    assert!(errors.contains("no preset called \"\\u001b[2J\", and"), "{errors}");
    let keys = "\"\\u0007\" = 1\nend = \"\\u0000\"\n[fault]\nkind = \"\\u009b\"\n";
    let scenario = file("odd-keys.toml", keys);
    let (_, errors) = evenkeel(&["simulate", &scenario], 2);
    for told in ["1: \"\\u0007\": ", "2: end: \"\\u0000\" is", "4: fault.kind = \"\\u009b\": "] {
        assert!(errors.contains(told), "{errors}");
    }
}
