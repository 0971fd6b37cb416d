//! The budget of a request, as a settings file describes it to a server layer.

use core::convert::Infallible;
use core::time::Duration;

use evenkeel_settings::Settings;
use evenkeel_tokio::{TokioClock, current_budget};
use evenkeel_tonic::OpenBudgetLayer;
use evenkeel_tonic::core::{Clock, Micros};
use http::{Request, Response};
use tower::{Layer, ServiceExt, service_fn};

/// What a handler may spend on a call of each of three methods; `None` without a budget.
async fn granted(file: &str, timeout: Option<&str>) -> Option<[Duration; 3]> {
    let settings = Settings::from_toml(file).unwrap();
    let layer = OpenBudgetLayer::configured(settings.budget().unwrap()).unwrap();
    let handler = service_fn(async |_: Request<()>| {
        let mut response = Response::new(());
        if let Some(budget) = current_budget() {
            let now = TokioClock.now();
            let methods = ["/svc/Audit", "/svc/Other", "/audit"];
            let grants = methods.map(|method| {
                budget.grant(now, method, Micros::ZERO).map(Micros::as_duration).unwrap()
            });
            response.extensions_mut().insert(grants);
        }
        Ok::<_, Infallible>(response)
    });
    let mut request = Request::post("/a.B/C");
    if let Some(timeout) = timeout {
        request = request.header("grpc-timeout", timeout);
    }
    let Ok(response) = layer.layer(handler).oneshot(request.body(()).unwrap()).await;
    response.extensions().get().copied()
}

const MILLIS: Duration = Duration::from_millis(1);

#[tokio::test(start_paused = true)]
async fn g60_caps_and_the_margin_are_the_files() {
    let file = "[budget]\nsafety_margin = \"50ms\"\n\
                call_caps = { \"/svc/Audit\" = \"500ms\", audit = \"1ms\" }";
    let expected = [500, 2_950, 2_950].map(|millis| millis * MILLIS);
    assert_eq!(granted(file, Some("3S")).await, Some(expected));
}

#[tokio::test(start_paused = true)]
async fn a_total_is_for_requests_without_a_deadline() {
    let file = "[budget]\ntotal = \"2s\"\nsafety_margin = \"100ms\"";
    assert_eq!(granted(file, None).await, Some([1_900 * MILLIS; 3]));
    assert_eq!(granted(file, Some("82f")).await, Some([1_900 * MILLIS; 3]));
    // A deadline of the caller's is not changed by it, either way.
    assert_eq!(granted(file, Some("5S")).await, Some([4_900 * MILLIS; 3]));
    assert_eq!(granted(file, Some("1S")).await, Some([900 * MILLIS; 3]));
}

#[tokio::test(start_paused = true)]
async fn g62_no_deadline_is_no_budget_where_there_is_no_total() {
    assert_eq!(granted("[budget]", None).await, None);
    assert_eq!(granted("[budget]", Some("123456789S")).await, None);
}
