//! This file knows what a person is told when the system refuses a file.

use std::io::{Error, ErrorKind};

/// Why it cannot be read.
pub fn unread(error: &Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file".into(),
        ErrorKind::PermissionDenied => "may not be read".into(),
        _ => of_any(error),
    }
}

/// Why it cannot be written.
pub fn unwritten(error: &Error) -> String {
    match error.kind() {
        ErrorKind::AlreadyExists => "is a file, and a folder is needed".into(),
        ErrorKind::NotFound => "there is no such folder".into(),
        ErrorKind::PermissionDenied => "may not be written".into(),
        ErrorKind::ReadOnlyFilesystem => "is on a disk that may not be written".into(),
        ErrorKind::StorageFull => "the disk is full".into(),
        _ => of_any(error),
    }
}

fn of_any(error: &Error) -> String {
    match error.kind() {
        ErrorKind::InvalidFilename => "the name is too long".into(),
        ErrorKind::IsADirectory => "is a folder".into(),
        ErrorKind::NotADirectory => "a part of this path is a file, and no folder".into(),
        _ => {
            let text = error.to_string();
            text.split(" (os error").next().unwrap_or_default().into()
        }
    }
}
