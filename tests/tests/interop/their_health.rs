//! grpcio's client watching the health service beside our server layer.

use evenkeel_tonic::OpenBudgetLayer;
use serde_json::json;
use tokio::sync::mpsc;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic_health::ServingStatus;

use crate::lab::{LONG, patiently};
use crate::python;

#[ignore = "needs grpcio: tests/run interop"]
#[tokio::test]
async fn a_watch_is_told_every_change_through_our_layer() {
    let (reporter, health) = tonic_health::server::health_reporter();
    reporter.set_service_status("lab.v1.Lab", ServingStatus::Serving).await;
    let incoming = TcpIncoming::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = incoming.local_addr().unwrap().port();
    let layer = OpenBudgetLayer::new().with_total(LONG * 2).unwrap();
    let server = Server::builder().layer(layer).add_service(health);
    tokio::spawn(server.serve_with_incoming(incoming));

    let (told, mut statuses) = mpsc::unbounded_channel();
    let watching = tokio::task::spawn_blocking(move || {
        let job = json!({ "watch": "lab.v1.Lab", "changes": 3 });
        let (_running, lines) = python::client(port, &job);
        for line in lines {
            told.send(line.expect("a line of text")).unwrap();
        }
    });
    assert_eq!(patiently(statuses.recv()).await.unwrap(), "SERVING");
    for (status, name) in
        [(ServingStatus::NotServing, "NOT_SERVING"), (ServingStatus::Serving, "SERVING")]
    {
        reporter.set_service_status("lab.v1.Lab", status).await;
        assert_eq!(patiently(statuses.recv()).await.unwrap(), name);
    }
    watching.await.unwrap();
}
