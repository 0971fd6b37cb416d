//! This file knows the spans and events a test's calls made, as a subscriber hears of them.

use core::fmt;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use evenkeel_tests::Listening;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{DefaultGuard, Interest};
use tracing::{Dispatch, Event, Metadata, Subscriber};

/// Everything that is told on this thread, until it is dropped.
pub(crate) struct Tracer {
    heard: Arc<Mutex<Heard>>,
    _until: DefaultGuard,
}

#[derive(Default)]
struct Heard {
    spans: Vec<Told>,
    events: Vec<Told>,
    current: Vec<usize>,
}

/// A span or an event.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    pub(crate) name: &'static str,
    /// The place of the span it is in.
    pub(crate) parent: Option<usize>,
    pub(crate) fields: BTreeMap<&'static str, String>,
    pub(crate) closed: bool,
    references: usize,
}

impl Told {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(|value| &**value)
    }
}

impl Tracer {
    pub(crate) fn begin() -> Self {
        // So that another test's silence does not make this one deaf.
        drop(Listening::begin());
        let heard = Arc::<Mutex<Heard>>::default();
        let ear = Dispatch::new(Ear(Arc::clone(&heard)));
        Self { heard, _until: tracing::dispatcher::set_default(&ear) }
    }

    /// The spans with this name, in the order in which they began.
    pub(crate) fn spans(&self, name: &str) -> Vec<Told> {
        let heard = self.heard.lock().unwrap();
        heard.spans.iter().filter(|span| span.name == name).cloned().collect()
    }

    /// The events with this message.
    pub(crate) fn events(&self, message: &str) -> Vec<Told> {
        let heard = self.heard.lock().unwrap();
        let is_it = |event: &&Told| event.field("message") == Some(message);
        heard.events.iter().filter(is_it).cloned().collect()
    }

    /// Everything that was told, in one text.
    pub(crate) fn everything(&self) -> String {
        let heard = self.heard.lock().unwrap();
        format!("{:?}{:?}", heard.spans, heard.events)
    }
}

struct Ear(Arc<Mutex<Heard>>);

impl Ear {
    fn place(id: &Id) -> usize {
        usize::try_from(id.into_u64()).unwrap() - 1
    }
}

impl Subscriber for Ear {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "evenkeel" || metadata.target() == "test"
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut heard = self.0.lock().unwrap();
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let contextual = attributes.is_contextual().then(|| heard.current.last().copied());
        let parent = attributes.parent().map(Self::place).or_else(|| contextual.flatten());
        let name = attributes.metadata().name();
        heard.spans.push(Told { name, parent, fields: fields.0, closed: false, references: 1 });
        Id::from_u64(u64::try_from(heard.spans.len()).unwrap())
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        let mut heard = self.0.lock().unwrap();
        let mut fields = Fields::default();
        values.record(&mut fields);
        heard.spans[Self::place(id)].fields.extend(fields.0);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut heard = self.0.lock().unwrap();
        let mut fields = Fields::default();
        event.record(&mut fields);
        let contextual = event.is_contextual().then(|| heard.current.last().copied());
        let parent = event.parent().map(Self::place).or_else(|| contextual.flatten());
        let name = event.metadata().name();
        heard.events.push(Told { name, parent, fields: fields.0, ..Told::default() });
    }

    fn enter(&self, id: &Id) {
        self.0.lock().unwrap().current.push(Self::place(id));
    }

    fn exit(&self, id: &Id) {
        let left = self.0.lock().unwrap().current.pop();
        assert_eq!(left, Some(Self::place(id)), "spans are left in order");
    }

    fn clone_span(&self, id: &Id) -> Id {
        self.0.lock().unwrap().spans[Self::place(id)].references += 1;
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        let mut heard = self.0.lock().unwrap();
        let span = &mut heard.spans[Self::place(&id)];
        span.references -= 1;
        span.closed = span.references == 0;
        span.closed
    }
}

#[derive(Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}
