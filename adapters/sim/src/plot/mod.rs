//! This file knows how a chart is drawn as SVG: axes, lines, areas, bars and what they are called.
//!
//! Colours are classes, so that a page decides them for light and dark; the palette is Okabe and
//! Ito's, which colour-blind people tell apart, and lines differ in their dashes as well. Numbers
//! are printed from integers: the same on every platform, and small in wasm.

mod number;
mod scale;

pub(crate) use number::{clock, percent, round, short};
pub(crate) use scale::Scale;

use core::fmt::Write as _;

/// The look of a standalone chart, and of a page that shows several.
pub(crate) const STYLE: &str = include_str!("style.css");

/// A chart under construction.
pub(crate) struct Chart {
    x: Scale,
    y: Scale,
    x_name: &'static str,
    y_name: &'static str,
    body: String,
    legend: Vec<(&'static str, String)>,
    height: f64,
}

impl Chart {
    /// With these axes, each with its unit.
    pub(crate) const fn new(
        x: Scale,
        x_name: &'static str,
        y: Scale,
        y_name: &'static str,
    ) -> Self {
        Self { x, y, x_name, y_name, body: String::new(), legend: Vec::new(), height: HEIGHT }
    }

    /// Higher than usual.
    pub(crate) const fn with_height(mut self, height: f64) -> Self {
        self.height = height;
        self
    }

    /// A line through points.
    pub(crate) fn line(
        &mut self,
        class: &'static str,
        name: &str,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) {
        let mut path = String::new();
        for (x, y) in points {
            let command = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(path, "{command}{} {}", round(self.px(x)), round(self.py(y)));
        }
        self.draw(&format!("<path class=\"line {class}\" d=\"{path}\"/>"));
        self.name(class, name);
    }

    /// An area between two lines over the same places.
    pub(crate) fn area(&mut self, class: &'static str, name: &str, points: &[(f64, f64, f64)]) {
        let mut path = String::new();
        for (x, _, high) in points {
            let command = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(path, "{command}{} {}", round(self.px(*x)), round(self.py(*high)));
        }
        for (x, low, _) in points.iter().rev() {
            let _ = write!(path, "L{} {}", round(self.px(*x)), round(self.py(*low)));
        }
        self.draw(&format!("<path class=\"area {class}\" d=\"{path}Z\"/>"));
        self.name(class, name);
    }

    /// A filled box between two corners.
    pub(crate) fn block(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let (left, right) = order(self.px(from.0), self.px(to.0));
        let (top, bottom) = order(self.py(from.1), self.py(to.1));
        let (width, height) = (right - left, bottom - top);
        self.draw(&format!(
            "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
            round(left),
            round(top),
            round(width),
            round(height)
        ));
    }

    /// The whole height between two places on the x axis, with a word at its top.
    pub(crate) fn band(&mut self, from: f64, to: f64, word: &str) {
        let (low, high) = (self.y.first(), self.y.last());
        self.block("fault", (from, low), (to, high));
        let at = self.px(from).max(LEFT) + 4.0;
        self.draw(&format!(
            "<text class=\"note\" x=\"{}\" y=\"{}\">{}</text>",
            round(at),
            round(TOP + 11.0),
            escape(word)
        ));
    }

    /// A level, with its name at the right end.
    pub(crate) fn level(&mut self, y: f64, word: &str) {
        let at = round(self.py(y));
        self.draw(&format!(
            "<path class=\"level\" d=\"M{} {at}H{}\"/><text class=\"note end\" x=\"{}\" y=\"{}\">{}</text>",
            round(LEFT),
            round(RIGHT),
            round(RIGHT - 4.0),
            round(self.py(y) - 4.0),
            escape(word)
        ));
    }

    /// Words at a place.
    pub(crate) fn note(&mut self, class: &str, x: f64, y: f64, words: &str) {
        self.draw(&format!(
            "<text class=\"note {class}\" x=\"{}\" y=\"{}\">{}</text>",
            round(self.px(x)),
            round(self.py(y)),
            escape(words)
        ));
    }

    /// The name of a row, left of the axis.
    pub(crate) fn row(&mut self, y: f64, words: &str) {
        self.draw(&format!(
            "<text class=\"tick end\" x=\"{}\" y=\"{}\">{}</text>",
            round(LEFT - 7.0),
            round(self.py(y)),
            escape(words)
        ));
    }

