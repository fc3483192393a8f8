//! Keeps hyper from answering by itself. What is no request gets a bare status from it (400, 414 or
//! 431, without a body or an identifier) before anybody else hears of it.

use super::activity::Activity;
use http::StatusCode;
use std::io::{IoSlice, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// "HTTP/1.1 400 "
const STATUS_AT: std::ops::Range<usize> = 9..12;

/// Between hyper and the socket of an HTTP/1 connection.
pub struct Muzzled<T> {
    inner: T,
    activity: Arc<Activity>,
    // The beginning of what hyper said though no request was there to answer.
    said: Vec<u8>,
}

impl<T> Muzzled<T> {
    pub fn new(inner: T, activity: Arc<Activity>) -> Self {
        Muzzled { inner, activity, said: Vec::new() }
    }
    /// The socket, and the status that hyper would have sent.
    pub fn into_parts(self) -> (T, Option<StatusCode>) {
        let status = self.said.get(STATUS_AT).and_then(|text| StatusCode::from_bytes(text).ok());
        (self.inner, status)
    }
    fn keep<'a>(&mut self, slices: impl Iterator<Item = &'a [u8]>) -> Poll<Result<usize>> {
        let mut size = 0;
        for slice in slices {
            let room = STATUS_AT.end.saturating_sub(self.said.len());
            self.said.extend_from_slice(&slice[..slice.len().min(room)]);
            size += slice.len();
        }
        Poll::Ready(Ok(size))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Muzzled<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buffer)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Muzzled<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        match self.activity.owes_an_answer() {
            true => Pin::new(&mut self.inner).poll_write(cx, bytes),
            false => self.keep(std::iter::once(bytes)),
        }
    }
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        match self.activity.owes_an_answer() {
            true => Pin::new(&mut self.inner).poll_write_vectored(cx, slices),
            false => self.keep(slices.iter().map(|slice| &**slice)),
        }
    }
    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        // hyper flushes when it has nothing left to write.
        self.activity.note_all_written();
        Pin::new(&mut self.inner).poll_flush(cx)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;

    fn write(muzzled: &mut Muzzled<Vec<u8>>, bytes: &[u8]) {
        let written = Pin::new(muzzled).poll_write(&mut Context::from_waker(Waker::noop()), bytes);
        assert!(matches!(written, Poll::Ready(Ok(size)) if size == bytes.len()));
    }
    fn flush(muzzled: &mut Muzzled<Vec<u8>>) {
        let flushed = Pin::new(muzzled).poll_flush(&mut Context::from_waker(Waker::noop()));
        assert!(flushed.is_ready());
    }

    #[test]
    fn answers_pass_to_their_last_byte_and_nothing_else_does() {
        let activity = Activity::new(String::new(), false);
        let mut muzzled = Muzzled::new(Vec::<u8>::new(), activity.clone());
        let running = activity.begin_request();
        write(&mut muzzled, b"head,");
        flush(&mut muzzled);
        write(&mut muzzled, b"body,");
        drop(running);
        // Still on its way.
        write(&mut muzzled, b"end");
        flush(&mut muzzled);
        write(&mut muzzled, b"HTTP/1.1 4");
        write(&mut muzzled, b"31 Request Header Fields Too Large\r\n");
        let (socket, status) = muzzled.into_parts();
        assert_eq!(socket, b"head,body,end");
        assert_eq!(status, Some(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE));
    }

    #[test]
    fn who_says_nothing_has_no_status() {
        let muzzled = Muzzled::new(Vec::<u8>::new(), Activity::new(String::new(), false));
        assert_eq!(muzzled.into_parts(), (Vec::new(), None));
    }
}
