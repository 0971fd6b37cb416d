//! embassy's clock on a host, in virtual time: whenever nothing is ready it jumps to the next timer.
//! Hours take milliseconds, and the same program takes the same steps every time.
//!
//! This file knows that clock and the loop that moves it. embassy-time's own mock driver has to be
//! pushed from outside and cannot say how far, so it would be pushed millisecond by millisecond.
//!
//! A program that spins, because it waits for something that only time brings, would spin for ever
//! in a time that stands still: after some rounds in one instant each further round takes a tick.
//!
//! Each thread has a time of its own, so that tests do not meet.

use std::cell::RefCell;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use critical_section as _;
use embassy_time as _;
use embassy_time_driver::{Driver, time_driver_impl};

/// Runs `future` to its end, from the beginning of time.
pub fn run<F: Future>(future: F) -> F::Output {
    run_from(0, future).0
}

/// Runs `future` to its end from tick `start` on, and answers when that was.
///
/// # Panics
///
/// When nothing is ready and no timer is set: it would never end.
pub fn run_from<F: Future>(start: u64, future: F) -> (F::Output, u64) {
    CLOCK.with_borrow_mut(|clock| *clock = Clock { now: start, timers: Vec::new() });
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut future = pin!(future);
    let (mut instant, mut rounds) = (start, 0);
    loop {
        woken.count.fetch_add(1, Ordering::Relaxed);
        rounds += 1;
        if instant != now() {
            (instant, rounds) = (now(), 0);
        } else if rounds > ROUNDS_IN_ONE_INSTANT {
            advance();
            instant = now();
        }
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return (output, now());
        }
        while !woken.flag.swap(false, Ordering::Relaxed) {
            assert!(jump(), "nothing is ready and no timer is set");
        }
        POLLS.set(woken.count.load(Ordering::Relaxed));
    }
}

/// Polls `future` only when it was woken itself, as if it were a task of its own.
///
/// Futures that are joined share one waker. Two of them that wake each other whenever they are
/// polled, as a network stack and its sockets do, would otherwise never come to rest.
pub async fn apart<F: Future>(future: F) -> F::Output {
    let own =
        Arc::new(Apart { woken: AtomicBool::new(true), outer: Mutex::new(Waker::noop().clone()) });
    let waker = Waker::from(Arc::clone(&own));
    let mut future = pin!(future);
    std::future::poll_fn(|context| {
        own.outer.lock().unwrap_or_else(PoisonError::into_inner).clone_from(context.waker());
        if own.woken.swap(false, Ordering::Relaxed) {
            return future.as_mut().poll(&mut Context::from_waker(&waker));
        }
        Poll::Pending
    })
    .await
}

struct Apart {
    woken: AtomicBool,
    outer: Mutex<Waker>,
}

impl Wake for Apart {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::Relaxed);
        self.outer.lock().unwrap_or_else(PoisonError::into_inner).wake_by_ref();
    }
}

/// The present tick of this thread, a microsecond each.
pub fn now() -> u64 {
    CLOCK.with_borrow(|clock| clock.now)
}

/// How often the future of this thread's [`run`] was polled so far.
pub fn polls() -> u64 {
    POLLS.get()
}

#[derive(Default)]
struct Woken {
    flag: AtomicBool,
    count: AtomicU64,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.flag.store(true, Ordering::Relaxed);
    }
}

struct Clock {
    now: u64,
    timers: Vec<(u64, Waker)>,
}

impl Clock {
    fn due(&mut self) -> Vec<Waker> {
        let now = self.now;
        self.timers.extract_if(.., |(at, _)| *at <= now).map(|(_, waker)| waker).collect()
    }
}

/// Moves on by a tick, and wakes what is due.
fn advance() {
    let due = CLOCK.with_borrow_mut(|clock| {
        clock.now += 1;
        clock.due()
    });
    due.iter().for_each(Waker::wake_by_ref);
}

/// Moves to the next timer and wakes all that are due; `false` if there is none.
fn jump() -> bool {
    let due = CLOCK.with_borrow_mut(|clock| {
        let next = clock.timers.iter().map(|(at, _)| *at).min()?;
        clock.now = clock.now.max(next);
        Some(clock.due())
    });
    due.iter().flatten().for_each(Waker::wake_by_ref);
    due.is_some()
}

struct Simulated;

impl Driver for Simulated {
    fn now(&self) -> u64 {
        now()
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        let due = CLOCK.with_borrow_mut(|clock| {
            // One timer for each task: it is asked again when it is woken.
            if let Some(timer) = clock.timers.iter_mut().find(|timer| timer.1.will_wake(waker)) {
                timer.0 = timer.0.min(at);
            } else if at > clock.now && at < u64::MAX {
                clock.timers.push((at, waker.clone()));
            }
            at <= clock.now
        });
        if due {
            waker.wake_by_ref();
        }
    }
}

time_driver_impl!(static DRIVER: Simulated = Simulated);

thread_local! {
    static CLOCK: RefCell<Clock> = const { RefCell::new(Clock { now: 0, timers: Vec::new() }) };
    static POLLS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Far more than tasks that hand something on to each other take.
const ROUNDS_IN_ONE_INSTANT: u32 = 1_000;
