//! Real TCP: two stacks of embassy-net joined by a wire that loses and delays frames, in virtual
//! time. Hours take milliseconds, and one seed is one transcript.

mod wire;

use std::cell::Cell;
use std::time::Duration;

use embassy_futures::join::join;
use embassy_futures::select::{Either, select};
use embassy_net::tcp::TcpSocket;
use embassy_net::{IpEndpoint, Stack};
use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embedded_io_async::Write;
use evenkeel_core::{
    Backoff, BreakerPolicy, CallPolicy, Clock, Code, CodeSet, Consecutive, Deadline, Instant,
    Jitter, Micros, Outcome, ReconnectPolicy, RetryPolicy, checked,
};
use evenkeel_embassy::{
    AttemptInfo, EmbassyClock, Error, Exchange, Link, Peers, call_with, sleep_until, supervise,
};

use simulated::apart;
use wire::{Wire, World};

const PORT: u16 = 80;

static CALLS: CallPolicy = checked!(
    checked!(CallPolicy::DEFAULT.with_timeout(Duration::from_secs(60)))
        .with_retry(
            checked!(RetryPolicy::DEFAULT.with_max_attempts(10))
                .with_codes(CodeSet::RETRYABLE.with(Code::DeadlineExceeded))
                .with_backoff(BACKOFF)
        )
        .with_attempt_timeout(Duration::from_secs(3))
);
const BACKOFF: Backoff = checked!(
    checked!(Backoff::new(Duration::from_millis(100), Duration::from_secs(5)))
        .with_jitter(Jitter::Full)
);
static BREAKER: BreakerPolicy = BreakerPolicy::new(checked!(Consecutive::new(20)));

/// One request on a connection of its own.
struct Ask<'a> {
    socket: TcpSocket<'a>,
    item: u8,
    /// Whether the peer is told when an attempt is over.
    polite: bool,
    attempts: u32,
}

impl Exchange for Ask<'_> {
    type Reply = u8;
    type Error = &'static str;

    async fn attempt(&mut self, _attempt: AttemptInfo) -> Result<u8, &'static str> {
        self.attempts += 1;
        let server = IpEndpoint::new(wire::SERVER.into(), PORT);
        self.socket.connect(server).await.map_err(|_| "refused")?;
        self.socket.write_all(&[self.item]).await.map_err(|_| "reset")?;
        let mut reply = [0];
        match self.socket.read(&mut reply).await {
            Ok(1) => Ok(reply[0]),
            _ => Err("closed"),
        }
    }

    fn classify(&self, reply: &Result<u8, &'static str>) -> Outcome {
        match reply {
            Ok(_) => Outcome::success(),
            Err("refused") => Outcome::not_connected(),
            Err(_) => Outcome::unavailable(),
        }
    }

    async fn close(&mut self) {
        self.socket.abort();
        if self.polite {
            let _ = self.socket.flush().await;
        }
    }
}

/// Serves one connection at a time, and drops every third request on the floor.
async fn serve(stack: Stack<'_>, served: &Cell<u32>) {
    let (mut rx, mut tx) = ([0; 512], [0; 512]);
    let mut number = 0u32;
    loop {
        let mut socket = TcpSocket::new(stack, &mut rx, &mut tx);
        socket.set_timeout(Some(embassy_time::Duration::from_secs(5)));
        if socket.accept(PORT).await.is_err() {
            continue;
        }
        let mut request = [0];
        let Ok(1) = socket.read(&mut request).await else { continue };
        number += 1;
        if number.is_multiple_of(3) {
            // Held until the peer gives up, or says that it has.
            let _ = socket.read(&mut request).await;
            continue;
        }
        served.set(served.get() + 1);
        let _ = socket.write_all(&request).await;
        socket.close();
        let _ = socket.flush().await;
    }
}

/// Twenty requests one after the other: how many attempts they took, and how long.
fn twenty(seed: u64, loss: u32, polite: bool) -> (u32, u64, u32) {
    let (attempts, served) = (Cell::new(0), Cell::new(0));
    let peers = Peers::<NoopRawMutex, u16, 2>::new();
    let wire = Wire::new(seed, loss);
    let ((), end) = wire.run(async |world: World<'_>| {
        let client = async {
            let (mut rx, mut tx) = ([0; 512], [0; 512]);
            for item in 0..20 {
                let socket = TcpSocket::new(world.device, &mut rx, &mut tx);
                let mut ask = Ask { socket, item, polite, attempts: 0 };
                let deadline = CALLS.deadline(EmbassyClock.now(), Deadline::NONE);
                let view = peers.view(PORT, &CALLS, &BREAKER);
                let reply =
                    call_with(seed as u32 + u32::from(item), view, deadline, &mut ask).await;
                assert_eq!(reply, Ok(item), "seed {seed}, loss {loss}");
                attempts.set(attempts.get() + ask.attempts);
            }
        };
        let _ = select(apart(client), apart(serve(world.server, &served))).await;
    });
    (attempts.get(), end, wire.lost())
}

