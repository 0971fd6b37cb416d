//! This file knows what tonic's channel says when a connection fails, and what that means.
//!
//! Every case is real frames on a real connection, or their absence: it is hyper and h2 that
//! decide which error they make of it, and they may change their minds.

mod body;
mod by_hand;
mod connection;
mod dial;
mod peer;
mod stream;

use core::error::Error;
use core::future::Future;
use core::iter::successors;

use evenkeel_core::{Code, Sent};
use evenkeel_tonic::TransportError;
use peer::{Peer, call, channel, endpoint};

/// How one call ends whose peer runs `script`.
async fn failure<S, F>(script: S) -> TransportError
where
    S: FnMut(Peer) -> F + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    call(&channel(endpoint(), script)).await.expect_err("a call that fails")
}

#[track_caller]
fn assert_means(error: &TransportError, code: Code, sent: Sent) {
    assert_eq!((error.code(), error.sent()), (code, sent), "{error:?}");
}

/// The first error of this type in the chain of sources.
fn find<E: Error + 'static>(error: &TransportError) -> Option<&E> {
    let outermost: &(dyn Error + 'static) = error;
    successors(Some(outermost), |&error| error.source()).find_map(<dyn Error>::downcast_ref)
}
