//! A request on its way to C++: its limits, its body, and the call.

use super::budget::Share;
use super::stream::{EdgeHttpHeader, Stream};
use super::Core;
use crate::abi::EdgeSlice;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HOST};
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Method, Version};
use std::borrow::Cow;
use std::ffi::c_void;
use std::future::Future;
use std::sync::Arc;

/// What a header takes beside its name and value: ": " and a line's end.
const HEADER_FRAMING: usize = 4;

#[repr(C)]
pub struct EdgeHttpRequest {
    pub method: EdgeSlice,
    pub path: EdgeSlice,
    pub query: EdgeSlice,
    pub headers: *const EdgeHttpHeader,
    pub header_count: usize,
    pub body: EdgeSlice,
    pub peer: EdgeSlice,
    pub refusal_reason: EdgeSlice,
    pub refusal: u32,
    pub version: u32,
    pub is_encrypted: u32,
}

pub struct Handler {
    pub call: extern "C" fn(*mut c_void, *const EdgeHttpRequest, *mut Stream),
    pub user: *mut c_void,
}

// The C++ side promises that the handler may be called on any thread.
unsafe impl Send for Handler {}
unsafe impl Sync for Handler {}

/// Why a request is refused before C++ decides anything.
pub struct Refusal {
    pub status: u32,
    pub reason: String,
}

impl Refusal {
    pub fn new(status: u32, reason: impl Into<String>) -> Self {
        Refusal { status, reason: reason.into() }
    }
}

/// The client left in the middle of its request, or broke the protocol's own framing.
pub struct Broken;

pub enum BodyError {
    Malformed,
    Left,
}

pub trait BodySource: Send {
    fn next(&mut self) -> impl Future<Output = Result<Option<Bytes>, BodyError>> + Send;
}

pub struct Content {
    pub body: Vec<u8>,
    /// Of the bodies of all requests; taken until the stream ends.
    pub share: Option<Share>,
    pub refusal: Option<Refusal>,
}

impl Content {
    fn refused(refusal: Refusal) -> Self {
        Content { body: Vec::new(), share: None, refusal: Some(refusal) }
    }
}

/// Checks the head and collects the body. What is refused is not read further.
pub async fn read(
    core: &Core,
    parts: &Parts,
    source: &mut impl BodySource,
) -> Result<Content, Broken> {
    if let Some(refusal) = refuse_head(core, parts) {
        return Ok(Content::refused(refusal));
    }
    let collected = collect(core, parts, source);
    match tokio::time::timeout(core.limits.body_time, collected).await {
        Ok(content) => content,
        Err(_) => {
            let reason = "the request's body took too long to arrive";
            Ok(Content::refused(Refusal::new(408, reason)))
        }
    }
}

fn target_bytes(parts: &Parts) -> usize {
    let path = parts.uri.path_and_query().map_or(0, |path| path.as_str().len());
    let authority = match parts.version {
        Version::HTTP_10 | Version::HTTP_11 => parts.uri.authority(),
        _ => None,
    };
    path + authority.map_or(0, |authority| authority.as_str().len())
}

fn refuse_head(core: &Core, parts: &Parts) -> Option<Refusal> {
    let limits = &core.limits;
    if target_bytes(parts) > limits.target_bytes {
        let reason = format!("the request's target is longer than {} bytes", limits.target_bytes);
        return Some(Refusal::new(414, reason));
    }
    let size: usize = parts
        .headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + HEADER_FRAMING)
        .sum();
    if size > limits.header_bytes {
        let reason = format!("the request's headers take more than {} bytes", limits.header_bytes);
        return Some(Refusal::new(431, reason));
    }
    let hosts = parts.headers.get_all(HOST).iter().count();
    if hosts > 1 {
        return Some(Refusal::new(400, "the request names more than one host"));
    }
    if hosts == 0 && parts.version == Version::HTTP_11 {
        return Some(Refusal::new(400, "the request names no host"));
    }
    if !parts.headers.get(HOST).is_none_or(is_host) {
        return Some(Refusal::new(400, "the request's host is no host"));
    }
    if parts.method == Method::CONNECT {
        return Some(Refusal::new(400, "this server is not a proxy"));
    }
    None
}

/// A name or an address with or without a port, or nothing.
fn is_host(value: &HeaderValue) -> bool {
    let text = value.as_bytes();
    text.is_empty() || (!text.contains(&b'@') && Authority::try_from(text).is_ok())
}

