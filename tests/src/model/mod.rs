//! This file knows the reference models the laws of the core are tested against.
//!
//! Why models, when the core has getters? A law that asks the code whether the code is right
//! passes for any code. So everything here is derived again from what a caller can see: answers,
//! snapshots, and the order in which a machine turns to its upstream.

pub mod breaker;
pub mod ending;
pub mod ghost;
pub mod ledger;
pub mod oracle;
pub mod rule;
pub mod run;
pub mod script;
pub mod search;
pub mod settings;
pub mod table;
pub mod tokens;
pub mod watched;
pub mod world;

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};

/// Asks `law` of random values (256, or `PROPTEST_CASES`), and shrinks one that breaks it.
///
/// # Panics
///
/// With the words of `law` about the smallest value found.
pub fn on_random<S: Strategy>(values: S, law: impl Fn(S::Value) -> Result<(), String>) {
    // Nothing is written beside the sources: the words name the value.
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::default() });
    let run = runner.run(&values, |value| law(value).map_err(TestCaseError::fail));
    if let Err(TestError::Fail(fault, _) | TestError::Abort(fault)) = run {
        panic!("{fault}");
    }
}

/// Leaves a check with an error unless the condition holds; the error names the law's finding.
#[macro_export]
macro_rules! ensure {
    ($condition:expr, $($words:tt)+) => {
        if !$condition {
            return Err(format!($($words)+));
        }
    };
}
