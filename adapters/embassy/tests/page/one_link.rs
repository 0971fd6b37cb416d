//! The program of the page's chapter about one link, which compiles here.

use crate::sending::Broker;

// The page shows what follows.

use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::watch::Watch;
use evenkeel_core::{Deadline, Micros};
use evenkeel_embassy::{Link, until};

/// Whether there is a session; for four tasks at a time that wait for one.
static UP: Watch<CriticalSectionRawMutex, bool, 4> = Watch::new();

impl Link for Broker {
    async fn dial(&mut self) -> Result<(), Option<Micros>> {
        self.log_in().await
    }

    async fn session(&mut self) -> Option<Micros> {
        UP.sender().send(true);
        self.until_it_ends().await
    }

    async fn close(&mut self) {
        UP.sender().send(false);
        self.abort().await;
    }
}

/// Waits for a session, until `deadline` at most; whether there is one.
pub(crate) async fn session_by(deadline: Deadline) -> bool {
    let Some(mut up) = UP.receiver() else { return false };
    until(deadline, up.get_and(|up| *up)).await.is_some()
}
