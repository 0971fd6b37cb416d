//! This file knows how the programs of `tests/interop` are started, asked and ended.

use core::net::Ipv4Addr;
use std::io::{BufRead, BufReader, Lines};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use bytes::Bytes;
use evenkeel_tests::RawClient;
use serde_json::{Value, json};
use tokio::net::TcpSocket;
use tonic::transport::{Channel, Endpoint};

use crate::lab::patiently;

/// A running `server.py`; ends when it is dropped.
pub(crate) struct Server {
    child: Child,
    port: u16,
    control: Channel,
}

impl Server {
    /// One on a port of its own.
    pub(crate) fn start() -> Self {
        Self::with(&[])
    }

    /// One at this place, where another may still listen.
    pub(crate) fn at(port: u16) -> Self {
        Self::with(&["--port", &port.to_string()])
    }

    /// One with these arguments.
    pub(crate) fn with(arguments: &[&str]) -> Self {
        let mut child = python("server.py")
            .args(arguments)
            // It ends with its standard input, even if this process is killed.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the python that EVENKEEL_PYTHON names");
        let ports = lines(&mut child).next().expect("a line").expect("a line of text");
        let (port, control) = ports.split_once(' ').expect("two ports");
        let control = Endpoint::from_shared(format!("http://127.0.0.1:{control}"));
        let control = control.expect("a place").connect_lazy();
        Self { child, port: port.parse().expect("a port"), control }
    }

    /// Where it listens, as a target.
    pub(crate) fn target(&self) -> String {
        target(self.port)
    }

    /// What the requests with this key have seen, in the order they came.
    pub(crate) async fn seen(&self, key: &str) -> Vec<Value> {
        let seen = self.control(json!({ "do": "seen", "key": key })).await;
        seen.as_array().expect("a list").clone()
    }

    /// `grpc-previous-rpc-attempts` of the requests with this key.
    pub(crate) async fn previous(&self, key: &str) -> Vec<Option<String>> {
        let previous = |seen: Value| seen["previous"].as_str().map(str::to_owned);
        self.seen(key).await.into_iter().map(previous).collect()
    }

    /// How often `method` was called.
    pub(crate) async fn count(&self, method: &str) -> u64 {
        let count = self.control(json!({ "do": "count", "method": method })).await;
        count.as_u64().expect("a number")
    }

    /// From now on its health service says this.
    pub(crate) async fn set_health(&self, service: &str, status: &str) {
        self.control(json!({ "do": "set_health", "service": service, "status": status })).await;
    }

    /// It says `GOAWAY` and waits so many seconds for the calls under way.
    pub(crate) async fn stop(&self, grace: u32) {
        self.control(json!({ "do": "stop", "grace": grace })).await;
    }

    /// The process is gone, and its connections with it.
    pub(crate) fn kill(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        self.child.wait().expect("an end");
    }

    async fn control(&self, told: Value) -> Value {
        let mut client = RawClient::of("/interop.Peer/Control", self.control.clone());
        let answer =
            patiently(client.unary(Bytes::from(told.to_string()))).await.expect("an answer");
        serde_json::from_slice(answer.get_ref()).expect("JSON")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A place where nobody listens, and where nobody but a [`Server`] of this test will.
pub(crate) fn reserved() -> (TcpSocket, u16) {
    let socket = TcpSocket::new_v4().expect("a socket");
    // As grpcio binds its own.
    socket.set_reuseport(true).expect("an option of every Linux and macOS");
    socket.bind((Ipv4Addr::LOCALHOST, 0).into()).expect("a free port");
    let port = socket.local_addr().expect("an address").port();
    (socket, port)
}

pub(crate) fn target(port: u16) -> String {
    format!("127.0.0.1:{port}")
}

/// What `client.py` prints when it does `job` at `port`, line by line as it comes.
pub(crate) fn client(port: u16, job: &Value) -> (Running, Lines<BufReader<ChildStdout>>) {
    let mut command = python("client.py");
    command.args([port.to_string(), job.to_string()]).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the python that EVENKEEL_PYTHON names");
    let lines = lines(&mut child);
    (Running(child), lines)
}

/// A process that ends when it is dropped.
pub(crate) struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn lines(child: &mut Child) -> Lines<BufReader<ChildStdout>> {
    BufReader::new(child.stdout.take().expect("a pipe")).lines()
}

fn python(program: &str) -> Command {
    let python = std::env::var_os("EVENKEEL_PYTHON");
    let python = python.expect("EVENKEEL_PYTHON is set: run these with `tests/run interop`");
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("interop");
    let mut command = Command::new(python);
    command.arg(folder.join(program));
    command
}
