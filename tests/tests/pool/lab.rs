//! This file knows the client under test: a pool of members on a network of memory, each of which
//! says its own name.

use core::time::Duration;
use std::collections::BTreeMap;

use bytes::Bytes;
use evenkeel_core::{BreakerPolicy, BreakerState, Consecutive, RetryPolicy};
use evenkeel_tests::pb::METHODS;
use evenkeel_tests::{Network, Peer, RawClient, Reply, Seen};
use evenkeel_tokio::TokioClock;
use evenkeel_tokio::core::Clock;
use evenkeel_tonic::{Builder, Pool, PoolBuilder, Resilient};
use tonic::transport::Channel;
use tonic::{Code, Status};

/// What is said of a pool without a target.
pub(crate) const EMPTY: &str = "targets: must name one at least, by KitBuilder::pool, \
                                PoolBuilder::target or channel.targets";

/// Unary, and may be executed twice.
pub(crate) const ECHO: &str = "/lab.v1.Lab/Echo";
/// Unary, and nothing is said about it.
pub(crate) const CHARGE: &str = "/lab.v1.Lab/Charge";
/// A response stream, and may be executed twice.
pub(crate) const EXPORT: &str = "/lab.v1.Lab/Export";

/// A client, and the peers its members are.
pub(crate) struct Lab {
    pub(crate) net: Network,
    pub(crate) peers: BTreeMap<String, Peer>,
    pub(crate) service: Resilient<Channel>,
}

impl Lab {
    /// Members with these names, each of which answers with its own.
    pub(crate) fn new(names: &[&str], builder: Builder) -> Self {
        Self::tuned(names, builder, |pool| pool)
    }

    /// The same, over another pool.
    pub(crate) fn tuned(
        names: &[&str],
        builder: Builder,
        tune: impl FnOnce(PoolBuilder) -> PoolBuilder,
    ) -> Self {
        let net = Network::new();
        let pool = tune(pool_of(&net, names));
        let mut lab =
            Self { net, peers: BTreeMap::new(), service: builder.build_pool(pool).unwrap() };
        names.iter().for_each(|name| lab.serve(name));
        lab
    }

    /// From now on `name` answers.
    pub(crate) fn serve(&mut self, name: &str) {
        self.serve_with(name, [says(name)]);
    }

    /// From now on `name` gives these replies, the last one for ever.
    pub(crate) fn serve_with(&mut self, name: &str, replies: impl IntoIterator<Item = Reply>) {
        match self.peers.get(name) {
            Some(peer) => {
                peer.replace(replies);
                peer.clone().listen(&self.net, name);
            }
            None => {
                let peer = Peer::new(replies).listen(&self.net, name);
                self.peers.insert(name.to_owned(), peer);
            }
        }
    }

    /// From now on `name` is another machine, which answers by this rule.
    pub(crate) fn serve_by(
        &mut self,
        name: &str,
        rule: impl FnMut(&Seen) -> Reply + Send + 'static,
    ) {
        self.kill(name);
        self.peers.insert(name.to_owned(), Peer::answering(rule).listen(&self.net, name));
    }

    /// The machine is gone, with everything that was connected to it.
    pub(crate) fn kill(&self, name: &str) {
        drop(self.net.listen(name));
        self.net.cut(name);
    }

    pub(crate) fn pool(&self) -> &Pool<Channel> {
        self.service.pool().unwrap()
    }

    /// One unary call: who answered.
    pub(crate) async fn call(&self) -> Result<String, Status> {
        self.call_of(ECHO).await
    }

    pub(crate) async fn call_of(&self, method: &'static str) -> Result<String, Status> {
        let mut client = RawClient::of(method, self.service.clone());
        client.unary("ping").await.map(|response| text(response.into_inner()))
    }

    /// So many calls in a row: who answered each, in one word; `!` where nobody did.
    pub(crate) async fn calls(&self, count: usize) -> String {
        self.calls_of(ECHO, count).await
    }

    pub(crate) async fn calls_of(&self, method: &'static str, count: usize) -> String {
        let mut answers = String::new();
        for _ in 0..count {
            answers.push_str(self.call_of(method).await.as_deref().unwrap_or("!"));
        }
        answers
    }

    /// Connects all members: a call to each, and time for what else is on its way.
    pub(crate) async fn warm_up(&self) {
        let count = self.pool().members().len();
        let calls = (0..count).map(|_| self.call());
        futures_util::future::join_all(calls).await;
        pass(1).await;
    }

    pub(crate) fn peer(&self, name: &str) -> &Peer {
        &self.peers[name]
    }

    /// How many requests came to `name`.
    pub(crate) fn count(&self, name: &str) -> usize {
        self.peer(name).count()
    }

    /// The state of the breaker of `method` at `name`, and the failures it has counted.
    pub(crate) fn circuit(&self, name: &str, method: &str) -> (BreakerState, u16) {
        let shown = self.service.circuit_breaker_states()[&format!("{name}:1")][method];
        (shown.state, shown.failures)
    }
}

/// A description of members with these names, dialled on `net`.
pub(crate) fn pool_of(net: &Network, names: &[&str]) -> PoolBuilder {
    let targets = names.iter().map(|name| format!("{name}:1"));
    Pool::builder().insecure().connector(net.dialer()).targets(targets).unwrap()
}

/// Ten seconds and no retries.
pub(crate) fn plain() -> Builder {
    Resilient::builder().target("lab").methods(&METHODS).timeout(Duration::from_secs(10)).unwrap()
}

/// The same with this many attempts, at once one after the other.
pub(crate) fn retrying(attempts: u16) -> Builder {
    let at_once = evenkeel_core::Backoff::new(Duration::ZERO, Duration::ZERO).unwrap();
    let policy = RetryPolicy::DEFAULT.with_max_attempts(attempts).unwrap().with_backoff(at_once);
    plain().retry(policy)
}

/// A breaker that this many failures in a row open, for a minute.
pub(crate) fn opens_after(threshold: u16) -> BreakerPolicy {
    BreakerPolicy::new(Consecutive::new(threshold).unwrap())
}

pub(crate) fn says(name: &str) -> Reply {
    Reply::ok(name.to_owned())
}

pub(crate) fn fails(code: Code) -> Reply {
    Reply::status(Status::new(code, "the peer says so"))
}

pub(crate) fn busy() -> Reply {
    fails(Code::Unavailable)
}

pub(crate) fn text(bytes: Bytes) -> String {
    String::from_utf8(bytes.into()).unwrap()
}

pub(crate) fn code<T>(result: &Result<T, Status>) -> Code {
    result.as_ref().err().map_or(Code::Ok, Status::code)
}

/// How often each answered, in the order of their names.
pub(crate) fn spread(answers: &str) -> Vec<(char, usize)> {
    let mut counts = BTreeMap::new();
    answers.chars().for_each(|name| *counts.entry(name).or_default() += 1);
    counts.into_iter().collect()
}

pub(crate) async fn pass(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

/// The output of `call`, and after how many milliseconds it came.
pub(crate) async fn timed<T>(call: impl Future<Output = T>) -> (T, u128) {
    let began = TokioClock.now();
    let output = call.await;
    (output, TokioClock.now().since(began).as_duration().as_millis())
}
