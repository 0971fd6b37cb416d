//! Writes every mutant of some crates into one build of them, of which the variable `MUTANT` chooses
//! one.
//!
//! `schemata LIST TREE [NUMBER...]` reads what `cargo mutants --list --json` printed and rewrites the
//! sources in a copy of the workspace in place. The numbers are of mutants that do not compile, and
//! are left out. Prints the number of each mutant that is in, and its name.
//!
//! The number of a mutant is its line of the list minus one. In a constant nothing can be chosen at
//! run time, nor what type a function returns that says only what it can do: what is there stays out.

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
    let (Some(list), Some(tree)) = (arguments.next(), arguments.next()) else {
        return Err("usage: schemata LIST TREE [NUMBER...]".into());
    };
    let tree = Path::new(&tree);
    let left_out: BTreeSet<usize> = arguments.map(|n| n.parse()).collect::<Result<_, _>>()?;
    let mutants: Vec<Mutant> = serde_json::from_str(&fs::read_to_string(list)?)?;
    let mut files: BTreeMap<&str, Vec<(usize, &Mutant)>> = BTreeMap::new();
    for (number, mutant) in mutants.iter().enumerate() {
        if !left_out.contains(&number) {
            files.entry(&mutant.file).or_default().push((number, mutant));
        }
    }
    let mut crates = BTreeSet::new();
    for (file, mutants) in files {
        let (folder, _) = file.split_once("/src/").ok_or("a file outside of `src`")?;
        crates.insert(folder);
        let path = tree.join(file);
        let source = fs::read_to_string(&path)?;
        let sites = sites::find(&source, &mutants)?;
        for &number in &sites.found {
            println!("{number} {}", mutants_name(&mutants, number));
        }
        fs::write(path, render::file(&source, &sites.sites))?;
    }
    crates.into_iter().try_for_each(|folder| choose(&tree.join(folder)))
}

fn mutants_name<'a>(mutants: &[(usize, &'a Mutant)], number: usize) -> &'a str {
    mutants.iter().find(|(n, _)| *n == number).map_or("", |(_, mutant)| &mutant.name)
}

/// Adds what tells whether a mutant is the chosen one.
fn choose(folder: &Path) -> Result<(), Box<dyn Error>> {
    let root = folder.join("src/lib.rs");
    let source = fs::read_to_string(&root)?;
    fs::write(folder.join("src/chosen.rs"), include_str!("chosen.rs.in"))?;
    // Attributes of the crate come before everything, and items may come after everything.
    let whole = format!(
        "#![feature(const_eval_select, core_intrinsics)]\n#![allow(internal_features)]\n\
         {source}\nextern crate std as mutants_std;\nmod chosen;\n"
    );
    Ok(fs::write(root, whole)?)
}
