//! This file knows how a chart is drawn as SVG: axes, lines, areas, bars and what they are called.
//!
//! Colours are classes, so that a page decides them for light and dark; the palette is Okabe and
//! Ito's, which colour-blind people tell apart, and lines differ in their dashes as well. Numbers
//! are printed from integers: the same on every platform, and small in wasm.

mod ink;
mod number;
mod scale;

pub(crate) use ink::Ink;
pub(crate) use number::{clock, float, percent, short};
pub(crate) use scale::Scale;

/// The look of a standalone chart, and of a page that shows several.
pub(crate) const STYLE: &str = include_str!("style.css");

/// A chart under construction.
pub(crate) struct Chart {
    x: Scale,
    y: Scale,
    x_name: &'static str,
    y_name: &'static str,
    body: Ink,
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
        Self { x, y, x_name, y_name, body: Ink::new(), legend: Vec::new(), height: HEIGHT }
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
        self.body.s("<path class=\"line ").s(class).s("\" d=\"");
        let mut command = "M";
        for (x, y) in points {
            let (x, y) = (self.px(x), self.py(y));
            self.body.s(command).at(x, y);
            command = "L";
        }
        self.body.s("\"/>");
        self.name(class, name);
    }

    /// An area between two lines over the same places.
    pub(crate) fn area(&mut self, class: &'static str, name: &str, points: &[(f64, f64, f64)]) {
        self.body.s("<path class=\"area ").s(class).s("\" d=\"");
        let there = points.iter().map(|(x, _, high)| (*x, *high));
        let back = points.iter().rev().map(|(x, low, _)| (*x, *low));
        let mut command = "M";
        for (x, y) in there.chain(back) {
            let (x, y) = (self.px(x), self.py(y));
            self.body.s(command).at(x, y);
            command = "L";
        }
        self.body.s("Z\"/>");
        self.name(class, name);
    }

    /// A filled box between two corners.
    pub(crate) fn block(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let (left, right) = order(self.px(from.0), self.px(to.0));
        let (top, bottom) = order(self.py(from.1), self.py(to.1));
        let ink = self.body.s("<rect class=\"").s(class).s("\" x=\"").n(left).s("\" y=\"").n(top);
        ink.s("\" width=\"").n(right - left).s("\" height=\"").n(bottom - top).s("\"/>");
    }

    /// The whole height between two places on the x axis, with a word at its top.
    pub(crate) fn band(&mut self, from: f64, to: f64, word: &str) {
        let (low, high) = (self.y.first(), self.y.last());
        self.block("fault", (from, low), (to, high));
        let at = self.px(from).max(LEFT) + 4.0;
        text(&mut self.body, "note", at, TOP + 11.0, word);
    }

    /// A level, with its name at the right end.
    pub(crate) fn level(&mut self, y: f64, word: &str) {
        let at = self.py(y);
        self.body.s("<path class=\"level\" d=\"M").at(LEFT, at).s("H").n(RIGHT).s("\"/>");
        text(&mut self.body, "note end", RIGHT - 4.0, at - 4.0, word);
    }

    /// A place on the x axis, over the whole height.
    pub(crate) fn upright(&mut self, class: &str, x: f64) {
        let (x, bottom) = (self.px(x), self.bottom());
        self.body.s("<path class=\"").s(class).s("\" d=\"M").at(x, TOP).s("V").n(bottom).s("\"/>");
    }

    /// Words at a place.
    pub(crate) fn note(&mut self, class: &str, x: f64, y: f64, words: &str) {
        let (x, y) = (self.px(x), self.py(y));
        text(&mut self.body, class, x, y, words);
    }

    /// The name of a row, left of the axis.
    pub(crate) fn row(&mut self, y: f64, words: &str) {
        let y = self.py(y);
        text(&mut self.body, "tick end", LEFT - 7.0, y, words);
    }

    /// Words in the middle, for a chart with nothing to show.
    pub(crate) fn nothing(&mut self, words: &str) {
        let y = (TOP + self.bottom()) / 2.0;
        text(&mut self.body, "note middle", MIDDLE, y, words);
    }

    /// An entry of the legend for what has no line.
    pub(crate) fn name(&mut self, class: &'static str, name: &str) {
        if !name.is_empty() {
            self.legend.push((class, name.into()));
        }
    }

    /// Where more may be drawn, in the chart's own coordinates.
    pub(crate) const fn ink(&mut self) -> &mut Ink {
        &mut self.body
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
        let mut svg = Ink::new();
        svg.s("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ").at(WIDTH, self.height);
        svg.s("\" role=\"img\" aria-label=\"").e(title).s("\">");
        let marks = self.y.ticks();
        for (y, _) in &marks {
            svg.s("<path class=\"grid\" d=\"M").at(LEFT, self.py(*y)).s("H").n(RIGHT).s("\"/>");
        }
        svg.s(self.body.as_str());
        self.axes(&mut svg, &marks);
        self.keys(&mut svg);
        svg.s("</svg>");
        svg.into_string()
    }

    fn bottom(&self) -> f64 {
        self.height - BELOW
    }

    fn axes(&self, svg: &mut Ink, marks: &[(f64, String)]) {
        let (bottom, middle) = (self.bottom(), (self.bottom() + TOP) / 2.0);
        svg.s("<path class=\"axis\" d=\"M").at(LEFT, TOP).s("V").n(bottom).s("H").n(RIGHT);
        for (x, _) in self.x.ticks() {
            svg.s("M").at(self.px(x), bottom).s("v4");
        }
        svg.s("\"/>");
        for (x, word) in self.x.ticks() {
            text(svg, "tick middle", self.px(x), bottom + 17.0, &word);
        }
        for (y, word) in marks {
            text(svg, "tick end", LEFT - 7.0, self.py(*y) + 4.0, word);
        }
        text(svg, "unit middle", MIDDLE, bottom + 35.0, self.x_name);
        svg.s("<g transform=\"rotate(-90 14 ").n(middle).s(")\">");
        text(svg, "unit middle", 14.0, middle, self.y_name);
        svg.s("</g>");
    }

    /// The legend, in rows under the chart.
    fn keys(&self, svg: &mut Ink) {
        let (mut x, mut y) = (LEFT, self.height - 12.0);
        let width = |name: &str| 34.0 + 6.6 * name.chars().count() as f64;
        if self.legend.iter().map(|(_, name)| width(name)).sum::<f64>() > RIGHT - LEFT {
            y -= 9.0;
        }
        for (class, name) in &self.legend {
            if x + width(name) > RIGHT {
                x = LEFT;
                y += 15.0;
            }
            svg.s("<path class=\"line key ").s(class).s("\" d=\"M").at(x, y - 4.0).s("h18\"/>");
            text(svg, "tick", x + 23.0, y, name);
            x += width(name);
        }
    }
}

/// Text for HTML.
pub(crate) fn escape(text: &str) -> String {
    let mut safe = Ink::new();
    safe.e(text);
    safe.into_string()
}

fn text(ink: &mut Ink, class: &str, x: f64, y: f64, words: &str) {
    ink.s("<text class=\"").s(class).s("\" x=\"").n(x).s("\" y=\"").n(y).s("\">").e(words);
    ink.s("</text>");
}

fn order(a: f64, b: f64) -> (f64, f64) {
    if a <= b { (a, b) } else { (b, a) }
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 330.0;
const LEFT: f64 = 66.0;
const RIGHT: f64 = 744.0;
const MIDDLE: f64 = (LEFT + RIGHT) / 2.0;
const TOP: f64 = 12.0;
/// Room for ticks, the axis' name and the legend.
const BELOW: f64 = 78.0;
