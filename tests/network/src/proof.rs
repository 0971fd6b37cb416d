//! This file knows what must be true of a caller in the end, when all has been well for a while.

use core::time::Duration;
use std::collections::BTreeSet;

use evenkeel_core::BreakerState;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::book::{Book, Event};
use crate::hosts::Host;
use crate::method::Method;

impl Host {
    /// Each method is answered by everybody who serves it, and then no circuit protects anybody.
    pub(crate) async fn prove(&self) -> turmoil::Result {
        self.book.note(Event::Noted(format!("{}: all must be well", self.name)));
        for method in Method::ALL {
            let mut owing: BTreeSet<&str> = self.servers.iter().copied().collect();
            let mut protecting = self.protecting(method);
            for _ in 0..ROUNDS {
                owing = &owing - &self.ask_around(method).await?;
                protecting = self.protecting(method);
                if owing.is_empty() && protecting.is_empty() {
                    break;
                }
                sleep(Duration::from_millis(100)).await;
            }
            if !owing.is_empty() {
                self.book.wrong(format!("{}: {owing:?} never answered {method:?}", self.name));
            }
            for what in protecting {
                self.book.wrong(format!("{}: {what}", self.name));
            }
        }
        Ok(())
    }

    /// Calls `method` as often as there are servers; says who answered.
    async fn ask_around(
        &self,
        method: Method,
    ) -> Result<BTreeSet<&'static str>, tokio::task::JoinError> {
        let (mut calls, mut answered) = (JoinSet::new(), BTreeSet::new());
        for _ in &self.servers {
            calls.spawn(self.call(method, None));
            sleep(Duration::from_millis(5)).await;
        }
        while let Some(ended) = calls.join_next().await {
            match ended? {
                (_, Ok(server)) => _ = answered.insert(server),
                (number, Err(status)) => {
                    let what = format!("{method:?} failed on a network in order: {status}");
                    self.book.wrong(format!("call {number}: {what}"));
                }
            }
        }
        Ok(answered)
    }

    /// The circuits of `method` that are not closed.
    fn protecting(&self, method: Method) -> Vec<String> {
        let mut open = Vec::new();
        for (target, methods) in self.kit.circuit_breaker_states() {
            for (path, shown) in methods {
                if Method::of(&path) == Some(method) && shown.state != BreakerState::Closed {
                    open.push(format!("{target}{path} is {shown:?}"));
                }
            }
        }
        open
    }

    /// Nothing is held while nobody calls, and nothing is left once the kit is gone.
    pub(crate) async fn finish(self) -> turmoil::Result {
        let Self { name, kit, dialer, book, servers, .. } = self;
        // What losers of a race still had is cancelled by then.
        sleep(Duration::from_millis(500)).await;
        let trials = kit.circuit_breaker_states().into_values().flatten();
        let trials: u32 = trials.map(|(_, shown)| u32::from(shown.trials)).sum();
        expect(&book, name, "attempts in flight", kit.pool().in_flight(), 0);
        expect(&book, name, "trials out", trials as usize, 0);
        // One for calls, one for health checks.
        let most = servers.len() * if kit.health().is_some() { 2 } else { 1 };
        let connections = dialer.connections();
        if connections > most {
            book.wrong(format!("{name}: {connections} connections, not {most}"));
        }
        if !kit.close(Duration::from_millis(100)).await {
            book.wrong(format!("{name}: closing waited for calls, of which there are none"));
        }
        drop(kit);
        sleep(Duration::from_millis(1_500)).await;
        expect(&book, name, "tasks", Handle::current().metrics().num_alive_tasks(), 0);
        expect(&book, name, "connections", dialer.connections(), 0);
        Ok(())
    }
}

fn expect(book: &Book, host: &str, what: &str, seen: usize, right: usize) {
    if seen != right {
        book.wrong(format!("{host}: {seen} {what} at the end, not {right}"));
    }
}

/// An open circuit may need some seconds until it gives leave again.
const ROUNDS: usize = 60;
