//! This file knows how independent runs share the processors. Their results keep their order, so
//! what comes out does not depend on how many there are.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

/// Applies `work` to each item, on all processors; calls `done` after each.
pub(crate) fn each<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
    done: impl Fn() + Sync,
) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(items.len());
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<R>>> = Mutex::new(items.iter().map(|_| None).collect());
    let labour = || {
        while let Some(index) = Some(next.fetch_add(1, Ordering::Relaxed))
            && let Some(item) = items.get(index)
        {
            let result = work(item);
            let mut results = results.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            results[index] = Some(result);
            drop(results);
            done();
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(labour);
        }
        labour();
    });
    let results = results.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    results.into_iter().flatten().collect()
}
