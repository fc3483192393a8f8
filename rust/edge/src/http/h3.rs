//! HTTP/3: the same requests over QUIC.

use super::activity::Activity;
use super::connection::{Alive, Shutdown};
use super::kill::Kill;
use super::quic::{BidiStream, Connection, Stopped, StoppedStreams};
use super::request::{self, BodyError, BodySource, Broken};
use super::stream::{Attached, Stream};
use super::Core;
use crate::abi::{Failure, Kind};
use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::server::{RequestResolver, RequestStream};
use http::header::{CONNECTION, CONTENT_LENGTH, DATE, TRANSFER_ENCODING};
use http::{HeaderValue, Method, Response};
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Endpoint, EndpointConfig, IdleTimeout, Incoming, TransportConfig, VarInt};
use std::future::poll_fn;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::Semaphore;
use tokio::time::{interval, timeout, MissedTickBehavior};

/// A client that answers nothing for so long is lost; one that waits answers the probes between.
const LOST_TIME: Duration = Duration::from_secs(30);
const PROBE_TIME: Duration = Duration::from_secs(10);
/// Control, and two for header compression, as HTTP/3 has them; some to spare.
const CLIENT_UNIDIRECTIONAL: u32 = 8;
/// What may be sent and not acknowledged, of a connection.
const SEND_WINDOW: u64 = 1 << 20;

pub fn listen(
    core: &Core,
    socket: std::net::UdpSocket,
    tls: rustls::ServerConfig,
) -> Result<Endpoint, Failure> {
    let internal = |error: String| Failure::new(Kind::Internal, error);
    let crypto = QuicServerConfig::try_from(tls).map_err(|error| internal(error.to_string()))?;
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(core.limits.streams_per_connection))
        .max_concurrent_uni_streams(VarInt::from_u32(CLIENT_UNIDIRECTIONAL))
        .max_idle_timeout(IdleTimeout::try_from(LOST_TIME).ok())
        .keep_alive_interval(Some(PROBE_TIME))
        .send_window(SEND_WINDOW);
    let mut config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
    config.transport_config(Arc::new(transport));
    let runtime = Arc::new(quinn::TokioRuntime);
    Endpoint::new(EndpointConfig::default(), Some(config), socket, runtime)
        .map_err(|error| internal(error.to_string()))
}

pub async fn accept(
    core: Arc<Core>,
    endpoint: Endpoint,
    slots: Arc<Semaphore>,
    mut shutdown: Shutdown,
    alive: Alive,
) {
    loop {
        let incoming = tokio::select! {
            incoming = endpoint.accept() => incoming,
            _ = shutdown.changed() => break,
        };
        let Some(incoming) = incoming else {
            break;
        };
        let Ok(slot) = slots.clone().try_acquire_owned() else {
            incoming.refuse();
            continue;
        };
        // With few places left only a client that answers from its address gets one.
        let are_few = slots.available_permits() < core.limits.connections / 2;
        if are_few && !incoming.remote_address_validated() && incoming.may_retry() {
            let _ = incoming.retry();
            continue;
        }
        let (core, shutdown, alive) = (core.clone(), shutdown.clone(), alive.clone());
        tokio::spawn(async move {
            serve(core, incoming, shutdown).await;
            drop((slot, alive));
        });
    }
    endpoint.set_server_config(None);
    // The last packets of each connection.
    endpoint.wait_idle().await;
    drop(alive);
}

type Server = h3::server::Connection<Connection, Bytes>;

async fn serve(core: Arc<Core>, incoming: Incoming, shutdown: Shutdown) {
    let Ok(connecting) = incoming.accept() else {
        return;
    };
    let stopped = StoppedStreams::default();
    let set_up = async {
        let connection = connecting.await.ok()?;
        let peer = connection.remote_address().to_string();
        let quic = Connection::new(connection, stopped.clone());
        let server: Server = h3::server::builder()
            .max_field_section_size(core.limits.decoded_header_bytes().into())
            .send_grease(false)
            .build(quic)
            .await
            .ok()?;
        Some((server, Activity::new(peer, true)))
    };
    if let Ok(Some((server, activity))) = timeout(core.limits.header_time, set_up).await {
        drive(&core, server, &activity, &stopped, shutdown).await;
    }
}

