//! The kit and the factory: P15 to P17, P21, and what an operator can do with them.

use core::time::Duration;

use evenkeel_core::{BreakerState, ThrottlePolicy};
use evenkeel_tests::{Network, Peer, RawClient, Reply};
use evenkeel_tonic::connect::DialPolicy;
use evenkeel_tonic::pool::{ChannelOptions, Tls};
use evenkeel_tonic::{
    BuildError, CircuitOpen, Closed, Factory, Kit, KitBuilder, Pool, PoolBuilder, cause,
};

use crate::lab::{
    CHARGE, ECHO, EMPTY, fails, opens_after, pass, plain, pool_of, retrying, says, text,
};

async fn call(kit: &Kit) -> String {
    let mut client = RawClient::of(ECHO, kit.channel());
    client
        .unary("ping")
        .await
        .map_or_else(|_| "!".to_owned(), |response| text(response.into_inner()))
}

async fn calls(kit: &Kit, count: usize) -> String {
    let mut answers = String::new();
    for _ in 0..count {
        answers.push_str(&call(kit).await);
    }
    answers
}

fn listening(names: &[&str]) -> (Network, Vec<Peer>) {
    let net = Network::new();
    let peers = names.iter().map(|name| Peer::new([says(name)]).listen(&net, name));
    let peers = peers.collect();
    (net, peers)
}

#[tokio::test(start_paused = true)]
async fn a_kit_is_all_of_a_client() {
    let (net, peers) = listening(&["a", "b"]);
    let calls_of = retrying(2).breaker(opens_after(3)).throttle(ThrottlePolicy::SUCCESS_REFILLED);
    let kit = Kit::builder("lab").pool(pool_of(&net, &["a", "b"])).calls(calls_of).build().unwrap();
    assert!(kit.wait_until_ready(Duration::from_secs(1)).await);
    assert_eq!(calls(&kit.clone(), 4).await, "abab");
    assert_eq!(kit.members(), ["a:1", "b:1"]);
    let states = kit.circuit_breaker_states();
    assert_eq!(states.keys().collect::<Vec<_>>(), ["a:1", "b:1"]);
    assert_eq!(states["a:1"][ECHO].state, BreakerState::Closed);
    assert_eq!(kit.throttle_millitokens(), Some(10_000));
    assert!(kit.health().is_none());
    assert!(kit.close(Duration::from_secs(1)).await);
    let mut client = RawClient::of(ECHO, kit.channel());
    let failed = client.unary("ping").await.unwrap_err();
    assert_eq!(&*cause::<Closed>(&failed).unwrap().upstream, "lab");
    assert_eq!(peers.iter().map(Peer::count).sum::<usize>(), 4);
}

#[tokio::test(start_paused = true)]
async fn an_operator_sets_breakers_by_hand() {
    let (net, peers) = listening(&["a", "b"]);
    let kit = Kit::builder("lab")
        .pool(pool_of(&net, &["a", "b"]))
        .calls(plain().breaker(opens_after(1)))
        .build()
        .unwrap();
    let breaker = kit.circuit_breaker("a:1", ECHO).expect("before any call, too");
    breaker.force_open();
    assert_eq!((&*breaker.key().target, &*breaker.key().method), ("a:1", ECHO));
    assert_eq!(calls(&kit, 3).await, "bbb");
    kit.circuit_breaker("b:1", ECHO).unwrap().force_open();
    let mut client = RawClient::of(ECHO, kit.channel());
    let refused = client.unary("ping").await.unwrap_err();
    let open = cause::<CircuitOpen>(&refused).unwrap();
    assert_eq!(open.retry_after(), Duration::MAX, "nobody knows for how long");
    assert!(refused.message().ends_with(", forced by hand"), "{refused:?}");
    pass(3_600_000 * 24).await;
    assert_eq!(call(&kit).await, "!", "for as long as nobody resets it");
    breaker.reset();
    assert_eq!(calls(&kit, 2).await, "aa");

    // Disabled, it opens for nothing.
    breaker.force_closed();
    peers[0].replace([fails(tonic::Code::Internal)]);
    assert_eq!(calls(&kit, 5).await, "!!!!!");
    assert_eq!(breaker.snapshot().state, BreakerState::ForcedClosed);
    breaker.reset();
    assert_eq!(calls(&kit, 2).await, "!!");
    assert_eq!(breaker.snapshot().state, BreakerState::Open);

    for (target, method) in [("c:1", ECHO), ("a:1", "Echo"), ("a:1", ""), ("", ECHO)] {
        assert!(kit.circuit_breaker(target, method).is_none(), "{target:?} {method:?}");
    }
    let none = Kit::builder("lab").pool(pool_of(&net, &["a"])).calls(plain()).build().unwrap();
    assert!(none.circuit_breaker("a:1", ECHO).is_none());
}

