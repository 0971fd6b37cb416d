//! This file knows how an attempt carries its own trace context to the server.

use http::{HeaderMap, HeaderName, HeaderValue};
use opentelemetry::propagation::Injector;
use opentelemetry::{Context, global};

use super::spans::Scope;

impl Scope {
    /// Writes the context of this span into the headers, with the propagator the program has set
    /// (W3C's writes `traceparent` and `tracestate`). What an earlier attempt or the caller wrote
    /// there is replaced: the server's span belongs below this attempt.
    pub(crate) fn inject(&self, headers: &mut HeaderMap) {
        if self.is_none() {
            return;
        }
        let _entered = self.enter();
        let inject = || {
            let mut headers = Headers(headers);
            let context = Context::current();
            global::get_text_map_propagator(|known| known.inject_context(&context, &mut headers));
        };
        _ = std::panic::catch_unwind(core::panic::AssertUnwindSafe(inject));
    }
}

struct Headers<'a>(&'a mut HeaderMap);

impl Injector for Headers<'_> {
    fn set(&mut self, key: &str, value: String) {
        // A propagator that writes what no header can hold is not worth a call.
        let name = HeaderName::from_bytes(key.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::try_from(value)) {
            self.0.insert(name, value);
        }
    }
}
