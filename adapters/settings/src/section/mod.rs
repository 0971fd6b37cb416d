//! This file knows the sections of a settings file, one file for each.

mod balancing;
mod breaker;
mod budget;
mod channel;
mod ejection;
mod health;
mod hedging;
mod retry;
mod rule;
mod throttle;
mod timeout;
mod tls;
mod wait_for_ready;

pub use balancing::Balancing;
pub use breaker::Breaker;
pub(crate) use breaker::Mode as BreakerMode;
pub use budget::Budget;
pub use channel::Channel;
pub(crate) use ejection::Ejection;
pub use health::{Health, HealthMode};
pub use hedging::Hedging;
pub use retry::{Commit, Retry};
pub use rule::BreakerRule;
pub use throttle::Throttling;
pub use timeout::Timeout;
pub use tls::Tls;
pub use wait_for_ready::WaitForReady;
