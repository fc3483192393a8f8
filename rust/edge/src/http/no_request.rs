//! The answer to what is no HTTP/1 request, or not yet: C++ words it, and it is written by hand,
//! since hyper is not or no longer there.

use super::activity::Activity;
use super::request::{self, Refusal};
use super::stream::{Attached, Stream};
use super::Core;
use bytes::Bytes;
use http::StatusCode;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::SystemTime;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

/// What hyper found, in words.
pub fn refusal_of(status: StatusCode) -> Refusal {
    let reason = match status {
        StatusCode::URI_TOO_LONG => "the request's target is too long",
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => "the request's head is too large",
        _ => "what came is not an HTTP request",
    };
    Refusal::new(status.as_u16().into(), reason)
}

pub fn slow_head() -> Refusal {
    Refusal::new(408, "the request's head took too long to arrive")
}

pub fn no_room() -> Refusal {
    Refusal::new(503, "the server has as many connections as it may")
}

/// Tells a client, as far as it listens, why its connection ends.
pub async fn answer(
    core: &Core,
    activity: &Activity,
    refusal: &Refusal,
    socket: &mut (impl AsyncWrite + Unpin),
) {
    let stream = Stream::new(Arc::default(), core.limits.buffer_bytes, false);
    let attached = Attached(stream.clone());
    request::dispatch_refusal(core, refusal, &activity.peer, activity.is_encrypted, &stream);
    let _ = timeout(core.limits.write_time, async {
        let head = stream.head().await;
        let mut body = Vec::new();
        while let Some(piece) = poll_fn(|cx| stream.poll_piece(cx)).await {
            body.extend_from_slice(&piece);
        }
        socket.write_all(&written(head.status, &head.headers, &body)).await
    })
    .await;
    drop(attached);
}

fn written(status: StatusCode, headers: &http::HeaderMap, body: &[u8]) -> Bytes {
    let reason = status.canonical_reason().unwrap_or("");
    let mut text = format!("HTTP/1.1 {} {reason}\r\n", status.as_str()).into_bytes();
    for (name, value) in headers {
        text.extend_from_slice(name.as_str().as_bytes());
        text.extend_from_slice(b": ");
        text.extend_from_slice(value.as_bytes());
        text.extend_from_slice(b"\r\n");
    }
    let date = httpdate::fmt_http_date(SystemTime::now());
    let end =
        format!("content-length: {}\r\nconnection: close\r\ndate: {date}\r\n\r\n", body.len());
    text.extend_from_slice(end.as_bytes());
    text.extend_from_slice(body);
    text.into()
}
