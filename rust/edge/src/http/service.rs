//! hyper's side of a request: HTTP/1.1 and HTTP/2.

use super::activity::{Activity, Running};
use super::kill::{self, Kill};
use super::request::{self, BodyError, BodySource, Broken};
use super::stream::{Attached, Stream};
use super::Core;
use bytes::Bytes;
use http::header::{ALT_SVC, CONNECTION, CONTENT_LENGTH};
use http::{HeaderValue, Method, Request, Response, Version};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

pub struct Service {
    pub core: Arc<Core>,
    pub activity: Arc<Activity>,
    /// Ends the connection; of HTTP/2 each stream has its own.
    pub kill: Option<Arc<Kill>>,
}

pub type ServiceError = Box<dyn Error + Send + Sync>;

impl hyper::service::Service<Request<Incoming>> for Service {
    type Response = Response<StreamBody>;
    type Error = ServiceError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, ServiceError>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let running = self.activity.begin_request();
        let (core, activity, kill) = (self.core.clone(), self.activity.clone(), self.kill.clone());
        Box::pin(async move { answer(core, activity, kill, running, request).await })
    }
}

async fn answer(
    core: Arc<Core>,
    activity: Arc<Activity>,
    kill: Option<Arc<Kill>>,
    running: Running,
    request: Request<Incoming>,
) -> Result<Response<StreamBody>, ServiceError> {
    let kill = kill.or_else(kill::current).unwrap_or_default();
    let (parts, body) = request.into_parts();
    let mut source = HyperBody(body);
    let content = request::read(&core, &parts, &mut source).await;
    let content = content.map_err(|Broken| ServiceError::from("the request broke off"))?;
    let is_refused = content.refusal.is_some();
    if is_refused {
        activity.linger();
    }
    let stream = Stream::new(kill, core.limits.buffer_bytes, parts.method == Method::HEAD);
    activity.add(&stream);
    let body = StreamBody { attached: Attached(stream.clone()), _running: running };
    request::dispatch(&core, &parts, content, &activity.peer, activity.is_encrypted, &stream);
    let head = stream.head().await;
    let mut response = Response::new(body);
    *response.status_mut() = head.status;
    *response.headers_mut() = head.headers;
    let headers = response.headers_mut();
    if let Some(length) = stream.whole_length() {
        headers.entry(CONTENT_LENGTH).or_insert(length.into());
    }
    if let Some(service) = core.alt_svc.get() {
        headers.entry(ALT_SVC).or_insert(service.clone());
    }
    if is_refused && parts.version != Version::HTTP_2 {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(response)
}

struct HyperBody(Incoming);

impl BodySource for HyperBody {
    async fn next(&mut self) -> Result<Option<Bytes>, BodyError> {
        loop {
            let frame = std::future::poll_fn(|cx| Pin::new(&mut self.0).poll_frame(cx)).await;
            match frame {
                None => return Ok(None),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
                Some(Err(error)) => return Err(classify(&error)),
            }
        }
    }
}

fn classify(error: &hyper::Error) -> BodyError {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<std::io::Error>());
    match cause.map(std::io::Error::kind) {
        Some(std::io::ErrorKind::InvalidInput | std::io::ErrorKind::InvalidData) => {
            BodyError::Malformed
        }
        _ => BodyError::Left,
    }
}

pub struct StreamBody {
    attached: Attached,
    _running: Running,
}

impl Body for StreamBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.attached.0.poll_piece(cx).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.attached.0.is_at_end()
    }

    fn size_hint(&self) -> SizeHint {
        match self.attached.0.remaining() {
            Some(bytes) => SizeHint::with_exact(bytes),
            None => SizeHint::default(),
        }
    }
}
