//! This file knows that without the feature `otel` there are no metrics: a value that cannot be
//! made, so that nobody else has to ask.

use std::sync::Arc;

use evenkeel_tokio::core::{Code, Micros};

use super::circuit::Change;
use super::ending::Ending;
use super::tally::Tally;
use crate::connect::Lost;
use crate::settings::Settings;

/// See the module of the same methods that has them.
#[derive(Debug)]
pub(super) enum Meters {}

impl Meters {
    pub(super) const fn of(_: &Settings, _: &str, _: Option<&Arc<str>>) -> Option<Self> {
        None
    }

    pub(super) const fn began(&self) {
        match *self {}
    }

    pub(super) const fn started(&self, _: Option<Micros>) {
        match *self {}
    }

    pub(super) const fn ended(&self, _: Code, _: Micros) {
        match *self {}
    }

    pub(super) const fn denied(&self, _: &'static str) {
        match *self {}
    }

    pub(super) const fn refused(&self, _: &Arc<str>) {
        match *self {}
    }

    pub(super) const fn turned(&self, _: &Arc<str>, _: Change) {
        match *self {}
    }

    pub(super) const fn over(&self, _: &Ending, _: &Tally, _: Micros) {
        match *self {}
    }
}

/// The same of connections.
#[derive(Debug)]
pub(crate) enum Subchannel {}

impl Subchannel {
    pub(crate) const fn of(_: &Settings) -> Option<Arc<Self>> {
        None
    }

    pub(crate) const fn connected(&self) {
        match *self {}
    }

    pub(crate) const fn failed(&self) {
        match *self {}
    }

    pub(crate) const fn lost(&self, _: Lost) {
        match *self {}
    }
}
