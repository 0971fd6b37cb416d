//! Tasks that send over a link, and wait for its session.

use core::time::Duration;

use embassy_futures::join::{join, join_array};
use embassy_futures::select::select;
use evenkeel_core::{Clock, Deadline, Instant, Micros, ReconnectPolicy, checked};
use evenkeel_embassy::{EmbassyClock, sleep_until, supervise};

use crate::one_link::session_by;
use crate::{PAGE, says};

/// Takes a second dial, for a session of ten seconds.
#[derive(Default)]
pub(crate) struct Broker {
    dials: u16,
    sessions: u16,
    aborted: bool,
}

impl Broker {
    pub(crate) async fn log_in(&mut self) -> Result<(), Option<Micros>> {
        self.dials += 1;
        sleep_until(EmbassyClock.now() + Micros::from_millis(50)).await;
        if self.dials == 2 { Ok(()) } else { Err(None) }
    }

    pub(crate) async fn until_it_ends(&mut self) -> Option<Micros> {
        self.sessions += 1;
        sleep_until(EmbassyClock.now() + Micros::from_millis(10_000)).await;
        None
    }

    pub(crate) async fn abort(&mut self) {
        self.aborted = true;
    }
}

const fn seconds(seconds: u64) -> Deadline {
    Deadline::at(Instant::from_micros(seconds * 1_000_000))
}

#[test]
fn who_wants_to_send_waits_for_the_one_session() {
    says("Whoever wants to send waits for that task's session");
    let (_, program) =
        include_str!("one_link.rs").split_once("// The page shows what follows.\n\n").unwrap();
    assert!(PAGE.contains(&format!("```rust,ignore\n{program}```")), "the page shows another");
    static AT_ONCE: ReconnectPolicy = checked!(ReconnectPolicy::DEFAULT.with_splay(Duration::ZERO));
    let mut broker = Broker::default();
    let senders = async {
        // The first is refused in 50 ms, and the second is a moment later.
        let early = session_by(Deadline::at(Instant::from_micros(50_000))).await;
        let waits = join_array([(); 4].map(|()| session_by(seconds(5))));
        let none_is_left = session_by(seconds(5));
        let (there, fifth) = join(waits, none_is_left).await;
        assert_eq!((early, there, fifth), (false, [true; 4], false));
        assert!(simulated::now() < 5_000_000, "when it was there, and not at the deadline");
        sleep_until(seconds(20).instant()).await;
        assert!(!session_by(seconds(21)).await, "it has ended");
        assert!(simulated::now() >= 21_000_000, "and another was waited for");
    };
    let _ = simulated::run(select(supervise(&mut broker, &AT_ONCE, 7), senders));
    assert_eq!((broker.sessions, broker.aborted), (1, true));
}
