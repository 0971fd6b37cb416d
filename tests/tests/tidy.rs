//! The house is as its README says: arrows, laws, paths and links hold, and files stay small.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use evenkeel_tests::ids_of;

/// What each package may depend on, directly or through one of these.
const ARROWS: [(&str, &[&str]); 9] = [
    ("core", &[]),
    ("std", &["core"]),
    ("settings", &["core"]),
    ("tokio", &["std"]),
    ("tonic", &["tokio", "settings"]),
    ("tonic-build", &[]),
    ("embassy", &["core"]),
    ("sim", &["settings"]),
    ("page", &["sim"]),
];

/// How many incidents of others the page of them has.
const INCIDENTS: usize = 116;

/// Long enough for one idea, short enough to be read in one sitting.
const LONGEST: usize = 320;

#[test]
fn the_arrows_are_as_drawn() {
    let arrows = BTreeMap::from(ARROWS);
    for manifest in manifests() {
        let text = read(&manifest);
        let name = text.lines().find_map(|line| line.strip_prefix("name = \"evenkeel-"));
        let name = name.expect("a package").trim_end_matches('"');
        let allowed = reachable(name, &arrows);
        let depends = text.split("\n[").filter(|section| section.starts_with("dependencies"));
        for line in depends.flat_map(str::lines) {
            let Some(other) = line.strip_prefix("evenkeel-") else { continue };
            let other = other.split([' ', '.', '=']).next().unwrap_or_default();
            assert!(allowed.contains(other), "{}: {name} -> {other}", manifest.display());
        }
    }
}

#[test]
fn every_source_says_what_it_knows_and_stays_small() {
    for source in sources() {
        let (text, name) = (read(&source), source.display());
        let begins = text.starts_with("//!") || text.contains("include_str!(\"../README.md\")");
        assert!(begins, "{name} does not begin with what it is about");
        let lines = text.lines().count();
        assert!(lines <= LONGEST, "{name} has {lines} lines: it knows more than one thing");
    }
}

/// Whoever looks for it is told where it is.
#[test]
fn nothing_is_unsafe_but_where_the_pages_say() {
    let places = ["firmware-examples/board", "tests/probe", "adapters/sim/page/src/exports.rs"];
    for page in ["SECURITY.md", "CONTRIBUTING.md"] {
        let text = read(&root().join(page));
        let untold = places.iter().find(|place| !text.contains(&format!("`{place}`")));
        assert_eq!(untold, None, "{page}");
    }
    let after = ["{", "fn ", "impl ", "extern ", "trait "];
    let mut words = after.map(|after| ["unsafe", after].join(" ")).to_vec();
    words.push("#[unsafe\u{28}".into());
    let mut found = BTreeSet::new();
    for file in files(&root(), &["rs"]) {
        let text = read(&file);
        let mut code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        if code.any(|line| words.iter().any(|word| line.contains(word))) {
            let place = places.iter().find(|place| file.starts_with(root().join(place)));
            found.insert(place.unwrap_or_else(|| panic!("{} is unsafe", file.display())));
        }
    }
    assert_eq!(found.len(), places.len(), "unsafe only in {found:?}");
}

#[test]
fn nothing_is_left_unfinished() {
    let words = [
        "TO\u{44}O",
        "FIX\u{4d}E",
        "XX\u{58}",
        "todo!\u{28}",
        "unimplemented!\u{28}",
        "dbg!\u{28}",
    ];
    for file in files(&root(), &["rs", "md", "toml", "sh", "yml"]) {
        let text = read(&file);
        for word in words {
            assert!(!text.contains(word), "{} has {word:?}", file.display());
        }
    }
}

/// `--help` shows the line above each part of a script.
#[test]
fn every_part_of_a_script_says_what_it_does() {
    for script in ["tests/run", "tests/deep"] {
        let text = read(&root().join(script));
        let lines: Vec<&str> = text.lines().collect();
        let parts = lines.windows(2).filter(|pair| pair[1].starts_with("part_"));
        let told = parts.clone().filter(|pair| pair[0].starts_with("# ")).count();
        assert_eq!(told, parts.count(), "{script} has a part without a line of comment above it");
        assert!(told > 10, "{script}: {told}");
    }
}

