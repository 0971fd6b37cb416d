//! This file knows what a reader of the metrics sees: through OpenTelemetry's SDK, as an exporter
//! would.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_tonic::Metrics;
use opentelemetry::KeyValue;
use opentelemetry::metrics::MeterProvider;
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};

/// A meter, and who reads it.
pub(crate) struct Figures {
    provider: SdkMeterProvider,
    exporter: InMemoryMetricExporter,
    pub(crate) metrics: Metrics,
}

/// All series at one moment, by name.
#[derive(Debug, Default)]
pub(crate) struct Read(BTreeMap<String, Instrument>);

/// One instrument and its series.
#[derive(Debug, Default)]
pub(crate) struct Instrument {
    pub(crate) kind: Kind,
    pub(crate) unit: String,
    pub(crate) series: Vec<Series>,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Kind {
    #[default]
    Counter,
    Gauge,
    Histogram,
}

/// One series: of a histogram the number of samples and their sum, of all others the value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Series {
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) value: f64,
    pub(crate) sum: f64,
    pub(crate) bounds: Vec<f64>,
}

impl Figures {
    pub(crate) fn new() -> Self {
        let exporter = InMemoryMetricExporter::default();
        let reader = PeriodicReader::builder(exporter.clone()).build();
        let provider = SdkMeterProvider::builder().with_reader(reader).build();
        let metrics = Metrics::new(&provider.meter("evenkeel"));
        Self { provider, exporter, metrics }
    }

    /// What there is to see now.
    pub(crate) fn read(&self) -> Read {
        self.exporter.reset();
        self.provider.force_flush().unwrap();
        let mut read = Read::default();
        for resource in self.exporter.get_finished_metrics().unwrap() {
            for metric in resource.scope_metrics().flat_map(|scope| scope.metrics()) {
                let mut found = instrument(metric.data());
                found.unit = metric.unit().to_owned();
                read.0.insert(metric.name().to_owned(), found);
            }
        }
        read
    }
}

impl Read {
    /// All instruments there are.
    pub(crate) fn instruments(&self) -> impl Iterator<Item = (&str, &Instrument)> {
        self.0.iter().map(|(name, instrument)| (&**name, instrument))
    }

    /// The series of an instrument.
    pub(crate) fn series(&self, name: &str) -> &[Series] {
        self.0.get(name).map_or(&[], |instrument| &instrument.series)
    }

    /// What the series of `name` with these labels (and perhaps others) have together: of a
    /// histogram the number of samples.
    pub(crate) fn of(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        self.matching(name, labels).map(|series| series.value).sum()
    }

    /// The same for the sum of all samples.
    pub(crate) fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        self.matching(name, labels).map(|series| series.sum).sum()
    }

    /// All values of one label over all series of an instrument.
    pub(crate) fn values(&self, name: &str, label: &str) -> BTreeSet<String> {
        let values = self.series(name).iter().filter_map(|series| series.labels.get(label));
        values.cloned().collect()
    }

    fn matching<'a>(
        &'a self,
        name: &str,
        labels: &'a [(&str, &str)],
    ) -> impl Iterator<Item = &'a Series> {
        self.series(name).iter().filter(|series| {
            labels.iter().all(|(key, value)| series.labels.get(*key).is_some_and(|is| is == value))
        })
    }
}

fn instrument(data: &AggregatedMetrics) -> Instrument {
    match data {
        AggregatedMetrics::F64(data) => of_kind(data, |value| value),
        AggregatedMetrics::I64(data) => of_kind(data, |value| value as f64),
        AggregatedMetrics::U64(data) => of_kind(data, |value| value as f64),
    }
}

fn of_kind<T: Copy>(data: &MetricData<T>, plain: impl Fn(T) -> f64) -> Instrument {
    let (kind, series) = match data {
        MetricData::Sum(sum) => {
            let kind = if sum.is_monotonic() { Kind::Counter } else { Kind::Gauge };
            let points = sum.data_points();
            let series = points.map(|point| Series {
                labels: labels(point.attributes()),
                value: plain(point.value()),
                ..Series::default()
            });
            (kind, series.collect())
        }
        MetricData::Gauge(gauge) => {
            let points = gauge.data_points();
            let series = points.map(|point| Series {
                labels: labels(point.attributes()),
                value: plain(point.value()),
                ..Series::default()
            });
            (Kind::Gauge, series.collect())
        }
        MetricData::Histogram(histogram) => {
            let points = histogram.data_points();
            let series = points.map(|point| Series {
                labels: labels(point.attributes()),
                value: point.count() as f64,
                sum: plain(point.sum()),
                bounds: point.bounds().collect(),
            });
            (Kind::Histogram, series.collect())
        }
        MetricData::ExponentialHistogram(_) => panic!("nobody asked for one"),
    };
    Instrument { kind, unit: String::new(), series }
}

fn labels<'a>(attributes: impl Iterator<Item = &'a KeyValue>) -> BTreeMap<String, String> {
    attributes.map(|label| (label.key.to_string(), label.value.to_string())).collect()
}
