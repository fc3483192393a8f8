//! Certificates from PEM files.

use crate::abi::{Failure, Kind};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::ServerConfig;
use std::sync::Arc;

fn file_error(what: &str, path: &str, error: pem::Error) -> Failure {
    let (kind, reason) = match &error {
        pem::Error::Io(io) if io.kind() == std::io::ErrorKind::NotFound => {
            (Kind::NotFound, "there is no such file".to_string())
        }
        pem::Error::Io(io) => (Kind::InvalidFile, io.to_string()),
        pem::Error::NoItemsFound => (Kind::InvalidFile, format!("it holds no {what} in PEM form")),
        _ => (Kind::InvalidFile, error.to_string()),
    };
    Failure::new(kind, format!("{path}: {reason}"))
}

/// The configurations of TCP and, by their protocol names apart, of QUIC.
pub fn configure(certificate: &str, key: &str) -> Result<(ServerConfig, ServerConfig), Failure> {
    let chain: Vec<CertificateDer> = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect)
        .map_err(|error| file_error("certificate", certificate, error))?;
    if chain.is_empty() {
        return Err(file_error("certificate", certificate, pem::Error::NoItemsFound));
    }
    let private =
        PrivateKeyDer::from_pem_file(key).map_err(|error| file_error("private key", key, error))?;
    let mut tcp = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Failure::new(Kind::Internal, error.to_string()))?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(|error| Failure::file(format!("{certificate} with {key}: {error}")))?;
    let mut quic = tcp.clone();
    tcp.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    quic.alpn_protocols = vec![b"h3".to_vec()];
    Ok((tcp, quic))
}
