//! This file knows the report: a page of its own with the numbers, the pictures and their limits.

use evenkeel_core::Micros;

use crate::figures::{Figure, is_hopeless, seconds_after, style};
use crate::plot::{escape, percent, short};
use crate::{Batch, Policy, Scenario};

/// Everything a report shows.
#[derive(Clone, Debug)]
pub struct Report {
    /// What was simulated, for the title.
    pub name: String,
    /// The conclusion of the whole, as a sentence.
    pub conclusion: String,
    /// Which method the calls are to, as [`Method`](crate::Method) says it.
    pub calls: String,
    /// Numbers with their names, in order.
    pub facts: Vec<(&'static str, String)>,
    /// The pictures.
    pub figures: Vec<Figure>,
    /// The scenario as it was read, for whoever wants to run it again.
    pub source: String,
    /// The policy as it was read: without it, the report proves nothing once its file has changed.
    pub policy: String,
    /// How many seeds were run, from which on, and by which version.
    pub provenance: String,
}

/// The numbers of a batch, as a person reads them.
pub fn facts(scenario: &Scenario, batch: &Batch) -> Vec<(&'static str, String)> {
    let seconds =
        |time: Option<u32>| time.map_or_else(|| "never".into(), |time| format!("{time} s"));
    vec![
        ("Load", percent(scenario.offered() / scenario.capacity())),
        ("Time to recover, median", seconds(batch.median())),
        ("Time to recover, p95", seconds(batch.p95())),
        ("Runs that never recovered", percent(batch.never())),
        ("Attempts per call in the fault", short(batch.mean(|run| run.amplification))),
        ("Attempts at the peak, × offered", short(batch.most(|run| run.peak))),
        ("Good calls during the fault", percent(batch.mean(|run| run.success_during))),
        ("Good calls after, 2 min at most", percent(batch.mean(|run| run.success_after))),
        ("Work done for nobody", percent(batch.mean(|run| run.wasted))),
        ("Added by the breaker", short(batch.mean(|run| run.breaker_seconds)) + " s"),
    ]
}

/// The same numbers and the safe load, with [`FEW`] in place of each that too few calls are behind.
pub fn facts_of_enough(
    scenario: &Scenario,
    batch: &Batch,
    safe_load: Option<f64>,
) -> Vec<(&'static str, String)> {
    let seconds = |span: Micros| span.as_micros() as f64 / 1e6;
    let fault = seconds(scenario.fault.length);
    let after = seconds(scenario.end.minus(scenario.fault_end()));
    // Over how long each is counted, from the first row behind the load to the calls after the fault.
    let spans = [10.0, 10.0, 10.0, fault, 1.0, fault, after.min(120.0)];
    let mut facts = facts(scenario, batch);
    for (fact, seconds) in facts.iter_mut().skip(1).zip(spans) {
        if scenario.has_few_calls_in(seconds) {
            fact.1 = FEW.into();
        }
    }
    facts.extend(safe_load.map(|load| ("Safe load for this fault", percent(load))));
    facts
}

/// What stands in place of a number.
pub const FEW: &str = "too few calls";

/// That there are too few calls to judge whether an outage ends, as a sentence without its stop:
/// that is seen in ten seconds in a row.
pub fn few(scenario: &Scenario) -> Option<&'static str> {
    let few = "Too few calls to judge whether the outage ends: fewer than one a second";
    scenario.has_few_calls_in(10.0).then_some(few)
}

/// The whole as one sentence.
pub fn conclusion(
    scenario: &Scenario,
    policy: &Policy,
    batch: &Batch,
    safe_load: Option<f64>,
) -> String {
    let ending = few(scenario).map_or_else(|| ending(scenario, policy, batch), Into::into);
    match safe_load {
        Some(safe) => format!("{ending}{}.", elsewhere(scenario, batch, safe)),
        None => format!("{ending}."),
    }
}

/// How the outage ends, as a sentence without its stop. That it does not at all is told where
/// [the law](crate::hopeless_load) says so of what was seen, and else how long the runs went on.
pub fn ending(scenario: &Scenario, policy: &Policy, batch: &Batch) -> String {
    let load = percent(scenario.offered() / scenario.capacity());
    let after = seconds_after(scenario);
    match (batch.median(), batch.never()) {
        (None, _) if is_hopeless(scenario, policy) && batch.mean(|run| run.wasted) > 0.9 => {
            format!("At {load} load this outage does not end by itself")
        }
        (None, _) => {
            format!("At {load} load this outage does not end within {after} s after the fault")
        }
        (Some(0), _) => format!("At {load} load the calls are good as soon as the server is"),
        (Some(seconds), never) if never > 0.0 => format!(
            "At {load} load the calls are good again {seconds} s after the server is, but in {} of \
             the runs not within {after} s",
            percent(never)
        ),
        (Some(seconds), _) => {
            format!("At {load} load the calls are good again {seconds} s after the server is")
        }
    }
}

