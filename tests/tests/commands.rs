//! Every command that a page shows is one that there is: packages, examples, test targets, parts of
//! the scripts, commands and options of `evenkeel`, files.
//!
//! Whether it does what the page says is for the scripts that run it; this finds what was renamed.

use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn every_command_on_a_page_exists() {
    let mut seen = 0;
    for page in pages(&root()) {
        let text = fs::read_to_string(&page).unwrap();
        for command in commands(&text) {
            seen += 1;
            if let Err(why) = check(&command) {
                panic!("{} shows `{command}`: {why}", page.display());
            }
        }
    }
    assert!(seen > 40, "only {seen} commands were found");
}

/// A newcomer asks the scripts before any page, and gets it wrong once.
#[cfg(unix)]
#[test]
fn the_scripts_tell_their_parts() {
    for script in ["tests/run", "tests/deep"] {
        let source = fs::read_to_string(root().join(script)).unwrap();
        let starts = source.lines().filter_map(|line| line.strip_prefix("part_"));
        let parts: Vec<&str> = starts.filter_map(|line| line.strip_suffix("() {")).collect();
        let two = parts[..2].join(" ");
        let help = said(0, script, "--help");
        assert!(parts.len() > 10 && help.contains(script), "{help}");
        for text in [help, said(2, script, "nonsense"), said(2, script, &two), said(2, script, "")]
        {
            for part in &parts {
                let listed = text.split_whitespace().any(|word| word == *part);
                assert!(listed, "{script} does not list {part}: {text}");
            }
        }
    }
}

/// Nor does one that changes the sources begin with it when it is asked what it does.
#[cfg(unix)]
#[test]
fn the_scripts_tell_what_they_do_and_refuse_what_they_do_not() {
    let probe = ["tests/probe/link", "tests/probe/names"];
    let scripts = ["tests/archives", "tests/planted/run", "tests/mutants", "docs/generate"];
    for script in scripts.into_iter().chain(probe) {
        for word in ["-h", "--help"] {
            let help = said(0, script, word);
            assert!(help.contains(script) && !help.contains("set -"), "{script} {word}: {help}");
        }
        assert!(said(2, script, "nonsense").contains("nonsense"), "{script}");
    }
}

/// A part that says nothing has not passed; one that says why it checked nothing has not failed.
#[cfg(unix)]
#[test]
fn a_part_that_checks_nothing_says_why() {
    let parts = |code, body| {
        let script = format!("source tests/lib.sh; part_a() {{ {body} }}; run_parts a a");
        let (said, last) = (run(code, "bash", &["-c", &script]), "passed, ");
        said.lines().last().filter(|line| line.contains(last)).unwrap_or(&said).to_owned()
    };
    assert_eq!(parts(1, "return;"), "0 passed, 1 failed");
    assert_eq!(parts(1, "check it false;"), "0 passed, 1 failed");
    assert_eq!(parts(0, "check it true;"), "1 passed, 0 failed");
    assert_eq!(parts(0, "skipped it 'there is none';"), "0 passed, 0 failed");
}

/// Nor has one that checked nothing, even if it said why: the last line counts it as nothing.
#[cfg(unix)]
#[test]
fn parts_that_only_skip_are_named() {
    let script = "source tests/lib.sh; beside='c d'
        part_a() { check it true; skipped more 'there is none'; }; part_b() { skipped it 'none'; }
        part_c() { skipped it 'none'; }; part_d() { check it true; }; run_parts 'a b c d'";
    let said = run(0, "bash", &["-c", script]);
    let last: Vec<&str> = said.lines().rev().take(2).collect();
    assert_eq!(last[0], "2 passed, 0 failed");
    let list = last[1].strip_prefix("nothing was checked of: ").expect(&said);
    let mut named: Vec<&str> = list.split(';').next().unwrap_or_default().split(' ').collect();
    // Which of them is told first is a question of time.
    named.sort_unstable();
    assert_eq!(named, ["b", "c"], "{said}");
    let without_a_nightly =
        "cargo() { [[ $1 != +nightly ]]; }; export -f cargo; tests/deep miri tsan";
    let said = run(0, "bash", &["-c", without_a_nightly]);
    for title in ["under Miri", "under ThreadSanitizer"] {
        let skipped = format!("skipped: what threads share, {title} (needs a nightly toolchain");
        assert!(said.contains(&skipped), "{said}");
    }
    assert!(said.ends_with("\"skipped\"\n0 passed, 0 failed\n"), "{said}");
}

/// A workspace that is left out is never formatted; one that goes along its paths says the faults of
/// others.
#[cfg(unix)]
#[test]
fn every_workspace_is_formatted_by_itself() {
    let script = "cargo() { [[ $* == *--version ]] || { echo \"$PWD: $*\"; false; }; }
        export -f cargo; tests/run fmt";
    let said = run(1, "bash", &["-c", script]);
    let manifests = files(&root(), |name| name == "Cargo.toml").into_iter();
    let workspaces = manifests
        .filter(|manifest| {
            let text = fs::read_to_string(manifest).unwrap();
            text.lines().any(|line| line == "[workspace]")
        })
        .map(|manifest| format!("{}: ", manifest.parent().unwrap().display()));
    let workspaces: Vec<String> = workspaces.collect();
    assert!(workspaces.len() > 5, "{workspaces:?}");
    for workspace in workspaces {
        assert_eq!(said.matches(&workspace).count(), 1, "{workspace} {said}");
    }
    assert!(!said.contains("--all"), "{said}");
}

