//! This file knows the files that a command writes. Whether it can is found out before anything is
//! run: nobody waits for minutes to read that a folder is missing.

use std::fs::{OpenOptions, create_dir_all, remove_file};
use std::io::Error;
use std::path::Path;

use evenkeel_sim::{Figure, unwritten};

/// Refuses a path that could not be written to. What is there stays as it is.
pub(crate) fn file(path: Option<&Path>) -> Result<(), String> {
    let Some(path) = path else { return Ok(()) };
    let is_new = !path.exists();
    // To open a pipe, and to close it again, would tell its reader that this was all.
    if !is_new && !path.is_file() && !path.is_dir() {
        return Ok(());
    }
    let opened = OpenOptions::new().append(true).create(true).open(path);
    opened.map_err(|error| refused(path, &error))?;
    if is_new {
        let _ = remove_file(path);
    }
    Ok(())
}

/// Makes a folder, and refuses one that could not be written to.
pub(crate) fn folder(path: Option<&Path>) -> Result<(), String> {
    let Some(path) = path else { return Ok(()) };
    create_dir_all(path).map_err(|error| refused(path, &error))?;
    file(Some(&path.join("rates.svg")))
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| refused(path, &error))
}

/// Writes each picture into a folder that there is.
pub(crate) fn write_svg(folder: &Path, figures: &[Figure]) -> Result<(), String> {
    for figure in figures {
        write(&folder.join(format!("{}.svg", figure.id)), &figure.standalone())?;
    }
    Ok(())
}

fn refused(path: &Path, error: &Error) -> String {
    format!("{}: {}", path.display(), unwritten(error))
}