/// A forced breaker outlives everything that would be forgotten.
#[tokio::test(start_paused = true)]
async fn a_forced_breaker_is_not_forgotten() {
    let (net, _peers) = listening(&["a"]);
    let calls_of = evenkeel_tonic::Resilient::builder().breaker(opens_after(1));
    let calls_of = calls_of.max_methods(2).unwrap();
    let calls_of = calls_of.breaker_idle_ttl(Duration::from_secs(60)).unwrap();
    let kit = Kit::builder("lab").pool(pool_of(&net, &["a"])).calls(calls_of).build().unwrap();
    kit.circuit_breaker("a:1", ECHO).unwrap().force_open();
    for turn in 0..50 {
        let path: &'static str = Box::leak(format!("/lab.v1.Lab/M{turn}").into_boxed_str());
        _ = RawClient::of(path, kit.channel()).unary("ping").await;
        pass(61_000).await;
    }
    let states = kit.circuit_breaker_states();
    assert_eq!(states["a:1"][ECHO].state, BreakerState::ForcedOpen);
    assert!(states["a:1"].len() <= 2, "the others were, after their minute");
    let zero = plain().breaker_idle_ttl(Duration::ZERO).unwrap_err();
    assert!(zero.to_string().starts_with("breaker.idle_ttl"), "{zero}");
}

#[tokio::test(start_paused = true)]
async fn a_kit_that_cannot_be_right_is_refused_and_the_field_named() {
    let refused = |kit: KitBuilder| kit.build().unwrap_err();
    let says = refused(Kit::builder("lab")).to_string();
    assert_eq!(says, EMPTY);
    let net = Network::new();
    let both = pool_of(&net, &["a"]).tls(Tls::new().identity("certificate", "key"));
    for kit in [Kit::builder("lab").pool(both), {
        let both = pool_of(&net, &["a"]).tls(Tls::new());
        Kit::builder("lab").pool(both).health(|checker| checker)
    }] {
        assert!(matches!(refused(kit), BuildError::Refused { field: "channel.insecure", .. }));
    }
    let given = Pool::of([("a", net.channel("a"))]);
    let given = refused(Kit::builder("lab").pool(given).health(|checker| checker));
    assert!(matches!(given, BuildError::Refused { field: "health", .. }));
    let twice = Factory::builder()
        .upstream(Kit::builder("x").pool(pool_of(&net, &["a"])))
        .upstream(Kit::builder("x").pool(pool_of(&net, &["b"])));
    assert_eq!(twice.build().unwrap_err().to_string(), "upstreams: \"x\" is there twice");
    let broken = Factory::builder().upstream(Kit::builder("orders"));
    let broken = broken.build().unwrap_err().to_string();
    assert_eq!(broken, format!("upstream \"orders\": {EMPTY}"));
    // As `main` prints what it returns.
    let printed = format!("{:?}", refused(Kit::builder("lab")));
    assert_eq!(printed, EMPTY);
    let one = Factory::builder().upstream(Kit::builder("x").pool(pool_of(&net, &["a"])));
    let unknown = one.build().unwrap().channel("y").unwrap_err();
    assert_eq!(format!("{unknown:?}"), "no upstream is called \"y\": there are x");
}

