//! h3's view of a quinn connection. Unlike the crate h3-quinn it tells when a client stops a stream
//! on which nothing is being sent, and resets what is dropped before its end.

use bytes::{Buf, Bytes, BytesMut};
use h3::error::Code;
use h3::quic::{ConnectionErrorIncoming, StreamErrorIncoming, StreamId, WriteBuf};
use quinn::{ConnectionError, ReadError, VarInt, WriteError};
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{ready, Context, Poll};
use tokio::io::ReadBuf;

/// Most that one read takes from a stream.
const READ_BYTES: usize = 16 << 10;

type Accepting<T> = Pin<Box<dyn Future<Output = Result<T, ConnectionError>> + Send>>;
/// Ends when the client wants no more of a stream, or has all of it.
pub type Stopped = Pin<Box<dyn Future<Output = ()> + Send>>;
/// By the number of a stream, until its request is taken.
pub type StoppedStreams = Arc<Mutex<HashMap<u64, Stopped>>>;
type Pair = (quinn::SendStream, quinn::RecvStream);

pub struct Connection {
    connection: quinn::Connection,
    stopped: StoppedStreams,
    pairs: Option<Accepting<Pair>>,
    singles: Option<Accepting<quinn::RecvStream>>,
    opener: OpenStreams,
}

impl Connection {
    pub fn new(connection: quinn::Connection, stopped: StoppedStreams) -> Self {
        let opener = OpenStreams { connection: connection.clone(), pairs: None, singles: None };
        Connection { connection, stopped, pairs: None, singles: None, opener }
    }
}

fn connection_error(error: ConnectionError) -> ConnectionErrorIncoming {
    match error {
        ConnectionError::ApplicationClosed(close) => {
            ConnectionErrorIncoming::ApplicationClose { error_code: close.error_code.into() }
        }
        ConnectionError::TimedOut => ConnectionErrorIncoming::Timeout,
        error => ConnectionErrorIncoming::Undefined(Arc::new(error)),
    }
}

fn lost(error: ConnectionError) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming { connection_error: connection_error(error) }
}

fn poll_next<T, F, Made>(
    slot: &mut Option<Accepting<T>>,
    cx: &mut Context<'_>,
    make: F,
) -> Poll<Result<T, ConnectionError>>
where
    F: FnOnce() -> Made,
    Made: Future<Output = Result<T, ConnectionError>> + Send + 'static,
{
    let future = slot.get_or_insert_with(|| Box::pin(make()));
    let result = ready!(future.as_mut().poll(cx));
    *slot = None;
    Poll::Ready(result)
}

impl h3::quic::Connection<Bytes> for Connection {
    type RecvStream = RecvStream;
    type OpenStreams = OpenStreams;

    fn poll_accept_recv(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<RecvStream, ConnectionErrorIncoming>> {
        let connection = &self.connection;
        poll_next(&mut self.singles, cx, || {
            let connection = connection.clone();
            async move { connection.accept_uni().await }
        })
        .map(|result| result.map(RecvStream).map_err(connection_error))
    }

    fn poll_accept_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<BidiStream, ConnectionErrorIncoming>> {
        let connection = &self.connection;
        let accepted = ready!(poll_next(&mut self.pairs, cx, || {
            let connection = connection.clone();
            async move { connection.accept_bi().await }
        }));
        let (send, receive) = accepted.map_err(connection_error)?;
        let stopped = send.stopped();
        let stopped: Stopped = Box::pin(async move {
            let _ = stopped.await;
        });
        self.stopped.lock().expect("stopped").insert(send.id().into(), stopped);
        Poll::Ready(Ok(BidiStream { send: SendStream::new(send), receive: RecvStream(receive) }))
    }

    fn opener(&self) -> OpenStreams {
        self.opener.clone()
    }
}

impl h3::quic::OpenStreams<Bytes> for Connection {
    type BidiStream = BidiStream;
    type SendStream = SendStream;

    fn poll_open_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<BidiStream, StreamErrorIncoming>> {
        self.opener.poll_open_bidi(cx)
    }
    fn poll_open_send(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<SendStream, StreamErrorIncoming>> {
        self.opener.poll_open_send(cx)
    }
    fn close(&mut self, code: Code, reason: &[u8]) {
        self.opener.close(code, reason);
    }
}

pub struct OpenStreams {
    connection: quinn::Connection,
    pairs: Option<Accepting<Pair>>,
    singles: Option<Accepting<quinn::SendStream>>,
}

impl Clone for OpenStreams {
    fn clone(&self) -> Self {
        OpenStreams { connection: self.connection.clone(), pairs: None, singles: None }
    }
}

impl h3::quic::OpenStreams<Bytes> for OpenStreams {
    type BidiStream = BidiStream;
    type SendStream = SendStream;