    /// Words in the middle, for a chart with nothing to show.
    pub(crate) fn nothing(&mut self, words: &str) {
        let (x, y) = ((LEFT + RIGHT) / 2.0, (TOP + self.bottom()) / 2.0);
        self.draw(&format!(
            "<text class=\"note middle\" x=\"{}\" y=\"{}\">{}</text>",
            round(x),
            round(y),
            escape(words)
        ));
    }

    /// An entry of the legend for what has no line.
    pub(crate) fn name(&mut self, class: &'static str, name: &str) {
        if !name.is_empty() {
            self.legend.push((class, name.into()));
        }
    }

    /// A finished fragment in the chart's own coordinates.
    pub(crate) fn draw(&mut self, fragment: &str) {
        self.body.push_str(fragment);
    }

    /// Where a value of the x axis is, in pixels.
    pub(crate) fn px(&self, x: f64) -> f64 {
        LEFT + (RIGHT - LEFT) * self.x.place(x)
    }

    /// Where a value of the y axis is, in pixels.
    pub(crate) fn py(&self, y: f64) -> f64 {
        self.bottom() - (self.bottom() - TOP) * self.y.place(y)
    }

    /// The whole as SVG; `title` is what a screen reader says.
    pub(crate) fn finish(self, title: &str) -> String {
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" role=\"img\" \
             aria-label=\"{}\">",
            round(WIDTH),
            round(self.height),
            escape(title)
        );
        self.grid(&mut svg);
        svg.push_str(&self.body);
        self.axes(&mut svg);
        self.keys(&mut svg);
        svg.push_str("</svg>");
        svg
    }

    fn bottom(&self) -> f64 {
        self.height - BELOW
    }

    fn grid(&self, svg: &mut String) {
        for (y, _) in self.y.ticks() {
            let at = round(self.py(y));
            let _ =
                write!(svg, "<path class=\"grid\" d=\"M{} {at}H{}\"/>", round(LEFT), round(RIGHT));
        }
    }

    fn axes(&self, svg: &mut String) {
        let (bottom, middle) = (self.bottom(), (self.bottom() + TOP) / 2.0);
        let _ = write!(
            svg,
            "<path class=\"axis\" d=\"M{} {}V{}H{}\"/>",
            round(LEFT),
            round(TOP),
            round(bottom),
            round(RIGHT)
        );
        for (x, word) in self.x.ticks() {
            let at = round(self.px(x));
            let _ = write!(
                svg,
                "<path class=\"axis\" d=\"M{at} {}v4\"/><text class=\"tick middle\" x=\"{at}\" y=\"{}\">{word}</text>",
                round(bottom),
                round(bottom + 17.0)
            );
        }
        for (y, word) in self.y.ticks() {
            let _ = write!(
                svg,
                "<text class=\"tick end\" x=\"{}\" y=\"{}\">{word}</text>",
                round(LEFT - 7.0),
                round(self.py(y) + 4.0)
            );
        }
        let _ = write!(
            svg,
            "<text class=\"unit middle\" x=\"{}\" y=\"{}\">{}</text>\
             <text class=\"unit middle\" transform=\"rotate(-90 14 {m})\" x=\"14\" y=\"{m}\">{}</text>",
            round((LEFT + RIGHT) / 2.0),
            round(bottom + 35.0),
            escape(self.x_name),
            escape(self.y_name),
            m = round(middle)
        );
    }

    /// The legend, in rows under the chart.
    fn keys(&self, svg: &mut String) {
        let (mut x, mut y) = (LEFT, self.height - 12.0);
        let widths: Vec<f64> =
            self.legend.iter().map(|(_, name)| 34.0 + 6.6 * name.chars().count() as f64).collect();
        if widths.iter().sum::<f64>() > RIGHT - LEFT {
            y -= 9.0;
        }
        for ((class, name), width) in self.legend.iter().zip(widths) {
            if x + width > RIGHT {
                x = LEFT;
                y += 15.0;
            }
            let _ = write!(
                svg,
                "<path class=\"line key {class}\" d=\"M{} {}h18\"/><text class=\"tick\" x=\"{}\" y=\"{}\">{}</text>",
                round(x),
                round(y - 4.0),
                round(x + 23.0),
                round(y),
                escape(name)
            );
            x += width;
        }
    }
}

/// Text for SVG and HTML.
pub(crate) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            letter => safe.push(letter),
        }
    }
    safe
}

fn order(a: f64, b: f64) -> (f64, f64) {
    if a <= b { (a, b) } else { (b, a) }
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 330.0;
const LEFT: f64 = 66.0;
const RIGHT: f64 = 744.0;
const TOP: f64 = 12.0;
/// Room for ticks, the axis' name and the legend.
const BELOW: f64 = 78.0;
