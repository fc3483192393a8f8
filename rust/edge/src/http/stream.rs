//! One response on its way: the C++ side puts its head and pieces in, the network takes them out.

use super::budget::Share;
use super::kill::Kill;
use crate::abi::EdgeSlice;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use std::collections::VecDeque;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;

/// What the network takes at once; so much may wait below for a client that takes nothing.
const FRAME_BYTES: usize = 16 << 10;

/// What C++ wants called; `user` belongs to the stream until `release`.
pub struct Watch {
    pub event: extern "C" fn(*mut c_void),
    pub release: extern "C" fn(*mut c_void),
    pub user: *mut c_void,
}

// The C++ side promises that `event` may be called on any thread.
unsafe impl Send for Watch {}
unsafe impl Sync for Watch {}

impl Drop for Watch {
    fn drop(&mut self) {
        (self.release)(self.user);
    }
}

pub struct Head {
    pub status: StatusCode,
    pub headers: HeaderMap,
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Waiting,
    Started,
    Finished,
    Left,
}

struct State {
    phase: Phase,
    head: Option<Head>,
    whole_length: Option<u64>,
    queue: VecDeque<Bytes>,
    waker: Option<Waker>,
    was_over: bool,
    // The network waits for more; else it has had something to pass on since `taken_at`.
    is_hungry: bool,
    taken_at: Instant,
}

pub struct Stream {
    state: Mutex<State>,
    pending: AtomicUsize,
    is_gone: AtomicBool,
    has_no_body: AtomicBool,
    kill: Arc<Kill>,
    buffer_bytes: usize,
    watch: OnceLock<Watch>,
    // C++ holds the request's body as long as the stream.
    share: OnceLock<Share>,
    runtime: Option<Handle>,
}

