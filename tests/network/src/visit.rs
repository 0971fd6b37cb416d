//! This file knows a request as a server sees it: which attempt of which call it is, by its
//! metadata alone.

use core::time::Duration;

use crate::pb::Msg;
use tonic::metadata::MetadataMap;
use tonic::{Request, Status};

use crate::book::{Book, Event, Origin};

const CALL: &str = "x-call";

/// A request of call `call` that its caller gives so long, if it says so.
pub(crate) fn request<T>(call: u32, wish: Option<Duration>, message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert(CALL, call.into());
    if let Some(wish) = wish {
        request.set_timeout(wish);
    }
    request
}

/// A handler at work. Dropped, it says that the handler is gone.
pub(crate) struct Visit {
    book: Book,
    pub(crate) from: Origin,
    /// What its `grpc-timeout` says.
    pub(crate) timeout: Option<Duration>,
}

impl Visit {
    pub(crate) fn of<T>(
        book: &Book,
        host: &'static str,
        life: u32,
        request: &Request<T>,
    ) -> Result<Self, Status> {
        let metadata = request.metadata();
        let call = number(metadata, CALL).ok_or_else(|| Status::invalid_argument("whose call?"))?;
        let attempt = number(metadata, "grpc-previous-rpc-attempts").unwrap_or(0);
        let from = Origin { call, attempt, host, life };
        let timeout = timeout(metadata);
        book.note(Event::Arrived { from, timeout });
        Ok(Self { book: book.clone(), from, timeout })
    }

    /// An answer from which its caller learns who gave it.
    pub(crate) fn message(&self, item: i32) -> Msg {
        let Origin { call, attempt, host, life } = self.from;
        Msg { text: format!("{host} {life} {call} {attempt}"), n: item, ..Msg::default() }
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.book.note(Event::Left { from: self.from });
    }
}

/// Who gave this answer; nothing if nobody of `hosts` says so.
pub(crate) fn origin(message: &Msg, hosts: &[&'static str]) -> Option<Origin> {
    let mut words = message.text.split(' ');
    let name = words.next()?;
    let host = hosts.iter().find(|host| **host == name)?;
    let mut number = || words.next()?.parse().ok();
    let (life, call, attempt) = (number()?, number()?, number()?);
    Some(Origin { call, attempt, host, life })
}

fn number(metadata: &MetadataMap, name: &str) -> Option<u32> {
    metadata.get(name)?.to_str().ok()?.parse().ok()
}

fn timeout(metadata: &MetadataMap) -> Option<Duration> {
    let text = metadata.get("grpc-timeout")?.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let count: u64 = digits.parse().ok()?;
    Some(match unit {
        "n" => Duration::from_nanos(count),
        "u" => Duration::from_micros(count),
        "m" => Duration::from_millis(count),
        "S" => Duration::from_secs(count),
        _ => return None,
    })
}
