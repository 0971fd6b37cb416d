//! This file knows what the house said aloud while a test ran.

use core::fmt;
use std::sync::{Arc, LazyLock, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{DefaultGuard, Interest};
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};

/// Everything the house says on this thread, from now on until it is dropped.
///
/// A test's calls and servers are all on its own thread.
#[derive(Debug)]
#[must_use = "it hears nothing once it is dropped"]
pub struct Listening {
    heard: Arc<Mutex<Vec<Heard>>>,
    _until: DefaultGuard,
}

/// One event.
#[derive(Clone, Debug)]
struct Heard {
    level: Level,
    /// The message, and every field as `name=value`.
    text: String,
}

impl Listening {
    /// Listens from here on.
    pub fn begin() -> Self {
        LazyLock::force(&OTHERS);
        let heard = Arc::<Mutex<Vec<Heard>>>::default();
        let ear = Dispatch::new(Ear(Arc::clone(&heard)));
        Self { heard, _until: tracing::dispatcher::set_default(&ear) }
    }

    /// The warnings so far.
    pub fn warnings(&self) -> Vec<String> {
        self.at(Level::WARN)
    }

    /// The errors so far.
    pub fn errors(&self) -> Vec<String> {
        self.at(Level::ERROR)
    }

    /// What was merely reported so far: breakers that changed their state.
    pub fn reports(&self) -> Vec<String> {
        self.at(Level::INFO)
    }

    /// How many warnings so far have this in them.
    pub fn warnings_about(&self, text: &str) -> usize {
        self.warnings().iter().filter(|warning| warning.contains(text)).count()
    }

    /// The warnings so far, which are then forgotten like everything else.
    pub fn take_warnings(&self) -> Vec<String> {
        let warnings = self.warnings();
        self.forget();
        warnings
    }

    /// Forgets what it has heard.
    pub fn forget(&self) {
        self.heard.lock().unwrap().clear();
    }

    fn at(&self, level: Level) -> Vec<String> {
        let heard = self.heard.lock().unwrap();
        heard.iter().filter(|event| event.level == level).map(|event| event.text.clone()).collect()
    }
}

/// While there is only one subscriber in a process, tracing asks the default one of the thread that
/// first comes by an event, and remembers the answer for all threads: another test's "nobody
/// listens" would make this one deaf. Of several it asks each.
static OTHERS: LazyLock<[Dispatch; 2]> =
    LazyLock::new(|| [(); 2].map(|()| Dispatch::new(Ear(Arc::default()))));

struct Ear(Arc<Mutex<Vec<Heard>>>);

impl Subscriber for Ear {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "evenkeel"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        let level = *event.metadata().level();
        self.0.lock().unwrap().push(Heard { level, text: text.0 });
    }

    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

struct Text(String);

impl Visit for Text {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0 += &format!("{}={value} ", field.name());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0 += &format!("{}={value:?} ", field.name());
    }
}
