//! What the tests of the house stand on.

mod clock;
mod net;
mod peer;
mod raw;
mod script;

pub use h2::Reason;
pub use net::{Dial, Dialer, Listener, Network, Pipe};
pub use peer::{Greeting, Peer, Transport};
pub use raw::{IntoRaw, RawClient, RawCodec, drain};
pub use script::{Last, Reply, Seen};

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks what a failed assertion in another thread may have left locked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
