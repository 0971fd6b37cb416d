//! This file knows how SVG is written: text, escaped text and numbers, one after the other.
//!
//! Not with `format!`: in wasm each of its uses is a few hundred bytes, and there are many.

use super::number::push_tenths;

/// A text that grows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ink(String);

impl Ink {
    pub(crate) const fn new() -> Self {
        Self(String::new())
    }

    /// Adds text as it is.
    pub(crate) fn s(&mut self, text: &str) -> &mut Self {
        self.0.push_str(text);
        self
    }

    /// Adds a number, to a tenth.
    pub(crate) fn n(&mut self, value: f64) -> &mut Self {
        push_tenths(&mut self.0, value);
        self
    }

    /// Adds a pair of coordinates.
    pub(crate) fn at(&mut self, x: f64, y: f64) -> &mut Self {
        self.n(x).s(" ").n(y)
    }

    /// Adds text, escaped.
    pub(crate) fn e(&mut self, text: &str) -> &mut Self {
        for letter in text.chars() {
            match letter {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                letter => self.0.push(letter),
            }
        }
        self
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn into_string(self) -> String {
        self.0
    }
}
