//! What a connection is doing, as far as its time limits ask.

use super::stream::Stream;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A moment, or none, that threads share.
struct Since {
    begin: Instant,
    nanoseconds: AtomicU64,
}

impl Since {
    fn new() -> Self {
        Since { begin: Instant::now(), nanoseconds: AtomicU64::new(0) }
    }
    fn set(&self) {
        let now = self.begin.elapsed().as_nanos() as u64;
        self.nanoseconds.store(now + 1, Ordering::Release);
    }
    fn set_if_none(&self) {
        if self.nanoseconds.load(Ordering::Acquire) == 0 {
            self.set();
        }
    }
    fn clear(&self) {
        self.nanoseconds.store(0, Ordering::Release);
    }
    fn elapsed(&self) -> Option<Duration> {
        let then = self.nanoseconds.load(Ordering::Acquire);
        (then != 0).then(|| self.begin.elapsed().saturating_sub(Duration::from_nanos(then - 1)))
    }
}

pub struct Activity {
    pub peer: String,
    pub is_encrypted: bool,
    requests: AtomicUsize,
    idle: Since,
    // Bytes came though no request runs: a head is on its way.
    head: Since,
    // The socket takes nothing of what there is.
    blocked: Since,
    // A request was refused before it was read to its end.
    lingers: AtomicBool,
    // hyper has an answer, or some of one, that the socket has not.
    owes: AtomicBool,
    streams: Mutex<Vec<Weak<Stream>>>,
}

impl Activity {
    pub fn new(peer: String, is_encrypted: bool) -> Arc<Self> {
        let activity = Activity {
            peer,
            is_encrypted,
            requests: AtomicUsize::new(0),
            idle: Since::new(),
            head: Since::new(),
            blocked: Since::new(),
            lingers: AtomicBool::new(false),
            owes: AtomicBool::new(false),
            streams: Mutex::default(),
        };
        activity.idle.set();
        Arc::new(activity)
    }

    pub fn begin_request(self: &Arc<Self>) -> Running {
        self.requests.fetch_add(1, Ordering::AcqRel);
        self.owes.store(true, Ordering::Release);
        Running(self.clone())
    }
    pub fn owes_an_answer(&self) -> bool {
        self.owes.load(Ordering::Acquire)
    }
    /// Everything that there was to write is written.
    pub fn note_all_written(&self) {
        if self.is_idle() {
            self.owes.store(false, Ordering::Release);
        }
    }
    pub fn is_idle(&self) -> bool {
        self.requests.load(Ordering::Acquire) == 0
    }
    pub fn idle_for(&self) -> Duration {
        self.idle.elapsed().unwrap_or_default()
    }
    pub fn head_for(&self) -> Duration {
        self.head.elapsed().unwrap_or_default()
    }
    pub fn blocked_for(&self) -> Duration {
        self.blocked.elapsed().unwrap_or_default()
    }
    /// What came so far was not a request.
    pub fn forget_head(&self) {
        self.head.clear();
        self.idle.set();
    }
    pub fn linger(&self) {
        self.lingers.store(true, Ordering::Release);
    }
    pub fn lingers(&self) -> bool {
        self.lingers.load(Ordering::Acquire)
    }

    pub fn add(&self, stream: &Arc<Stream>) {
        self.streams.lock().expect("streams").push(Arc::downgrade(stream));
    }
    /// Ends the streams whose client takes nothing.
    pub fn reset_stuck(&self, limit: Duration) {
        let mut stuck = Vec::new();
        self.streams.lock().expect("streams").retain(|stream| match stream.upgrade() {
            Some(stream) => {
                if stream.is_stuck(limit) {
                    stuck.push(stream);
                }
                true
            }
            None => false,
        });
        for stream in stuck {
            stream.reset();
        }
    }
}

/// A request that the connection is busy with.
pub struct Running(Arc<Activity>);

impl Drop for Running {
    fn drop(&mut self) {
        if self.0.requests.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.forget_head();
        }
    }
}

/// A socket that tells what it does.
pub struct Watched<T> {
    inner: T,
    activity: Arc<Activity>,
}

impl<T> Watched<T> {
    pub fn new(inner: T, activity: Arc<Activity>) -> Self {
        Watched { inner, activity }
    }
    fn wrote(&self, result: &Poll<std::io::Result<usize>>) {
        match result {
            Poll::Pending => self.activity.blocked.set_if_none(),
            Poll::Ready(_) => self.activity.blocked.clear(),
        }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Watched<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let result = Pin::new(&mut self.inner).poll_read(cx, buffer);
        if buffer.filled().len() > before && self.activity.is_idle() {
            self.activity.head.set_if_none();
        }
        result
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Watched<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        let result = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.wrote(&result);
        result
    }
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        let result = Pin::new(&mut self.inner).poll_write_vectored(cx, slices);
        self.wrote(&result);
        result
    }
    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

/// A stream of bytes of which some were read already.
pub struct Rewound<T> {
    read: bytes::Bytes,
    inner: T,
}

impl<T> Rewound<T> {
    pub fn new(read: bytes::Bytes, inner: T) -> Self {
        Rewound { read, inner }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Rewound<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        if self.read.is_empty() {
            return Pin::new(&mut self.inner).poll_read(cx, buffer);
        }
        let size = self.read.len().min(buffer.remaining());
        buffer.put_slice(&self.read.split_to(size));
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Rewound<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(cx, slices)
    }
    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