/// Who installs by hand what a script brings has the same.
#[test]
fn what_is_installed_has_one_version_wherever_it_is_named() {
    let pin = read(&root().join("tests/firmware.sh"));
    let version = pin.lines().find_map(|line| line.strip_prefix("defmt_print="));
    let pinned = format!("cargo install --locked defmt-print@{}", version.expect("a version"));
    for file in ["firmware-examples/qemu", "firmware-examples/README.md"] {
        assert!(read(&root().join(file)).contains(&pinned), "{file} does not say `{pinned}`");
    }
}

#[test]
fn every_law_is_a_test_of_its_name() {
    let laws = rows(&read(&root().join("core/docs/laws.md")));
    let words = laws.iter().flat_map(|row| row.split('`').skip(1).step_by(2));
    let named: BTreeSet<&str> = words.filter(|law| !law.contains(' ')).collect();
    assert!(named.len() > 30, "{named:?}");
    // This one is a link, not a run.
    let linked = "no_panic_is_reachable";
    assert!(read(&root().join("tests/run")).contains(linked));
    let tests: Vec<String> = files(&root(), &["rs"]).iter().map(|file| read(file)).collect();
    for law in named.iter().filter(|law| **law != linked) {
        let test = format!("fn {law}");
        let begins = |text: &String| text.contains(&test);
        assert!(tests.iter().any(begins), "no test is called {law}");
    }
}

/// Who reads the documentation of the core has no README beside it, and it is the same table.
#[test]
fn the_laws_of_the_readme_are_those_of_the_core() {
    let readme = read(&root().join("README.md"));
    let chapter = readme.split("## The laws").nth(1).and_then(|text| text.split("\n## ").next());
    let copy = rows(chapter.expect("a chapter of laws"));
    let source = rows(&read(&root().join("core/docs/laws.md")));
    // Row by row: who changed one word is not shown two tables.
    for (copy, source) in copy.iter().zip(&source) {
        assert_eq!(copy, source, "README.md, and core/docs/laws.md, which is the source");
    }
    assert_eq!(copy.len(), source.len(), "rows of README.md, and of core/docs/laws.md");
}

fn rows(text: &str) -> Vec<String> {
    text.lines().filter(|line| line.starts_with('|')).map(str::to_owned).collect()
}

/// The page of incidents has each of the list once, and each is a test of its name.
#[test]
fn every_incident_is_a_test_of_its_name() {
    let page = read(&root().join("docs/incidents.md"));
    let sources: Vec<String> = files(&root(), &["rs"]).iter().map(|file| read(file)).collect();
    let tests: BTreeSet<&str> = sources.iter().flat_map(|text| tests_of(text)).collect();
    let mut told = BTreeMap::<&str, BTreeSet<&str>>::new();
    for paragraph in page.split("\n- **").skip(1) {
        let (id, words) = paragraph.split_once("**").expect("an id");
        let words = words.split("\n\n").next().unwrap_or_default();
        told.entry(id).or_default().extend(words.split('`').skip(1).step_by(2));
    }
    assert_eq!(told.len(), INCIDENTS, "{:?}", told.keys());
    for (id, named) in &told {
        let is_its = |test: &&&str| ids_of(test).any(|of| format!("F{:0>2}", &of[1..]) == *id);
        let its = named.iter().filter(is_its).filter(|test| tests.contains(**test));
        assert!(its.count() > 0, "no test of {id} is told that exists: {named:?}");
    }
    for test in tests {
        let incidents = ids_of(test).filter(|id| id.starts_with('F'));
        for id in incidents.map(|id| format!("F{:0>2}", &id[1..])) {
            let names_it = told.get(&*id).is_some_and(|named| named.contains(test));
            assert!(names_it, "docs/incidents.md does not tell of {test} under {id}");
        }
    }
}

