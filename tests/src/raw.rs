//! This file knows a gRPC client without generated code: messages are plain bytes.

use bytes::{Buf, BufMut, Bytes};
use http::uri::PathAndQuery;
use tonic::body::Body;
use tonic::client::{Grpc, GrpcService};
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::{Body as HttpBody, StdError};
use tonic::{GrpcMethod, IntoStreamingRequest, Request, Response, Status, Streaming};

/// A client of one method, over anything a generated client could stand on.
///
/// Like generated code it waits until the service is ready and names its method in an extension.
#[derive(Clone, Debug)]
pub struct RawClient<S> {
    grpc: Grpc<S>,
    path: &'static str,
}

impl<S> RawClient<S>
where
    S: GrpcService<Body>,
    S::ResponseBody: HttpBody<Data = Bytes> + Send + 'static,
    <S::ResponseBody as HttpBody>::Error: Into<StdError> + Send,
{
    /// A client of `/raw.Raw/Call`.
    pub fn new(service: S) -> Self {
        Self::of("/raw.Raw/Call", service)
    }

    /// A client of `path`, in the form `/package.Service/Method`.
    pub fn of(path: &'static str, service: S) -> Self {
        Self { grpc: Grpc::new(service), path }
    }

    /// With other settings of the `Grpc` below it: the limits of messages, compression.
    pub fn tuned(self, tune: impl FnOnce(Grpc<S>) -> Grpc<S>) -> Self {
        Self { grpc: tune(self.grpc), path: self.path }
    }

    /// One message each way.
    ///
    /// # Errors
    /// The status of the call.
    pub async fn unary(&mut self, request: impl IntoRaw) -> Result<Response<Bytes>, Status> {
        let request = self.named(request.into_raw());
        self.ready().await?;
        self.grpc.unary(request, PathAndQuery::from_static(self.path), RawCodec).await
    }

    /// One message there, many back.
    ///
    /// # Errors
    /// The status of the call, if it ends before the response begins.
    pub async fn server_streaming(
        &mut self,
        request: impl IntoRaw,
    ) -> Result<Response<Streaming<Bytes>>, Status> {
        let request = self.named(request.into_raw());
        self.ready().await?;
        self.grpc.server_streaming(request, PathAndQuery::from_static(self.path), RawCodec).await
    }

    /// Many messages there, one back.
    ///
    /// # Errors
    /// The status of the call.
    pub async fn client_streaming(
        &mut self,
        requests: impl IntoStreamingRequest<Message = Bytes>,
    ) -> Result<Response<Bytes>, Status> {
        let requests = self.named(requests.into_streaming_request());
        self.ready().await?;
        self.grpc.client_streaming(requests, PathAndQuery::from_static(self.path), RawCodec).await
    }

    /// Many messages each way.
    ///
    /// # Errors
    /// The status of the call, if it ends before the response begins.
    pub async fn streaming(
        &mut self,
        requests: impl IntoStreamingRequest<Message = Bytes>,
    ) -> Result<Response<Streaming<Bytes>>, Status> {
        let requests = self.named(requests.into_streaming_request());
        self.ready().await?;
        self.grpc.streaming(requests, PathAndQuery::from_static(self.path), RawCodec).await
    }

    /// What generated code does before each call, error included.
    async fn ready(&mut self) -> Result<(), Status> {
        self.grpc.ready().await.map_err(|error| {
            let error: StdError = error.into();
            Status::unknown(format!("Service was not ready: {error}"))
        })
    }

    fn named<M>(&self, mut request: Request<M>) -> Request<M> {
        let names = self.path.trim_start_matches('/').split_once('/');
        let (service, method) = names.expect("a path has a service and a method");
        request.extensions_mut().insert(GrpcMethod::new(service, method));
        request
    }
}

/// A message, or a request that carries one.
pub trait IntoRaw {
    /// As a request.
    fn into_raw(self) -> Request<Bytes>;
}

impl IntoRaw for &'static str {
    fn into_raw(self) -> Request<Bytes> {
        Request::new(self.into())
    }
}

impl IntoRaw for Bytes {
    fn into_raw(self) -> Request<Bytes> {
        Request::new(self)
    }
}

impl<M: Into<Bytes>> IntoRaw for Request<M> {
    fn into_raw(self) -> Request<Bytes> {
        self.map(Into::into)
    }
}

/// Reads a response stream to its end: the messages, and the status if it is not OK.
pub async fn drain<M>(mut stream: Streaming<M>) -> (Vec<M>, Option<Status>) {
    let mut messages = Vec::new();
    loop {
        match stream.message().await {
            Ok(Some(message)) => messages.push(message),
            Ok(None) => return (messages, None),
            Err(status) => return (messages, Some(status)),
        }
    }
}

/// Bytes as they are.
#[derive(Clone, Copy, Debug, Default)]
pub struct RawCodec;

impl Codec for RawCodec {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for RawCodec {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put(message);
        Ok(())
    }
}

impl Decoder for RawCodec {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining())))
    }
}