/// An upstream at `a`, which says nothing of how it is dialled.
fn at_a(name: &str) -> KitBuilder {
    upstream(name, Pool::builder().insecure())
}

fn upstream(name: &str, pool: PoolBuilder) -> KitBuilder {
    Kit::builder(name).pool(pool.target("a:1").unwrap()).calls(plain())
}

#[tokio::test(start_paused = true)]
async fn p16_upstreams_at_one_place_share_its_connection_and_nothing_else() {
    let (net, peers) = listening(&["a"]);
    let factory = Factory::builder()
        .connector(net.dialer())
        .upstream(at_a("x").calls(plain().breaker(opens_after(1))))
        .upstream(at_a("y").calls(plain().breaker(opens_after(5))))
        .build()
        .unwrap();
    let (x, y) = (factory.kit("x").unwrap(), factory.kit("y").unwrap());
    assert_eq!((call(x).await.as_str(), call(y).await.as_str()), ("a", "a"));
    assert_eq!((peers[0].connections(), net.dials("a").len()), (1, 1));
    // Their breakers are their own.
    peers[0].replace([fails(tonic::Code::Internal), says("a")]);
    assert_eq!(calls(x, 2).await, "!!");
    assert_eq!(calls(y, 2).await, "aa");
    let states = factory.circuit_breaker_states();
    assert_eq!(states.keys().collect::<Vec<_>>(), ["x -> a:1", "y -> a:1"]);
    assert_eq!(states["x -> a:1"][ECHO].state, BreakerState::Open);
    assert_eq!(states["y -> a:1"][ECHO].state, BreakerState::Closed);
    // One is closed, and its calls cut off, without the other.
    peers[0].replace([Reply::hang()]);
    let mut client = RawClient::of(CHARGE, factory.channel("x").unwrap());
    let (hung, drained) = tokio::join!(client.unary("ping"), async {
        pass(1).await;
        x.close(Duration::ZERO).await
    });
    assert!(hung.is_err() && !drained);
    peers[0].replace([says("a")]);
    assert_eq!((calls(y, 2).await.as_str(), peers[0].connections()), ("aa", 1));
}

/// However often one of them removes the place and takes it back, and whatever it ends with its own
/// close, the other's calls go on.
#[tokio::test(start_paused = true)]
async fn p16_a_shared_connection_is_its_other_owners_to_the_last() {
    let (net, peers) = listening(&["a", "b"]);
    let factory = Factory::builder()
        .connector(net.dialer())
        .upstream(at_a("x"))
        .upstream(at_a("y"))
        .build()
        .unwrap();
    let (x, y) = (factory.kit("x").unwrap(), factory.kit("y").unwrap());
    assert_eq!((call(x).await.as_str(), call(y).await.as_str()), ("a", "a"));
    let target = |name: &str| [name.parse().unwrap()];
    for _ in 0..10 {
        x.pool().set_targets(target("b:1"));
        assert_eq!(call(x).await, "b");
        x.pool().set_targets(target("a:1"));
        assert_eq!(call(x).await, "a");
    }
    peers[0].replace([Reply::hang(), says("late").after(Duration::from_secs(5)), says("a")]);
    let mut hung = RawClient::of(CHARGE, x.channel());
    let closing = async {
        pass(1).await;
        let (late, drained) = tokio::join!(call(y), async {
            pass(1_000).await;
            x.close(Duration::ZERO).await
        });
        (late, drained)
    };
    let (hung, (late, drained)) = tokio::join!(hung.unary("ping"), closing);
    assert!(hung.is_err() && !drained);
    assert_eq!(late, "late");
    assert_eq!((call(y).await.as_str(), peers[0].connections()), ("a", 1));
    // The last one's are ended.
    peers[0].replace([Reply::hang()]);
    let ((hung, took), drained) = tokio::join!(crate::lab::timed(call(y)), async {
        pass(1_000).await;
        y.close(Duration::ZERO).await
    });
    assert_eq!((hung.as_str(), drained, took), ("!", false, 1_000));
}

