//! This file knows what is written down while a run goes on: who called, what arrived where, how
//! each call ended. Nobody who writes here asks a kit; the [audit](crate::audit) reads it afterwards.

use core::fmt;
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use evenkeel_tonic::{TransportError, cause};
use tonic::{Code, Status};

use crate::method::Method;
use crate::plan::Change;

/// The book of one run. Clones write into the same.
#[derive(Clone, Default)]
pub(crate) struct Book(Arc<Mutex<Pages>>);

#[derive(Default)]
struct Pages {
    /// Of the simulation, for what is written outside of any host.
    now: Duration,
    calls: u32,
    entries: Vec<Entry>,
    /// How many calls of a host to a method have begun and not ended.
    under_way: BTreeMap<(&'static str, Method), usize>,
}

/// Something happened at a virtual time.
pub(crate) type Entry = (Duration, Event);

pub(crate) enum Event {
    /// A message of its response reached the caller.
    Answered {
        call: u32,
        from: Origin,
        item: i32,
    },
    /// A request reached a handler.
    Arrived {
        from: Origin,
        timeout: Option<Duration>,
    },
    Began {
        call: u32,
        host: &'static str,
        method: Method,
        timeout: Duration,
        parent: Option<u32>,
    },
    Ended {
        call: u32,
        end: End,
    },
    /// The world was changed.
    Fault(Change),
    /// The handler is gone: done, cut off, or crashed.
    Left {
        from: Origin,
    },
    /// The members a host asks for from now on.
    Members {
        host: &'static str,
        members: Vec<&'static str>,
    },
    Noted(String),
    /// A health check reached a host.
    Probed {
        host: &'static str,
    },
    /// A connection of this host was lost.
    Reset {
        host: &'static str,
    },
    /// What must not be.
    Wrong(String),
}

/// Which attempt of which call was where; `life` counts the restarts of the host.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Origin {
    pub(crate) call: u32,
    pub(crate) attempt: u32,
    pub(crate) host: &'static str,
    pub(crate) life: u32,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum End {
    /// The caller went away, or its machine did.
    Dropped,
    Failed {
        code: Code,
        why: String,
    },
    Ok,
}

impl Book {
    pub(crate) fn note(&self, event: Event) {
        self.with(|pages| {
            let now = turmoil::sim_elapsed().unwrap_or(pages.now);
            pages.entries.push((now, event));
        });
    }

    pub(crate) fn wrong(&self, what: impl Into<String>) {
        self.note(Event::Wrong(what.into()));
    }

    /// What time it is for whoever is no host.
    pub(crate) fn set_time(&self, now: Duration) {
        self.with(|pages| pages.now = now);
    }

    /// A call begins, which must be over `timeout` from now.
    pub(crate) fn begin(
        &self,
        host: &'static str,
        method: Method,
        timeout: Duration,
        parent: Option<u32>,
    ) -> Open {
        let call = self.with(|pages| {
            pages.calls += 1;
            *pages.under_way.entry((host, method)).or_default() += 1;
            pages.calls
        });
        self.note(Event::Began { call, host, method, timeout, parent });
        Open { book: self.clone(), call, host, method, over: false }
    }

    /// How many calls of `host` to `method` are under way.
    pub(crate) fn under_way(&self, host: &'static str, method: Method) -> usize {
        self.with(|pages| pages.under_way.get(&(host, method)).copied().unwrap_or_default())
    }

    /// Everything, in the order of time.
    pub(crate) fn close(self) -> Vec<Entry> {
        let mut entries = self.with(|pages| core::mem::take(&mut pages.entries));
        // Within one step of the simulation hosts take their turns one after the other.
        entries.sort_by_key(|(at, _)| *at);
        entries
    }

    fn with<R>(&self, change: impl FnOnce(&mut Pages) -> R) -> R {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A call under way. Dropped, it says that its caller is gone.
pub(crate) struct Open {
    book: Book,
    pub(crate) call: u32,
    host: &'static str,
    method: Method,
    over: bool,
}

impl Open {
    pub(crate) fn answered(&self, from: Origin, item: i32) {
        self.book.note(Event::Answered { call: self.call, from, item });
    }

    /// Somebody else's answer.
    pub(crate) fn stranger(&self, text: &str) {
        self.book.wrong(format!("call {} got an answer of nobody: {text:?}", self.call));
    }

    pub(crate) fn end(mut self, result: Result<(), &Status>) {
        self.over = true;
        let end = match result {
            Ok(()) => End::Ok,
            Err(status) => End::Failed { code: status.code(), why: why(status) },
        };
        self.book.note(Event::Ended { call: self.call, end });
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if !self.over {
            self.book.note(Event::Ended { call: self.call, end: End::Dropped });
        }
        let place = (self.host, self.method);
        self.book.with(|pages| {
            if let Some(calls) = pages.under_way.get_mut(&place) {
                *calls -= 1;
            }
        });
    }
}

/// What the status says, and what the transport does.
fn why(status: &Status) -> String {
    let sent = cause::<TransportError>(status).map(TransportError::sent);
    let sent = sent.map(|sent| format!(" ({sent:?})"));
    format!("{}{}", status.message(), sent.unwrap_or_default())
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}/{}/{}", self.host, self.life, self.call, self.attempt)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answered { call, from, item } => write!(f, "call {call}: item {item} of {from}"),
            Self::Arrived { from, timeout } => {
                write!(f, "call {}: arrived {from}, {timeout:?} left", from.call)
            }
            Self::Began { call, host, method, timeout, parent } => {
                write!(f, "call {call}: {host} begins {method:?}, {timeout:?}")?;
                parent.map_or(Ok(()), |parent| write!(f, ", for call {parent}"))
            }
            Self::Ended { call, end } => write!(f, "call {call}: ended {end:?}"),
            Self::Fault(change) => write!(f, "FAULT {change:?}"),
            Self::Left { from } => write!(f, "call {}: left {from}", from.call),
            Self::Members { host, members } => write!(f, "MEMBERS of {host}: {members:?}"),
            Self::Noted(what) => f.write_str(what),
            Self::Probed { host } => write!(f, "{host}: probed"),
            Self::Reset { host } => write!(f, "{host}: lost a connection"),
            Self::Wrong(what) => write!(f, "WRONG {what}"),
        }
    }
}

impl Event {
    /// The call it is about, if it is about one.
    pub(crate) fn call(&self) -> Option<u32> {
        match self {
            Self::Answered { call, .. } | Self::Began { call, .. } | Self::Ended { call, .. } => {
                Some(*call)
            }
            Self::Arrived { from, .. } | Self::Left { from } => Some(from.call),
            _ => None,
        }
    }
}
