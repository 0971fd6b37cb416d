//! This file knows what a server does with one attempt, and how that is written.

use core::str::FromStr;

use evenkeel_core::{Code, Micros, Outcome, Pushback, Sent};
use serde::{Deserialize, Deserializer, de::Error};

use crate::time;

/// What becomes of one attempt.
///
/// ```
/// use evenkeel_scripted::Answer;
///
/// for text in ["OK", "hang", "lost after 1", "UNAVAILABLE trailing pushback 0.12", "NOT_FOUND stop"] {
///     assert!(text.parse::<Answer>().is_ok());
/// }
/// assert!("UNAVAILABLE soon".parse::<Answer>().is_err());
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Answer {
    /// How long it takes; [`Micros::MAX`] if it never comes.
    pub after: Micros,
    /// What it says.
    pub outcome: Outcome,
    /// How that is said where there is a wire; elsewhere it makes no difference.
    pub wire: Wire,
}

/// How an answer is said over HTTP/2.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Wire {
    /// The connection takes no more requests, this one included.
    GoAway,
    /// The connection breaks off, and whether the request was executed is anybody's guess.
    Lost,
    /// The answer ends without a status.
    NoStatus,
    /// Headers and nothing else, or a message and its status.
    #[default]
    Plain,
    /// Headers, and the status behind them.
    Trailing,
}

impl FromStr for Answer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (head, rest) = head(text)?;
        let mut answer = head;
        let mut words = rest.split_whitespace();
        while let Some(word) = words.next() {
            let mut span = || time::parse(words.next().unwrap_or_default());
            match word {
                "after" => answer.after = span()?,
                "pushback" => answer = answer.with(Pushback::Exactly(span()?)),
                "retry-after" => answer = answer.with(Pushback::AtLeast(span()?)),
                "stop" => answer = answer.with(Pushback::Stop),
                "trailing" => answer.wire = Wire::Trailing,
                _ => return Err(format!("{text:?}: what is {word:?}?")),
            }
        }
        Ok(answer)
    }
}

impl Answer {
    const fn at_once(outcome: Outcome) -> Self {
        Self { after: Micros::ZERO, outcome, wire: Wire::Plain }
    }

    const fn over(self, wire: Wire) -> Self {
        Self { wire, ..self }
    }

    const fn with(self, pushback: Pushback) -> Self {
        Self { outcome: self.outcome.with_pushback(pushback), ..self }
    }
}

/// What happens, and the rest of the text: when, and what is asked for.
fn head(text: &str) -> Result<(Answer, &str), String> {
    let unavailable = Outcome::unavailable();
    let refused = Answer::at_once(unavailable.with_sent(Sent::Refused));
    let unknown = Outcome::new(Code::Unknown);
    let named = [
        ("go away", refused.over(Wire::GoAway)),
        ("hang", Answer { after: Micros::MAX, ..Answer::at_once(Outcome::success()) }),
        ("lost", Answer::at_once(unavailable).over(Wire::Lost)),
        ("no status", Answer::at_once(unknown).over(Wire::NoStatus)),
        ("never sent", Answer::at_once(unavailable.with_sent(Sent::Never))),
        ("not connected", Answer::at_once(Outcome::not_connected())),
        ("refused", refused),
    ];
    for (name, answer) in named {
        if let Some(rest) = text.strip_prefix(name) {
            return Ok((answer, rest));
        }
    }
    let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
    // In capitals only, so that no other word is taken for one.
    let code = Code::from_name(name).filter(|code| code.name() == name);
    let code = code.ok_or_else(|| format!("{text:?}: {name:?} is no code, and no other answer"))?;
    Ok((Answer::at_once(Outcome::new(code)), rest))
}

impl<'de> Deserialize<'de> for Answer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
