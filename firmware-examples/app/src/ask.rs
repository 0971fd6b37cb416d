//! This file knows one request on a connection of its own: a line out, a line back.
//!
//! Out: `<number> <what> <argument>`. Back: `<number> ok <attempt>`, `<number> busy <millis>` or
//! `<number> bad`.

use core::fmt::Write as _;
use core::time::Duration;

use embassy_net::tcp::TcpSocket;
use embassy_net::{IpEndpoint, Stack};
use embedded_io_async::Write;
use evenkeel_embassy::core::{Clock, Deadline, Event, Outcome, StopReason};
use evenkeel_embassy::{AttemptInfo, EmbassyClock, Error, Exchange, call_with};

use crate::HOST;
use crate::settings::{BREAKER, CALL, PEERS, SEEDS};

/// What the host says instead of an answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq, defmt::Format)]
pub(crate) enum Fault {
    /// It understood and said no.
    Bad,
    /// It asked for so many milliseconds.
    Busy(u32),
    /// The connection ended, or what came made no sense.
    Lost,
    /// There was no connection.
    Refused,
}

/// What came of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq, defmt::Format)]
pub(crate) struct Ended {
    /// The attempt that the host answered, as it counted them.
    pub(crate) reply: Result<u32, Error<Fault>>,
    /// Why there was no other attempt.
    pub(crate) reason: Option<StopReason>,
    /// How many there were.
    pub(crate) attempts: u16,
}

/// Asks `what` of `port`, with retries, behind that port's breaker.
pub(crate) async fn ask(
    stack: Stack<'_>,
    port: u16,
    number: u32,
    what: &str,
    argument: u32,
) -> Ended {
    let (mut rx, mut tx) = ([0; 512], [0; 512]);
    let socket = TcpSocket::new(stack, &mut rx, &mut tx);
    let mut request = Request { socket, port, number, what, argument, attempts: 0, reason: None };
    let deadline = CALL.deadline(EmbassyClock.now(), Deadline::NONE);
    let peer = PEERS.view(port, &CALL, &BREAKER);
    let reply = call_with(SEEDS.next(), peer, deadline, &mut request).await;
    Ended { reply, reason: request.reason, attempts: request.attempts }
}

struct Request<'a> {
    socket: TcpSocket<'a>,
    port: u16,
    number: u32,
    what: &'a str,
    argument: u32,
    attempts: u16,
    reason: Option<StopReason>,
}

impl Request<'_> {
    async fn line(&mut self) -> Result<heapless::Vec<u8, 64>, Fault> {
        let mut line = heapless::Vec::new();
        let mut some = [0; 16];
        while !line.contains(&b'\n') {
            let got = self.socket.read(&mut some).await.map_err(|_| Fault::Lost)?;
            if got == 0 {
                return Err(Fault::Lost);
            }
            line.extend_from_slice(&some[..got]).map_err(|_| Fault::Lost)?;
        }
        Ok(line)
    }

    fn understand(&self, line: &[u8]) -> Result<u32, Fault> {
        let text = core::str::from_utf8(line).map_err(|_| Fault::Lost)?;
        let mut words = text.split_ascii_whitespace();
        let number = words.next().and_then(|word| word.parse().ok());
        if number != Some(self.number) {
            return Err(Fault::Lost);
        }
        let (what, argument) = (words.next(), words.next().and_then(|word| word.parse().ok()));
        match (what, argument) {
            (Some("ok"), Some(attempt)) => Ok(attempt),
            (Some("busy"), Some(millis)) => Err(Fault::Busy(millis)),
            (Some("bad"), _) => Err(Fault::Bad),
            _ => Err(Fault::Lost),
        }
    }
}

impl Exchange for Request<'_> {
    type Reply = u32;
    type Error = Fault;

    async fn attempt(&mut self, attempt: AttemptInfo) -> Result<u32, Fault> {
        self.attempts = attempt.number();
        let host = IpEndpoint::new(HOST.into(), self.port);
        self.socket.connect(host).await.map_err(|_| Fault::Refused)?;
        let mut out = heapless::String::<48>::new();
        let Self { number, what, argument, .. } = self;
        writeln!(out, "{number} {what} {argument}").map_err(|_| Fault::Bad)?;
        self.socket.write_all(out.as_bytes()).await.map_err(|_| Fault::Lost)?;
        let line = self.line().await?;
        self.understand(&line)
    }

    fn classify(&self, reply: &Result<u32, Fault>) -> Outcome {
        match reply {
            Ok(_) => Outcome::success(),
            Err(Fault::Bad) => Outcome::refused_by_peer(),
            Err(Fault::Busy(millis)) => {
                let wish = Duration::from_millis(u64::from(*millis));
                Outcome::unavailable().with_retry_after(wish)
            }
            Err(Fault::Lost) => Outcome::unavailable(),
            Err(Fault::Refused) => Outcome::not_connected(),
        }
    }

    async fn close(&mut self) {
        self.socket.abort();
        let _ = self.socket.flush().await;
    }

    fn happened(&mut self, event: Event) {
        if let Event::Stopped(reason) = event {
            self.reason = Some(reason);
        }
    }
}
