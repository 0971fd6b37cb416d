//! This file knows the three functions that the page calls: room for a request, its answer, and how
//! long the answer is. The page reads and writes the memory between calls, never during one.
#![expect(
    unsafe_code,
    reason = "`no_mangle` is an unsafe attribute; wasm exports need their names"
)]

use core::cell::RefCell;

#[cfg(target_arch = "wasm32")]
use lol_alloc::{FreeListAllocator, LockedAllocator};

use crate::Session;

/// One thread, few and long-lived allocations: a list of free places is enough.
#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ALLOCATOR: LockedAllocator<FreeListAllocator> =
    LockedAllocator::new(FreeListAllocator::new());

#[derive(Default)]
struct Border {
    request: Vec<u8>,
    answer: String,
    session: Session,
}

thread_local! {
    static BORDER: RefCell<Border> = RefCell::default();
}

/// Makes room for a request of this many bytes and answers where it is.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn request(bytes: u32) -> *mut u8 {
    BORDER.with_borrow_mut(|border| {
        border.request.clear();
        border.request.resize((bytes as usize).min(MOST), 0);
        border.request.as_mut_ptr()
    })
}

/// Carries the request out and answers where the answer is.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn answer() -> *const u8 {
    BORDER.with_borrow_mut(|border| {
        let Border { request, answer, session } = border;
        *answer = session.answer(str::from_utf8(request).unwrap_or_default());
        answer.as_ptr()
    })
}

/// How many bytes the answer has.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn answer_length() -> u32 {
    BORDER.with_borrow(|border| border.answer.len() as u32)
}

/// A request is a few lines.
const MOST: usize = 1 << 16;
