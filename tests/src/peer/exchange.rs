//! This file knows how one request is read, and how its reply is done step by step.

use crate::peer::tap::Tap;
use crate::peer::{Transport, frame};
use crate::script::{Last, Log, Reply, Step};
use bytes::Bytes;
use core::convert::Infallible;
use core::future::{Future, pending, poll_fn};
use core::pin::pin;
use core::task::{Context, Poll, ready};
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use std::sync::Arc;

/// One request and the way back.
pub(super) struct Exchange<T> {
    log: Arc<Log>,
    index: usize,
    tap: Tap<T>,
    respond: SendResponse<Bytes>,
    /// Once the response headers are sent.
    body: Option<SendStream<Bytes>>,
    /// Whether the stream has ended on our side.
    over: bool,
}

/// The client, or the whole connection, is gone: there is nobody to go on for.
struct Gone;

impl<T: Transport> Exchange<T> {
    pub(super) fn new(
        log: Arc<Log>,
        index: usize,
        tap: Tap<T>,
        respond: SendResponse<Bytes>,
    ) -> Self {
        Self { log, index, tap, respond, body: None, over: false }
    }

    /// Reads the request and replies to it; both at once if the reply is an early one.
    pub(super) async fn run(mut self, reply: Arc<Reply>, request: RecvStream) {
        let read = read(Arc::clone(&self.log), self.index, request);
        if reply.is_early() {
            let _ = tokio::join!(read, self.perform(&reply));
        } else if read.await.is_ok() {
            let _ = self.perform(&reply).await;
        }
    }

    async fn perform(&mut self, reply: &Reply) -> Result<(), Gone> {
        for step in reply.steps() {
            self.step(step).await?;
        }
        if self.over {
            return Ok(());
        }
        // Said all it had to say; only the client can end the stream now.
        let never: Infallible = self.unless_gone(pending()).await?;
        match never {}
    }

    async fn step(&mut self, step: &Step) -> Result<(), Gone> {
        self.over |= step.ends_the_stream();
        match step {
            Step::Head(head) => {
                let sent = self.respond.send_response(head.response(), head.end);
                self.body = Some(sent.map_err(|_| Gone)?);
                Ok(())
            }
            Step::Data(data) => self.send(data.clone()).await,
            Step::End => self.stream()?.send_data(Bytes::new(), true).map_err(|_| Gone),
            Step::Trailers(trailers) => {
                self.stream()?.send_trailers(trailers.clone()).map_err(|_| Gone)
            }
            Step::Wait(span) => self.unless_gone(tokio::time::sleep(*span)).await,
            Step::Execute(hook) => {
                (hook.0)(&self.log.request(self.index));
                Ok(())
            }
            Step::Abort | Step::Close | Step::Flood(_) | Step::GoAway(..) | Step::Reset(_) => {
                self.break_with(step).await;
                Ok(())
            }
        }
    }

    /// What may not fall into the middle of a frame, nor overtake data that is still queued.
    async fn break_with(&mut self, step: &Step) {
        self.tap.settle().await;
        let stream = self.respond.stream_id().as_u32();
        match step {
            Step::Abort => {
                // In memory nothing outruns an RST, unless the client has its turn first.
                tokio::task::yield_now().await;
                self.tap.abort();
            }
            Step::Close => self.tap.close(),
            Step::Flood(count) => self.tap.write(&frame::flood(stream, *count)),
            Step::GoAway(last, reason) => {
                let last = match last {
                    // A client's streams have odd numbers, so the one before 1 is 0: none at all.
                    Last::Before => stream.saturating_sub(2),
                    Last::This => stream,
                };
                self.tap.write(&frame::go_away(last, *reason));
            }
            Step::Reset(reason) => self.respond.send_reset(*reason),
            _ => {}
        }
        // Has the connection polled, which is how it notices.
        tokio::task::yield_now().await;
    }

    /// Sends `data` as fast as the client's window allows.
    async fn send(&mut self, mut data: Bytes) -> Result<(), Gone> {
        while !data.is_empty() {
            let stream = self.stream()?;
            stream.reserve_capacity(data.len());
            let room = poll_fn(|cx| stream.poll_capacity(cx)).await;
            let Some(Ok(room)) = room else {
                return Err(self.gone().await);
            };
            let part = data.split_to(room.min(data.len()));
            self.stream()?.send_data(part, false).map_err(|_| Gone)?;
        }
        Ok(())
    }

    fn stream(&mut self) -> Result<&mut SendStream<Bytes>, Gone> {
        self.body.as_mut().ok_or(Gone)
    }

    /// Waits for `event`, unless the client goes away first.
    async fn unless_gone<E>(&mut self, event: impl Future<Output = E>) -> Result<E, Gone> {
        let mut event = pin!(event);
        poll_fn(|cx| {
            if !self.over && self.poll_gone(cx).is_ready() {
                return Poll::Ready(Err(Gone));
            }
            event.as_mut().poll(cx).map(Ok)
        })
        .await
    }

    async fn gone(&mut self) -> Gone {
        poll_fn(|cx| self.poll_gone(cx)).await
    }

    /// Ready when the client has reset the stream, which is written down, or is lost altogether.
    fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<Gone> {
        let reset = match &mut self.body {
            Some(body) => ready!(body.poll_reset(cx)),
            None => ready!(self.respond.poll_reset(cx)),
        };
        if let Ok(reason) = reset {
            self.log.reset(self.index, reason);
        }
        Poll::Ready(Gone)
    }
}

/// Reads and records a request's body up to its end.
async fn read(log: Arc<Log>, index: usize, mut request: RecvStream) -> Result<(), Gone> {
    while let Some(data) = request.data().await {
        let data = data.map_err(|error| record_reset(&log, index, &error))?;
        log.body(index, &data);
        // Fails only after the stream has ended, when there is no window to give back.
        let _ = request.flow_control().release_capacity(data.len());
    }
    log.ended(index);
    Ok(())
}

fn record_reset(log: &Log, index: usize, error: &h2::Error) -> Gone {
    if error.is_remote() && error.is_reset() {
        log.reset(index, error.reason().unwrap_or(Reason::CANCEL));
    }
    Gone
}
