//! This file knows `evenkeel validate`: does this build reproduce what is known?

use evenkeel_sim::validate::outage::{self, Expected};
use evenkeel_sim::validate::{CHECKS, Machines};
use serde_json::{Value, json};

use crate::out::tell;
use crate::parallel;
use crate::progress::Progress;

/// Compares this build with published and closed-form results; fails if it differs.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only these checks: V1 and so on, or "outage" for the outage table; a wrong one lists them all.
    #[arg(long, value_delimiter = ',', value_name = "ID")]
    only: Vec<String>,
    /// As JSON, for programs.
    #[arg(long)]
    json: bool,
}

struct Line {
    id: String,
    source: String,
    what: String,
    expected: String,
    tolerance: String,
    got: String,
    passes: bool,
}

pub(crate) fn run(args: &Args) -> Result<bool, String> {
    let jobs = jobs(&args.only)?;
    let progress = Progress::new(format!("{} checks", jobs.len()), jobs.len() as u64);
    let lines = parallel::each(&jobs, Job::run, || progress.step());
    drop(progress);
    let lines: Vec<Line> = lines.into_iter().flatten().collect();
    if args.json {
        tell!("{}", to_json(&lines));
    } else {
        print(&lines);
    }
    Ok(lines.iter().all(|line| line.passes))
}

enum Job {
    Check(&'static evenkeel_sim::validate::Check),
    Cell(Box<outage::Cell>),
}

fn jobs(only: &[String]) -> Result<Vec<Job>, String> {
    let known = |id: &str| id == OUTAGE || CHECKS.iter().any(|check| check.id == id);
    if let Some(unknown) = only.iter().find(|id| !known(id)) {
        let ids: Vec<&str> = CHECKS.iter().map(|check| check.id).collect();
        return Err(format!(
            "there is no check {unknown}; there are {} and {OUTAGE}",
            ids.join(", ")
        ));
    }
    let wanted = |id: &str| only.is_empty() || only.iter().any(|wanted| wanted == id);
    let mut jobs = Vec::new();
    jobs.extend(CHECKS.iter().filter(|check| wanted(check.id)).map(Job::Check));
    if wanted(OUTAGE) {
        jobs.extend(outage::cells().into_iter().map(|cell| Job::Cell(Box::new(cell))));
    }
    Ok(jobs)
}

impl Job {
    fn run(&self) -> Vec<Line> {
        match self {
            Self::Check(check) => {
                let rows = check.run(&Machines::SHIPPED).into_iter();
                rows.map(|row| Line {
                    id: check.id.into(),
                    source: check.source.into(),
                    what: row.what,
                    expected: row.expected,
                    tolerance: row.tolerance,
                    got: row.got,
                    passes: row.passes,
                })
                .collect()
            }
            Self::Cell(cell) => vec![line(cell)],
        }
    }
}

fn line(cell: &outage::Cell) -> Line {
    let (got, passes) = match cell.run() {
        Ok(outcome) => {
            (outcome.got.map_or_else(|| "never".into(), |got| format!("{got} s")), outcome.passes)
        }
        Err(unfit) => (unfit.to_string(), false),
    };
    Line {
        id: OUTAGE.into(),
        source: "the standard outage under every policy".into(),
        what: format!("{}, {}", cell.policy, cell.outage),
        expected: match cell.expected {
            Expected::Never => "never".into(),
            Expected::Seconds(seconds) => format!("{seconds} s"),
        },
        tolerance: "20 % or 3 s".into(),
        got,
        passes,
    }
}

fn print(lines: &[Line]) {
    let mut last = "";
    for line in lines {
        if line.id != last {
            tell!("\n{} {}", line.id, line.source);
            last = &line.id;
        }
        let sign = if line.passes { '✓' } else { '✗' };
        tell!(
            "  {sign} {:<58} expected {:<18} {:<14} got {}",
            line.what,
            line.expected,
            line.tolerance,
            line.got
        );
    }
    let failed = lines.iter().filter(|line| !line.passes).count();
    tell!("\nV26 (Breakwater, HotOS'25) is about servers: cited, not simulated.");
    tell!("{} agree, {failed} do not", lines.len() - failed);
}

fn to_json(lines: &[Line]) -> Value {
    let rows = lines.iter().map(|line| {
        json!({
            "id": line.id, "source": line.source, "what": line.what, "expected": line.expected,
            "tolerance": line.tolerance, "got": line.got, "passes": line.passes,
        })
    });
    Value::Array(rows.collect())
}

const OUTAGE: &str = "outage";
