//! This file knows the cable: QEMU's control socket takes it out of the board and puts it back.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where QEMU listens. With it goes the file: whoever pulls the cable may outlive the run.
#[derive(Debug)]
pub(crate) struct Socket(PathBuf);

impl Socket {
    /// A socket of its own; `name` tells it from others.
    pub(crate) fn new(name: u32) -> Self {
        Self(std::env::temp_dir().join(format!("evenkeel-qmp-{name}")))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The cable of the one board.
#[derive(Clone, Debug)]
pub(crate) struct Cable {
    socket: PathBuf,
}

impl Cable {
    /// The cable of the board whose QEMU listens there.
    pub(crate) fn new(socket: &Socket) -> Self {
        Self { socket: socket.path().into() }
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

fn link(up: bool) -> String {
    format!("{{\"execute\":\"set_link\",\"arguments\":{{\"name\":\"n0\",\"up\":{up}}}}}\n")
}
