//! This file knows the world of incoming requests: bytes become the headers of one, and a server
//! layer must open the budget that the grammar says, or none.

use core::convert::Infallible;
use core::time::Duration;

use evenkeel_core::{BudgetPolicy, Clock, Micros};
use evenkeel_tokio::{TokioClock, current_budget};
use evenkeel_tonic::OpenBudgetLayer;
use http::{HeaderValue, Request, Response};
use tower::{Layer, ServiceExt, service_fn};

use super::{Script, in_virtual_time};
use crate::ensure;

/// Sends one request.
///
/// # Errors
///
/// When the handler has more or less than the caller gave it.
pub(super) fn live(bytes: &[u8]) -> Result<(), String> {
    let mut script = Script(bytes);
    let margin = Duration::from_millis(u64::from(script.byte()));
    let total = Duration::from_millis(u64::from(script.byte()) * 100);
    let method = String::from_utf8_lossy(script.take()).into_owned();
    let timeout = HeaderValue::from_bytes(script.take()).ok();
    let expected = timeout.as_ref().and_then(|value| left(value.as_bytes()));
    let configured = (!total.is_zero()).then_some(total);
    let expected = expected.or(configured).map(|left| left.saturating_sub(margin));

    let mut request = Request::new(());
    if let Ok(uri) = format!("/{method}").parse() {
        *request.uri_mut() = uri;
    }
    if let Some(timeout) = timeout {
        request.headers_mut().append("grpc-timeout", timeout);
    }
    while !script.is_over() {
        let value = HeaderValue::from_bytes(script.take());
        // Of several the first counts.
        value.into_iter().for_each(|value| {
            if request.headers().contains_key("grpc-timeout") {
                request.headers_mut().append("grpc-timeout", value);
            }
        });
    }
    let opened = in_virtual_time(serve(request, margin, configured))?;
    let expected = match expected {
        Some(left) if left.is_zero() => Opened::Refused,
        Some(left) => Opened::Budget(left),
        None => Opened::Nothing,
    };
    ensure!(opened == expected, "{opened:?}, and not {expected:?}");
    Ok(())
}

#[derive(Clone, Debug, PartialEq)]
enum Opened {
    Budget(Duration),
    Nothing,
    Refused,
}

async fn serve(
    request: Request<()>,
    margin: Duration,
    total: Option<Duration>,
) -> Result<Opened, String> {
    let policy = BudgetPolicy::DEFAULT.with_safety_margin(margin);
    let mut layer = OpenBudgetLayer::new().with_policy(policy.map_err(|error| error.to_string())?);
    if let Some(total) = total {
        layer = layer.with_total(total).map_err(|error| error.to_string())?;
    }
    let handler = service_fn(async |_: Request<()>| {
        let mut response = Response::new(());
        let opened = match current_budget() {
            Some(budget) => Opened::Budget(budget.remaining(TokioClock.now()).as_duration()),
            None => Opened::Nothing,
        };
        response.extensions_mut().insert(opened);
        Ok::<_, Infallible>(response)
    });
    let Ok(response) = layer.layer(handler).oneshot(request).await;
    Ok(response.extensions().get().cloned().unwrap_or(Opened::Refused))
}

/// What PROTOCOL-HTTP2 says a timeout is, to our microsecond; written down a second time.
fn left(value: &[u8]) -> Option<Duration> {
    let text = core::str::from_utf8(value).ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let well_formed = (1..=8).contains(&digits.len()) && digits.bytes().all(|d| d.is_ascii_digit());
    let count: u64 = digits.parse().ok().filter(|_| well_formed)?;
    let left = match unit {
        "n" => Micros::from_duration(Duration::from_nanos(count)).as_duration(),
        "u" => Duration::from_micros(count),
        "m" => Duration::from_millis(count),
        "S" => Duration::from_secs(count),
        "M" => Duration::from_secs(count * 60),
        "H" => Duration::from_secs(count * 3_600),
        _ => return None,
    };
    Some(left)
}
