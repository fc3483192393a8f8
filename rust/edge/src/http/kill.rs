//! Ends a request's work from outside, wherever it waits. hyper does not ask a body for more while
//! it waits for room at the client, so an error from the body alone would not be seen.

use hyper::rt::Executor;
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

/// For one waiting task.
#[derive(Default)]
pub struct Kill {
    flag: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Kill {
    pub fn kill(&self) {
        self.flag.store(true, Ordering::Release);
        let waker = self.waker.lock().expect("kill").take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        *self.waker.lock().expect("kill") = Some(cx.waker().clone());
        match self.flag.load(Ordering::Acquire) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }

    pub async fn wait(&self) {
        std::future::poll_fn(|cx| self.poll(cx)).await
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<Kill>>> = const { RefCell::new(None) };
}

/// The kill of the HTTP/2 stream whose task is polled on this thread.
pub fn current() -> Option<Arc<Kill>> {
    CURRENT.with(|current| current.borrow().clone())
}

/// Runs hyper's task of each HTTP/2 stream under a kill of its own. A task that is dropped resets
/// its stream.
#[derive(Clone)]
pub struct StreamExecutor;

impl<F> Executor<F> for StreamExecutor
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, future: F) {
        tokio::spawn(Killable { kill: Arc::default(), future: Some(Box::pin(future)) });
    }
}

struct Killable<F> {
    kill: Arc<Kill>,
    future: Option<Pin<Box<F>>>,
}

impl<F: Future> Future for Killable<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let me = &mut *self;
        let Some(future) = me.future.as_mut() else {
            return Poll::Ready(());
        };
        if me.kill.poll(cx).is_ready() {
            me.future = None;
            return Poll::Ready(());
        }
        CURRENT.with(|current| *current.borrow_mut() = Some(me.kill.clone()));
        let polled = future.as_mut().poll(cx);
        CURRENT.with(|current| *current.borrow_mut() = None);
        polled.map(|_| ())
    }
}
