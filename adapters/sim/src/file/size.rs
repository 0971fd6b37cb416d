//! This file knows that a file of settings is small, and text.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use super::unread;

/// Reads a text of at most a mebibyte, without the mark of a byte order that some editors begin with.
///
/// # Errors
///
/// A sentence naming the file: it is missing, a folder, a pipe, too large, or no UTF-8.
pub fn read(path: &Path) -> Result<String, String> {
    let name = path.display();
    if waits(path) {
        return Err(format!("{name}: is no regular file"));
    }
    let file = File::open(path).map_err(|error| format!("{name}: {}", unread(&error)))?;
    let mut text = Vec::new();
    let most = file.take(MOST + 1).read_to_end(&mut text);
    most.map_err(|error| format!("{name}: {}", unread(&error)))?;
    if text.len() as u64 > MOST {
        return Err(format!(
            "{name}: is larger than 1 MiB; a scenario or a policy is a page of text, so this is \
             probably another file"
        ));
    }
    if text.starts_with(MARK) {
        text.drain(..MARK.len());
    }
    String::from_utf8(text).map_err(|_| format!("{name}: is not text in UTF-8"))
}

/// Whether reading could wait for a writer for ever. Whoever names a pipe of its own process, such as
/// `/dev/stdin` or what `<(…)` stands for, has one.
fn waits(path: &Path) -> bool {
    let is_own = path.starts_with("/dev") || path.starts_with("/proc");
    !is_own && path.metadata().is_ok_and(|it| !it.is_file() && !it.is_dir())
}

const MOST: u64 = 1 << 20;
/// In JSON it is no white space, to whoever has not heard of it.
const MARK: &[u8] = "\u{feff}".as_bytes();
