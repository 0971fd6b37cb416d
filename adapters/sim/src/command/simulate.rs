//! This file knows `evenkeel simulate`: one scenario, in numbers and pictures.

use std::path::{Path, PathBuf};

use evenkeel_sim::{
    Axes, Batch, Policy, Report, Run, Scenario, ScenarioFile, Summary, conclusion, cut,
    facts_of_enough, few, figures_on, map_figure, run_telling,
};

use crate::clock::Stopwatch;
use crate::elsewhere::Elsewhere;
use crate::out::{self, tell};
use crate::progress::Progress;
use crate::{input, keep, parallel, value};

/// Runs a scenario and says what becomes of it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The scenario, a TOML file; see docs/scenario-keys.md.
    scenario: PathBuf,
    /// Instead of the scenario's policy: a preset, or a policy's file.
    #[arg(long)]
    policy: Option<String>,
    /// The method that calls are to; without it, one that may be repeated, where the policy lists
    /// some.
    #[arg(long, value_name = "NAME")]
    method: Option<String>,
    /// Instead of the scenario's number of seeds.
    #[arg(long, value_parser = value::whole(1, 1_000), allow_hyphen_values = true)]
    seeds: Option<u32>,
    /// Writes everything as one HTML page.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Writes each picture into this folder, as SVG.
    #[arg(long, value_name = "FOLDER")]
    svg: Option<PathBuf>,
    /// Prints every second of every run as comma-separated values, and nothing else; see
    /// docs/simulate.md.
    #[arg(long, conflicts_with_all = ["html", "svg"])]
    csv: bool,
    /// Leaves out the recovery map and the safe load, which take most of the time.
    #[arg(long)]
    quick: bool,
}

/// A scenario with all that was run of it.
pub(crate) struct Simulated {
    pub(crate) file: ScenarioFile,
    pub(crate) runs: Vec<Run>,
    pub(crate) batch: Batch,
    elsewhere: Elsewhere,
}

pub(crate) fn run(args: &Args) -> Result<bool, String> {
    let mut file = input::scenario(&args.scenario, "simulate SCENARIO --policy POLICY")?;
    if let Some(policy) = &args.policy {
        file.use_policy(policy, Path::new(""))?;
    }
    if let Some(method) = &args.method {
        file.use_method(method)?;
    }
    file.seeds = args.seeds.unwrap_or(file.seeds);
    keep::file(args.html.as_deref())?;
    keep::folder(args.svg.as_deref())?;
    let watch = Stopwatch::start();
    let simulated = Simulated::new(file, !args.quick && !args.csv)?;
    if args.csv {
        if let Some(cut) = cut(&simulated.file.scenario, &simulated.batch) {
            out::aside(format_args!("evenkeel: {cut}"));
        }
        simulated.print_csv();
        return Ok(true);
    }
    let name = format!("{}: {}", title(&args.scenario), simulated.file.policy.name);
    let report = simulated.report(&name, &mut Axes::default());
    print(&report);
    print_warnings("", &simulated.file);
    if let Some(path) = &args.html {
        keep::write(path, &report.to_html())?;
        tell!("\n{} has the pictures.", path.display());
    }
    if let Some(folder) = &args.svg {
        keep::write_svg(folder, &report.figures)?;
    }
    out::aside(format_args!("took {:.1} s", watch.wall().as_secs_f64()));
    Ok(true)
}

impl Simulated {
    pub(crate) fn new(file: ScenarioFile, with_map: bool) -> Result<Self, String> {
        let runs = run_all(&file.scenario, &file.policy.policy, &file.seeds(), |run| run)?;
        let batch =
            Batch { runs: runs.iter().map(|run| Summary::of(run, &file.scenario)).collect() };
        let elsewhere = match with_map {
            true => Elsewhere::look(&file.scenario, &file.policy.policy, file.seed)?,
            false => Elsewhere::default(),
        };
        Ok(Self { file, runs, batch, elsewhere })
    }

    pub(crate) fn report(&self, name: &str, axes: &mut Axes) -> Report {
        let ScenarioFile { scenario, policy, seeds, seed, source, .. } = &self.file;
        let mut pictures = Vec::new();
        if let Some(first) = self.runs.first() {
            pictures = figures_on(axes, scenario, &policy.policy, first);
        }
        // The first of them says whether the outage ends.
        if let (Some(few), Some(rates)) = (few(scenario), pictures.first_mut()) {
            rates.conclusion = format!("{few}.");
        }
        let Elsewhere { map, safe_load, left_out } = &self.elsewhere;
        if let Some(map) = map {
            pictures.push(map_figure(scenario, &policy.policy, map));
        }
        let conclusion = conclusion(scenario, &policy.policy, &self.batch, *safe_load);
        Report {
            name: name.into(),
            conclusion: match cut(scenario, &self.batch) {
                Some(cut) => format!("{cut} {conclusion}"),
                None => conclusion,
            },
            facts: facts_of_enough(scenario, &self.batch, *safe_load),
            figures: pictures,
            calls: policy.method.to_string(),
            source: source.clone(),
            policy: policy.source.clone(),
            provenance: format!(
                "{}evenkeel {}, {seeds} seeds from {seed}; the pictures are of the first.",
                left_out.iter().map(|what| format!("{what} ")).collect::<String>(),
                env!("CARGO_PKG_VERSION")
            ),
        }
    }

    /// One line for each second of each run.
    fn print_csv(&self) {
        tell!(
            "seed,second,calls,good,attempts,goodput,failed,rejected,denied,executed,wasted,\
             refused,queue,delay_us,open,half_open"
        );
        for run in &self.runs {
            for (second, s) in run.seconds.iter().enumerate() {
                tell!(
                    "{},{second},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
                    run.seed,
                    s.calls,
                    s.good,
                    s.attempts,
                    s.goodput,
                    s.failed,
                    s.rejected,
                    s.denied,
                    s.executed,
                    s.wasted,
                    s.refused,
                    s.queue,
                    s.delay,
                    s.open,
                    s.half_open
                );
            }
        }
    }
}

/// What is kept of one run for each seed. A person is told how far they are.
pub(crate) fn run_all<T: Send>(
    scenario: &Scenario,
    policy: &Policy,
    seeds: &[u64],
    of: impl Fn(Run) -> T + Sync,
) -> Result<Vec<T>, String> {
    let seconds = scenario.end.as_micros() / 1_000_000;
    let progress = Progress::new(format!("{} runs", seeds.len()), seconds * seeds.len() as u64);
    let one = |seed: &u64| run_telling(scenario, policy, *seed, || progress.step()).map(&of);
    let runs = parallel::each(seeds, one, || {});
    runs.into_iter().collect::<Result<_, _>>().map_err(|unfit| unfit.to_string())
}

fn print(report: &Report) {
    tell!("{}\n\n{}\nIn it, {}.\n", report.name, report.conclusion, report.calls);
    for (name, value) in &report.facts {
        tell!("  {name:<34} {value:>13}");
    }
    tell!();
    for figure in &report.figures {
        tell!("- {}", figure.conclusion);
    }
    tell!("\n{}", report.provenance);
}

/// Says what makes all numbers of what was simulated look other than they are.
pub(crate) fn print_warnings(before: &str, file: &ScenarioFile) {
    for warning in file.policy.simulated_warnings() {
        tell!("{before}warning: {warning}");
    }
}

pub(crate) fn title(path: &Path) -> String {
    path.file_stem().map_or_else(|| "scenario".into(), |stem| stem.to_string_lossy().into_owned())
}
