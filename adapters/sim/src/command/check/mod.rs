//! This file knows `evenkeel check`: a policy's linter, and its exam.

mod assertion;
mod fleet;
mod junit;
mod worst;

use std::path::PathBuf;

use evenkeel_sim::{Batch, FaultKind, Named, Scenario, Summary, cut, few};

use crate::out::tell;
use crate::simulate::run_all;
use crate::{elsewhere, input, keep, value};
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
    #[arg(long, default_value_t = 5, value_parser = value::whole(1, 1_000), allow_hyphen_values = true)]
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
    scenario: Scenario,
    /// Else why it was not looked for.
    safe_load: Result<f64, &'static str>,
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
    worst.print(&named.policy, &scenario);
    let findings = find(&named, &scenario, args.seeds, worst)?;
    let few = few(&scenario).map(|few| format!("{few}."));
    for doubt in few.into_iter().chain(cut(&scenario, &findings.batch)) {
        tell!("  warning: {doubt}");
        named.warnings.push(doubt);
    }
    findings.print();
    fleet::print(&named.policy, &scenario, args.scenario.as_deref())?;
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
    Ok(Findings { batch: Batch { runs }, scenario: scenario.clone(), safe_load, worst })
}

impl Findings {
    fn print(&self) {
        tell!("In the outage, and what --assert calls it:");
        for (row, value) in self.facts() {
            let line = format!("  {row:<34} {value:>13}  {}", assertion::name_of(row));
            tell!("{}", line.trim_end());
        }
        if let Err(why) = self.safe_load {
            tell!("  The safe load is not looked for: {why}.");
        }
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        evenkeel_sim::facts_of_enough(&self.scenario, &self.batch, self.safe_load.ok())
    }
}
