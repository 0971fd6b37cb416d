//! The dashboard that is shipped, held against what the code emits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use evenkeel_tests::{Dial, Network, Peer, RawClient};
use evenkeel_tonic::core::ThrottlePolicy;
use evenkeel_tonic::{Metrics, Pool};
use opentelemetry::metrics::{
    AsyncInstrumentBuilder, Counter, Histogram, HistogramBuilder, InstrumentBuilder,
    InstrumentProvider, Meter, ObservableGauge, UpDownCounter,
};
use serde_json::Value;

use crate::figures::{Figures, Kind};
use crate::lab::{ECHO, Lab, busy, counted, millis, ok, opens_after, pass, refused, retries};

const DASHBOARD: &str = include_str!("../../../adapters/tonic/dashboards/evenkeel.json");

const PAGE: &str = include_str!("../../../docs/observability.md");

/// Writes down which instruments are made, whether or not anything is ever recorded, and the name of
/// each for Prometheus.
#[derive(Default)]
struct Recorder(Mutex<BTreeMap<String, String>>);

impl Recorder {
    fn note(&self, name: &str, unit: Option<&str>, kind: Kind) {
        let shown = prometheus(name, unit.unwrap_or_default(), kind);
        self.0.lock().unwrap().insert(name.to_owned(), shown);
    }
}

impl InstrumentProvider for Recorder {
    fn u64_counter(&self, made: InstrumentBuilder<'_, Counter<u64>>) -> Counter<u64> {
        self.note(&made.name, made.unit.as_deref(), Kind::Counter);
        Counter::new(Arc::new(Silent))
    }

    fn i64_up_down_counter(
        &self,
        made: InstrumentBuilder<'_, UpDownCounter<i64>>,
    ) -> UpDownCounter<i64> {
        self.note(&made.name, made.unit.as_deref(), Kind::Gauge);
        UpDownCounter::new(Arc::new(Silent))
    }

    fn f64_histogram(&self, made: HistogramBuilder<'_, Histogram<f64>>) -> Histogram<f64> {
        self.note(&made.name, made.unit.as_deref(), Kind::Histogram);
        Histogram::new(Arc::new(Silent))
    }

    fn u64_histogram(&self, made: HistogramBuilder<'_, Histogram<u64>>) -> Histogram<u64> {
        self.note(&made.name, made.unit.as_deref(), Kind::Histogram);
        Histogram::new(Arc::new(Silent))
    }

    fn f64_observable_gauge(
        &self,
        made: AsyncInstrumentBuilder<'_, ObservableGauge<f64>, f64>,
    ) -> ObservableGauge<f64> {
        self.note(&made.name, made.unit.as_deref(), Kind::Gauge);
        ObservableGauge::new()
    }

    fn u64_observable_gauge(
        &self,
        made: AsyncInstrumentBuilder<'_, ObservableGauge<u64>, u64>,
    ) -> ObservableGauge<u64> {
        self.note(&made.name, made.unit.as_deref(), Kind::Gauge);
        ObservableGauge::new()
    }
}

struct Silent;

impl<T> opentelemetry::metrics::SyncInstrument<T> for Silent {
    fn measure(&self, _: T, _: &[opentelemetry::KeyValue]) {}
}

/// The name under which OpenTelemetry's exporters show an instrument to Prometheus.
fn prometheus(name: &str, unit: &str, kind: Kind) -> String {
    let mut shown = name.replace('.', "_");
    if unit == "s" {
        shown += "_seconds";
    }
    if kind == Kind::Counter {
        shown += "_total";
    }
    shown
}

/// All there are, by their own names and by those for Prometheus.
pub(crate) fn instruments() -> BTreeMap<String, String> {
    let recorder = Arc::new(Recorder::default());
    let shared: Arc<dyn InstrumentProvider + Send + Sync> = Arc::clone(&recorder) as _;
    drop(Metrics::new(&Meter::new(shared)));
    recorder.0.lock().unwrap().clone()
}

fn emitted() -> BTreeSet<String> {
    instruments().into_values().collect()
}

#[test]
fn every_metric_on_it_is_emitted_and_every_emitted_one_is_on_it() {
    let shown: BTreeSet<String> =
        queries().iter().flat_map(|query| query.metrics.clone()).collect();
    assert_eq!(shown, emitted());
}

#[tokio::test(start_paused = true)]
async fn every_label_on_it_is_one_of_its_metrics() {
    let figures = Figures::new();
    let builder = counted(&figures).retry(retries(3, 100)).breaker(opens_after(3));
    let builder = builder.timeout(millis(9_000)).unwrap();
    let builder = builder.throttle(ThrottlePolicy::grpc(100, 100).unwrap());
    let lab = Lab::new(builder, [refused(), busy(), ok(), busy()]);
    for _ in 0..3 {
        _ = lab.unary(ECHO).await;
    }
    pass(10_000).await;
    _ = lab.unary(ECHO).await;
    connections(&figures).await;
    let read = figures.read();
    let mut labels = BTreeMap::<String, BTreeSet<String>>::new();
    for (name, instrument) in read.instruments() {
        let all = instrument.series.iter().flat_map(|series| series.labels.keys());
        let mut all: BTreeSet<String> = all.map(|label| label.replace('.', "_")).collect();
        if instrument.kind == Kind::Histogram {
            all.insert("le".to_owned());
        }
        labels.insert(prometheus(name, &instrument.unit, instrument.kind), all);
    }
    // Nothing is hedged here; it is labelled like retries.
    let like_retries = labels["grpc_client_call_retries"].clone();
    labels.insert("grpc_client_call_hedges".to_owned(), like_retries);
    assert_eq!(labels.keys().cloned().collect::<BTreeSet<_>>(), emitted(), "each was recorded");
    for query in queries() {
        let everywhere = |metric| query.grouped.iter().map(move |label| (metric, label));
        let grouped = query.metrics.iter().flat_map(everywhere);
        let selected = query.selected.iter().map(|(metric, label)| (metric, label));
        for (metric, label) in grouped.chain(selected) {
            assert!(labels[metric].contains(label), "{metric} has no {label}: {}", query.text);
        }
    }
}