#[tokio::test(start_paused = true)]
async fn p15_and_p21_what_makes_a_connection_another_one() {
    let insecure = || Pool::builder().insecure();
    let idle = ChannelOptions::DEFAULT.with_idle(Duration::from_secs(60)).unwrap();
    let dial = DialPolicy::new(Duration::from_secs(1), Duration::from_secs(60)).unwrap();
    let (net, peers) = listening(&["a"]);
    let factory = Factory::builder()
        .connector(net.dialer())
        .upstream(at_a("1"))
        .upstream(at_a("1 again"))
        .upstream(upstream("1 too", insecure().options(ChannelOptions::DEFAULT)))
        .upstream(upstream("2", insecure().options(idle)))
        .upstream(upstream("3", insecure().options(ChannelOptions::DEFAULT.with_dial(dial))))
        .upstream(upstream("4", insecure().options(ChannelOptions::DEFAULT.without_keepalive())))
        // A connector that was given is like no other, whatever it does.
        .upstream(upstream("5", insecure().connector(net.dialer())))
        .build()
        .unwrap();
    for name in factory.upstreams() {
        assert_eq!(calls(factory.kit(name).unwrap(), 2).await, "aa");
    }
    assert_eq!(peers[0].connections(), 5);
}

/// Without a factory nothing is shared by accident.
#[tokio::test(start_paused = true)]
async fn p16_kits_of_their_own_have_connections_of_their_own() {
    let (net, peers) = listening(&["a"]);
    for turn in 1..=2 {
        let pool = Pool::builder().insecure().connector(net.dialer());
        let kit = upstream("x", pool).build().unwrap();
        assert_eq!(call(&kit).await, "a");
        assert_eq!(peers[0].connections(), turn);
    }
}

/// A connection that was lost is made again by the one channel there is, and not beside it.
#[tokio::test(start_paused = true)]
async fn p17_a_broken_connection_is_replaced_and_not_joined_by_a_second() {
    let (net, peers) = listening(&["a"]);
    let kit = Kit::builder("x").pool(pool_of(&net, &["a"])).calls(retrying(3)).build().unwrap();
    for turn in 1..=20 {
        assert_eq!(calls(&kit, 3).await, "aaa");
        assert_eq!(peers[0].connections(), turn);
        net.cut("a");
        pass(1_500).await;
    }
}

fn shared(name: &str, pool: PoolBuilder) -> KitBuilder {
    Kit::builder(name).pool(pool).calls(plain())
}

#[tokio::test(start_paused = true)]
async fn a_factory_waits_for_all_and_closes_all() {
    let (net, _peers) = listening(&["a", "b"]);
    let factory = Factory::builder()
        .upstream(shared("x", pool_of(&net, &["a"])))
        .upstream(shared("y", pool_of(&net, &["b"])))
        .build()
        .unwrap();
    assert_eq!(factory.upstreams().collect::<Vec<_>>(), ["x", "y"]);
    assert!(factory.wait_until_ready(Duration::from_secs(1)).await);
    let unknown = factory.channel("z").unwrap_err();
    assert_eq!(unknown.to_string(), "no upstream is called \"z\": there are x, y");
    let mut client = RawClient::of(CHARGE, factory.channel("y").unwrap());
    assert_eq!(text(client.unary("ping").await.unwrap().into_inner()), "b");
    assert!(factory.close(Duration::from_secs(1)).await);
    for upstream in ["x", "y"] {
        let mut client = RawClient::of(ECHO, factory.channel(upstream).unwrap());
        let failed = client.unary("ping").await.unwrap_err();
        assert_eq!(&*cause::<Closed>(&failed).unwrap().upstream, upstream);
    }
    assert!(!factory.wait_until_ready(Duration::from_secs(1)).await);

    let dark = Factory::builder()
        .upstream(shared("x", pool_of(&net, &["a"])))
        .upstream(shared("y", pool_of(&net, &["nobody"])))
        .build()
        .unwrap();
    assert!(!dark.wait_until_ready(Duration::from_secs(1)).await);
    assert!(Factory::builder().build().unwrap().wait_until_ready(Duration::ZERO).await);
}
