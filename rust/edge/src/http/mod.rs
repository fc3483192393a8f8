//! The network side of the HTTP server: HTTP/1.1 and 2 by hyper, HTTP/3 by quinn and h3. Requests go
//! to one C++ function on a network thread; responses come back from any thread.

mod activity;
mod budget;
mod connection;
#[cfg(feature = "h3")]
mod h3;
mod kill;
mod muzzle;
mod no_request;
#[cfg(feature = "h3")]
mod quic;
mod request;
mod server;
mod service;
mod stream;
mod tls;

use crate::abi::{guarded, values, EdgeBytes, EdgeSlice, Failure};
use budget::Budget;
use bytes::Bytes;
use http::HeaderValue;
use request::{EdgeHttpRequest, Handler};
use server::Server;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use stream::{read_head, EdgeHttpHeader, Stream, Watch};

/// A day; clients ask again before.
#[cfg(feature = "h3")]
const ALTERNATIVE_SECONDS: u32 = 86400;
/// How exactly time limits are kept: a part of the shortest, within bounds.
const TICKS_PER_LIMIT: u32 = 8;
const SHORTEST_TICK: Duration = Duration::from_millis(10);
const LONGEST_TICK: Duration = Duration::from_secs(1);
/// Longer than any server runs; keeps sums of time from overflowing.
const LONGEST_TIME: Duration = Duration::from_secs(10 * 365 * 86400);

#[repr(C)]
pub struct EdgeHttpOptions {
    pub host: EdgeSlice,
    pub tls_certificate: EdgeSlice,
    pub tls_key: EdgeSlice,
    pub body_bytes: u64,
    pub total_body_bytes: u64,
    pub header_bytes: u64,
    pub target_bytes: u64,
    pub connections: u64,
    pub streams_per_connection: u64,
    pub buffer_bytes: u64,
    pub header_seconds: f64,
    pub body_seconds: f64,
    pub idle_seconds: f64,
    pub write_seconds: f64,
    pub port: u32,
    pub offers_http3: u32,
}

pub struct Limits {
    pub body_bytes: usize,
    pub total_body_bytes: usize,
    pub header_bytes: usize,
    pub target_bytes: usize,
    pub connections: usize,
    pub streams_per_connection: u32,
    pub buffer_bytes: usize,
    pub header_time: Duration,
    pub body_time: Duration,
    pub idle_time: Duration,
    pub write_time: Duration,
}

impl Limits {
    pub fn tick(&self) -> Duration {
        let shortest = self.header_time.min(self.idle_time).min(self.write_time);
        (shortest / TICKS_PER_LIMIT).clamp(SHORTEST_TICK, LONGEST_TICK)
    }
    /// Of HTTP/2 and 3, whose parsers refuse what is larger without a word.
    pub fn decoded_header_bytes(&self) -> u32 {
        let bytes = (self.header_bytes + self.target_bytes).saturating_mul(2);
        u32::try_from(bytes.saturating_add(16 << 10)).unwrap_or(u32::MAX)
    }
}

pub struct Settings {
    host: String,
    port: u16,
    tls_certificate: String,
    tls_key: String,
    #[cfg_attr(not(feature = "h3"), allow(dead_code))]
    offers_http3: bool,
    limits: Limits,
    handler: Handler,
}

impl Settings {
    fn has_tls(&self) -> bool {
        !self.tls_certificate.is_empty()
    }
}

/// What all connections share.
pub struct Core {
    limits: Limits,
    bodies: Arc<Budget>,
    handler: Handler,
    alt_svc: OnceLock<HeaderValue>,
}

impl Core {
    fn new(settings: Settings) -> Self {
        let Settings { limits, handler, .. } = settings;
        let bodies = Budget::new(limits.total_body_bytes);
        Core { limits, bodies, handler, alt_svc: OnceLock::new() }
    }
    #[cfg(feature = "h3")]
    fn announce_http3(&self, port: u16) {
        let text = format!("h3=\":{port}\"; ma={ALTERNATIVE_SECONDS}");
        if let Ok(value) = HeaderValue::from_str(&text) {
            let _ = self.alt_svc.set(value);
        }
    }
}

