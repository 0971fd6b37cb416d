//! This file knows the three functions that the page calls: room for a request, its answer, and how
//! long the answer is. The page reads and writes the memory between calls, never during one.
#![expect(
    unsafe_code,
    reason = "`no_mangle` is an unsafe attribute; wasm exports need their names"
)]

use std::sync::{Mutex, MutexGuard, PoisonError};

#[cfg(target_arch = "wasm32")]
use lol_alloc::{FreeListAllocator, LockedAllocator};

use crate::Session;

/// One thread, few and long-lived allocations: a list of free places is enough.
#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ALLOCATOR: LockedAllocator<FreeListAllocator> =
    LockedAllocator::new(FreeListAllocator::new());

struct Border {
    request: Vec<u8>,
    answer: String,
    session: Option<Session>,
}

/// A lock that nobody ever waits for: it is smaller than what belongs to a thread.
static BORDER: Mutex<Border> =
    Mutex::new(Border { request: Vec::new(), answer: String::new(), session: None });

fn border() -> MutexGuard<'static, Border> {
    BORDER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes room for a request of this many bytes and answers where it is.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn request(bytes: u32) -> *mut u8 {
    let request = &mut border().request;
    request.clear();
    request.resize((bytes as usize).min(MOST), 0);
    request.as_mut_ptr()
}

/// Carries the request out and answers where the answer is.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn answer() -> *const u8 {
    let Border { request, answer, session } = &mut *border();
    let session = session.get_or_insert_default();
    *answer = session.answer(str::from_utf8(request).unwrap_or_default());
    answer.as_ptr()
}

/// How many bytes the answer has.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn answer_length() -> u32 {
    border().answer.len() as u32
}

/// A request is a few lines.
const MOST: usize = 1 << 16;