    fn poll_open_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<BidiStream, StreamErrorIncoming>> {
        let connection = &self.connection;
        poll_next(&mut self.pairs, cx, || {
            let connection = connection.clone();
            async move { connection.open_bi().await }
        })
        .map(|result| {
            let (send, receive) = result.map_err(lost)?;
            Ok(BidiStream { send: SendStream::new(send), receive: RecvStream(receive) })
        })
    }

    fn poll_open_send(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<SendStream, StreamErrorIncoming>> {
        let connection = &self.connection;
        poll_next(&mut self.singles, cx, || {
            let connection = connection.clone();
            async move { connection.open_uni().await }
        })
        .map(|result| result.map(SendStream::new).map_err(lost))
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.connection.close(variable(code.value()), reason);
    }
}

fn variable(value: u64) -> VarInt {
    VarInt::from_u64(value).unwrap_or(VarInt::MAX)
}

fn number(id: quinn::StreamId) -> StreamId {
    u64::from(id).try_into().expect("both are QUIC's numbers")
}

pub struct SendStream {
    stream: quinn::SendStream,
    writing: Option<WriteBuf<Bytes>>,
    is_ended: bool,
}

impl SendStream {
    fn new(stream: quinn::SendStream) -> Self {
        SendStream { stream, writing: None, is_ended: false }
    }
}

/// quinn would end a dropped stream as if it were whole.
impl Drop for SendStream {
    fn drop(&mut self) {
        if !self.is_ended {
            let _ = self.stream.reset(variable(Code::H3_REQUEST_CANCELLED.value()));
        }
    }
}

impl h3::quic::SendStream<Bytes> for SendStream {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        if let Some(data) = &mut self.writing {
            while data.has_remaining() {
                let written = ready!(Pin::new(&mut self.stream).poll_write(cx, data.chunk()));
                let written = written.map_err(|error| match error {
                    WriteError::Stopped(code) => {
                        StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() }
                    }
                    WriteError::ConnectionLost(error) => lost(error),
                    error => StreamErrorIncoming::Unknown(Box::new(error)),
                })?;
                data.advance(written);
            }
        }
        self.writing = None;
        Poll::Ready(Ok(()))
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.writing = Some(data.into());
        Ok(())
    }

    fn poll_finish(&mut self, _: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.is_ended = true;
        let finished = self.stream.finish();
        Poll::Ready(finished.map_err(|error| StreamErrorIncoming::Unknown(Box::new(error))))
    }

    fn reset(&mut self, reset_code: u64) {
        self.is_ended = true;
        let _ = self.stream.reset(variable(reset_code));
    }

    fn send_id(&self) -> StreamId {
        number(self.stream.id())
    }
}

pub struct RecvStream(quinn::RecvStream);

impl h3::quic::RecvStream for RecvStream {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        let mut data = BytesMut::zeroed(READ_BYTES);
        let mut buffer = ReadBuf::new(&mut data);
        let result = ready!(self.0.poll_read_buf(cx, &mut buffer));
        let size = buffer.filled().len();
        result.map_err(|error| match error {
            ReadError::Reset(code) => {
                StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() }
            }
            ReadError::ConnectionLost(error) => lost(error),
            error => StreamErrorIncoming::Unknown(Box::new(error)),
        })?;
        data.truncate(size);
        Poll::Ready(Ok((size > 0).then(|| data.freeze())))
    }

    fn stop_sending(&mut self, error_code: u64) {
        let _ = self.0.stop(variable(error_code));
    }

    fn recv_id(&self) -> StreamId {
        number(self.0.id())
    }
}

pub struct BidiStream {
    send: SendStream,
    receive: RecvStream,
}

impl h3::quic::BidiStream<Bytes> for BidiStream {
    type SendStream = SendStream;
    type RecvStream = RecvStream;

    fn split(self) -> (SendStream, RecvStream) {
        (self.send, self.receive)
    }
}

impl h3::quic::RecvStream for BidiStream {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.receive.poll_data(cx)
    }
    fn stop_sending(&mut self, error_code: u64) {
        self.receive.stop_sending(error_code);
    }
    fn recv_id(&self) -> StreamId {
        self.receive.recv_id()
    }
}

impl h3::quic::SendStream<Bytes> for BidiStream {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_ready(cx)
    }
    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.send.send_data(data)
    }
    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_finish(cx)
    }
    fn reset(&mut self, reset_code: u64) {
        self.send.reset(reset_code);
    }
    fn send_id(&self) -> StreamId {
        self.send.send_id()
    }
}