/// And what prevents them holds for more than the case that is told.
#[test]
fn every_rule_against_incidents_names_a_test_that_holds_it() {
    let page = read(&root().join("docs/incidents.md"));
    let sources: Vec<String> = files(&root(), &["rs"]).iter().map(|file| read(file)).collect();
    let tests: BTreeSet<&str> = sources.iter().flat_map(|text| tests_of(text)).collect();
    for chapter in page.split("\n## ").skip(1) {
        let name = chapter.lines().next().unwrap_or_default();
        let rule = chapter.split("**The rule:**").nth(1).and_then(|text| text.split("\n\n").next());
        let rule = rule.unwrap_or_else(|| panic!("{name} has no rule"));
        let any = rule.split("For any input:").nth(1).unwrap_or_default();
        let named: Vec<&str> = any.split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty(), "{name} names no test for any input");
        for test in named {
            assert!(tests.contains(test), "{name} names {test}, which is no test");
        }
    }
}

/// A crate that only names one of these does not build for a Cortex-M0.
#[test]
fn f139_no_atomic_is_named_that_a_cortex_m0_lacks() {
    for folder in ["core/src", "adapters/embassy/src"] {
        for file in files(&root().join(folder), &["rs"]) {
            for word in ["sync::atomic", "Atomic", "compare_exchange", "fetch_", "Arc<"] {
                assert!(!read(&file).contains(word), "{} names {word:?}", file.display());
            }
        }
    }
}

#[test]
fn what_the_pages_name_exists() {
    for page in files(&root(), &["md"]) {
        let text = read(&page);
        let folder = page.parent().expect("a folder");
        for link in text.split("](").skip(1) {
            let target = link.split([')', '#', ' ']).next().unwrap_or_default();
            if target.is_empty() || target.contains("://") || target.starts_with("crate::") {
                continue;
            }
            let (page, there) = (page.display(), folder.join(target));
            assert!(there.exists(), "{page} links to {target}, which is not there");
        }
        let quoted = text.split('`').skip(1).step_by(2);
        for path in quoted.filter(|path| path.contains('/') && is_ours(path)) {
            let exists = root().join(path).exists() || folder.join(path).exists();
            assert!(exists, "{} names {path}, which is not there", page.display());
        }
    }
}

/// A heading that is renamed takes its address along.
#[test]
fn every_link_to_a_chapter_finds_it() {
    let mut seen = 0;
    for page in files(&root(), &["md"]) {
        let text = read(&page);
        for link in text.split("](").skip(1) {
            let link = link.split([')', ' ']).next().unwrap_or_default();
            let Some((file, chapter)) = link.split_once('#') else { continue };
            if !(file.is_empty() || file.ends_with(".md")) || file.contains("://") {
                continue;
            }
            seen += 1;
            let there = if file.is_empty() { page.clone() } else { page.with_file_name(file) };
            let headings = read(&there);
            let mut headings = headings.lines().filter(|line| line.starts_with('#'));
            let found = headings.any(|heading| address(heading) == chapter);
            assert!(found, "{} links to {link}, which is no chapter", page.display());
        }
    }
    assert!(seen > 10, "only {seen} links were found");
}

/// What a heading is linked by.
fn address(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
    words.chars().filter(|letter| letter.is_alphanumeric() || "-_".contains(*letter)).collect()
}

/// Rendered, a cell is a column some ten words wide: what is longer is a list of its own.
#[test]
fn the_tables_of_the_readme_can_be_read() {
    for row in rows(&read(&root().join("README.md"))) {
        let longest = row.split('|').map(|cell| cell.split_whitespace().count()).max();
        assert!(longest.unwrap_or_default() <= 40, "{row}");
    }
}

/// A limit for each attempt frees nobody from one that hangs, unless its expiry is retried.
#[test]
fn an_example_with_a_limit_for_each_attempt_and_retries_retries_it() {
    let mut seen = 0;
    for page in files(&root(), &["md"]) {
        let text = read(&page);
        for block in text.split("```").skip(1).step_by(2) {
            let both = |limit: &str, retry: &str| block.contains(limit) && block.contains(retry);
            if both("attempt_timeout(", "retry(") || both("attempt_timeout =", "[retry]") {
                seen += 1;
                let says_so = ["DeadlineExceeded", "DEADLINE_EXCEEDED"];
                let says_so = says_so.iter().any(|code| block.contains(code));
                assert!(says_so, "{} makes one attempt in{block}", page.display());
            }
        }
    }
    assert!(seen > 2, "only {seen} examples were found");
}

