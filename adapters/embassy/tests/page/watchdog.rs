//! A dog that is fed while nothing is late; the page's program, and what it says of it.

// The page shows what follows, up to the tests.

use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use evenkeel_core::{Deadline, Micros};
use evenkeel_embassy::{OnTime, feed_while_on_time};

/// For four promises at a time.
static ON_TIME: OnTime<CriticalSectionRawMutex, 4> = OnTime::new();
const PERIOD: Micros = Micros::from_millis(500);
const GRACE: Micros = Micros::from_millis(200);

pub(crate) async fn watch(feed: impl FnMut()) -> ! {
    feed_while_on_time(&ON_TIME, PERIOD, GRACE, feed).await
}

pub(crate) async fn transfer_by(deadline: Deadline, transfer: impl Future<Output = ()>) {
    let _promise = ON_TIME.promise(deadline); // until it is dropped
    transfer.await;
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use embassy_futures::join::join;
    use embassy_futures::select::select;
    use evenkeel_core::{Clock, Instant};
    use evenkeel_embassy::{EmbassyClock, sleep_until};

    use super::*;
    use crate::{PAGE, says};

    const fn at(millis: u64) -> Instant {
        Instant::from_micros(millis * 1_000)
    }

    #[test]
    fn the_dog_is_fed_until_a_promise_is_late_beyond_the_grace() {
        let (_, program) = include_str!("watchdog.rs").split_once("up to the tests.\n\n").unwrap();
        let (program, _) = program.split_once("\n#[cfg(test)]").unwrap();
        assert!(PAGE.contains(&format!("```rust,ignore\n{program}```")), "the page shows another");
        let last = Cell::new(Instant::ZERO);
        simulated::run(async {
            let feeding = watch(|| last.set(EmbassyClock.now()));
            // Due at a second, and done at two: in time for the feed at 1 s, and late at 1.5 s.
            let hangs = transfer_by(Deadline::at(at(1_000)), sleep_until(at(2_100)));
            let looks = async {
                sleep_until(at(2_050)).await;
                assert_eq!(last.get(), at(1_000));
            };
            let _ = select(feeding, async {
                join(hangs, looks).await;
                sleep_until(at(2_600)).await;
            })
            .await;
        });
        assert_eq!(last.get(), at(2_500), "what was late is over");
    }

    #[test]
    fn only_so_many_promises_are_watched_as_the_page_says() {
        says("A promise beyond the fourth is not watched");
        let on_time = OnTime::<CriticalSectionRawMutex, 4>::new();
        let far = [(); 4].map(|()| on_time.promise(Deadline::at(at(9_000))));
        let fifth = on_time.promise(Deadline::at(at(1)));
        assert!(on_time.holds(at(8_000)));
        drop((far, fifth));
    }
}
