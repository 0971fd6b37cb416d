//! Names whose addresses are members: when they are looked up, and what is made of the answers.

use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use std::io;
use std::sync::{Arc, Mutex};

use evenkeel_tests::{Network, Peer, RawClient, Reply, Seen};
use evenkeel_tokio::TokioClock;
use evenkeel_tokio::core::{Clock, Instant};
use evenkeel_tonic::health::HealthMode;
use evenkeel_tonic::pool::{Resolve, Resolving};
use evenkeel_tonic::target::TargetName;
use evenkeel_tonic::{Kit, NoHealthyTargets, Pool, Resilient, cause};
use tonic::transport::Channel;
use tonic::{Code, Status};

use crate::lab::{ECHO, code, pass, plain, retrying, says, spread, text};

/// What a lookup meets.
#[derive(Clone, Debug)]
enum Answer {
    Addresses(Vec<u8>),
    Fails,
    Hangs,
    Panics,
}

/// A resolver that does what it is told, and remembers when.
#[derive(Clone)]
struct Names(Arc<Mutex<(Answer, Vec<Instant>)>>);

impl Names {
    fn new(answer: Answer) -> Self {
        Self(Arc::new(Mutex::new((answer, Vec::new()))))
    }

    fn becomes(&self, answer: Answer) {
        self.0.lock().unwrap().0 = answer;
    }

    fn asked(&self) -> usize {
        self.0.lock().unwrap().1.len()
    }
}

impl Resolve for Names {
    fn resolve(&self, host: &str, port: u16) -> Resolving {
        assert!(["orders.internal", "new.internal"].contains(&host) && port == 443, "{host}");
        let mut names = self.0.lock().unwrap();
        names.1.push(TokioClock.now());
        let answer = names.0.clone();
        Box::pin(async move {
            match answer {
                Answer::Addresses(last) => Ok(last.into_iter().map(address).collect()),
                Answer::Fails => Err(io::Error::other("no such name")),
                Answer::Hangs => core::future::pending().await,
                Answer::Panics => panic!("a resolver of the test's"),
            }
        })
    }
}

fn address(last: u8) -> SocketAddr {
    SocketAddr::new(IpAddr::from([10, 0, 0, last]), 443)
}

struct Lab {
    net: Network,
    names: Names,
    service: Resilient<Channel>,
    peers: Vec<Peer>,
}

impl Lab {
    /// Machines 1 to 9 listen, each of which says its number.
    fn new(answer: Answer, builder: evenkeel_tonic::Builder) -> Self {
        let net = Network::new();
        let listen = |n: u8| Peer::new([says(&n.to_string())]).listen(&net, &format!("10.0.0.{n}"));
        let peers = (1..=9).map(listen).collect();
        let names = Names::new(answer);
        let pool = Pool::builder().insecure().connector(net.dialer()).resolver(names.clone());
        let pool = pool.target("dns:///orders.internal:443").unwrap();
        Self { service: builder.build_pool(pool).unwrap(), net, names, peers }
    }

    async fn call(&self) -> Result<String, Status> {
        let mut client = RawClient::of(ECHO, self.service.clone());
        client.unary("ping").await.map(|response| text(response.into_inner()))
    }

    async fn calls(&self, count: usize) -> String {
        let mut answers = String::new();
        for _ in 0..count {
            answers.push_str(self.call().await.as_deref().unwrap_or("!"));
        }
        answers
    }

    fn members(&self) -> Vec<String> {
        self.service.pool().unwrap().members()
    }

    fn kill(&self, n: u8) {
        let name = format!("10.0.0.{n}");
        drop(self.net.listen(&name));
        self.net.cut(&name);
    }
}

/// By which name the servers were asked for.
fn authorities(peers: &[Peer]) -> Vec<String> {
    let seen = peers.iter().flat_map(Peer::requests);
    let mut asked: Vec<String> = seen.filter_map(|seen| seen.authority).collect();
    asked.dedup();
    asked
}