/// The figures are drawn again when the machines change, and the page about them is not.
#[test]
fn the_page_about_outages_names_the_load_that_was_found() {
    let figures = read(&root().join("docs/figures/README.md"));
    let found = figures.split("; up to ").nth(1).and_then(|text| text.split(" load").next());
    let found =
        format!("takes minutes: at {} of it", found.expect("a load up to which an outage ends"));
    let page = read(&root().join("docs/simulate.md"));
    let page: Vec<&str> = page.split_whitespace().collect();
    assert!(page.join(" ").contains(&found), "docs/simulate.md does not say {found:?}");
}

/// Whether it reads like a file or folder of the house, and like nothing else.
fn is_ours(path: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-".contains(letter);
    let tops = ["core/", "adapters/", "tests/", "docs/", "benches/", "firmware-examples/"];
    path.chars().all(plain) && tops.iter().any(|top| path.starts_with(top))
}

fn reachable<'a>(name: &str, arrows: &BTreeMap<&'a str, &[&'a str]>) -> BTreeSet<&'a str> {
    let direct = arrows.get(name).unwrap_or_else(|| panic!("{name} is on no drawing"));
    let mut all: BTreeSet<&str> = direct.iter().copied().collect();
    for next in *direct {
        all.extend(reachable(next, arrows));
    }
    all
}

/// The names of the tests in a source, also of those with a runtime or inside a macro.
fn tests_of(source: &str) -> impl Iterator<Item = &str> {
    let mut is_test = false;
    source.lines().filter_map(move |line| {
        let line = line.trim_start();
        is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        let after = line.strip_prefix("async fn ").or_else(|| line.strip_prefix("fn "))?;
        let name = after.split('(').next();
        name.filter(|_| core::mem::take(&mut is_test))
    })
}

fn manifests() -> impl Iterator<Item = PathBuf> {
    let adapters = fs::read_dir(root().join("adapters")).expect("the adapters");
    let adapters = adapters.map(|adapter| adapter.expect("a folder").path());
    adapters
        .chain([root().join("core")])
        .map(|folder| folder.join("Cargo.toml"))
        .filter(|manifest| manifest.exists())
}

/// What ships, except for what a generator wrote.
fn sources() -> impl Iterator<Item = PathBuf> {
    let folders = manifests().map(|manifest| manifest.with_file_name("src"));
    let all: Vec<_> = folders.flat_map(|folder| files(&folder, &["rs"])).collect();
    let ships = |file: &PathBuf| !file.ends_with("tests.rs") && !read(file).contains("@generated");
    all.into_iter().filter(ships)
}

fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() && name != "target" && !name.starts_with('.') && name != "node_modules" {
            found.extend(files(&path, endings));
        } else if endings.iter().any(|ending| path.extension().is_some_and(|is| is == *ending)) {
            found.push(path);
        }
    }
    found
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_owned()
}

/// `--no-default-features` leaves the services out, and must still build what is about the core or
/// looks at texts alone.
#[test]
fn a_test_of_services_says_so() {
    let manifest = read(&root().join("tests/Cargo.toml"));
    let targets: Vec<&str> = manifest.split("\n[[").collect();
    for entry in fs::read_dir(root().join("tests/tests")).expect("a folder of tests") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name");
        let plain = ["commands", "core_", "laws_", "tidy"];
        let needs_none = plain.iter().any(|word| name.starts_with(word));
        let called = format!("test]]\nname = \"{name}\"\n");
        let own = targets.iter().find(|target| target.starts_with(&called));
        let says_so = own.is_some_and(|own| own.contains("required-features = [\"suites\"]"));
        assert_eq!(says_so, !needs_none, "tests/Cargo.toml about {name}");
    }
}
