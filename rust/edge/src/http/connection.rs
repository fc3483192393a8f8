//! One TCP connection: TLS, which HTTP it speaks, and its time limits.

use super::activity::{Activity, Rewound, Watched};
use super::kill::{Kill, StreamExecutor};
use super::muzzle::Muzzled;
use super::no_request;
use super::service::Service;
use super::Core;
use bytes::Bytes;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioIo, TokioTimer};
use socket2::{SockRef, TcpKeepalive};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::time::{interval, timeout, MissedTickBehavior};
use tokio_rustls::TlsAcceptor;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// How much hyper may buffer of an HTTP/1 connection beside what one head may take.
const BUFFER_SLACK: usize = 16 << 10;
/// Sent data may so far be unread by HTTP/2's client.
const HTTP2_SEND_BUFFER: usize = 64 << 10;
/// A client whose machine has gone answers no probe; without one nobody would know before a write.
const PROBE_TIME: Duration = Duration::from_secs(20);
/// What the kernel holds ready for a client that takes nothing, beside what is on its way; by itself
/// it would take megabytes, and nobody would see for long that the client has stopped.
#[cfg(target_os = "linux")]
const UNSENT_BYTES: u32 = 64 << 10;
/// For the last words of a connection that closes, and for what its client still sends.
const CLOSING_TIME: Duration = Duration::from_secs(1);

/// Held by each connection; the server has stopped when all are dropped.
pub type Alive = mpsc::Sender<()>;

pub type Shutdown = watch::Receiver<bool>;

trait Socket: AsyncRead + AsyncWrite + Unpin + Send + 'static {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send + 'static> Socket for T {}

/// Serves until the client or the server ends it.
pub async fn serve(
    core: Arc<Core>,
    tcp: TcpStream,
    peer: String,
    tls: Option<TlsAcceptor>,
    mut shutdown: Shutdown,
) {
    let _ = tcp.set_nodelay(true);
    let probes = TcpKeepalive::new().with_time(PROBE_TIME).with_interval(PROBE_TIME);
    let _ = SockRef::from(&tcp).set_tcp_keepalive(&probes);
    #[cfg(target_os = "linux")]
    let _ = SockRef::from(&tcp).set_tcp_notsent_lowat(UNSENT_BYTES);
    let activity = Activity::new(peer, tls.is_some());
    let socket = Watched::new(tcp, activity.clone());
    let Some(acceptor) = tls else {
        return choose(core, activity, socket, shutdown).await;
    };
    let handshake = timeout(core.limits.header_time, acceptor.accept(socket));
    let accepted = tokio::select! {
        accepted = handshake => accepted,
        _ = shutdown.changed() => return,
    };
    let Ok(Ok(encrypted)) = accepted else {
        return;
    };
    activity.forget_head();
    match encrypted.get_ref().1.alpn_protocol() {
        Some(b"h2") => serve_http2(core, activity, encrypted, shutdown).await,
        Some(_) => serve_http1(core, activity, encrypted, shutdown).await,
        None => choose(core, activity, encrypted, shutdown).await,
    }
}

/// Tells a client that finds no room, as far as it listens.
pub async fn refuse(core: Arc<Core>, mut tcp: TcpStream, peer: String) {
    let activity = Activity::new(peer, false);
    no_request::answer(&core, &activity, &no_request::no_room(), &mut tcp).await;
    say_goodbye(&mut tcp).await;
}

async fn choose(
    core: Arc<Core>,
    activity: Arc<Activity>,
    mut socket: impl Socket,
    mut shutdown: Shutdown,
) {
    let sniffed = tokio::select! {
        sniffed = sniff(&core, &activity, &mut socket) => sniffed,
        _ = shutdown.changed() => return,
    };
    let Some(read) = sniffed else {
        return;
    };
    let is_http2 = &read[..] == PREFACE;
    let socket = Rewound::new(read, socket);
    if is_http2 {
        serve_http2(core, activity, socket, shutdown).await;
    } else {
        serve_http1(core, activity, socket, shutdown).await;
    }
}

