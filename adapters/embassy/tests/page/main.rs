//! What docs/embedded.md says is so: of clocks, sleep, silent peers and ladders, of bytes and
//! instructions.

mod asleep;
mod costs;
mod ladder;
mod manifest;
mod one_call;
mod one_link;
mod peers;
mod sending;
mod time;
mod watchdog;

const PAGE: &str = include_str!("../../../../docs/embedded.md");

/// Fails unless the page says this, however it is broken into lines.
fn says(words: &str) {
    let page = PAGE.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains(words), "docs/embedded.md does not say: {words}");
}