/// That runs were cut short, if any was: a sentence to stand before everything that is told of them.
pub fn cut(scenario: &Scenario, batch: &Batch) -> Option<String> {
    let (cut, all) = (batch.cut_short(), batch.runs.len());
    (cut > 0).then(|| {
        format!(
            "{cut} of {all} runs were cut short at max_events = {}, and what is told of them is their \
             beginning alone.",
            scenario.max_events
        )
    })
}

/// What becomes of the same outage at other loads.
fn elsewhere(scenario: &Scenario, batch: &Batch, safe: f64) -> String {
    // It is found to a hundredth.
    let safe = if safe < 0.985 { safe } else { 1.0 };
    let reach = match safe {
        safe if safe < 0.01 => "at no load".into(),
        safe if safe < 1.0 => format!("up to {} load", percent(safe)),
        _ => "at every load below the capacity".into(),
    };
    let (ended, is_safe) = (batch.median(), scenario.offered() / scenario.capacity() < safe);
    match ended {
        // A fleet of another size, another seed, a minute more of time, or calls enough.
        _ if ended.is_some() != is_safe || few(scenario).is_some() => {
            format!("; in the smaller runs that look for the safe load it ends {reach}")
        }
        Some(_) if safe >= 1.0 => format!(", and would be {reach}"),
        _ => format!("; {reach} it would end"),
    }
}

/// Which of two recovers, or recovers sooner, as one sentence: by the time within which 95 % of the
/// runs did.
pub fn verdict(names: [&str; 2], batches: [&Batch; 2]) -> String {
    // Two files of one name, in two folders.
    let [a, b] = if names[0] == names[1] { ["the first", "the second"] } else { names };
    let [first, second] = batches;
    let never = |batch: &Batch| percent(batch.never());
    match (first.p95(), second.p95()) {
        (Some(x), Some(y)) if x == y => format!("By p95, both recover alike, within {x} s."),
        (Some(x), Some(y)) => {
            let (sooner, least, later, most) = if x < y { (a, x, b, y) } else { (b, y, a, x) };
            format!("By p95, {sooner} recovers sooner: within {least} s, {later} within {most} s.")
        }
        (Some(x), None) => only(a, x, b, &never(second)),
        (None, Some(y)) => only(b, y, a, &never(first)),
        (None, None) => format!(
            "By p95, neither recovers: {} of the runs of {a} do not before they end, and {} of those of \
             {b}.",
            never(first),
            never(second)
        ),
    }
}

fn only(one: &str, seconds: u32, other: &str, never: &str) -> String {
    format!(
        "By p95, {one} recovers, within {seconds} s, and {other} does not: {never} of its runs \
         do not before they end."
    )
}

/// What every model of this kind leaves out, as HTML.
pub const CAVEATS: &str = include_str!("caveats.html");

impl Report {
    /// As one self-contained HTML page.
    pub fn to_html(&self) -> String {
        format!(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
             <title>{}: evenkeel</title><style>{PAGE}{}</style><main>{}</main>",
            escape(&self.name),
            style(),
            self.body()
        )
    }

    /// What stands on the page, for a page that shows several.
    pub fn body(&self) -> String {
        let mut html = format!(
            "<h1>{}</h1><p class=\"conclusion\">{}</p><p>In it, {}.</p><dl>",
            escape(&self.name),
            escape(&self.conclusion),
            escape(&self.calls)
        );
        for (name, value) in &self.facts {
            html += &format!("<div><dt>{}</dt><dd>{}</dd></div>", escape(name), escape(value));
        }
        html += "</dl>";
        for figure in &self.figures {
            html += &format!(
                "<figure id=\"{}\"><figcaption><h2>{}</h2><p>{}</p></figcaption>{}</figure>",
                figure.id,
                escape(figure.title),
                escape(&figure.conclusion),
                figure.svg
            );
        }
        html += "<section class=\"caveats\"><h2>What this leaves out</h2>";
        html += CAVEATS;
        html += &format!(
            "</section><details><summary>The scenario</summary><pre>{}</pre></details>\
             <details><summary>The policy</summary><pre>{}</pre></details><footer>{}</footer>",
            escape(&self.source),
            escape(&self.policy),
            escape(&self.provenance)
        );
        html
    }

    /// The look of such a page, beside that of the pictures.
    pub const fn page_style() -> &'static str {
        PAGE
    }
}

const PAGE: &str = include_str!("report.css");
