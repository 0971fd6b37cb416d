//! This file knows how what a call costs grows: with callers, methods, targets, the message,
//! retries, and the items of a stream.
//!
//! The slope says what becomes of the cost of *one* while there are more of them: 0 and it stays
//! the same, 1 and it doubles when they double.

use core::hint::black_box;
use core::time::Duration;

use evenkeel_std::{SharedTable, StdClock};
use evenkeel_tonic::core::{Clock, RetryPolicy};
use evenkeel_tonic::{Pool, Resilient};
use tokio::task::LocalSet;

use crate::calls::{self, Channel, NONE, block_on, full, over, request};
use crate::case::Case;
use crate::pb::METHODS;
use crate::pb::lab_client::LabClient;
use crate::report::time;
use crate::stub::Stub;

pub(crate) fn print() {
    println!(
        "{:<34} {:>9} {:>10} {:>7} {:>7}",
        "ns for one, by how many", "", "ns", "raw", "slope"
    );
    let often = |_| TIMES;
    rows("callers", &[1, 4, 16, 64, 256, 1_024], often, |callers| {
        let ours = crowded("ours", over(Stub::waited_for(), full), callers);
        (ours, Some(crowded("raw", Stub::waited_for(), callers)))
    });
    let methods = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000];
    rows("methods of one table", &methods, often, |methods| (lookups(methods), None));
    rows("targets", &[1, 10, 100, 1_000], often, |targets| (picked(targets), None));
    // Large ones need no repetition to be told from the clock, and minutes of it.
    let less = |kib| TIMES / (1 + kib / 64);
    rows("KiB of the message", &[0, 1, 16, 64, 256, 1_024, 4_096], less, |kib| {
        (sent("ours", over(Stub::unary(), full), kib), Some(sent("raw", Stub::unary(), kib)))
    });
    rows("attempts", &[1, 2, 3, 4], often, |attempts| {
        let by_hand = calls::by_hand("raw", Stub::every(attempts), attempts);
        (retried(attempts), Some(by_hand))
    });
    let whole = |items: u64| items.max(TIMES);
    rows("items of a stream", &[1_000, 10_000, 100_000, 1_000_000], whole, |items| {
        let ours = calls::streaming("ours", |items| over(Stub::streaming(items), full), None);
        (
            items_of(ours, items),
            Some(items_of(calls::streaming("raw", Stub::streaming, None), items)),
        )
    });
}

/// One line for each number; `times` says how often it is done, and `of` gives our case for it, and
/// the same of raw tonic if there is one. What is measured of attempts and KiB is one call, of all
/// else one of them.
fn rows(
    what: &str,
    numbers: &[u64],
    times: impl Fn(u64) -> u64,
    of: impl Fn(u64) -> (Case, Option<Case>),
) {
    let mut last: Option<(u64, f64)> = None;
    for &number in numbers {
        let (ours, raw) = of(number);
        let (ours, raw) = nanos(times(number), &ours, raw.as_ref());
        let slope = last
            .filter(|(number, _)| *number > 0)
            .map(|(before, nanos)| (ours / nanos).ln() / (number as f64 / before as f64).ln());
        last = Some((number, ours));
        println!(
            "  {what:<32} {number:>9} {ours:>10.0} {:>7} {:>7}",
            raw.map_or_else(|| "-".into(), |raw| format!("{:.2}", ours / raw)),
            slope.map_or_else(|| "-".into(), |slope| format!("{slope:.2}")),
        );
    }
    println!();
}

/// Nanoseconds for one time: the shortest of several rounds, with both in each.
fn nanos(times: u64, ours: &Case, raw: Option<&Case>) -> (f64, Option<f64>) {
    let mut shortest = [f64::INFINITY; 2];
    for _ in 0..ROUNDS {
        for (case, shortest) in [Some(ours), raw].into_iter().zip(&mut shortest) {
            let Some(case) = case else { continue };
            *shortest = shortest.min(time(case, times).as_micros() as f64 * 1_000.0 / times as f64);
        }
    }
    (shortest[0], raw.map(|_| shortest[1]))
}

/// So many tasks that call one after the other, as many times together.
pub(crate) fn crowd<S: Channel>(
    client: &LabClient<S>,
    timeout: Option<Duration>,
    callers: u64,
    times: u64,
) -> LocalSet {
    let crowd = LocalSet::new();
    for _ in 0..callers {
        let mut client = client.clone();
        crowd.spawn_local(async move {
            for _ in 0..times.div_ceil(callers) {
                client.echo(request(timeout)).await.expect("the other end answers");
            }
        });
    }
    crowd
}

fn crowded(name: &'static str, channel: impl Channel, callers: u64) -> Case {
    let client = LabClient::new(channel);
    Case::new(name, move |times| block_on(crowd(&client, NONE, callers, times)))
}

fn lookups(methods: u64) -> Case {
    let table = SharedTable::<u64>::new(usize::try_from(methods).expect("there is room"));
    let table = table.expect("one or more");
    (0..methods).for_each(|method| _ = table.lookup_with(StdClock.now(), &method, || method));
    Case::new("ours", move |times| {
        for time in 0..times {
            let method = time.wrapping_mul(0x9e37_79b9_7f4a_7c15) % methods;
            black_box(table.lookup_with(StdClock.now(), &method, || method).handle);
        }
    })
}

fn picked(targets: u64) -> Case {
    let pool = Pool::of((0..targets).map(|target| (format!("member-{target}"), Stub::unary())));
    let builder = full(Resilient::builder().target("lab").methods(&METHODS));
    let service = builder.and_then(|builder| builder.build_pool(pool));
    calls::unary("ours", service.expect("the settings are fine"), None)
}

fn sent(name: &'static str, channel: impl Channel, kib: u64) -> Case {
    let client = LabClient::new(channel);
    let blob = vec![7; usize::try_from(kib * 1_024).expect("there is room")];
    Case::new(name, move |times| {
        let mut client = client.clone();
        block_on(async {
            for _ in 0..times {
                let mut request = request(None);
                request.get_mut().blob.clone_from(&blob);
                client.echo(request).await.expect("the stub answers");
            }
        });
    })
}

fn retried(attempts: u64) -> Case {
    let retry = RetryPolicy::DEFAULT.with_max_attempts(4).expect("one or more");
    let service = over(Stub::every(attempts), |builder| calls::timeout(builder.retry(retry)));
    calls::unary("ours", service, None)
}

/// One time of it is one item of so many.
fn items_of(stream: Case, items: u64) -> Case {
    Case::new("items", move |times| (0..times.div_ceil(items)).for_each(|_| stream.run(items)))
}

const ROUNDS: u32 = 5;
const TIMES: u64 = 2_000;