async fn drive(
    core: &Arc<Core>,
    mut server: Server,
    activity: &Arc<Activity>,
    stopped: &StoppedStreams,
    mut shutdown: Shutdown,
) {
    let mut closing_since: Option<Instant> = None;
    let mut tick = interval(core.limits.tick());
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            accepted = server.accept() => match accepted {
                Ok(Some(resolver)) => spawn_request(core, activity, stopped, resolver),
                Ok(None) | Err(_) => return,
            },
            _ = shutdown.changed(), if closing_since.is_none() => {
                closing_since = Some(Instant::now());
                let _ = server.shutdown(0).await;
            }
            _ = tick.tick() => {
                let is_idle = activity.is_idle() && activity.idle_for() >= core.limits.idle_time;
                if is_idle && closing_since.is_none() {
                    closing_since = Some(Instant::now());
                    let _ = server.shutdown(0).await;
                }
            }
        }
        if closing_since.is_some() && activity.is_idle() {
            return;
        }
    }
}

fn spawn_request(
    core: &Arc<Core>,
    activity: &Arc<Activity>,
    stopped: &StoppedStreams,
    resolver: RequestResolver<Connection, Bytes>,
) {
    let running = activity.begin_request();
    let id = h3::quic::SendStream::<Bytes>::send_id(&resolver.frame_stream);
    let stopped = stopped.lock().expect("stopped").remove(&id.into_inner());
    let (core, activity) = (core.clone(), activity.clone());
    tokio::spawn(async move {
        let kill: Arc<Kill> = Arc::default();
        let stopped = stopped.unwrap_or_else(|| Box::pin(std::future::pending()) as Stopped);
        tokio::select! {
            biased;
            () = kill.wait() => {}
            () = stopped => {}
            _ = answer(&core, &activity, resolver, &kill) => {}
        }
        drop(running);
    });
}

/// Returns when the client has all of the answer or something broke; what is dropped is reset.
async fn answer(
    core: &Core,
    activity: &Activity,
    resolver: RequestResolver<Connection, Bytes>,
    kill: &Arc<Kill>,
) -> Option<()> {
    let limits = &core.limits;
    let resolved = timeout(limits.header_time, resolver.resolve_request()).await;
    let (request, mut channel) = resolved.ok()?.ok()?;
    let (parts, ()) = request.into_parts();
    let content = request::read(core, &parts, &mut H3Body(&mut channel)).await;
    let content = match content {
        Ok(content) => content,
        Err(Broken) => return None,
    };
    if content.refusal.is_some() {
        channel.stop_sending(Code::H3_NO_ERROR);
    }
    let stream = Stream::new(kill.clone(), limits.buffer_bytes, parts.method == Method::HEAD);
    let attached = Attached(stream.clone());
    request::dispatch(core, &parts, content, &activity.peer, true, &stream);
    let head = stream.head().await;
    let mut response = Response::new(());
    *response.status_mut() = head.status;
    *response.headers_mut() = head.headers;
    let headers = response.headers_mut();
    headers.remove(CONNECTION);
    headers.remove(TRANSFER_ENCODING);
    // Clients take the length of what HEAD leaves out for a broken answer; it may be left out too.
    if let Some(length) = stream.whole_length().filter(|_| !stream.has_no_body()) {
        headers.entry(CONTENT_LENGTH).or_insert(length.into());
    }
    if let Ok(date) = HeaderValue::from_str(&httpdate::fmt_http_date(SystemTime::now())) {
        headers.entry(DATE).or_insert(date);
    }
    timeout(limits.write_time, channel.send_response(response)).await.ok()?.ok()?;
    while let Some(piece) = poll_fn(|cx| stream.poll_piece(cx)).await {
        timeout(limits.write_time, channel.send_data(piece)).await.ok()?.ok()?;
    }
    channel.finish().await.ok()?;
    drop(attached);
    // Until the client has acknowledged all of it, which ends the caller's wait.
    tokio::time::sleep(limits.write_time).await;
    None
}

struct H3Body<'a>(&'a mut RequestStream<BidiStream, Bytes>);

impl BodySource for H3Body<'_> {
    async fn next(&mut self) -> Result<Option<Bytes>, BodyError> {
        match self.0.recv_data().await {
            Ok(Some(mut data)) => Ok(Some(data.copy_to_bytes(data.remaining()))),
            Ok(None) => Ok(None),
            Err(_) => Err(BodyError::Left),
        }
    }
}
