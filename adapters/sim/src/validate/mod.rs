//! This file knows the validation suite.
pub mod outage;