/// The first bytes, as many as tell whether they begin HTTP/2.
async fn sniff(core: &Core, activity: &Activity, socket: &mut impl Socket) -> Option<Bytes> {
    let mut read = Vec::with_capacity(PREFACE.len());
    let mut limit = core.limits.idle_time;
    let mut deadline = tokio::time::Instant::now() + limit;
    loop {
        let mut buffer = [0; PREFACE.len()];
        let room = &mut buffer[..PREFACE.len() - read.len()];
        let size = match tokio::time::timeout_at(deadline, socket.read(room)).await {
            Ok(Ok(size)) if size > 0 => size,
            Err(_) if !read.is_empty() => {
                no_request::answer(core, activity, &no_request::slow_head(), socket).await;
                say_goodbye(socket).await;
                return None;
            }
            _ => return None,
        };
        read.extend_from_slice(&room[..size]);
        if read.len() == PREFACE.len() || !PREFACE.starts_with(&read) {
            return Some(read.into());
        }
        if limit != core.limits.header_time {
            limit = core.limits.header_time;
            deadline = tokio::time::Instant::now() + limit;
        }
    }
}

async fn serve_http1(
    core: Arc<Core>,
    activity: Arc<Activity>,
    socket: impl Socket,
    shutdown: Shutdown,
) {
    let limits = &core.limits;
    let kill: Arc<Kill> = Arc::default();
    let mut builder = http1::Builder::new();
    builder
        .max_buf_size(limits.header_bytes + limits.target_bytes + BUFFER_SLACK)
        .max_headers(MAX_HEADERS)
        // This file's own clock tells a slow head from an idle connection.
        .header_read_timeout(None)
        .timer(TokioTimer::new());
    let service =
        Service { core: core.clone(), activity: activity.clone(), kill: Some(kill.clone()) };
    let muzzled = Muzzled::new(socket, activity.clone());
    let mut protocol = Http1(builder.serve_connection(TokioIo::new(muzzled), service));
    let end = drive(&core, &activity, &kill, &mut protocol, shutdown).await;
    let (mut socket, unsaid) = protocol.0.into_parts().io.into_inner().into_parts();
    let refusal = match (&end, unsaid) {
        (End::Cut, _) => return,
        (End::SlowHead, _) => Some(no_request::slow_head()),
        (_, status) => status.map(no_request::refusal_of),
    };
    if let Some(refusal) = refusal {
        no_request::answer(&core, &activity, &refusal, &mut socket).await;
        return say_goodbye(&mut socket).await;
    }
    if matches!(end, End::Done) && !activity.lingers() {
        let _ = timeout(CLOSING_TIME, socket.shutdown()).await;
    } else {
        say_goodbye(&mut socket).await;
    }
}

/// A socket that is closed while its client still sends takes the last answer away from it.
async fn say_goodbye(socket: &mut (impl AsyncRead + AsyncWrite + Unpin)) {
    let _ = timeout(CLOSING_TIME, async {
        socket.shutdown().await?;
        let mut scratch = vec![0; 16 << 10];
        while socket.read(&mut scratch).await? > 0 {}
        std::io::Result::Ok(())
    })
    .await;
}

async fn serve_http2(
    core: Arc<Core>,
    activity: Arc<Activity>,
    socket: impl Socket,
    shutdown: Shutdown,
) {
    let limits = &core.limits;
    let mut builder = http2::Builder::new(StreamExecutor);
    builder
        .max_concurrent_streams(limits.streams_per_connection)
        .max_header_list_size(limits.decoded_header_bytes())
        .max_send_buf_size(HTTP2_SEND_BUFFER)
        .timer(TokioTimer::new());
    let service = Service { core: core.clone(), activity: activity.clone(), kill: None };
    let connection = builder.serve_connection(TokioIo::new(socket), service);
    let kill = Kill::default();
    drive(&core, &activity, &kill, &mut Http2(Box::pin(connection)), shutdown).await;
}