impl Stream {
    pub fn new(kill: Arc<Kill>, buffer_bytes: usize, is_head_request: bool) -> Arc<Self> {
        Arc::new(Stream {
            state: Mutex::new(State {
                phase: Phase::Waiting,
                head: None,
                whole_length: None,
                queue: VecDeque::new(),
                waker: None,
                was_over: false,
                is_hungry: true,
                taken_at: Instant::now(),
            }),
            pending: AtomicUsize::new(0),
            is_gone: AtomicBool::new(false),
            has_no_body: AtomicBool::new(is_head_request),
            kill,
            buffer_bytes,
            watch: OnceLock::new(),
            share: OnceLock::new(),
            runtime: Handle::try_current().ok(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics under this lock")
    }

    /// Takes what the request's body has of all bodies' room.
    pub fn keep(&self, share: Option<Share>) {
        if let Some(share) = share {
            let _ = self.share.set(share);
        }
    }

    // ---- the side of C++ ----

    pub fn watch(&self, watch: Watch) {
        let _ = self.watch.set(watch);
    }

    pub fn start(&self, head: Head, whole: Option<Bytes>) {
        let mut state = self.state();
        if state.phase != Phase::Waiting {
            return;
        }
        let is_bare = head.status.is_informational()
            || matches!(head.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        if is_bare {
            self.has_no_body.store(true, Ordering::Release);
        }
        state.head = Some(head);
        state.phase = Phase::Started;
        if let Some(body) = whole {
            state.whole_length = (!is_bare).then_some(body.len() as u64);
            state.phase = Phase::Finished;
            self.push(&mut state, body);
        }
        wake(state);
    }

    /// False when nobody takes it any more.
    pub fn write(&self, piece: Bytes) -> bool {
        let mut state = self.state();
        if state.phase != Phase::Started {
            return false;
        }
        self.push(&mut state, piece);
        wake(state);
        true
    }

    fn push(&self, state: &mut State, piece: Bytes) {
        if piece.is_empty() || self.has_no_body() {
            return;
        }
        let pending = self.pending.fetch_add(piece.len(), Ordering::AcqRel) + piece.len();
        state.was_over |= pending > self.buffer_bytes;
        state.queue.push_back(piece);
    }

    pub fn finish(&self) {
        let mut state = self.state();
        match state.phase {
            Phase::Started => {
                state.phase = Phase::Finished;
                wake(state);
            }
            Phase::Waiting => {
                drop(state);
                self.reset();
            }
            Phase::Finished | Phase::Left => {}
        }
    }

    pub fn reset(&self) {
        if !matches!(self.state().phase, Phase::Left) {
            self.kill.kill();
        }
    }

    /// The writer is no more: what it has not finished is broken.
    pub fn abandon(&self) {
        if matches!(self.state().phase, Phase::Waiting | Phase::Started) {
            self.reset();
        }
    }

    pub fn pending(&self) -> usize {
        self.pending.load(Ordering::Acquire)
    }

    pub fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Acquire)
    }

    /// Calls the watch again on a thread of the server.
    pub fn remind(self: Arc<Self>) {
        if let Some(runtime) = self.runtime.clone() {
            runtime.spawn(async move { self.fire() });
        }
    }

    fn fire(&self) {
        if let Some(watch) = self.watch.get() {
            (watch.event)(watch.user);
        }
    }

    // ---- the side of the network ----

    /// To HEAD, and of statuses that have none.
    pub fn has_no_body(&self) -> bool {
        self.has_no_body.load(Ordering::Acquire)
    }

    pub async fn head(&self) -> Head {
        std::future::poll_fn(|cx| {
            let mut state = self.state();
            match state.head.take() {
                Some(head) => {
                    state.is_hungry = false;
                    state.taken_at = Instant::now();
                    Poll::Ready(head)
                }
                None => {
                    state.waker = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// Small pieces that wait together become one.
    pub fn poll_piece(&self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut state = self.state();
        if self.has_no_body() {
            return Poll::Ready(None);
        }
        if state.queue.is_empty() {
            if state.phase == Phase::Finished {
                return Poll::Ready(None);
            }
            state.is_hungry = true;
            state.waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let piece = take(&mut state.queue);
        state.is_hungry = false;
        state.taken_at = Instant::now();
        let pending = self.pending.fetch_sub(piece.len(), Ordering::AcqRel) - piece.len();
        let falls_under = state.was_over && pending < self.buffer_bytes.div_ceil(2);
        if falls_under {
            state.was_over = false;
        }
        drop(state);
        if falls_under {
            self.fire();
        }
        Poll::Ready(Some(piece))
    }

    /// No piece comes any more.
    pub fn is_at_end(&self) -> bool {
        let state = self.state();
        self.has_no_body() || (state.phase == Phase::Finished && state.queue.is_empty())
    }

    /// The length of an answer that was given whole, to HEAD too.
    pub fn whole_length(&self) -> Option<u64> {
        self.state().whole_length
    }

    /// The bytes to come, where that is known.
    pub fn remaining(&self) -> Option<u64> {
        let state = self.state();
        if self.has_no_body() {
            return Some(0);
        }
        state.whole_length.map(|_| state.queue.iter().map(|piece| piece.len() as u64).sum())
    }

    /// Whether the client has taken nothing of what waits for it in so long.
    pub fn is_stuck(&self, limit: Duration) -> bool {
        let state = self.state();
        !state.is_hungry
            && !self.has_no_body()
            && state.phase != Phase::Left
            && state.taken_at.elapsed() >= limit
    }

    fn left(&self) {
        let mut state = self.state();
        let is_done =
            (state.phase == Phase::Finished && state.queue.is_empty()) || self.has_no_body();
        if is_done && state.phase == Phase::Started {
            return;
        }
        state.phase = Phase::Left;
        state.queue.clear();
        self.pending.store(0, Ordering::Release);
        if !is_done {
            self.is_gone.store(true, Ordering::Release);
        }
        drop(state);
        if !is_done {
            self.fire();
        }
    }
}

/// The network's hold on a stream: without it the client is gone, unless all was taken.
pub struct Attached(pub Arc<Stream>);

impl Drop for Attached {
    fn drop(&mut self) {
        self.0.left();
    }
}

fn wake(mut state: MutexGuard<'_, State>) {
    let waker = state.waker.take();
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}

fn take(queue: &mut VecDeque<Bytes>) -> Bytes {
    let mut first = queue.pop_front().expect("checked by the caller");
    if first.len() > FRAME_BYTES {
        let rest = first.split_off(FRAME_BYTES);
        queue.push_front(rest);
        return first;
    }
    let Some(second) = queue.front() else {
        return first;
    };
    if first.len() + second.len() > FRAME_BYTES {
        return first;
    }
    let mut joined = BytesMut::with_capacity(FRAME_BYTES);
    joined.extend_from_slice(&first);
    while let Some(next) = queue.front().filter(|n| joined.len() + n.len() <= FRAME_BYTES) {
        joined.extend_from_slice(next);
        queue.pop_front();
    }
    joined.freeze()
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct EdgeHttpHeader {
    pub name: EdgeSlice,
    pub value: EdgeSlice,
}

/// A header that is none is left out, so that no value can split a response.
///
/// # Safety
/// The slices are valid.
pub unsafe fn read_head(status: u32, headers: &[EdgeHttpHeader]) -> Head {
    let status = u16::try_from(status).ok().and_then(|s| StatusCode::from_u16(s).ok());
    let mut map = HeaderMap::with_capacity(headers.len() + 2);
    for header in headers {
        let name = HeaderName::from_bytes(unsafe { header.name.bytes() });
        let value = HeaderValue::from_bytes(unsafe { header.value.bytes() });
        if let (Ok(name), Ok(value)) = (name, value) {
            map.append(name, value);
        }
    }
    Head { status: status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), headers: map }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(buffer: usize) -> Arc<Stream> {
        let stream = Stream::new(Arc::default(), buffer, false);
        stream.start(Head { status: StatusCode::OK, headers: HeaderMap::new() }, None);
        stream
    }

    fn next(stream: &Stream) -> Poll<Option<Bytes>> {
        stream.poll_piece(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn small_pieces_are_joined_and_large_ones_are_cut() {
        let stream = started(1 << 20);
        assert!(stream.write(Bytes::from_static(b"ab")));
        assert!(stream.write(Bytes::from_static(b"cd")));
        assert!(stream.write(Bytes::from(vec![7; FRAME_BYTES + 1])));
        stream.finish();
        assert_eq!(next(&stream), Poll::Ready(Some(Bytes::from_static(b"abcd"))));
        assert_eq!(next(&stream).map(|p| p.map(|p| p.len())), Poll::Ready(Some(FRAME_BYTES)));
        assert_eq!(stream.pending(), 1);
        assert!(!stream.is_at_end());
        assert_eq!(next(&stream), Poll::Ready(Some(Bytes::from_static(&[7]))));
        assert!(stream.is_at_end());
        assert_eq!(next(&stream), Poll::Ready(None));
        drop(Attached(stream.clone()));
        assert!(!stream.is_gone());
    }

    #[test]
    fn a_client_that_leaves_early_is_gone() {
        let stream = started(8);
        assert!(stream.write(Bytes::from_static(b"ab")));
        drop(Attached(stream.clone()));
        assert!(stream.is_gone());
        assert_eq!(stream.pending(), 0);
        assert!(!stream.write(Bytes::from_static(b"ab")));
    }

    extern "C" fn count(user: *mut c_void) {
        unsafe { (*(user as *const AtomicUsize)).fetch_add(1, Ordering::Relaxed) };
    }
    extern "C" fn release(_: *mut c_void) {}

    #[test]
    fn the_watch_fires_under_half_of_the_buffer_and_when_the_client_goes() {
        let fired = AtomicUsize::new(0);
        let stream = started(FRAME_BYTES * 2);
        let user = &fired as *const AtomicUsize as *mut c_void;
        stream.watch(Watch { event: count, release, user });
        assert!(stream.write(Bytes::from(vec![0; FRAME_BYTES * 2])));
        assert!(next(&stream).is_ready());
        assert!(next(&stream).is_ready());
        assert_eq!(fired.load(Ordering::Relaxed), 0);
        assert!(stream.write(Bytes::from(vec![0; FRAME_BYTES * 2 + 1])));
        assert!(next(&stream).is_ready());
        assert_eq!(fired.load(Ordering::Relaxed), 0);
        assert!(next(&stream).is_ready());
        assert_eq!(fired.load(Ordering::Relaxed), 1);
        drop(Attached(stream.clone()));
        assert_eq!(fired.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn an_answer_to_head_keeps_nothing_and_loses_nobody() {
        let stream = Stream::new(Arc::default(), 8, true);
        stream.start(Head { status: StatusCode::OK, headers: HeaderMap::new() }, None);
        assert_eq!(next(&stream), Poll::Ready(None));
        drop(Attached(stream.clone()));
        assert!(stream.write(Bytes::from_static(b"ab")));
        assert_eq!(stream.pending(), 0);
        assert!(!stream.is_gone());
    }
}
