//! This file knows how a row is judged and shown.

use core::ops::RangeInclusive;

/// What came of one case.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    /// The code the caller saw, `OK` or `CIRCUIT_OPEN`.
    pub(crate) outcome: String,
    /// Attempts, counted by the server.
    pub(crate) attempts: u32,
    /// Charges, counted by the server.
    pub(crate) charges: u32,
    /// From the beginning of the first call to the end of the last.
    pub(crate) seconds: f64,
    /// Stream items, or the seconds the server saw.
    pub(crate) received: Option<Vec<f64>>,
    /// Something else the case looks at did not hold.
    pub(crate) wrong: Option<String>,
}

/// What should come of it.
#[derive(Debug)]
pub(crate) struct Expected {
    pub(crate) outcome: &'static str,
    pub(crate) attempts: u32,
    /// `None`: the case charges nothing.
    pub(crate) charges: Option<u32>,
    /// Bounds on the side that load cannot stretch.
    pub(crate) seconds: Option<RangeInclusive<f64>>,
    pub(crate) received: Received,
}

#[derive(Debug)]
pub(crate) enum Received {
    /// Stream items, exactly.
    Items(&'static [f64]),
    Nothing,
    /// Seconds the server saw: at most these, and not much less.
    Seconds(&'static [f64]),
}

impl Expected {
    pub(crate) const fn new(outcome: &'static str, attempts: u32, charges: Option<u32>) -> Self {
        Self { outcome, attempts, charges, seconds: None, received: Received::Nothing }
    }

    pub(crate) const fn within(mut self, seconds: RangeInclusive<f64>) -> Self {
        self.seconds = Some(seconds);
        self
    }

    pub(crate) const fn receiving(mut self, received: Received) -> Self {
        self.received = received;
        self
    }

    /// What is not as expected; empty when all is.
    pub(crate) fn faults(&self, observed: &Observed) -> Vec<String> {
        let mut faults: Vec<String> = observed.wrong.iter().cloned().collect();
        let mut check = |holds: bool, fault: String| {
            if !holds {
                faults.push(fault);
            }
        };
        check(observed.outcome == self.outcome, format!("outcome should be {}", self.outcome));
        check(observed.attempts == self.attempts, format!("attempts should be {}", self.attempts));
        if let Some(charges) = self.charges {
            check(observed.charges == charges, format!("charges should be {charges}"));
        }
        if let Some(range) = &self.seconds {
            check(range.contains(&observed.seconds), format!("seconds should be in {range:?}"));
        }
        let received = observed.received.as_deref().unwrap_or_default();
        match self.received {
            Received::Nothing => {}
            Received::Items(items) => {
                check(received == items, format!("received should be {items:?}"));
            }
            Received::Seconds(nominal) => {
                let near = |(seen, nominal): (&f64, &f64)| {
                    *seen <= nominal + 0.05 && *seen >= nominal - 0.3
                };
                let all = received.len() == nominal.len() && received.iter().zip(nominal).all(near);
                check(all, format!("the server should have seen {nominal:?}"));
            }
        }
        faults
    }

    fn text(&self) -> String {
        let charges = self.charges.map_or_else(|| "-".to_owned(), |charges| charges.to_string());
        format!("{} {}/{charges}", self.outcome, self.attempts)
    }
}

/// A row of the table a person reads.
pub(crate) fn print_row(id: &str, teaches: &str, expected: &Expected, observed: &Observed) {
    let charges = expected.charges.map_or_else(|| "-".to_owned(), |_| observed.charges.to_string());
    let faults = expected.faults(observed);
    let mark = if faults.is_empty() { '✓' } else { '✗' };
    println!(
        "{id:<26} {:<18} {:>8} {charges:>8} {:>7.2}s  {:<24} {mark}",
        observed.outcome,
        observed.attempts,
        observed.seconds,
        expected.text(),
    );
    println!("    {teaches}");
    if let Some(received) = &observed.received {
        let shown: Vec<_> = received.iter().map(|value| shown(*value)).collect();
        let what = match expected.received {
            Received::Seconds(_) => "seconds left, as the server saw them",
            Received::Items(_) | Received::Nothing => "items received",
        };
        println!("    {what}: {}", shown.join(", "));
    }
    for fault in faults {
        println!("    ✗ {fault}");
    }
}

pub(crate) fn print_head() {
    println!(
        "Where no line says otherwise a call has three attempts, of any method: no list, no breaker,"
    );
    println!(
        "no timeout. Attempts and charges are the server's count; - is a call that charges nothing.\n"
    );
    println!(
        "{:<26} {:<18} {:>8} {:>8} {:>8}  {:<24}",
        "case", "the caller saw", "attempts", "charges", "time", "expected"
    );
    println!("{}", "-".repeat(100));
}

/// One JSON object for each row. Every string in it is a name of ours.
pub(crate) fn print_json(id: &str, expected: &Expected, observed: &Observed) {
    let charges =
        expected.charges.map_or_else(|| "null".to_owned(), |_| observed.charges.to_string());
    let received = observed.received.as_ref().map_or_else(
        || "null".to_owned(),
        |received| {
            let values: Vec<_> = received.iter().map(|value| shown(*value)).collect();
            format!("[{}]", values.join(","))
        },
    );
    println!(
        "{{\"case\":\"{id}\",\"outcome\":\"{}\",\"attempts\":{},\"charges\":{charges},\
         \"seconds\":{:.3},\"received\":{received},\"ok\":{}}}",
        observed.outcome,
        observed.attempts,
        observed.seconds,
        expected.faults(observed).is_empty(),
    );
}

/// Items as whole numbers, seconds with the digits that matter.
fn shown(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value}") } else { format!("{value:.3}") }
}
