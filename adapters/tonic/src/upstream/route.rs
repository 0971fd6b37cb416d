//! This file knows where the attempts of a client go: always to one service, or each to a member of
//! a pool.

use std::sync::Arc;

use crate::pool::Pool;
use crate::service::Resilient;

/// Where the attempts of a client go.
#[derive(Clone, Debug)]
pub(crate) enum Route<S> {
    /// Always to one service.
    One(S),
    /// Each to a member of its own choice.
    Pool(Arc<Pool<S>>),
}

impl<S> Resilient<S> {
    /// What it is built on, if that is one service.
    pub const fn get_ref(&self) -> Option<&S> {
        match &self.route {
            Route::One(inner) => Some(inner),
            Route::Pool(_) => None,
        }
    }

    /// The members it is built on, if that is a pool.
    pub fn pool(&self) -> Option<&Pool<S>> {
        match &self.route {
            Route::One(_) => None,
            Route::Pool(pool) => Some(pool),
        }
    }
}
