//! Binds, accepts and stops.

use super::connection::{self, Alive, Shutdown};
use super::{tls, Core, Settings};
use crate::abi::{Failure, Kind};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch, Semaphore};
use tokio_rustls::TlsAcceptor;

/// Network threads: they copy and encrypt, and wait for nothing else.
const THREADS: usize = 2;
/// Clients beyond the limit that may be told so at the same time; more are cut at once.
const REFUSALS: usize = 32;
/// Between attempts to accept when the process has no descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
#[cfg(feature = "h3")]
/// A port that is free for TCP may be taken for UDP.
const PORT_ATTEMPTS: usize = 16;

struct Running {
    runtime: Runtime,
    shutdown: watch::Sender<bool>,
    ended: mpsc::Receiver<()>,
}

pub struct Server {
    port: u16,
    running: Mutex<Option<Running>>,
}

fn bind_failure(host: &str, port: u16, error: &std::io::Error) -> Failure {
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_string() };
    let reason = match error.kind() {
        std::io::ErrorKind::AddrInUse => "address in use".to_string(),
        std::io::ErrorKind::AddrNotAvailable => "no such address on this machine".to_string(),
        std::io::ErrorKind::PermissionDenied => "not permitted".to_string(),
        _ => error.to_string(),
    };
    Failure::new(Kind::InvalidArgument, format!("{host}:{port}: {reason}"))
}

/// TCP and, with TLS and where it is asked for, UDP on the same port.
struct Bound {
    tcp: std::net::TcpListener,
    #[cfg(feature = "h3")]
    udp: Option<std::net::UdpSocket>,
    port: u16,
}

fn bind_at(address: SocketAddr, _with_udp: bool) -> std::io::Result<Bound> {
    let tcp = std::net::TcpListener::bind(address)?;
    tcp.set_nonblocking(true)?;
    let port = tcp.local_addr()?.port();
    #[cfg(feature = "h3")]
    let udp = match _with_udp {
        true => Some(std::net::UdpSocket::bind(SocketAddr::new(address.ip(), port))?),
        false => None,
    };
    Ok(Bound {
        tcp,
        #[cfg(feature = "h3")]
        udp,
        port,
    })
}

fn bind(settings: &Settings) -> Result<Bound, Failure> {
    let host = settings.host.trim_start_matches('[').trim_end_matches(']');
    let failure = |error: &std::io::Error| bind_failure(host, settings.port, error);
    let addresses = (host, settings.port).to_socket_addrs().map_err(|error| failure(&error))?;
    let with_udp = settings.offers_http3 && settings.has_tls();
    let mut last = std::io::Error::other("no address of this name");
    for address in addresses {
        #[cfg(feature = "h3")]
        let attempts = if settings.port == 0 && with_udp { PORT_ATTEMPTS } else { 1 };
        #[cfg(not(feature = "h3"))]
        let attempts = 1;
        for _ in 0..attempts {
            match bind_at(address, with_udp) {
                Ok(bound) => return Ok(bound),
                Err(error) => last = error,
            }
        }
    }
    Err(failure(&last))
}

impl Server {
    pub fn start(settings: Settings) -> Result<Server, Failure> {
        let tls = match settings.has_tls() {
            true => Some(tls::configure(&settings.tls_certificate, &settings.tls_key)?),
            false => None,
        };
        let bound = bind(&settings)?;
        let internal = |error: std::io::Error| Failure::new(Kind::Internal, error.to_string());
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("http")
            .enable_all()
            .build()
            .map_err(internal)?;
        let (shutdown, receiver) = watch::channel(false);
        let (alive, ended) = mpsc::channel(1);
        let slots = Arc::new(Semaphore::new(settings.limits.connections));
        let core = Arc::new(Core::new(settings));
        let guard = runtime.enter();
        let listener = TcpListener::from_std(bound.tcp).map_err(internal)?;
        #[cfg(feature = "h3")]
        if let (Some(socket), Some((_, quic))) = (bound.udp, &tls) {
            let endpoint = super::h3::listen(&core, socket, quic.clone())?;
            core.announce_http3(bound.port);
            let (core, slots) = (core.clone(), slots.clone());
            let (receiver, alive) = (receiver.clone(), alive.clone());
            runtime.spawn(super::h3::accept(core, endpoint, slots, receiver, alive));
        }
        drop(guard);
        let acceptor = tls.map(|(tcp, _)| TlsAcceptor::from(Arc::new(tcp)));
        runtime.spawn(accept(core.clone(), listener, acceptor, slots, receiver, alive));
        let running = Mutex::new(Some(Running { runtime, shutdown, ended }));
        Ok(Server { port: bound.port, running })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Afterwards nothing calls C++ any more, and every client that is left is gone.
    pub fn stop(&self, drain: Duration) {
        let Some(mut running) = self.running.lock().expect("running").take() else {
            return;
        };
        let _ = running.shutdown.send(true);
        if !drain.is_zero() {
            let ended = running.ended.recv();
            running.runtime.block_on(async {
                let _ = tokio::time::timeout(drain, ended).await;
            });
        }
        drop(running.runtime);
    }
}

async fn accept(
    core: Arc<Core>,
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    slots: Arc<Semaphore>,
    mut shutdown: Shutdown,
    alive: Alive,
) {
    let refusals = Arc::new(Semaphore::new(REFUSALS));
    // None once the server stops: those who come then can be told so, and are not waited for.
    let mut alive = Some(alive);
    loop {
        let accepted = tokio::select! {
            biased;
            _ = shutdown.changed(), if alive.is_some() => {
                alive = None;
                continue;
            }
            accepted = listener.accept() => accepted,
        };
        let Ok((tcp, peer)) = accepted else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        // The stop may have begun between the looks at both.
        if *shutdown.borrow_and_update() {
            alive = None;
        }
        if let Ok(slot) = slots.clone().try_acquire_owned() {
            let (core, tls, alive) = (core.clone(), tls.clone(), alive.clone());
            let shutdown = shutdown.clone();
            tokio::spawn(async move {
                connection::serve(core, tcp, peer.to_string(), tls, shutdown).await;
                drop((slot, alive));
            });
        } else if let (None, Ok(refusal)) = (&tls, refusals.clone().try_acquire_owned()) {
            let core = core.clone();
            tokio::spawn(async move {
                connection::refuse(core, tcp, peer.to_string()).await;
                drop(refusal);
            });
        }
    }
}