/// It is asked for by the name that is left, and that is looked up when it is away.
#[tokio::test(start_paused = true)]
async fn an_address_of_two_names_is_the_others_when_one_is_gone() {
    let lab = Lab::new(Answer::Addresses(vec![1]), plain());
    let (old, new) = ("orders.internal:443", "new.internal:443");
    let targets = |names: &[&str]| -> Vec<TargetName> {
        names.iter().map(|name| format!("dns:///{name}").parse().unwrap()).collect()
    };
    let pool = lab.service.pool().unwrap();
    for names in [[old, new], [new, old]] {
        pool.set_targets(targets(&names));
        pass(1).await;
        assert_eq!((lab.calls(2).await.as_str(), pool.members().len()), ("11", 1));
    }
    assert_eq!(authorities(&lab.peers), [old], "as long as that name has it");
    pool.set_targets(targets(&[new]));
    assert_eq!(lab.calls(2).await, "11");
    assert_eq!(authorities(&lab.peers), [old, new]);
    lab.names.becomes(Answer::Addresses(vec![2]));
    lab.kill(1);
    _ = lab.call().await;
    pass(30_000).await;
    assert_eq!(lab.calls(2).await, "22");
}

/// Its health is asked by the name that is left, too.
#[tokio::test(start_paused = true)]
async fn an_address_of_two_names_is_checked_anew_by_the_other() {
    let net = Network::new();
    let peer = Peer::answering(|seen: &Seen| match &*seen.path {
        ECHO => says("1"),
        _ => Reply::ok([8, 1].as_slice()),
    });
    let peers = [peer.listen(&net, "10.0.0.1")];
    let pool = Pool::builder().insecure().connector(net.dialer());
    let pool = pool.resolver(Names::new(Answer::Addresses(vec![1])));
    let pool = pool.targets(["dns:///orders.internal:443", "dns:///new.internal:443"]).unwrap();
    let kit = Kit::builder("lab").pool(pool).calls(plain()).health(|checker| checker);
    let kit = kit.build().unwrap();
    assert!(kit.wait_until_ready(Duration::from_secs(1)).await);
    kit.pool().set_targets(["dns:///new.internal:443".parse().unwrap()]);
    assert!(kit.wait_until_ready(Duration::from_secs(1)).await);
    assert!(RawClient::of(ECHO, kit.channel()).unary("ping").await.is_ok());
    assert_eq!(authorities(&peers), ["orders.internal:443", "new.internal:443"]);
    assert_eq!(peers[0].count(), 3, "two checks and a call");
}

#[tokio::test(start_paused = true)]
async fn every_address_is_a_member() {
    let lab = Lab::new(Answer::Addresses(vec![3, 1, 2, 1, 3]), plain());
    assert_eq!(lab.calls(6).await, "123123");
    assert_eq!(lab.members(), ["10.0.0.1:443", "10.0.0.2:443", "10.0.0.3:443"]);
    // Nothing fails, so nobody is asked again.
    pass(3_600_000).await;
    assert_eq!((lab.calls(3).await.as_str(), lab.names.asked()), ("123", 1));
}

/// The server is asked for by the name, whichever address it is at.
#[tokio::test(start_paused = true)]
async fn the_authority_is_the_name() {
    let net = Network::new();
    let peer = Peer::new([says("1")]).listen(&net, "10.0.0.1");
    let names = Names::new(Answer::Addresses(vec![1]));
    let pool = Pool::builder().insecure().connector(net.dialer()).resolver(names);
    let pool = pool.target("dns:///orders.internal:443").unwrap();
    let mut client = RawClient::of(ECHO, plain().build_pool(pool).unwrap());
    client.unary("ping").await.unwrap();
    assert_eq!(peer.requests()[0].authority.as_deref(), Some("orders.internal:443"));
}

