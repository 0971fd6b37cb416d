//! What the tests of the house stand on.

mod clock;
mod net;
mod raw;

pub use net::{Dial, Dialer, Listener, Network, Pipe};
pub use raw::{IntoRaw, RawClient, RawCodec, drain};

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks what a failed assertion in another thread may have left locked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
