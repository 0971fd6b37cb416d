//! What stands in a log of lines, for who has no collector of traces.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use evenkeel_tests::Listening;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::FmtSpan;

use crate::lab::{ECHO, Lab, busy, client, opens_after};

/// The page names this line for who has no collector of traces.
#[tokio::test(start_paused = true)]
async fn the_plain_log_has_what_a_call_and_its_attempts_came_to_when_spans_close() {
    let lines = Lines::default();
    let log = tracing_subscriber::fmt()
        .with_span_events(FmtSpan::CLOSE)
        .with_ansi(false)
        .with_writer(lines.clone())
        .finish();
    // So that another test's silence does not make this one deaf.
    drop(Listening::begin());
    let until = tracing::subscriber::set_default(log);
    let lab = Lab::new(client().spans().breaker(opens_after(1)), [busy()]);
    lab.unary(ECHO).await.unwrap_err();
    lab.unary(ECHO).await.unwrap_err();
    drop(until);
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    let closed = |words: &[&str]| {
        let mut found = text.lines().filter(|line| line.contains(": evenkeel: close "));
        found.any(|line| words.iter().all(|word| line.contains(word)))
    };
    assert!(closed(&["status=\"error\"", "origin=\"peer\""]), "{text}");
    assert!(closed(&["status=\"rejected\"", "origin=\"local\""]), "{text}");
    assert!(closed(&["attempt{", "hedge=false", "rpc.status_code=\"UNAVAILABLE\""]), "{text}");
}

/// What a log writes, kept.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
