//! This file knows what is asked of the host, and what must come of it.

use embassy_net::Stack;
use embassy_time::Timer;
use evenkeel_embassy::core::{BreakerState, Clock, StopReason};
use evenkeel_embassy::{EmbassyClock, Error};

use crate::PEERS;
use crate::ask::{Ended, Fault, ask};

/// What must come of a request.
#[derive(Clone, Copy, defmt::Format)]
enum Due {
    /// Answered, on this attempt as the host counts them.
    Answered(u32),
    /// Answered, on whichever attempt.
    AnsweredAtLast,
    /// Refused by the breaker after so many attempts.
    CircuitOpen(u16),
    /// All attempts ended in this.
    Failed(Fault),
    /// No attempt was answered in time.
    Silent,
}

const SCRIPT: [(&str, u32, Due); 12] = [
    ("ok", 0, Due::Answered(1)),
    ("late", 120, Due::Answered(1)),
    ("close", 2, Due::Answered(3)),
    ("reset", 1, Due::Answered(2)),
    ("busy", 1, Due::Answered(2)),
    ("torn", 1, Due::Answered(2)),
    ("garbage", 1, Due::Answered(2)),
    ("silent", 1, Due::Answered(2)),
    ("bad", 0, Due::Failed(Fault::Bad)),
    // Four failures in a row: one less than the breaker takes.
    ("late", 900, Due::Silent),
    // The fifth opens it, and this request's own retry is refused.
    ("close", 9, Due::CircuitOpen(1)),
    ("ok", 0, Due::CircuitOpen(0)),
];

/// A port of the host on which nobody listens.
const CLOSED_PORT: u16 = 9;

/// Goes through the script; answers how often something else came of it.
pub(crate) async fn run(stack: Stack<'_>, port: u16) -> u32 {
    let mut surprises = 0;
    let mut number = 0;
    for (what, argument, due) in SCRIPT {
        number += 1;
        surprises += step(stack, port, number, what, argument, due).await;
    }
    Timer::after_millis(450).await;
    surprises += step(stack, port, 20, "ok", 0, Due::Answered(1)).await;
    let closed = PEERS.snapshot(port).is_some_and(|shown| shown.state == BreakerState::Closed);
    if !closed {
        defmt::error!("the circuit is not closed after a trial that succeeded");
        surprises += 1;
    }
    surprises += step(stack, CLOSED_PORT, 21, "ok", 0, Due::Failed(Fault::Refused)).await;
    // The host pulls the cable when it has answered, and puts it back 600 ms later.
    surprises += step(stack, port, 22, "unplug", 600, Due::Answered(1)).await;
    Timer::after_millis(50).await;
    surprises + step(stack, port, 23, "ok", 0, Due::AnsweredAtLast).await
}

async fn step(
    stack: Stack<'_>,
    port: u16,
    number: u32,
    what: &str,
    argument: u32,
    due: Due,
) -> u32 {
    let began = EmbassyClock.now();
    let ended = ask(stack, port, number, what, argument).await;
    let took = EmbassyClock.now().since(began).as_micros();
    let expected = due.is(&ended);
    defmt::info!("{} {} {}: {} after {} us", number, what, argument, ended, took);
    if !expected {
        defmt::error!("  that is a surprise: due was {}", due);
    }
    u32::from(!expected)
}

impl Due {
    fn is(self, ended: &Ended) -> bool {
        let used_up = ended.reason == Some(StopReason::AttemptsUsedUp);
        match (self, ended.reply) {
            (Self::Answered(due), Ok(attempt)) => attempt == due,
            (Self::AnsweredAtLast, Ok(_)) => true,
            (Self::CircuitOpen(due), Err(Error::CircuitOpen { .. })) => ended.attempts == due,
            (Self::Failed(Fault::Bad), Err(Error::Peer { error, reason })) => {
                error == Fault::Bad && reason == StopReason::NotRetryable
            }
            (Self::Failed(due), Err(Error::Peer { error, .. })) => error == due && used_up,
            (Self::Silent, Err(Error::DeadlineExceeded { .. })) => used_up && ended.attempts == 4,
            _ => false,
        }
    }
}
