//! This file knows which reply is next, and keeps what was seen.

use crate::clock::Start;
use crate::lock;
use crate::script::{Reply, Seen};
use core::fmt;
use h2::Reason;
use http::request::Parts;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// The script of a peer or stub, and its record.
pub(crate) struct Log {
    started: Start,
    state: Mutex<State>,
}

struct State {
    script: Script,
    seen: Vec<Seen>,
}

enum Script {
    /// One after the other; the last is never used up.
    Queue(VecDeque<Arc<Reply>>),
    /// Whatever this says.
    Rule(Box<dyn FnMut(&Seen) -> Reply + Send>),
}

impl Log {
    pub(crate) fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::with(Script::queue(replies))
    }

    pub(crate) fn ruled(rule: impl FnMut(&Seen) -> Reply + Send + 'static) -> Self {
        Self::with(Script::Rule(Box::new(rule)))
    }

    fn with(script: Script) -> Self {
        let state = State { script, seen: Vec::new() };
        Self { started: Start::now(), state: Mutex::new(state) }
    }

    /// Forgets the replies not used so far in favour of these.
    pub(crate) fn replace(&self, replies: impl IntoIterator<Item = Reply>) {
        lock(&self.state).script = Script::queue(replies);
    }

    /// Writes a request down; gives its number and its reply.
    pub(crate) fn open(&self, request: &Parts, connection: usize) -> (usize, Arc<Reply>) {
        let seen = Seen {
            at: self.started.elapsed(),
            authority: request.uri.authority().map(ToString::to_string),
            path: request.uri.path().to_owned(),
            headers: request.headers.clone(),
            connection,
            ..Seen::default()
        };
        let mut state = lock(&self.state);
        let reply = state.script.next(&seen);
        state.seen.push(seen);
        (state.seen.len() - 1, reply)
    }

    /// The next reply, for a request that is not written down.
    pub(crate) fn unseen(&self) -> Arc<Reply> {
        lock(&self.state).script.next(&Seen::default())
    }

    /// More has come of request `index`.
    pub(crate) fn body(&self, index: usize, data: &[u8]) {
        lock(&self.state).seen[index].body.extend_from_slice(data);
    }

    /// The body of request `index` has ended.
    pub(crate) fn ended(&self, index: usize) {
        lock(&self.state).seen[index].ended = true;
    }

    /// The client has reset request `index`. Told twice, the first time counts.
    pub(crate) fn reset(&self, index: usize, reason: Reason) {
        let at = self.started.elapsed();
        lock(&self.state).seen[index].reset.get_or_insert((at, reason));
    }

    /// Request `index` as it was seen so far.
    pub(crate) fn request(&self, index: usize) -> Seen {
        lock(&self.state).seen[index].clone()
    }

    /// All requests as they were seen so far.
    pub(crate) fn requests(&self) -> Vec<Seen> {
        lock(&self.state).seen.clone()
    }

    /// How many requests came.
    pub(crate) fn count(&self) -> usize {
        lock(&self.state).seen.len()
    }
}

impl Script {
    fn queue(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::Queue(replies.into_iter().map(Arc::new).collect())
    }

    fn next(&mut self, seen: &Seen) -> Arc<Reply> {
        match self {
            Self::Queue(replies) if replies.len() > 1 => replies.pop_front(),
            Self::Queue(replies) => replies.front().cloned(),
            Self::Rule(rule) => Some(Arc::new(rule(seen))),
        }
        .unwrap_or_default()
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("seen", &lock(&self.state).seen).finish_non_exhaustive()
    }
}
