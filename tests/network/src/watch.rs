//! This file knows what nobody may hold: a permit, or a place at a member, when nobody calls.

use core::convert::Infallible;
use core::future::pending;
use core::time::Duration;

use evenkeel_tonic::Kit;
use tokio::time::sleep;

use crate::book::Book;
use crate::method::Method;

/// Looks every few milliseconds, for as long as it is polled, and writes down the first thing that
/// is wrong.
///
/// A lost permit frees itself when its lease ends, as a circuit breaker must; in the end of a run
/// there is nothing to be seen of it. So it is looked for while it is lost.
pub(crate) async fn watch(host: &'static str, kit: &Kit, book: &Book) -> Infallible {
    let what = loop {
        if let Some(what) = held(host, kit, book) {
            break what;
        }
        sleep(BETWEEN).await;
    };
    book.wrong(format!("{host}: {what}"));
    pending().await
}

/// What is held though nobody calls. A call's own end is written after all of it was dropped, so
/// that in between there is nothing that could be excused.
fn held(host: &'static str, kit: &Kit, book: &Book) -> Option<String> {
    for (target, methods) in kit.circuit_breaker_states() {
        for (path, shown) in methods {
            let idle = Method::of(&path).is_some_and(|method| book.under_way(host, method) == 0);
            if idle && shown.trials > 0 {
                return Some(format!("a trial is out, and nobody calls {target}{path}: {shown:?}"));
            }
        }
    }
    let calls: usize = Method::ALL.into_iter().map(|method| book.under_way(host, method)).sum();
    let in_flight = kit.pool().in_flight();
    (calls == 0 && in_flight > 0).then(|| format!("{in_flight} in flight, and nobody calls"))
}

const BETWEEN: Duration = Duration::from_millis(20);