#[test]
fn it_has_the_panels_people_look_for() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let titles: Vec<&str> = panels.iter().map(|panel| panel["title"].as_str().unwrap()).collect();
    for words in [
        "Success",
        "per second",
        "Amplification",
        "denied",
        "tokens",
        "time in each state",
        "waiting to retry",
        "Retries of a call",
    ] {
        assert!(titles.iter().any(|title| title.contains(words)), "{words}: {titles:?}");
    }
    let line = &panels[2]["fieldConfig"]["defaults"]["thresholds"]["steps"][1]["value"];
    assert_eq!(line.as_f64(), Some(1.2), "1.1 and a budget of 10 %");
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len());
    for panel in panels {
        assert!(panel["description"].as_str().is_some_and(|text| text.len() > 20));
    }
}

/// The trial of a breaker whose call then ends in its refusal has reached a server: it is among the
/// attempts, and its call must be among the calls they are divided by.
#[tokio::test(start_paused = true)]
async fn an_outage_that_a_breaker_answers_is_no_amplification() {
    let figures = Figures::new();
    let lab = Lab::new(counted(&figures).retry(retries(3, 1)).breaker(opens_after(3)), [busy()]);
    for _ in 0..20 {
        _ = lab.unary(ECHO).await;
        pass(10_000).await;
    }
    let read = figures.read();
    // The first call opens it with its third attempt; each trial after that is a call's only one.
    let attempts = read.of("grpc.client.attempt.started", &[]);
    assert!(attempts > 5.0);
    assert_eq!(read.of("resilience.retry.calls", &[]), attempts - 2.0);
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let shown = dashboard["panels"][2]["targets"][0]["expr"].as_str().unwrap();
    for query in [shown, alerts().next().unwrap()] {
        let (_, below) = query.split_once(" / ").unwrap();
        assert!(below.contains("resilience_retry_calls_total"), "{below}");
    }
}

/// A connection that is made, one that is not, and one that ends.
async fn connections(figures: &Figures) {
    let net = Network::new();
    net.on_dial("a", [Dial::Connect, Dial::Refuse]);
    Peer::new([ok()]).listen(&net, "a");
    let pool = Pool::builder().insecure().connector(net.dialer()).target("a:1").unwrap();
    let mut client = RawClient::of(ECHO, counted(figures).build_pool(pool).unwrap());
    client.unary("ping").await.unwrap();
    net.cut("a");
    pass(1).await;
    client.unary("ping").await.unwrap_err();
}

/// One query, taken apart.
struct Query {
    text: String,
    metrics: BTreeSet<String>,
    /// Labels that belong to one metric.
    selected: Vec<(String, String)>,
    /// Labels all of its metrics must have.
    grouped: BTreeSet<String>,
}

impl Query {
    fn of(text: &str) -> Self {
        let (mut plain, mut selected, mut grouped) = (String::new(), Vec::new(), BTreeSet::new());
        let mut left = text;
        while let Some(at) = left.find(['{', 'b']) {
            let (before, after) = left.split_at(at);
            plain += before;
            left = if let Some(inside) = after.strip_prefix('{') {
                let (inside, after) = inside.split_once('}').expect("braces come in pairs");
                let metric = metric(words(&plain).last().expect("a metric before its labels"));
                let pairs = inside.split(", ").filter_map(|pair| pair.split(['=', '!']).next());
                selected.extend(pairs.map(|label| (metric.clone(), label.to_owned())));
                after
            } else if let Some(inside) = after.strip_prefix("by (") {
                let (inside, after) = inside.split_once(')').expect("parentheses come in pairs");
                grouped.extend(inside.split(", ").map(str::to_owned));
                after
            } else {
                plain.push('b');
                &after[1..]
            };
        }
        plain += left;
        let ours = ["grpc_", "rpc_", "resilience_"];
        let metrics = words(&plain).filter(|word| ours.iter().any(|ours| word.starts_with(ours)));
        let metrics = metrics.map(metric).collect();
        Self { text: text.to_owned(), metrics, selected, grouped }
    }
}

/// The alerts on the page, in the order in which they stand there.
fn alerts() -> impl Iterator<Item = &'static str> {
    let (_, behind) = PAGE.split_once("```promql\n").expect("a block of them");
    behind.split_once("```").expect("an end of it").0.lines()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| !word.is_empty())
}

/// The metric a series of a histogram belongs to.
fn metric(series: &str) -> String {
    let ends = ["_bucket", "_sum", "_count"];
    ends.iter().find_map(|end| series.strip_suffix(end)).unwrap_or(series).to_owned()
}

/// Every query of every panel, and of the alerts on the page.
fn queries() -> Vec<Query> {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let shown = targets.map(|target| Query::of(target["expr"].as_str().unwrap()));
    let queries: Vec<_> = shown.chain(alerts().map(Query::of)).collect();
    assert!(queries.len() > 15);
    queries
}
