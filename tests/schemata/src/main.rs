//! Writes every mutant of a crate into one build of it, of which the variable `MUTANT` chooses one.
//!
//! `schemata LIST CRATE [NUMBER...]` reads what `cargo mutants --list --json` printed and rewrites the
//! sources of the copy of a crate in place. The numbers are of mutants that do not compile, and are
//! left out. Prints the number of each mutant that is in, and its name.
//!
//! A mutant is in its line of the list minus one. In a constant nothing can be chosen at run time:
//! there a mutant stays without effect, and looks like one that nobody noticed.

mod render;
mod sites;

use serde::Deserialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    fs,
    path::Path,
};

/// One mutant, as cargo-mutants lists it.
#[derive(Debug, Deserialize)]
struct Mutant {
    file: String,
    genre: String,
    name: String,
    replacement: String,
    span: Span,
}

#[derive(Debug, Deserialize)]
struct Span {
    start: Place,
}

/// Both count from one.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd)]
struct Place {
    line: usize,
    column: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(list), Some(folder)) = (arguments.next(), arguments.next()) else {
        return Err("usage: schemata LIST CRATE [NUMBER...]".into());
    };
    let left_out: BTreeSet<usize> = arguments.map(|n| n.parse()).collect::<Result<_, _>>()?;
    let mutants: Vec<Mutant> = serde_json::from_str(&fs::read_to_string(list)?)?;
    let mut files: BTreeMap<&str, Vec<(usize, &Mutant)>> = BTreeMap::new();
    for (number, mutant) in mutants.iter().enumerate() {
        if !left_out.contains(&number) {
            files.entry(&mutant.file).or_default().push((number, mutant));
        }
    }
    for (file, mutants) in files {
        // The list names files from the root of the workspace, and the crate is a folder of it.
        let (_, inside) = file.split_once('/').ok_or("a file at the root of the workspace")?;
        let path = Path::new(&folder).join(inside);
        let source = fs::read_to_string(&path)?;
        let sites = sites::find(&source, &mutants)?;
        for &number in &sites.found {
            println!("{number} {}", mutants_name(&mutants, number));
        }
        fs::write(path, render::file(&source, &sites.sites))?;
    }
    choose(Path::new(&folder))
}

fn mutants_name<'a>(mutants: &[(usize, &'a Mutant)], number: usize) -> &'a str {
    mutants.iter().find(|(n, _)| *n == number).map_or("", |(_, mutant)| &mutant.name)
}

/// Adds what tells whether a mutant is the chosen one.
fn choose(folder: &Path) -> Result<(), Box<dyn Error>> {
    let root = folder.join("src/lib.rs");
    let source = fs::read_to_string(&root)?;
    fs::write(folder.join("src/chosen.rs"), include_str!("chosen.rs.in"))?;
    let whole = source.replacen(
        "#![no_std]\n",
        "#![no_std]\n#![feature(const_eval_select, core_intrinsics)]\n\
         #![allow(internal_features)]\nextern crate std as mutants_std;\nmod chosen;\n",
        1,
    );
    if whole == source {
        return Err("the root of the crate does not say `no_std`".into());
    }
    // Attributes of the crate come first; the two items go behind the last of them.
    let (attributes, items): (Vec<&str>, Vec<&str>) =
        whole.lines().partition(|line| line.starts_with("#![") || line.starts_with("//!"));
    fs::write(root, format!("{}\n{}\n", attributes.join("\n"), items.join("\n")))?;
    Ok(())
}
