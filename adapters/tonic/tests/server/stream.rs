//! This file knows what a streaming handler finds, item by item.

use std::sync::{Arc, Mutex, mpsc};

use evenkeel_core::{Deadline, Micros};
use evenkeel_tokio::core::Clock;
use evenkeel_tokio::{TokioClock, current_budget, trim};
use tokio_stream::StreamExt;

use crate::pb::{Entry, ExportRequest, ImportSummary};
use crate::{FETCH, Lab, pass, seconds_left, serve, with_timeout};

fn entry(seq: i32) -> Entry {
    Entry { seq, ..Entry::default() }
}

#[tokio::test(start_paused = true)]
async fn every_item_is_made_inside() {
    let (seen, sees) = mpsc::channel();
    let server = serve(Lab::export(move || {
        let seen = seen.clone();
        seen.send(seconds_left()).expect("a test that looks");
        tokio_stream::iter(1..=3).then(move |seq| {
            let seen = seen.clone();
            async move {
                pass(400).await;
                seen.send(seconds_left()).expect("a test that looks");
                Ok(entry(seq))
            }
        })
    }));
    let request = with_timeout("3S", ExportRequest::default());
    let entries = server.client().export(request).await.expect("a stream").into_inner();
    let entries: Result<Vec<_>, _> = entries.collect().await;
    assert_eq!(entries.expect("no error"), [1, 2, 3].map(entry));
    let seen: Vec<_> = sees.try_iter().collect();
    assert_eq!(seen, [3.0, 2.6, 2.2, 1.8].map(Some));
}

#[tokio::test(start_paused = true)]
async fn without_a_deadline_no_item_is() {
    let (seen, sees) = mpsc::channel();
    let server = serve(Lab::export(move || {
        let seen = seen.clone();
        tokio_stream::iter(1..=2).map(move |seq| {
            seen.send(seconds_left()).expect("a test that looks");
            Ok(entry(seq))
        })
    }));
    let entries = server.client().export(ExportRequest::default()).await.expect("a stream");
    assert_eq!(entries.into_inner().collect::<Vec<_>>().await.len(), 2);
    assert_eq!(sees.try_iter().collect::<Vec<_>>(), [None, None]);
}

/// Nothing on the server ends it, but it makes no more calls for a caller that has gone.
#[tokio::test(start_paused = true)]
async fn a_stream_that_outlives_its_deadline_makes_no_calls() {
    let server = serve(Lab::export(|| {
        tokio_stream::iter(1..=3).then(async |seq| {
            pass(1_000).await;
            let left = trim(TokioClock.now(), FETCH, Deadline::NONE, Micros::ZERO);
            match left {
                Ok(_) => Ok(entry(seq)),
                Err(exhausted) => Err(tonic::Status::deadline_exceeded(exhausted.to_string())),
            }
        })
    }));
    let request = with_timeout("2S", ExportRequest::default());
    let entries = server.client().export(request).await.expect("a stream").into_inner();
    let entries: Vec<_> =
        entries.map(|entry| entry.map_err(|status| status.code())).collect().await;
    assert_eq!(entries, [Ok(entry(1)), Err(tonic::Code::DeadlineExceeded)]);
}

#[tokio::test(start_paused = true)]
async fn reading_a_request_stream_is_inside() {
    let (seen, sees) = mpsc::channel();
    let server = serve(Lab::import(move |mut entries| {
        let seen = seen.clone();
        async move {
            while let Some(_entry) = entries.message().await? {
                seen.send(seconds_left()).expect("a test that looks");
            }
            Ok(ImportSummary::default())
        }
    }));
    let entries = tokio_stream::iter(1..=2).then(async |seq| {
        pass(250).await;
        entry(seq)
    });
    let request = with_timeout("3S", Box::pin(entries));
    server.client().import(request).await.expect("a summary");
    assert_eq!(sees.try_iter().collect::<Vec<_>>(), [2.75, 2.5].map(Some));
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_walks_away_leaves_nothing_behind() {
    let budgets = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&budgets);
    let server = serve(Lab::export(move || {
        let kept = Arc::clone(&kept);
        tokio_stream::iter(1..=100).then(move |seq| {
            let budget = current_budget().expect("a budget");
            kept.lock().expect("no panic").push(Arc::downgrade(&budget));
            async move {
                pass(10).await;
                Ok(entry(seq))
            }
        })
    }));
    let request = with_timeout("3S", ExportRequest::default());
    let mut entries = server.client().export(request).await.expect("a stream").into_inner();
    assert_eq!(entries.message().await.expect("no error"), Some(entry(1)));
    drop(entries);
    pass(1_000).await;
    let budgets = budgets.lock().expect("no panic");
    assert!(budgets.len() < 10, "the stream went on: {} items", budgets.len());
    assert!(budgets.iter().all(|budget| budget.upgrade().is_none()), "a budget is still held");
}