fn duration(what: &str, seconds: f64) -> Result<Duration, Failure> {
    match seconds > 0.0 {
        true => Ok(Duration::try_from_secs_f64(seconds).unwrap_or(LONGEST_TIME).min(LONGEST_TIME)),
        false => Err(Failure::argument(format!("{what} must be over 0 seconds, not {seconds}"))),
    }
}

fn size(what: &str, value: u64, most: usize) -> Result<usize, Failure> {
    match value {
        0 => Err(Failure::argument(format!("{what} must not be 0"))),
        _ => Ok(usize::try_from(value).unwrap_or(most).min(most)),
    }
}

unsafe fn read_settings(raw: &EdgeHttpOptions, handler: Handler) -> Result<Settings, Failure> {
    let certificate = unsafe { raw.tls_certificate.text("the certificate's path")? };
    let key = unsafe { raw.tls_key.text("the key's path")? };
    if certificate.is_empty() != key.is_empty() {
        return Err(Failure::argument("TLS needs a certificate and a key, or none of both"));
    }
    let most = u32::MAX as usize / 4;
    let total = size("total_body_bytes", raw.total_body_bytes, isize::MAX as usize / 4)?;
    let limits = Limits {
        // What could never be held is too large by itself.
        body_bytes: size("body_bytes", raw.body_bytes, total)?,
        total_body_bytes: total,
        header_bytes: size("header_bytes", raw.header_bytes, most)?,
        target_bytes: size("target_bytes", raw.target_bytes, most)?,
        connections: size("connections", raw.connections, tokio::sync::Semaphore::MAX_PERMITS)?,
        streams_per_connection: size("streams_per_connection", raw.streams_per_connection, most)?
            as u32,
        buffer_bytes: size("buffer_bytes", raw.buffer_bytes, isize::MAX as usize / 4)?,
        header_time: duration("header_seconds", raw.header_seconds)?,
        body_time: duration("body_seconds", raw.body_seconds)?,
        idle_time: duration("idle_seconds", raw.idle_seconds)?,
        write_time: duration("write_seconds", raw.write_seconds)?,
    };
    Ok(Settings {
        host: unsafe { raw.host.text("the host")? }.to_string(),
        port: u16::try_from(raw.port).map_err(|_| Failure::argument("the port is over 65535"))?,
        tls_certificate: certificate.to_string(),
        tls_key: key.to_string(),
        offers_http3: raw.offers_http3 != 0,
        limits,
        handler,
    })
}

/// # Safety
/// Pointers are valid as edge.h says; `out` receives an owner. `user` may be used by any thread until
/// the server has stopped.
#[no_mangle]
pub unsafe extern "C" fn edge_http_serve(
    options: *const EdgeHttpOptions,
    handler: extern "C" fn(*mut c_void, *const EdgeHttpRequest, *mut Stream),
    user: *mut c_void,
    out: *mut *mut Server,
    error: *mut EdgeBytes,
) -> i32 {
    unsafe {
        guarded(error, || {
            let settings = read_settings(&*options, Handler { call: handler, user })?;
            out.write(Box::into_raw(Box::new(Server::start(settings)?)));
            Ok(())
        })
    }
}

/// # Safety
/// The slices are valid as edge.h says.
#[no_mangle]
pub unsafe extern "C" fn edge_http_check_tls(
    certificate: EdgeSlice,
    key: EdgeSlice,
    error: *mut EdgeBytes,
) -> i32 {
    unsafe {
        guarded(error, || {
            let certificate = certificate.text("the certificate's path")?;
            tls::configure(certificate, key.text("the key's path")?).map(drop)
        })
    }
}

/// # Safety
/// `server` came from this library.
#[no_mangle]
pub unsafe extern "C" fn edge_http_port(server: *const Server) -> u32 {
    unsafe { &*server }.port().into()
}

