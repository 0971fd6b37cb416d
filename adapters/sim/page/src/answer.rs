//! This file knows what is answered to a request.

use evenkeel_sim::presets::PRESETS;
use evenkeel_sim::{
    Batch, Figure, Map, Policy, Scenario, Summary, ending, facts, figures, map_figure, run,
};

use crate::request::Request;

/// Ends a record.
pub const RECORD: char = '\u{1e}';
/// Separates the fields of a record; the first says what it is.
pub const FIELD: char = '\u{1f}';

/// What is kept between requests: the recovery map, cell by cell.
#[derive(Debug, Default)]
pub struct Session {
    map: Map,
}

impl Session {
    /// The answer to a request; never fails, but may consist of an `error`.
    pub fn answer(&mut self, request: &str) -> String {
        let request = Request::of(request);
        let mut answer = String::new();
        if let Err(why) = self.carry_out(&request, &mut answer) {
            answer.clear();
            put(&mut answer, &["error", &why]);
        }
        answer
    }

    fn carry_out(&mut self, request: &Request<'_>, answer: &mut String) -> Result<(), String> {
        let what = request.text("what");
        if what == "presets" {
            presets(answer);
            return Ok(());
        }
        #[cfg(feature = "golden")]
        if what == "golden" {
            golden(answer);
            return Ok(());
        }
        let spec = request.spec()?;
        let policy = spec.policy().map_err(|invalid| format!("{invalid}"))?;
        let scenario = request.scenario()?;
        scenario.check().map_err(|unfit| format!("{unfit}"))?;
        match what {
            "run" => simulate(&scenario, &policy, request, answer),
            "cell" => {
                let index = request.number("cell", 0.0) as usize;
                if index >= self.map.cells.len() {
                    return Err("cell: there is no such cell".into());
                }
                let run = self.map.run_cell(index, &scenario, &policy, 11);
                run.map_err(|unfit| format!("{unfit}"))?;
                put(answer, &["cells", &self.map.cells.len().to_string()]);
                Ok(())
            }
            "map" => {
                put_figure(answer, &map_figure(&scenario, &policy, &self.map));
                Ok(())
            }
            "text" => {
                put(answer, &["policy", &spec.to_toml()]);
                put(answer, &["rust", &spec.to_rust()]);
                put(answer, &["scenario", &scenario.to_toml("policy.toml")]);
                Ok(())
            }
            _ => Err("what: must be presets, run, cell, map or text".into()),
        }
    }
}

fn presets(answer: &mut String) {
    for preset in PRESETS {
        put(answer, &["preset", preset.name, preset.about]);
    }
}

/// The golden runs: name, what must come of it, what did.
#[cfg(feature = "golden")]
fn golden(answer: &mut String) {
    use evenkeel_sim::validate::platform::{GOLDEN, golden_run};

    for golden in GOLDEN {
        let show = |(events, digest): (u64, u64)| format!("{events} {digest:016x}");
        let known = show((golden.events, golden.digest));
        let got = golden_run(golden.name).map(show).unwrap_or_default();
        put(answer, &["golden", golden.name, &known, &got]);
    }
}

fn simulate(
    scenario: &Scenario,
    policy: &Policy,
    request: &Request<'_>,
    answer: &mut String,
) -> Result<(), String> {
    let seeds = request.number("seeds", 3.0).clamp(1.0, 50.0) as u64;
    let mut runs = Vec::new();
    let mut pictures = Vec::new();
    for index in 0..seeds {
        let record = run(scenario, policy, 11 + 11 * index).map_err(|unfit| format!("{unfit}"))?;
        runs.push(Summary::of(&record, scenario));
        if index == 0 {
            put(answer, &["digest", &format!("{:016x}", record.digest())]);
            put(answer, &["events", &record.events.to_string()]);
            pictures = figures(scenario, policy, &record);
        }
    }
    let batch = Batch { runs };
    put(answer, &["conclusion", &(ending(scenario, policy, &batch) + ".")]);
    if batch.cut_short() > 0 {
        put(answer, &["fact", "Cut short at", "20M events"]);
    }
    for (name, value) in facts(scenario, &batch) {
        put(answer, &["fact", name, &value]);
    }
    for picture in &pictures {
        put_figure(answer, picture);
    }
    Ok(())
}

fn put_figure(answer: &mut String, figure: &Figure) {
    put(answer, &["figure", figure.id, figure.title, &figure.conclusion, &figure.svg]);
}

fn put(answer: &mut String, fields: &[&str]) {
    for (index, field) in fields.iter().enumerate() {
        if index > 0 {
            answer.push(FIELD);
        }
        answer.push_str(field);
    }
    answer.push(RECORD);
}
