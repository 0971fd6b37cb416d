//! The simulator for a browser.
//!
//! A page writes a request as text, one `key=value` a line, and reads an answer as text, in records
//! and fields that control characters separate ([`RECORD`], [`FIELD`]). Nothing else crosses the
//! border, so there is nothing to generate for either side. Pictures are drawn here, by the same
//! code that draws them for the command's report.
//!
//! Requests, by their `what`: `presets`; `run`, which answers facts and figures; `cell`, which runs
//! one cell of the recovery map; `map`, which draws it; `text`, which answers the scenario and the
//! policy as files and as Rust.

mod answer;
mod exports;
mod request;

pub use answer::{FIELD, RECORD, Session};