/// # Safety
/// `server` came from this library.
#[no_mangle]
pub unsafe extern "C" fn edge_http_stop(
    server: *const Server,
    drain_seconds: f64,
    error: *mut EdgeBytes,
) -> i32 {
    unsafe {
        guarded(error, || {
            let drain = match drain_seconds > 0.0 {
                true => Duration::try_from_secs_f64(drain_seconds).unwrap_or(LONGEST_TIME),
                false => Duration::ZERO,
            };
            (*server).stop(drain.min(LONGEST_TIME));
            Ok(())
        })
    }
}

/// # Safety
/// `server` came from this library and is given back once, or is null.
#[no_mangle]
pub unsafe extern "C" fn edge_http_server_free(server: *mut Server) {
    if !server.is_null() {
        unsafe {
            guarded(null_mut(), || {
                let server = Box::from_raw(server);
                server.stop(Duration::ZERO);
                Ok(())
            })
        };
    }
}

unsafe fn with(stream: *const Stream, body: impl FnOnce(&Stream)) {
    unsafe {
        guarded(null_mut(), || {
            body(&*stream);
            Ok(())
        })
    };
}

/// # Safety
/// `stream` came from this library; `user` may be used by any thread until `release`.
#[no_mangle]
pub unsafe extern "C" fn edge_http_stream_watch(
    stream: *const Stream,
    event: extern "C" fn(*mut c_void),
    release: extern "C" fn(*mut c_void),
    user: *mut c_void,
) {
    unsafe { with(stream, |stream| stream.watch(Watch { event, release, user })) };
}

/// # Safety
/// Pointers are valid as edge.h says.
#[no_mangle]
pub unsafe extern "C" fn edge_http_stream_start(
    stream: *const Stream,
    status: u32,
    headers: *const EdgeHttpHeader,
    header_count: usize,
    whole: *const EdgeSlice,
) {
    unsafe {
        with(stream, |stream| {
            let whole = whole.as_ref().map(|body| Bytes::copy_from_slice(body.bytes()));
            stream.start(read_head(status, values(headers, header_count)), whole);
        })
    };
}

/// # Safety
/// Pointers are valid as edge.h says.
#[no_mangle]
pub unsafe extern "C" fn edge_http_stream_write(stream: *const Stream, piece: EdgeSlice) -> u32 {
    let mut is_taken = false;
    unsafe {
        with(stream, |stream| is_taken = stream.write(Bytes::copy_from_slice(piece.bytes())))
    };
    is_taken.into()
}

/// # Safety
/// `stream` came from this library.
#[no_mangle]
pub unsafe extern "C" fn edge_http_stream_finish(stream: *const Stream) {
    unsafe { with(stream, |stream| stream.finish()) };
}

/// # Safety
/// `stream` came from this library.
#[no_mangle]
pub unsafe extern "C" fn edge_http_stream_reset(stream: *const Stream) {
    unsafe { with(stream, |stream| stream.reset()) };
}

/// # Safety
/// `stream` came from this library.
#[no_mangle]
pub unsafe extern "C" fn edge_http_stream_pending(stream: *const Stream) -> usize {
    unsafe { &*stream }.pending()
}

/// # Safety
/// `stream` came from this library.
#[no_mangle]
pub unsafe extern "C" fn edge_http_stream_is_gone(stream: *const Stream) -> u32 {
    unsafe { &*stream }.is_gone().into()
}

/// # Safety
/// `stream` came from this library.
#[no_mangle]
pub unsafe extern "C" fn edge_http_stream_remind(stream: *const Stream) {
    unsafe {
        guarded(null_mut(), || {
            Arc::increment_strong_count(stream);
            Arc::from_raw(stream).remind();
            Ok(())
        })
    };
}

/// # Safety
/// `stream` came from this library and is given back once, or is null.
#[no_mangle]
pub unsafe extern "C" fn edge_http_stream_free(stream: *mut Stream) {
    if !stream.is_null() {
        unsafe {
            guarded(null_mut(), || {
                let stream = Arc::from_raw(stream);
                stream.abandon();
                Ok(())
            })
        };
    }
}