async fn collect(
    core: &Core,
    parts: &Parts,
    source: &mut impl BodySource,
) -> Result<Content, Broken> {
    let limit = core.limits.body_bytes;
    let too_large = || {
        let reason = format!("the request's body is larger than {limit} bytes");
        Ok(Content::refused(Refusal::new(413, reason)))
    };
    let too_much = || {
        let most = core.bodies.limit();
        let reason = format!("the bodies of all requests take {most} bytes already; try later");
        Ok(Content::refused(Refusal::new(429, reason)))
    };
    let declared = parts.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    let declared = declared.and_then(|text| text.trim().parse::<u64>().ok());
    if declared.is_some_and(|length| length > limit as u64) {
        return too_large();
    }
    let mut body = Vec::new();
    let mut share = core.bodies.share();
    loop {
        match source.next().await {
            Ok(Some(piece)) => {
                if piece.len() > limit - body.len() {
                    return too_large();
                }
                if !share.grow(piece.len()) {
                    return too_much();
                }
                // A length that is only announced reserves nothing.
                body.extend_from_slice(&piece);
            }
            Ok(None) => return Ok(Content { body, share: Some(share), refusal: None }),
            Err(BodyError::Left) => return Err(Broken),
            Err(BodyError::Malformed) => {
                let reason = "the request's body is not framed as it says";
                return Ok(Content::refused(Refusal::new(400, reason)));
            }
        }
    }
}

fn slice(bytes: &[u8]) -> EdgeSlice {
    EdgeSlice { data: bytes.as_ptr(), size: bytes.len() }
}

fn lossy(headers: &HeaderMap) -> Vec<(&str, Cow<'_, str>)> {
    headers
        .iter()
        .map(|(name, value)| (name.as_str(), String::from_utf8_lossy(value.as_bytes())))
        .collect()
}

/// Hands the request to C++, which takes a share of the stream.
pub fn dispatch(
    core: &Core,
    parts: &Parts,
    content: Content,
    peer: &str,
    is_encrypted: bool,
    stream: &Arc<Stream>,
) {
    stream.keep(content.share);
    let mut fields = lossy(&parts.headers);
    // HTTP/2 and 3 carry the host in the target, and so may HTTP/1.
    if let Some(authority) = parts.uri.authority() {
        fields.retain(|(name, _)| *name != HOST.as_str());
        fields.push((HOST.as_str(), Cow::Borrowed(authority.as_str())));
    }
    let headers: Vec<EdgeHttpHeader> = fields
        .iter()
        .map(|(name, value)| EdgeHttpHeader {
            name: slice(name.as_bytes()),
            value: slice(value.as_bytes()),
        })
        .collect();
    let refusal = content.refusal.as_ref();
    let request = EdgeHttpRequest {
        method: slice(parts.method.as_str().as_bytes()),
        path: slice(parts.uri.path().as_bytes()),
        query: slice(parts.uri.query().unwrap_or("").as_bytes()),
        headers: headers.as_ptr(),
        header_count: headers.len(),
        body: slice(&content.body),
        peer: slice(peer.as_bytes()),
        refusal_reason: slice(refusal.map_or("", |r| r.reason.as_str()).as_bytes()),
        refusal: refusal.map_or(0, |r| r.status),
        version: match parts.version {
            Version::HTTP_2 => 2,
            Version::HTTP_3 => 3,
            _ => 1,
        },
        is_encrypted: is_encrypted.into(),
    };
    call(core, &request, stream);
}

/// The same of what came and is no request: it has neither a method nor a path.
pub fn dispatch_refusal(
    core: &Core,
    refusal: &Refusal,
    peer: &str,
    is_encrypted: bool,
    stream: &Arc<Stream>,
) {
    let request = EdgeHttpRequest {
        method: slice(b""),
        path: slice(b""),
        query: slice(b""),
        headers: std::ptr::null(),
        header_count: 0,
        body: slice(b""),
        peer: slice(peer.as_bytes()),
        refusal_reason: slice(refusal.reason.as_bytes()),
        refusal: refusal.status,
        version: 1,
        is_encrypted: is_encrypted.into(),
    };
    call(core, &request, stream);
}

fn call(core: &Core, request: &EdgeHttpRequest, stream: &Arc<Stream>) {
    (core.handler.call)(core.handler.user, request, Arc::into_raw(stream.clone()).cast_mut());
}
