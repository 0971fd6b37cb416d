//! This file knows how a trace is written, on the page about scenarios as in their files.
//!
//! `A(0:2) A(0.3:1.7) UNAVAILABLE(0.3: deadline would pass)`: an attempt at 0 with 2 s left, one at
//! 0.3 with 1.7 left, and the end at 0.3, with the reason why there was no other. An attempt without
//! a deadline is `A(0)`; one that repeats the one before, and counts as no other, is `T(0)`.

use core::fmt;
use core::str::FromStr;

use evenkeel_core::Code;

use crate::time;
use crate::trace::{End, REASONS, Sent, Trace, What, When};

impl FromStr for Trace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut sent = Vec::new();
        let mut rest = text.trim();
        loop {
            let (word, inner, after) = part(rest)?;
            let (at, detail) = inner.split_once(':').unwrap_or((inner, ""));
            let (at, detail) = (at.parse()?, detail.trim());
            if word == "A" || word == "T" {
                let left = if detail.is_empty() { When::NEVER } else { detail.parse()? };
                sent.push(Sent { at, left, again: word == "T" });
                rest = after;
                continue;
            }
            let (what, why) = ending(word, detail)?;
            if !after.is_empty() {
                return Err(format!("{after:?} comes after the end"));
            }
            return Ok(Self { sent, end: End { at, what, why } });
        }
    }
}

/// `word(inner)`, and what follows.
fn part(text: &str) -> Result<(&str, &str, &str), String> {
    let part = text.split_once('(').and_then(|(word, rest)| {
        let (inner, after) = rest.split_once(')')?;
        Some((word, inner, after.trim_start()))
    });
    part.ok_or_else(|| format!("{text:?} has no end such as OK(0.3)"))
}

fn ending(word: &str, detail: &str) -> Result<(What, Option<&'static str>), String> {
    let pair = |between: &str| {
        let (first, second) = detail.split_once(between).unwrap_or((detail, ""));
        Ok::<_, String>((time::parse(first.trim())?, time::parse(second.trim())?))
    };
    Ok(match word {
        "GONE" if detail.is_empty() => (What::Gone, None),
        "OK" if detail.is_empty() => (What::Code(Code::Ok), None),
        "REFUSED" => {
            let until = detail.strip_prefix("until ").unwrap_or_default();
            (What::Refused(time::parse(until)?), None)
        }
        "SPENT" => {
            let (elapsed, total) = pair(" of ")?;
            (What::Spent(elapsed, total), None)
        }
        _ => {
            let code = Code::from_name(word).filter(|code| *code != Code::Ok);
            let code = code.ok_or_else(|| {
                format!("{word:?} is no end with {detail:?}; OK, GONE, REFUSED, SPENT or a code is")
            })?;
            let why = REASONS.iter().copied().find(|reason| *reason == detail);
            let why = why.ok_or_else(|| {
                let known = REASONS.join(", ");
                format!("{word}: {detail:?} is no reason; tests/scripted/src/trace.rs has {known}")
            })?;
            (What::Code(code), Some(why))
        }
    })
}

impl FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let band = text.strip_prefix('+').unwrap_or(text);
        let (from, to) = band.split_once("..").unwrap_or((band, band));
        let after_last = band.len() < text.len();
        Ok(Self { from: time::parse(from)?, to: time::parse(to)?, after_last })
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.after_last { "+" } else { "" })?;
        f.write_str(&time::written(self.from))?;
        if self.from == self.to { Ok(()) } else { write!(f, "..{}", time::written(self.to)) }
    }
}

impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({}", if self.again { "T" } else { "A" }, self.at)?;
        if self.left != When::NEVER {
            write!(f, ":{}", self.left)?;
        }
        f.write_str(")")
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at;
        match self.what {
            What::Code(code) => write!(f, "{}({at}", code.name())?,
            What::Gone => write!(f, "GONE({at}")?,
            What::Refused(until) => write!(f, "REFUSED({at}: until {}", time::written(until))?,
            What::Spent(elapsed, total) => {
                let (elapsed, total) = (time::written(elapsed), time::written(total));
                write!(f, "SPENT({at}: {elapsed} of {total}")?;
            }
        }
        self.why.map_or(Ok(()), |why| write!(f, ": {why}"))?;
        f.write_str(")")
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for sent in &self.sent {
            write!(f, "{sent} ")?;
        }
        self.end.fmt(f)
    }
}
