//! This file knows where a value is on an axis, and where the axis is marked.

use super::short;
use crate::chance::ln;

/// One axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    first: f64,
    last: f64,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Linear,
    /// Each factor of ten as wide as the next.
    Logarithmic,
    /// Even, marked at its start and from there in these steps.
    Marked {
        from: u32,
        every: u32,
    },
    /// Rows that other marks name.
    Rows,
}

impl Scale {
    /// Even, from `first` to `last`.
    pub(crate) const fn linear(first: f64, last: f64) -> Self {
        let last = if last > first { last } else { first + 1.0 };
        Self { first, last, kind: Kind::Linear }
    }

    /// Even, from zero to a round number not below `last`.
    pub(crate) fn up_to(last: f64) -> Self {
        let step = step(last * 1.05);
        Self::linear(0.0, step * ceil(last * 1.05 / step))
    }

    /// By factors, from `first` above zero to `last`.
    pub(crate) const fn logarithmic(first: f64, last: f64) -> Self {
        let last = if last > first { last } else { first * 10.0 };
        Self { first, last, kind: Kind::Logarithmic }
    }

    /// Even, and marked at `from` and every so much further on.
    pub(crate) const fn marked(first: f64, last: f64, from: u32, every: u32) -> Self {
        Self { first, last, kind: Kind::Marked { from, every } }
    }

    /// This many rows, without marks.
    pub(crate) const fn rows(rows: f64) -> Self {
        Self { first: rows, last: 0.0, kind: Kind::Rows }
    }

    pub(crate) const fn first(&self) -> f64 {
        self.first
    }

    pub(crate) const fn last(&self) -> f64 {
        self.last
    }

    /// From 0 at the start to 1 at the end; what lies outside is at the edge.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let place = match self.kind {
            Kind::Linear | Kind::Marked { .. } | Kind::Rows => {
                (value - self.first) / (self.last - self.first)
            }
            Kind::Logarithmic if value > self.first => {
                ln(value / self.first) / ln(self.last / self.first)
            }
            Kind::Logarithmic => 0.0,
        };
        place.clamp(0.0, 1.0)
    }

    /// Where it is marked, and with what.
    pub(crate) fn ticks(&self) -> Vec<(f64, String)> {
        match self.kind {
            Kind::Rows => Vec::new(),
            Kind::Marked { from, every } => {
                let marks = (0..).map(|n| f64::from(from + n * every));
                marks.take_while(|at| *at <= self.last).map(|at| (at, short(at))).collect()
            }
            Kind::Linear => {
                let step = step(self.last - self.first);
                let mut at = ceil(self.first / step) * step;
                let mut ticks = Vec::new();
                while at <= self.last + step / 1e6 {
                    ticks.push((at, short(at)));
                    at += step;
                }
                ticks
            }
            Kind::Logarithmic => {
                let mut at = 1e-6;
                while at < self.first * 0.999_999 {
                    at *= 10.0;
                }
                let mut ticks = Vec::new();
                while at <= self.last * 1.000_001 {
                    ticks.push((at, short(at)));
                    at *= 10.0;
                }
                ticks
            }
        }
    }
}

/// 1, 2 or 5 times a power of ten, so that four to nine of them make up the span.
fn step(span: f64) -> f64 {
    let mut unit = 1e-9;
    while unit * 10.0 < span / 4.0 && unit < 1e12 {
        unit *= 10.0;
    }
    let wanted = span / 7.0;
    let steps = [unit, unit * 2.0, unit * 5.0, unit * 10.0];
    steps.into_iter().find(|step| *step >= wanted).unwrap_or(unit * 10.0)
}

fn ceil(value: f64) -> f64 {
    let whole = value as i64 as f64;
    if whole < value - 1e-9 { whole + 1.0 } else { whole }
}

#[cfg(test)]
mod tests {
    use super::Scale;

    #[test]
    fn axes_are_marked_at_round_numbers() {
        let words = |scale: Scale| scale.ticks().into_iter().map(|tick| tick.1).collect::<Vec<_>>();
        assert_eq!(words(Scale::linear(0.0, 390.0)), ["0", "100", "200", "300"]);
        assert_eq!(
            words(Scale::up_to(2_800.0)),
            ["0", "500", "1000", "1500", "2000", "2500", "3000"]
        );
        assert_eq!(words(Scale::logarithmic(0.01, 300.0)), ["0.01", "0.1", "1", "10", "100"]);
        assert_eq!(Scale::linear(5.0, 5.0).place(5.0), 0.0);
        assert!(words(Scale::up_to(0.0)).len() < 20);
    }
}
