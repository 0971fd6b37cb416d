//! This file knows telemetry: measured on time, kept while nobody listens, delivered once each.

use embassy_net::Stack;
use embassy_time::Timer;
use heapless::Deque;

use crate::ask::ask;

/// How many items there are.
const ITEMS: u32 = 24;
/// Numbers of requests for items begin here; an item keeps its number however often it is sent.
const FIRST: u32 = 100;
/// How many items are kept while nobody listens; more would be the oldest's loss.
const KEPT: usize = 20;

/// Measures an item every 30 ms and sends what has gathered, in order. In the middle the host hangs
/// up on the next seven requests, so that the circuit opens and items gather.
///
/// Answers how many items were lost or could not be delivered.
pub(crate) async fn run(stack: Stack<'_>, port: u16) -> u32 {
    let mut waiting = Deque::<u32, KEPT>::new();
    let (mut lost, mut most) = (0, 0);
    for item in 0..ITEMS {
        if item == 6 {
            let _ = ask(stack, port, 90, "deaf", 7).await;
        }
        if waiting.is_full() {
            waiting.pop_front();
            lost += 1;
        }
        // There is room: it was just made.
        let _ = waiting.push_back(item);
        most = most.max(waiting.len());
        deliver(stack, port, &mut waiting).await;
        Timer::after_millis(30).await;
    }
    for _ in 0..20 {
        if waiting.is_empty() {
            break;
        }
        Timer::after_millis(200).await;
        deliver(stack, port, &mut waiting).await;
    }
    defmt::info!("telemetry: {} items, at most {} kept, {} lost", ITEMS, most, lost);
    if most < 2 {
        defmt::error!("nothing was kept: the circuit never opened");
        lost += 1;
    }
    lost + waiting.len() as u32
}

/// Sends items until none is left or nobody listens. An item leaves the queue when the host has
/// acknowledged it, and is never sent again.
async fn deliver(stack: Stack<'_>, port: u16, waiting: &mut Deque<u32, KEPT>) {
    while let Some(item) = waiting.front() {
        if ask(stack, port, FIRST + item, "item", *item).await.reply.is_err() {
            return;
        }
        waiting.pop_front();
    }
}