/// Cargo takes it from the folder it is run in, and some parts run it in another.
#[cfg(unix)]
#[test]
fn a_target_directory_is_the_same_from_everywhere() {
    let target = |given: &str| {
        let script = format!("{given}; source tests/lib.sh; env | grep ^CARGO_TARGET_DIR= || true");
        run(0, "bash", &["-c", &script])
    };
    let absolute = format!("CARGO_TARGET_DIR={}/some/where\n", root().display());
    assert_eq!(target("export CARGO_TARGET_DIR=some/where"), absolute);
    assert_eq!(target("export CARGO_TARGET_DIR=/some/where"), "CARGO_TARGET_DIR=/some/where\n");
    assert_eq!(target("unset CARGO_TARGET_DIR"), "");
}

/// What changes a machine is said before, whoever does it.
#[cfg(unix)]
#[test]
fn what_is_installed_is_said() {
    let script = "source tests/lib.sh; cargo() { return 1; }; rustup() { echo fetched; }
        rustc() { echo /nowhere; }; CARGO_HOME=/nowhere
        have_component clippy clippy; have_target thumbv6m-none-eabi; have_cargo_tool deny 0.20.2";
    let said = run(1, "bash", &["-c", script]);
    for what in [
        "installing the component clippy (rustup)\n",
        "installing the standard library for thumbv6m-none-eabi (rustup)\n",
        "installing cargo-deny 0.20.2 into ",
    ] {
        assert!(said.contains(what), "{what}: {said}");
    }
    let script = "source tests/lib.sh; cargo() { return 1; }; rustc() { echo /nowhere; }
        command() { [[ $* != '-v rustup' ]] && builtin command \"$@\"; }
        have_component clippy clippy; have_target thumbv6m-none-eabi";
    let said = run(1, "bash", &["-c", script]);
    assert_eq!(said.matches("not installed, and there is no rustup)\n").count(), 2, "{said}");
    assert!(!said.contains("installing"), "{said}");
}

/// What a build says that needs a network which is not there, and what helps.
#[cfg(unix)]
#[test]
fn a_build_without_a_network_says_what_helps() {
    for (words, helps) in [
        ("error: no matching package named `x` found", true),
        ("error: failed to download `x v1.0.0`", true),
        ("error: failed to get `x` as a dependency of package `y v0.1.0`", true),
        ("[ERROR] failed to fetch crates: error: no matching package named `x` found", true),
        ("error: no matching package named `x` found\nof package `y v0.1.0 (/gone/y)`", true),
        ("error[E0308]: mismatched types", false),
    ] {
        for how in ["check it", "follow it", "tests it"] {
            let script = format!(
                "source tests/lib.sh; set -o pipefail
                cargo() {{
                    [ $1 != locate-project ] || {{ command cargo \"$@\"; return; }}
                    echo '{words}'; return 1
                }}
                part_a() {{ {how} cargo test; }}; run_parts a a"
            );
            let said = run(1, "bash", &["-c", &script]);
            let help = "run `cargo fetch --manifest-path Cargo.toml` once";
            assert_eq!(said.contains(help), helps, "{how}: {said}");
        }
    }
}

/// What a script says to one word, with the status that it ends in.
#[cfg(unix)]
fn said(code: i32, script: &str, word: &str) -> String {
    run(code, &root().join(script).to_string_lossy(), &[word])
}

#[cfg(unix)]
fn run(code: i32, program: &str, words: &[&str]) -> String {
    let mut command = std::process::Command::new(program);
    let output = command.args(words).current_dir(root()).output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert_eq!(output.status.code(), Some(code), "{program} {words:?}: {out}{err}");
    out + &err
}

/// What a page tells to run: lines of blocks for the shell or of plain text, and inline code.
fn commands(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (number, part) in page.split("```").enumerate() {
        if number % 2 == 0 {
            let spans = part.split('`').skip(1).step_by(2);
            found.extend(spans.map(|span| span.split_whitespace().collect::<Vec<_>>().join(" ")));
        } else if let Some(block) = shell_or_text(part) {
            let whole = block.replace("\\\n", " ");
            let plain = |line: &str| line.split(" #").next().unwrap_or_default().trim().to_owned();
            found.extend(whole.lines().map(plain));
        }
    }
    let known = ["cargo", "evenkeel", "tests/run", "./tests/run", "tests/deep", "docs/generate"];
    let is_command = |line: &String| {
        let mut words = line.split(' ');
        words.next().is_some_and(|first| known.contains(&first) || first == "cd")
            && (words.next().is_some() || line.starts_with('.') || line.contains('/'))
    };
    found.into_iter().filter(is_command).collect()
}

/// What is in a block of one of the two kinds that commands are shown in.
fn shell_or_text(block: &str) -> Option<&str> {
    block.strip_prefix("sh\n").or_else(|| block.strip_prefix("text\n"))
}

fn check(command: &str) -> Result<(), String> {
    let (command, folder) =
        match command.strip_prefix("cd ").and_then(|rest| rest.split_once(" && ")) {
            Some((folder, command)) => (command, root().join(folder)),
            None => (command, root()),
        };
    exists(&folder)?;
    let words: Vec<&str> = command.split(' ').filter(|word| !word.is_empty()).collect();
    match words[0] {
        "cargo" => check_cargo(&words, &folder),
        "evenkeel" => check_evenkeel(&words),
        "cd" => exists(&root().join(words.get(1).copied().unwrap_or_default())),
        script => check_parts(script.trim_start_matches("./"), &words[1..]),
    }
}

/// Packages, and the examples and test targets in them.
fn check_cargo(words: &[&str], folder: &Path) -> Result<(), String> {
    let ours = words.split(|word| *word == "--").next().unwrap_or_default();
    let after = |option: &str| {
        let at = ours.iter().position(|word| *word == option)?;
        ours.get(at + 1).copied().filter(|name| !is_placeholder(name))
    };
    if let Some(path) = after("--path").or_else(|| after("--manifest-path")) {
        exists(&folder.join(path))?;
    }
    let packages = packages();
    if let Some(name) = after("-p")
        && !packages.iter().any(|(package, _)| package == name)
    {
        return Err(format!("no package is called {name}"));
    }
    for (option, place) in [("--example", "examples"), ("--test", "tests"), ("--bin", "src/bin")] {
        let Some(name) = after(option) else { continue };
        let of = after("-p");
        let inside = packages.iter().filter(|(package, _)| of.is_none_or(|of| of == package));
        let mut files = inside.map(|(_, folder)| folder.join(place));
        let is_there = |folder: PathBuf| {
            folder.join(format!("{name}.rs")).exists() || folder.join(name).join("main.rs").exists()
        };
        if !files.any(is_there) && !name.contains('*') {
            return Err(format!("there is no {option} {name}"));
        }
    }
    if words.contains(&"evenkeel-sim") && words.get(1) == Some(&"run") {
        let given = words.iter().skip_while(|word| **word != "--").skip(1);
        let given: Vec<&str> = [&"evenkeel"].into_iter().chain(given).copied().collect();
        return check_evenkeel(&given);
    }
    Ok(())
}

/// A command of `evenkeel`, and its options, which are fields of what it reads.
fn check_evenkeel(words: &[&str]) -> Result<(), String> {
    let Some(command) = words.get(1).filter(|word| !word.starts_with('-')) else { return Ok(()) };
    let folder = root().join("adapters/sim/src/command");
    let file = folder.join(format!("{command}.rs"));
    let file = if file.exists() { file } else { folder.join(command).join("mod.rs") };
    let source = fs::read_to_string(file).map_err(|_| format!("evenkeel has no {command}"))?;
    for option in words.iter().filter_map(|word| word.strip_prefix("--")) {
        let field = format!(" {}:", option.replace('-', "_"));
        let named = format!("\"{option}\"");
        if !source.contains(&field) && !source.contains(&named) && option != "help" {
            return Err(format!("evenkeel {command} has no option --{option}"));
        }
    }
    Ok(())
}

/// A script, and those of its parts that are named.
fn check_parts(script: &str, parts: &[&str]) -> Result<(), String> {
    let source =
        fs::read_to_string(root().join(script)).map_err(|_| "no such script".to_owned())?;
    for part in parts.iter().filter(|part| !part.starts_with('-') && !is_placeholder(part)) {
        let defined = [format!("part_{part}()"), format!("write_{part}()")];
        if !defined.iter().any(|function| source.contains(function)) {
            return Err(format!("{script} has no part {part}"));
        }
    }
    Ok(())
}

/// `NAME`, for the reader to fill in.
fn is_placeholder(word: &str) -> bool {
    word.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_')
}

fn exists(path: &Path) -> Result<(), String> {
    if path.exists() { Ok(()) } else { Err(format!("{} is not there", path.display())) }
}

/// The name of each package and its folder.
fn packages() -> Vec<(String, PathBuf)> {
    let manifests = files(&root(), |name| name == "Cargo.toml");
    let named = manifests.into_iter().filter_map(|manifest| {
        let text = fs::read_to_string(&manifest).unwrap();
        let name = text.lines().find_map(|line| line.strip_prefix("name = \""))?;
        Some((name.trim_end_matches('"').to_owned(), manifest.parent()?.to_owned()))
    });
    named.collect()
}

fn pages(folder: &Path) -> Vec<PathBuf> {
    files(folder, |name| name.ends_with(".md"))
}

fn files(folder: &Path, wanted: fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() && name != "target" && !name.starts_with('.') && name != "node_modules" {
            found.extend(files(&path, wanted));
        } else if wanted(name) {
            found.push(path);
        }
    }
    found
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}
