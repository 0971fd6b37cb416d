//! This file knows which primitives are real and which are modelled: under `--cfg loom` the
//! concurrent files of this crate run on loom's, so that it can try every interleaving.

use std::sync::TryLockError;

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
#[cfg(loom)]
pub(crate) use loom::sync::{Arc, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
/// Keys without a random seed: loom replays a run and must find everything in the same order.
#[cfg(loom)]
pub(crate) type Hashing = core::hash::BuildHasherDefault<std::hash::DefaultHasher>;

#[cfg(shuttle)]
pub(crate) use shuttle::sync::atomic::{AtomicU64, Ordering};
#[cfg(shuttle)]
pub(crate) use shuttle::sync::{Arc, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
#[cfg(shuttle)]
pub(crate) type Hashing = core::hash::BuildHasherDefault<std::hash::DefaultHasher>;

#[cfg(not(any(loom, shuttle)))]
pub(crate) use hashbrown::DefaultHashBuilder as Hashing;
#[cfg(not(any(loom, shuttle)))]
pub(crate) use portable_atomic::{AtomicU64, Ordering};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use std::sync::{Arc, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Locks without ever passing a panic on: what a panicking holder leaves behind is a plain value
/// in one of its ordinary states, because every step of the core is complete when it returns.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Like [`lock`], for whoever has something better to do than to wait.
pub(crate) fn lock_at_once<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Like [`lock`], beside others who only read.
pub(crate) fn read<T>(shared: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    shared.read().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Like [`lock`], for what others read.
pub(crate) fn write<T>(shared: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    shared.write().unwrap_or_else(|poisoned| poisoned.into_inner())
}
