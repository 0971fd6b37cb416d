//! This file knows what a check came to, and how a person is told.

use core::error::Error as _;
use std::borrow::Cow;

use evenkeel_tokio::core::{Answer, Micros};
use tonic::{Code, Status};
use tonic_health::pb::HealthCheckResponse;
use tonic_health::pb::health_check_response::ServingStatus;

use crate::error::innermost;
use crate::wire::status;

/// What a check came to, and why.
#[derive(Clone, Debug)]
pub(super) struct Heard {
    pub(super) answer: Answer,
    /// Such as `answered NOT_SERVING` or `connection refused`.
    pub(super) why: Cow<'static, str>,
}

impl Heard {
    /// Nothing was: for a reason of ours.
    pub(super) const fn nothing(why: &'static str) -> Self {
        Self { answer: Answer::Failed, why: Cow::Borrowed(why) }
    }

    /// Nothing was, in the time there is for it.
    pub(super) fn late(limit: Micros) -> Self {
        Self { answer: Answer::Failed, why: format!("no answer within {limit}").into() }
    }

    /// This answer was.
    pub(super) fn said(response: &HealthCheckResponse) -> Self {
        let answer = match response.status() {
            ServingStatus::Serving => Answer::Serving,
            _ => Answer::NotServing,
        };
        let why = match ServingStatus::try_from(response.status) {
            Ok(known) => format!("answered {}", known.as_str_name()),
            Err(_) => format!("answered {}, which is no status of health", response.status),
        };
        Self { answer, why: why.into() }
    }

    /// This status came instead. What a server says in it is not repeated: it may be anything.
    pub(super) fn refused(status: &Status) -> Self {
        if status.code() == Code::Unimplemented {
            return Self { answer: Answer::Unimplemented, why: NO_SERVICE.into() };
        }
        let source = status.source();
        let code = || format!("answered {}", status::from_tonic(status.code()).name());
        Self { answer: Answer::Failed, why: source.map_or_else(code, innermost).into() }
    }
}

const NO_SERVICE: &str = "no health service";
