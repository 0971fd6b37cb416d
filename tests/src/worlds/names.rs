//! This file knows the world of names: bytes become what a resolver answers and what happens to the
//! calls meanwhile, and the members of a pool are held against the last answer that was any good.

use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::sync::{Arc, Mutex};

use evenkeel_core::{Clock, RetryPolicy};
use evenkeel_tokio::TokioClock;
use evenkeel_tonic::pool::{Resolve, Resolving};
use evenkeel_tonic::{Pool, Resilient};
use tokio::time::{sleep, timeout};
use tonic::transport::Channel;

use super::{Script, in_virtual_time};
use crate::pb::METHODS;
use crate::{Network, Peer, RawClient, Reply, ensure, lock};

/// Runs a pool of one name.
///
/// # Errors
///
/// When its members are not those of the last good answer, or a call outlives its deadline.
pub(super) fn live(bytes: &[u8]) -> Result<(), String> {
    in_virtual_time(async {
        let mut script = Script(bytes);
        let world = World::new()?;
        for _ in 0..STEPS {
            if script.is_over() {
                break;
            }
            world.step(&mut script).await?;
        }
        Ok(())
    })
}

struct World {
    net: Network,
    names: Names,
    service: Resilient<Channel>,
    _peers: Vec<Peer>,
}

impl World {
    /// Machines 1 to 3 listen.
    fn new() -> Result<Self, String> {
        let (net, names) = (Network::new(), Names::default());
        let listen = |n: u8| Peer::new([Reply::ok("pong")]).listen(&net, &format!("10.0.0.{n}"));
        let peers = (1..=3).map(listen).collect();
        let pool = Pool::builder().insecure().connector(net.dialer()).resolver(names.clone());
        let pool = pool.target("dns:///orders.internal:1").map_err(|error| error.to_string())?;
        let builder = Resilient::builder().methods(&METHODS).retry(RetryPolicy::DEFAULT);
        let builder = builder.timeout(LIMIT).map_err(|error| error.to_string())?;
        let service = builder.build_pool(pool).map_err(|error| error.to_string())?;
        Ok(Self { net, names, service, _peers: peers })
    }

    async fn step(&self, script: &mut Script<'_>) -> Result<(), String> {
        let answer = match script.byte() % 10 {
            0 => Answer::Fails,
            1 => Answer::Hangs,
            2 => Answer::Addresses(Vec::new()),
            3 | 4 => Answer::Addresses(script.take().iter().map(|n| near(*n)).collect()),
            5 => Answer::Addresses(script.take().chunks(18).map(anywhere).collect()),
            6 => {
                let first = u16::from(script.byte());
                Answer::Addresses((0..1_000).map(|n| far(first.wrapping_add(n))).collect())
            }
            7 => {
                let down = format!("10.0.0.{}", script.byte() % 4);
                self.net.cut(&down);
                return self.call().await;
            }
            8 => {
                sleep(Duration::from_millis(u64::from(script.byte()) * 1_000)).await;
                return self.members();
            }
            _ => return self.call().await,
        };
        lock(&self.names.0).next.push_back(answer);
        Ok(())
    }

    async fn call(&self) -> Result<(), String> {
        let began = TokioClock.now();
        let mut client = RawClient::of("/lab.v1.Lab/Echo", self.service.clone());
        let ended = timeout(2 * LIMIT, client.unary("ping")).await;
        ensure!(ended.is_ok(), "it never ends");
        let took = TokioClock.now().since(began).as_duration();
        // tokio's timers are up to a millisecond late.
        ensure!(took <= LIMIT + Duration::from_millis(1), "it ended after {took:?}");
        self.members()
    }

    /// A lookup may be under way, which changes nothing before it has answered.
    fn members(&self) -> Result<(), String> {
        let pool = self.service.pool().ok_or("a pool")?;
        let members: BTreeSet<String> = pool.members().into_iter().collect();
        let names = lock(&self.names.0);
        // The one that was handed out last may not have been heard of yet.
        let right = names.good.iter().rev().take(2).any(|good| *good == members);
        let none_yet = members.is_empty() && names.good.len() < 2;
        ensure!(right || none_yet, "{members:?}, of {:?}", names.good.last());
        Ok(())
    }
}

#[derive(Clone, Debug)]
enum Answer {
    Addresses(Vec<SocketAddr>),
    Fails,
    Hangs,
}

/// A resolver that gives the next answer each time, the last one for ever.
#[derive(Clone, Default)]
struct Names(Arc<Mutex<Said>>);

#[derive(Default)]
struct Said {
    next: VecDeque<Answer>,
    /// What each answer that can be used comes to.
    good: Vec<BTreeSet<String>>,
}

impl Resolve for Names {
    fn resolve(&self, _host: &str, _port: u16) -> Resolving {
        let mut said = lock(&self.0);
        let answer = match said.next.len() {
            0 => Answer::Fails,
            1 => said.next[0].clone(),
            _ => said.next.pop_front().unwrap_or(Answer::Fails),
        };
        if let Answer::Addresses(addresses) = &answer {
            let each: BTreeSet<SocketAddr> = addresses.iter().copied().collect();
            // Those that sort first; README and docs name no number, so here it is once more.
            let used = each.into_iter().take(MOST_ADDRESSES).map(|address| address.to_string());
            let used: BTreeSet<String> = used.collect();
            if !used.is_empty() {
                said.good.push(used);
            }
        }
        Box::pin(async move {
            match answer {
                Answer::Addresses(addresses) => Ok(addresses),
                Answer::Fails => Err(io::Error::other("no such name")),
                Answer::Hangs => core::future::pending().await,
            }
        })
    }
}

/// One of the machines that listen, or one beside them.
fn near(byte: u8) -> SocketAddr {
    SocketAddr::new(IpAddr::from([10, 0, 0, byte % 8]), 1)
}

fn far(number: u16) -> SocketAddr {
    let [high, low] = number.to_be_bytes();
    SocketAddr::new(IpAddr::from([10, 1, high, low]), 1)
}

/// Any address of either family.
fn anywhere(bytes: &[u8]) -> SocketAddr {
    let mut all = [0; 18];
    all.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    let [address @ .., high, low] = all;
    let port = u16::from_be_bytes([high, low]);
    match address[0] % 2 {
        0 => SocketAddr::new(IpAddr::from([address[1], address[2], address[3], address[4]]), port),
        _ => SocketAddr::new(IpAddr::from(address), port),
    }
}

const LIMIT: Duration = Duration::from_secs(10);
const STEPS: usize = 40;
const MOST_ADDRESSES: usize = 256;
