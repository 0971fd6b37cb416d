//! This file knows what of a pool needs a runtime: it begins with the first call in one, and begins
//! again with the next call in another when that one is gone.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use portable_atomic::{AtomicBool, Ordering};
use tokio::runtime::Handle;

use super::Pool;
use super::task::Task;

/// Something that begins where there is a runtime, and ends with the pool.
pub(crate) trait Attachment: Send {
    /// Begins, unless it has and its runtime lives; in a runtime.
    fn start(&mut self);
}

type Attached = Box<dyn Attachment>;

/// Whether anything waits for a runtime, and who tells that one is gone.
pub(super) struct Waking {
    /// Something waits for the next call, because there was no runtime before, or is none any more.
    asleep: Arc<AtomicBool>,
    /// Does nothing, and falls asleep with its runtime.
    sentinel: Mutex<Option<Task>>,
    /// What lives as long as the pool.
    attached: Mutex<Option<Attached>>,
}

/// Sounds when the task that has it is gone.
struct Alarm(Arc<AtomicBool>);

impl Drop for Alarm {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

impl Waking {
    pub(super) fn new() -> Self {
        let asleep = Arc::new(AtomicBool::new(true));
        Self { asleep, sentinel: Mutex::default(), attached: Mutex::default() }
    }

    pub(super) fn fall_asleep(&self) {
        self.asleep.store(true, Ordering::Release);
    }

    /// Whether it was asleep, and there is a runtime. One look where it was not, as with nearly
    /// every call.
    fn wakes(&self) -> bool {
        self.asleep.load(Ordering::Relaxed)
            && Handle::try_current().is_ok()
            && self.asleep.swap(false, Ordering::AcqRel)
    }

    fn post_sentinel(&self) {
        let mut sentinel = self.sentinel.lock().unwrap_or_else(PoisonError::into_inner);
        if sentinel.as_ref().is_none_or(Task::is_finished) {
            let alarm = Alarm(Arc::clone(&self.asleep));
            *sentinel = Task::spawn(async move {
                core::future::pending::<()>().await;
                drop(alarm);
            });
        }
    }

    /// Ends what it has begun.
    pub(super) fn end(&self) {
        *self.attached() = None;
        *self.sentinel.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn attached(&self) -> MutexGuard<'_, Option<Attached>> {
        self.attached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Clone + Send + 'static> Pool<S> {
    /// Starts what needs a runtime, at the first call where there was none before.
    pub(crate) fn start(&self) {
        if self.waking.wakes() && !self.is_closed() {
            self.waking.post_sentinel();
            self.update(|_| {});
            let mut discovery = self.discovery.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(discovery) = &mut *discovery {
                discovery.start(&self.me);
            }
            drop(discovery);
            if let Some(attached) = &mut *self.waking.attached() {
                attached.start();
            }
        }
    }

    /// Has `attachment` begin as soon as there is a runtime, and end with the pool.
    pub(crate) fn attach(&self, attachment: Attached) {
        *self.waking.attached() = Some(attachment);
        self.waking.fall_asleep();
        self.start();
    }
}
