//! This file knows the cable: QEMU's control socket takes it out of the board and puts it back.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The cable of the one board.
#[derive(Debug)]
pub(crate) struct Cable {
    socket: PathBuf,
}

impl Cable {
    /// A cable with a socket of its own; `name` tells it from others.
    pub(crate) fn new(name: u32) -> Self {
        Self { socket: std::env::temp_dir().join(format!("evenkeel-qmp-{name}")) }
    }

    /// Where QEMU listens.
    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Takes the cable out, and puts it back after a while.
    ///
    /// # Errors
    ///
    /// When QEMU does not listen, or does not answer.
    pub(crate) fn pull(&self, out_for: Duration) -> io::Result<()> {
        let control = UnixStream::connect(&self.socket)?;
        control.set_read_timeout(Some(Duration::from_secs(5)))?;
        let mut answers = BufReader::new(control.try_clone()?).lines();
        let mut say = |words: &str| -> io::Result<()> {
            (&control).write_all(words.as_bytes())?;
            // What it answers is of no interest, but it must have answered.
            answers.next().transpose().map(|_| ())
        };
        say("")?;
        say("{\"execute\":\"qmp_capabilities\"}\n")?;
        say(&link(false))?;
        std::thread::sleep(out_for);
        say(&link(true))
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = std::fs::remove_file(&self.socket);
    }
}

fn link(up: bool) -> String {
    format!("{{\"execute\":\"set_link\",\"arguments\":{{\"name\":\"n0\",\"up\":{up}}}}}\n")
}
