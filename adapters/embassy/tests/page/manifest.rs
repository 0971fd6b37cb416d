//! What a program of one's own depends on: the versions that the images are built with.

use std::collections::BTreeMap;

use crate::PAGE;

const WORKSPACE: &str = include_str!("../../../../firmware-examples/Cargo.toml");

/// The dependencies that are named in `toml`, each with its version.
fn versions(toml: &str) -> BTreeMap<&str, &str> {
    let version = |line| {
        let (name, rest): (&str, &str) = str::split_once(line, " = ")?;
        let rest = rest.strip_prefix("{ version = ").unwrap_or(rest);
        Some((name, rest.strip_prefix('"')?.split('"').next()?))
    };
    toml.lines().filter(|line| !line.starts_with('#')).filter_map(version).collect()
}

#[test]
fn a_program_of_ones_own_has_the_versions_of_the_images() {
    let of_images = versions(WORKSPACE);
    let blocks = PAGE.split("```toml\n# Cargo.toml").skip(1);
    let blocks: Vec<_> = blocks.map(|rest| rest.split("```").next().unwrap()).collect();
    for block in &blocks {
        // The bytes that the page tells are those of the images' profile.
        let (_, profile) = block.split_once("\n[profile.release]").expect("a profile");
        let set = |line: &&str| line.contains(" = ");
        for line in profile.lines().filter(set) {
            assert!(WORKSPACE.lines().any(|known| known == line), "{line}");
        }
    }
    let blocks: Vec<_> =
        blocks.iter().map(|block| versions(block.split("\n[profile").next().unwrap())).collect();
    assert_eq!(blocks.len(), 2, "with embassy, and without");
    for (name, version) in blocks.iter().flatten() {
        match of_images.get(name) {
            Some(known) => assert!(known.starts_with(version), "{name} {version}, and {known}"),
            None => assert_eq!(*name, "defmt-rtt", "the images log by semihosting"),
        }
    }
    let names = |block: usize| blocks[block].keys().copied().collect::<Vec<_>>();
    assert_eq!(names(1), ["cortex-m", "cortex-m-rt", "evenkeel-core"]);
    for name in ["embassy-executor", "embassy-time", "embassy-sync", "evenkeel-embassy"] {
        assert!(names(0).contains(&name), "{name}");
    }
}