/// More than any client sends; the bytes have a limit of their own.
const MAX_HEADERS: usize = 512;

enum End {
    Done,
    Failed,
    Cut,
    SlowHead,
}

trait Protocol {
    const IS_HTTP1: bool;
    fn poll_serve(&mut self, cx: &mut Context<'_>) -> Poll<End>;
    fn close_gracefully(&mut self);
}

struct Http1<T>(http1::Connection<TokioIo<Muzzled<T>>, Service>);

impl<T: Socket> Protocol for Http1<T> {
    const IS_HTTP1: bool = true;
    fn poll_serve(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        self.0.poll_without_shutdown(cx).map(end)
    }
    fn close_gracefully(&mut self) {
        Pin::new(&mut self.0).graceful_shutdown();
    }
}

struct Http2<T>(Pin<Box<http2::Connection<TokioIo<T>, Service, StreamExecutor>>>);

impl<T: Socket> Protocol for Http2<T> {
    const IS_HTTP1: bool = false;
    fn poll_serve(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        std::future::Future::poll(self.0.as_mut(), cx).map(end)
    }
    fn close_gracefully(&mut self) {
        self.0.as_mut().graceful_shutdown();
    }
}

fn end(result: hyper::Result<()>) -> End {
    match result {
        Ok(()) => End::Done,
        Err(_) => End::Failed,
    }
}

async fn drive(
    core: &Core,
    activity: &Activity,
    kill: &Kill,
    protocol: &mut impl Protocol,
    mut shutdown: Shutdown,
) -> End {
    let mut clock = Clock { is_draining: false, closing_since: None };
    let mut tick = interval(core.limits.tick());
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let verdict = tokio::select! {
            biased;
            () = kill.wait() => return End::Cut,
            end = poll_fn(|cx| protocol.poll_serve(cx)) => return end,
            _ = shutdown.changed(), if !clock.is_draining => {
                clock.is_draining = true;
                clock.closing_since = Some(Instant::now());
                Verdict::Close
            }
            _ = tick.tick() => clock.judge(core, activity, protocol),
        };
        match verdict {
            Verdict::GoOn => {}
            Verdict::Close => protocol.close_gracefully(),
            Verdict::End(end) => return end,
        }
    }
}

enum Verdict {
    GoOn,
    Close,
    End(End),
}

struct Clock {
    is_draining: bool,
    // A graceful end was asked for.
    closing_since: Option<Instant>,
}

impl Clock {
    fn judge<P: Protocol>(&mut self, core: &Core, activity: &Activity, _: &P) -> Verdict {
        let limits = &core.limits;
        if activity.blocked_for() >= limits.write_time {
            return Verdict::End(End::Cut);
        }
        if !P::IS_HTTP1 {
            activity.reset_stuck(limits.write_time);
        }
        if !activity.is_idle() {
            return Verdict::GoOn;
        }
        if P::IS_HTTP1 && activity.head_for() >= limits.header_time {
            return Verdict::End(End::SlowHead);
        }
        match self.closing_since {
            Some(since) => {
                let is_over = since.elapsed().min(activity.idle_for()) >= CLOSING_TIME;
                let still_sends = !activity.blocked_for().is_zero();
                match is_over && !still_sends {
                    true => Verdict::End(End::Cut),
                    false => Verdict::GoOn,
                }
            }
            None if activity.idle_for() < limits.idle_time => Verdict::GoOn,
            // The head of a request has a limit of its own.
            None if P::IS_HTTP1 && !activity.head_for().is_zero() => Verdict::GoOn,
            None => {
                self.closing_since = Some(Instant::now());
                Verdict::Close
            }
        }
    }
}