#[tokio::test(start_paused = true)]
async fn a_failed_connection_has_the_name_looked_up_at_most_every_30_s() {
    let lab = Lab::new(Answer::Addresses(vec![1, 2]), retrying(3));
    assert_eq!(spread(&lab.calls(4).await), [('1', 2), ('2', 2)]);
    lab.kill(1);
    lab.names.becomes(Answer::Addresses(vec![2, 3]));
    assert_eq!(lab.calls(4).await, "2222");
    assert_eq!(lab.names.asked(), 1, "30 s have not passed");
    pass(30_000).await;
    lab.calls(1).await;
    pass(1).await;
    assert_eq!(lab.names.asked(), 2);
    assert_eq!(spread(&lab.calls(4).await), [('2', 2), ('3', 2)]);

    // A member that stays dead in a list that stays the same.
    lab.kill(2);
    for _ in 0..1_200 {
        assert_eq!(code(&lab.call().await), Code::Ok);
        pass(100).await;
    }
    let asked = lab.names.asked() - 2;
    assert!((3..=5).contains(&asked), "{asked} times in 120 s");
}

#[tokio::test(start_paused = true)]
async fn bad_answers_keep_the_last_good_list() {
    for bad in [Answer::Fails, Answer::Hangs, Answer::Panics, Answer::Addresses(Vec::new())] {
        let lab = Lab::new(Answer::Addresses(vec![1, 2]), retrying(3));
        assert_eq!(spread(&lab.calls(2).await).len(), 2);
        lab.names.becomes(bad.clone());
        lab.kill(1);
        pass(30_000).await;
        for _ in 0..100 {
            assert_eq!(lab.calls(1).await, "2", "{bad:?}");
            pass(1_000).await;
        }
        assert!(lab.names.asked() >= 2, "{bad:?}");
        assert_eq!(lab.members().len(), 2, "{bad:?}");
        // It is asked again without anybody's failing anew.
        lab.names.becomes(Answer::Addresses(vec![3]));
        pass(60_000).await;
        assert_eq!(lab.calls(2).await, "33", "{bad:?}");
    }
}

/// Not known yet is not nobody: the first calls wait for the answer.
#[tokio::test(start_paused = true)]
async fn calls_before_the_first_answer_wait_for_it() {
    let lab = Lab::new(Answer::Hangs, plain());
    let (late, took) = crate::lab::timed(lab.call()).await;
    assert_eq!((code(&late), took), (Code::DeadlineExceeded, 10_000));
}

/// But a name that cannot be found is nobody, at once and by name.
#[tokio::test(start_paused = true)]
async fn a_name_nobody_knows_is_a_typed_error() {
    let lab = Lab::new(Answer::Fails, plain());
    let failed = lab.call().await.unwrap_err();
    assert_eq!(failed.code(), Code::Unavailable);
    let nobody = cause::<NoHealthyTargets>(&failed).unwrap();
    assert_eq!(nobody.targets, ["dns:///orders.internal:443"]);
    // It is looked up again and again, ever more rarely.
    pass(60_000).await;
    assert!((5..=9).contains(&lab.names.asked()), "{}", lab.names.asked());
    lab.names.becomes(Answer::Addresses(vec![4]));
    pass(120_000).await;
    assert_eq!(lab.calls(1).await, "4");
}

#[tokio::test(start_paused = true)]
async fn waiting_calls_are_served_when_the_name_is_found() {
    let lab = Lab::new(Answer::Fails, plain().wait_for_ready(true));
    let found = async {
        pass(500).await;
        lab.names.becomes(Answer::Addresses(vec![5]));
    };
    let ((answer, took), ()) = tokio::join!(crate::lab::timed(lab.call()), found);
    assert_eq!(answer.unwrap(), "5");
    assert!((800..=1_200).contains(&took), "{took} ms: the first pause");
}

#[tokio::test(start_paused = true)]
async fn answers_are_bounded() {
    struct Flood;
    impl Resolve for Flood {
        fn resolve(&self, _: &str, port: u16) -> Resolving {
            let address =
                move |n: u32| SocketAddr::new(IpAddr::from((0x0a00_0000 + n).to_be_bytes()), port);
            Box::pin(async move { Ok((0..100_000).map(address).collect()) })
        }
    }
    let net = Network::new();
    let pool = Pool::builder().insecure().connector(net.dialer()).resolver(Flood);
    let pool = pool.targets(["dns:///orders.internal:443", "dns:///more.internal:443"]).unwrap();
    let service = plain().build_pool(pool).unwrap();
    pass(1).await;
    assert_eq!(service.pool().unwrap().members().len(), 256, "the same addresses are the same");
}