#[test]
fn a_peer_that_is_told_goodbye_is_there_for_the_next_attempt() {
    for seed in 0..5 {
        let (polite, fast, _) = twenty(seed, 0, true);
        assert!(polite <= 35, "seed {seed}: {polite} attempts");
        assert!(fast < 60_000_000, "seed {seed}: {fast} µs");
    }
}

#[test]
fn requests_get_through_a_wire_that_loses_a_quarter_of_the_frames() {
    for (seed, loss) in [(1, 10), (2, 25), (3, 40), (4, 64)] {
        let first = twenty(seed, loss, true);
        assert!(first.2 > 0, "nothing was lost");
        assert_eq!(first, twenty(seed, loss, true), "one seed, one transcript");
    }
}

/// smoltcp #323: a socket in the middle of connecting looked at no limit of its own.
#[test]
fn f138_connecting_over_a_dead_wire_ends_with_its_attempt() {
    static ONCE: CallPolicy = checked!(
        CallPolicy::DEFAULT
            .with_retry(RetryPolicy::OFF)
            .with_attempt_timeout(Duration::from_secs(5))
    );
    let peers = Peers::<NoopRawMutex, u16, 2>::new();
    let wire = Wire::new(1, 256);
    let (reply, end) = wire.run(async |world: World<'_>| {
        let (mut rx, mut tx) = ([0; 512], [0; 512]);
        let socket = TcpSocket::new(world.device, &mut rx, &mut tx);
        let mut ask = Ask { socket, item: 1, polite: true, attempts: 0 };
        let view = peers.view(PORT, &ONCE, &BREAKER);
        call_with(1, view, ONCE.deadline(Instant::ZERO, Deadline::NONE), &mut ask).await
    });
    assert_eq!(reply, Err(Error::DeadlineExceeded { last: None }));
    assert!((5_000_000..5_200_000).contains(&end), "after {end} µs");
}

/// A session that is pinged every second over real TCP.
struct Broker<'a> {
    socket: TcpSocket<'a>,
    sessions: &'a Cell<u32>,
}

impl Link for Broker<'_> {
    async fn dial(&mut self) -> Result<(), Option<Micros>> {
        let server = IpEndpoint::new(wire::SERVER.into(), PORT);
        self.socket.set_timeout(Some(embassy_time::Duration::from_secs(10)));
        self.socket.connect(server).await.map_err(|_| None)
    }

    async fn session(&mut self) -> Option<Micros> {
        self.sessions.set(self.sessions.get() + 1);
        let mut pong = [0];
        while self.socket.write_all(&[1]).await.is_ok()
            && matches!(self.socket.read(&mut pong).await, Ok(1))
        {
            sleep_until(EmbassyClock.now() + Micros::from_millis(1_000)).await;
        }
        None
    }

    async fn close(&mut self) {
        self.socket.abort();
        let _ = self.socket.flush().await;
    }
}

/// Answers pings for a while, then hangs up.
async fn answer(stack: Stack<'_>, pings: u32) {
    let (mut rx, mut tx) = ([0; 512], [0; 512]);
    loop {
        let mut socket = TcpSocket::new(stack, &mut rx, &mut tx);
        socket.set_timeout(Some(embassy_time::Duration::from_secs(10)));
        if socket.accept(PORT).await.is_err() {
            continue;
        }
        let mut ping = [0];
        for _ in 0..pings {
            if !matches!(socket.read(&mut ping).await, Ok(1))
                || socket.write_all(&ping).await.is_err()
            {
                break;
            }
        }
        socket.abort();
        let _ = socket.flush().await;
    }
}

fn an_hour_of_sessions(seed: u64, pings: u32) -> (u32, u32) {
    static POLICY: ReconnectPolicy = ReconnectPolicy::DEFAULT;
    let sessions = Cell::new(0);
    let wire = Wire::new(seed, 3);
    wire.run(async |world: World<'_>| {
        let (mut rx, mut tx) = ([0; 512], [0; 512]);
        let socket = TcpSocket::new(world.device, &mut rx, &mut tx);
        let mut broker = Broker { socket, sessions: &sessions };
        let both = join(
            apart(supervise(&mut broker, &POLICY, seed as u32)),
            apart(answer(world.server, pings)),
        );
        let hour = sleep_until(Instant::from_micros(3_600_000_000));
        assert!(matches!(select(both, hour).await, Either::Second(())));
    });
    (sessions.get(), wire.lost())
}

#[test]
fn an_hour_of_short_sessions_is_few_and_an_hour_of_long_ones_is_up() {
    let (short, _) = an_hour_of_sessions(1, 2);
    assert!((20..120).contains(&short), "{short} sessions of two seconds in an hour");
    let (long, lost) = an_hour_of_sessions(2, 300);
    assert!((8..=13).contains(&long), "{long} sessions of five minutes, {lost} frames lost");
    assert_eq!(an_hour_of_sessions(2, 300), (long, lost), "one seed, one transcript");
}
