//! This file knows the two callers, from their first call to the moment when nothing is left of
//! them.

use core::time::Duration;

use evenkeel_tonic::Kit;
use evenkeel_tonic::target::TargetName;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tonic::Status;

use crate::book::{Book, Event};
use crate::caller::{client, make};
use crate::dice::Dice;
use crate::method::Method;
use crate::plan::{FAULTS_END, SETTLED};
use crate::socket::{Dialer, PORT};
use crate::watch::watch;

/// A caller and its kit.
pub(crate) struct Host {
    pub(crate) name: &'static str,
    pub(crate) kit: Kit,
    pub(crate) dialer: Dialer,
    pub(crate) book: Book,
    /// What its kit gives each call.
    pub(crate) timeout: Duration,
    /// Who must have answered in the end.
    pub(crate) servers: Vec<&'static str>,
}

impl Host {
    pub(crate) async fn live(
        self,
        mut dice: Dice,
        members: Vec<(Duration, Vec<&'static str>)>,
    ) -> turmoil::Result {
        let living = async {
            tokio::join!(self.call_for_a_while(&mut dice), self.change_members(members));
            self.prove().await
        };
        tokio::select! {
            biased;
            lived = living => lived?,
            never = watch(self.name, &self.kit, &self.book) => match never {},
        }
        self.finish().await
    }

    async fn call_for_a_while(&self, dice: &mut Dice) {
        let mut calls = JoinSet::new();
        while now() < FAULTS_END {
            calls.spawn(self.impatient(dice));
            sleep(dice.millis(2, 90)).await;
        }
        while now() < SETTLED {
            calls.spawn(self.patient(dice.pick(&Method::ALL)));
            sleep(Duration::from_millis(200)).await;
        }
        while calls.join_next().await.is_some() {}
    }

    async fn change_members(&self, lists: Vec<(Duration, Vec<&'static str>)>) {
        for (at, members) in lists {
            sleep(at.saturating_sub(now())).await;
            let names = members.iter().map(|name| format!("{name}:{PORT}").parse::<TargetName>());
            self.kit.pool().set_targets(names.flatten());
            self.book.note(Event::Members { host: self.name, members });
        }
    }

    /// A call whose caller gives it little time, or goes away, or both.
    fn impatient(&self, dice: &mut Dice) -> impl Future<Output = ()> + Send + 'static {
        let method = dice.pick(&Method::ALL);
        let wish = match dice.between(0, 4) {
            0 => Some(dice.millis(1, 100)),
            1 => Some(dice.millis(100, 600)),
            2 => Some(dice.millis(600, 6_000)),
            _ => None,
        };
        let patience = if dice.one_in(3) { dice.millis(0, 700) } else { Duration::MAX };
        let call = self.call(method, wish);
        async move {
            _ = timeout(patience, call).await;
        }
    }

    fn patient(&self, method: Method) -> impl Future<Output = ()> + Send + 'static {
        let call = self.call(method, None);
        async move {
            _ = call.await;
        }
    }

    /// Its number, and its end: who answered, or why nobody did.
    pub(crate) fn call(
        &self,
        method: Method,
        wish: Option<Duration>,
    ) -> impl Future<Output = (u32, Result<&'static str, Status>)> + Send + 'static {
        let timeout = wish.map_or(self.timeout, |wish| wish.min(self.timeout));
        let (book, name, client) = (self.book.clone(), self.name, client(&self.kit));
        async move {
            let open = book.begin(name, method, timeout, None);
            (open.call, make(client, method, wish, open).await)
        }
    }
}

fn now() -> Duration {
    turmoil::sim_elapsed().unwrap_or_default()
}
