//! This file knows `evenkeel compare`: two scenarios with the same seeds, or one under two policies,
//! side by side.

use std::path::{Path, PathBuf};

use evenkeel_sim::{Axes, Report, ScenarioFile, cut, style, verdict};

use crate::out::tell;
use crate::simulate::{Simulated, print_warnings, title};
use crate::{input, keep};

/// Runs two scenarios, or with --scenario one under two policies, with the same seeds.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// One scenario's file; with --scenario, one policy: a preset, or its file.
    first: PathBuf,
    /// The other.
    second: PathBuf,
    /// The scenario in which two policies are compared; its own is not run.
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// The method that calls are to; without it, one that may be repeated, where a policy lists some.
    #[arg(long, value_name = "NAME")]
    method: Option<String>,
    /// Writes both as one HTML page.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Leaves out the recovery maps and the safe loads, which take most of the time.
    #[arg(long)]
    quick: bool,
}

pub(crate) fn run(args: &Args) -> Result<bool, String> {
    let (first, mut second) = (args.side(&args.first)?, args.side(&args.second)?);
    (second.1.seed, second.1.seeds) = (first.1.seed, first.1.seeds);
    keep::file(args.html.as_deref())?;
    let sides = [simulated(first, args.quick)?, simulated(second, args.quick)?];
    let reports = on_the_same_axes(&sides);
    for (name, side) in &sides {
        if let Some(cut) = cut(&side.file.scenario, &side.batch) {
            tell!("{name}: {cut}");
        }
    }
    print(&reports);
    for (name, side) in &sides {
        print_warnings(&format!("{name}: "), &side.file);
    }
    let names = sides.each_ref().map(|(name, _)| name.as_str());
    let few = sides.iter().find(|(_, side)| side.file.scenario.has_few_calls_in(10.0));
    match few {
        Some((name, _)) => tell!("\n{name} has too few calls to judge which recovers sooner."),
        None => tell!("\n{}", verdict(names, sides.each_ref().map(|(_, side)| &side.batch))),
    }
    if let Some(path) = &args.html {
        keep::write(path, &page(&reports))?;
        tell!("\n{} has the pictures.", path.display());
    }
    Ok(true)
}

impl Args {
    /// One side with its name.
    fn side(&self, path: &Path) -> Result<(String, ScenarioFile), String> {
        let instead = "compare --scenario SCENARIO POLICY OTHER";
        let (name, mut file) = match &self.scenario {
            Some(scenario) => {
                let mut file = input::scenario(scenario, instead)?;
                let method = file.method().map(str::to_owned);
                file.policy = input::policy(&path.to_string_lossy(), method.as_deref())?;
                (file.policy.name.clone(), file)
            }
            None => {
                let file = input::scenario(path, instead)?;
                (format!("{}: {}", title(path), file.policy.name), file)
            }
        };
        if let Some(method) = &self.method {
            file.use_method(method)?;
        }
        Ok((name, file))
    }
}

fn simulated(
    (name, file): (String, ScenarioFile),
    quick: bool,
) -> Result<(String, Simulated), String> {
    Ok((name, Simulated::new(file, !quick)?))
}

/// Both reports, with pictures that can be laid beside one another.
fn on_the_same_axes(sides: &[(String, Simulated); 2]) -> [Report; 2] {
    let mut axes = Axes::default();
    // How far time reaches says what is averaged, so the rest is known with the second look.
    for (name, side) in sides.iter().chain(sides) {
        let _ = side.report(name, &mut axes);
    }
    sides.each_ref().map(|(name, side)| side.report(name, &mut axes))
}

fn print(reports: &[Report; 2]) {
    let [a, b] = reports;
    tell!("{:<36} {:>20}  {:>20}", "", shortened(&a.name), shortened(&b.name));
    for ((name, left), (_, right)) in a.facts.iter().zip(&b.facts) {
        tell!("{name:<36} {left:>20}  {right:>20}");
    }
    tell!();
    for report in reports {
        tell!("{}: {} In it, {}.", report.name, report.conclusion, report.calls);
    }
}

/// The two reports in two columns.
fn page(reports: &[Report; 2]) -> String {
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
        Report::page_style(),
        style(),
        columns.join("")
    )
}

fn shortened(name: &str) -> String {
    name.chars().take(20).collect()
}