/// With many names, two resolvers at work, and a client that is dropped.
#[tokio::test(start_paused = true)]
async fn a_lookup_ends_with_its_client() {
    let lab = Lab::new(Answer::Hangs, plain());
    pass(1).await;
    let Lab { names, service, .. } = lab;
    assert_eq!(names.asked(), 1);
    drop(service);
    pass(3_600_000).await;
    assert_eq!(names.asked(), 1);
    assert_eq!(Arc::strong_count(&names.0), 1, "nobody holds the resolver any more");
}

/// Addresses in place of a name need no lookup.
#[tokio::test(start_paused = true)]
async fn an_address_is_not_looked_up() {
    let net = Network::new();
    let _peer = Peer::new([says("1")]).listen(&net, "10.0.0.1");
    let names = Names::new(Answer::Panics);
    let pool = Pool::builder().insecure().connector(net.dialer()).resolver(names.clone());
    let pool = pool.target("dns:///10.0.0.1:443").unwrap();
    let mut client = RawClient::of(ECHO, plain().build_pool(pool).unwrap());
    assert_eq!(text(client.unary("ping").await.unwrap().into_inner()), "1");
    assert_eq!(names.asked(), 0);
    _ = Duration::ZERO;
}

/// No call goes to an unhealthy member, so none would find out that its address is another's by
/// now: all machines are replaced while nobody calls, as in a deployment at night.
#[tokio::test(start_paused = true)]
async fn addresses_that_are_found_unhealthy_have_the_name_looked_up() {
    let net = Network::new();
    let listen = |n: u8| {
        let rule = move |seen: &Seen| match &*seen.path {
            "/grpc.health.v1.Health/Watch" => Reply::headers().message([8, 1].as_slice()),
            _ => says(&n.to_string()),
        };
        Peer::answering(rule).listen(&net, &format!("10.0.0.{n}"))
    };
    let _peers: Vec<Peer> = (1..=4).map(listen).collect();
    let names = Names::new(Answer::Addresses(vec![1, 2]));
    let pool = Pool::builder().insecure().connector(net.dialer()).resolver(names.clone());
    let pool = pool.target("dns:///orders.internal:443").unwrap();
    let kit = Kit::builder("orders").pool(pool).calls(retrying(3));
    let kit = kit.health(|checker| checker.mode(HealthMode::Watch)).build().unwrap();
    let call = async || {
        let mut client = RawClient::of(ECHO, kit.channel());
        client.unary("ping").await.map(|response| text(response.into_inner()))
    };
    assert!(kit.wait_until_ready(Duration::from_secs(5)).await);
    assert_eq!(call().await.unwrap(), "1");

    names.becomes(Answer::Addresses(vec![3, 4]));
    for gone in ["10.0.0.1", "10.0.0.2"] {
        drop(net.listen(gone));
        net.cut(gone);
    }
    pass(60_000).await;
    assert_eq!(names.asked(), 1, "nobody calls");
    let failed = call().await.unwrap_err();
    assert!(cause::<NoHealthyTargets>(&failed).is_some(), "{failed:?}");
    pass(1_000).await;
    let answers = [call().await.unwrap(), call().await.unwrap()].concat();
    assert_eq!(spread(&answers), [('3', 1), ('4', 1)]);
    assert_eq!(names.asked(), 2);
    // All are well, so nobody is asked again, but for a doubt from before.
    pass(31_000).await;
    let asked = names.asked();
    assert!(asked <= 3, "{asked}");
    for _ in 0..60 {
        pass(10_000).await;
        call().await.unwrap();
    }
    assert_eq!(names.asked(), asked);
}
