//! This file knows `evenkeel compare`: two scenarios with the same seeds, side by side.

use std::path::PathBuf;

use evenkeel_sim::{ScenarioFile, style};

use crate::simulate::{Simulated, title, write};

/// Runs two scenarios, or one under two policies, with the same seeds.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// One scenario.
    first: PathBuf,
    /// The other.
    second: PathBuf,
    /// Writes both as one HTML page.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Leaves out the recovery maps and the safe loads, which take most of the time.
    #[arg(long)]
    quick: bool,
}

pub(crate) fn run(args: &Args) -> Result<bool, String> {
    let first = ScenarioFile::read(&args.first)?;
    let mut second = ScenarioFile::read(&args.second)?;
    (second.seed, second.seeds) = (first.seed, first.seeds);
    let reports = [
        Simulated::new(first, !args.quick)?.report(&title(&args.first)),
        Simulated::new(second, !args.quick)?.report(&title(&args.second)),
    ];
    let [a, b] = &reports;
    println!("{:<36} {:>20}  {:>20}", "", shortened(&a.name), shortened(&b.name));
    for ((name, left), (_, right)) in a.facts.iter().zip(&b.facts) {
        println!("{name:<36} {left:>20}  {right:>20}");
    }
    println!();
    for report in &reports {
        println!("{}: {}", report.name, report.conclusion);
    }
    if let Some(path) = &args.html {
        write(path, &page(&reports))?;
        println!("\n{} has the pictures.", path.display());
    }
    Ok(true)
}

/// The two reports in two columns.
fn page(reports: &[evenkeel_sim::Report; 2]) -> String {
    let columns: Vec<String> = reports
        .iter()
        .map(|report| report.body())
        .map(|body| format!("<div>{body}</div>"))
        .collect();
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width,initial-scale=1\"><title>evenkeel: compared</title><style>{}{}\
         main{{max-width:1500px}}.two{{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,440px),1fr));gap:32px}}\
         </style><main><div class=\"two\">{}</div></main>",
        evenkeel_sim::Report::page_style(),
        style(),
        columns.join("")
    )
}

fn shortened(name: &str) -> String {
    name.chars().take(20).collect()
}
