//! This file knows `evenkeel check`: a policy's linter, and its exam.

mod assertion;
mod junit;
mod worst;

use std::path::PathBuf;

use evenkeel_core::Micros;
use evenkeel_sim::{
    Arrivals, Batch, Budget, FaultKind, Guard, Named, Policy, Scenario, Summary, cut,
};

use crate::out::tell;
use crate::progress::Progress;
use crate::simulate::run_all;
use crate::{elsewhere, input, keep, parallel};
use assertion::Assertion;

/// Lints a policy, says what it would cost in an outage, and checks assertions about that.
///
/// A policy is a preset, a settings file (TOML or JSON), or a gRPC service config (JSON).
/// Assertions compare: recover.median, recover.p95, never, amp.mean, amp.peak, success.during,
/// success.after, wasted, breaker.seconds, safe.load, attempts.max, duration.max.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A preset, or a policy's file.
    policy: String,
    /// The method that calls are to; without it, one that may be repeated, where the policy lists
    /// some.
    #[arg(long, value_name = "NAME")]
    method: Option<String>,
    /// What must hold, such as 'recover.p95 < 60s' or 'never == 0'; may be given several times.
    #[arg(long = "assert", value_name = "ASSERTION")]
    assertions: Vec<String>,
    /// In which outage; without it, a stall of 30 s at 70 % load.
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// How many seeds.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    seeds: u32,
    /// Fails if anything is warned about.
    #[arg(long)]
    deny_warnings: bool,
    // Not a comment for the documentation: what is set in code there has quotes in the help.
    #[arg(long, value_name = "FILE", help = "Writes the assertions as JUnit XML")]
    junit: Option<PathBuf>,
}

/// What was found out about a policy.
pub(crate) struct Findings {
    batch: Batch,
    /// `None` where its runs would be too large.
    safe_load: Option<f64>,
    worst: worst::Worst,
}

pub(crate) fn run(args: &Args) -> Result<bool, String> {
    let assertions: Vec<Assertion> =
        args.assertions.iter().map(|text| text.parse()).collect::<Result<_, _>>()?;
    let file = args.scenario.as_deref().map(|path| input::scenario(path, "check POLICY"));
    let file = file.transpose()?;
    let method = args.method.as_deref().or_else(|| file.as_ref()?.method());
    let mut named = input::policy(&args.policy, method)?;
    let scenario =
        file.as_ref().map_or(Scenario::outage(FaultKind::Stall), |file| file.scenario.clone());
    keep::file(args.junit.as_deref())?;
    tell!("{}: {}", named.name, named.method);
    for warning in &named.warnings {
        tell!("  warning: {warning}");
    }
    if named.warnings.is_empty() {
        tell!("  no warnings");
    }
    let worst = worst::Worst::of(&named.policy);
    worst.print(&named.policy);
    let findings = find(&named, &scenario, args.seeds, worst)?;
    if let Some(cut) = cut(&scenario, &findings.batch) {
        tell!("  warning: {cut}");
        named.warnings.push(cut);
    }
    findings.print(&scenario);
    print_fleet(&named.policy)?;
    let verdicts: Vec<_> = assertions.iter().map(|assertion| assertion.judge(&findings)).collect();
    for verdict in &verdicts {
        let sign = if verdict.passes { '✓' } else { '✗' };
        tell!("  {sign} {}: {}", verdict.text, verdict.got);
    }
    if let Some(path) = &args.junit {
        keep::write(path, &junit::xml(&named, &verdicts, args.deny_warnings))?;
    }
    let warned = args.deny_warnings && !named.warnings.is_empty();
    Ok(!warned && verdicts.iter().all(|verdict| verdict.passes))
}

fn find(
    named: &Named,
    scenario: &Scenario,
    seeds: u32,
    worst: worst::Worst,
) -> Result<Findings, String> {
    let seeds: Vec<u64> = (0..u64::from(seeds)).map(|index| 11 + 11 * index).collect();
    let runs = run_all(scenario, &named.policy, &seeds, |run| Summary::of(&run, scenario))?;
    let safe_load = elsewhere::safe(scenario, &named.policy, 11)?;
    Ok(Findings { batch: Batch { runs }, safe_load, worst })
}

impl Findings {
    fn print(&self, scenario: &Scenario) {
        tell!("In the outage, and what --assert calls it:");
        for (row, value) in evenkeel_sim::facts(scenario, &self.batch, self.safe_load) {
            let line = format!("  {row:<34} {value:>8}  {}", assertion::name_of(row));
            tell!("{}", line.trim_end());
        }
        if self.safe_load.is_none() {
            tell!("  The safe load is not looked for: {}.", elsewhere::TOO_MANY);
        }
    }
}

/// What the size of the fleet does: the same load from more clients, each with a budget and a
/// breaker of its own.
fn print_fleet(policy: &Policy) -> Result<(), String> {
    let has = match (policy.budget, policy.guard) {
        (Budget::None, Guard::None) => {
            tell!(
                "Clients remember nothing between calls: as many from more clients are the same."
            );
            return Ok(());
        }
        (Budget::None, _) => "a breaker",
        (_, Guard::None) => "a budget",
        _ => "a budget and a breaker",
    };
    tell!("A stall of 30 s, 700 calls/s from more clients, each with {has} of its own:");
    let sizes = [10, 100, 1_000, 10_000];
    let progress = Progress::new("4 sizes of the fleet", 4);
    let times = parallel::each(&sizes, |clients| recovery(policy, *clients), || progress.step());
    drop(progress);
    for (clients, time) in sizes.iter().zip(times) {
        let time = time?.map_or_else(|| "never".into(), |seconds| format!("{seconds} s"));
        tell!("  {clients:>6} clients: recovered after {time}");
    }
    Ok(())
}

fn recovery(policy: &Policy, clients: u32) -> Result<Option<u32>, String> {
    let mut scenario = Scenario::outage(FaultKind::Stall);
    scenario.fleet.clients = clients;
    scenario.fleet.arrivals = Arrivals::Open { per_second: 700.0 };
    scenario.end = Micros::from_millis(660_000);
    evenkeel_sim::recovery_time(&scenario, policy, 11).map_err(|unfit| unfit.to_string())
}
