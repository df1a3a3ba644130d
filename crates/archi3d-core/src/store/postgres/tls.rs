//! TLS as `sslmode` asks for it, by rustls with ring.
//!
//! `prefer` and `require` hide what is said from whoever only listens; they verify nobody, as libpq has it. `verify-ca`
//! asks for a certificate of a known authority, `verify-full` also for one that is made out to this host.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use rustls_platform_verifier::Verifier as PlatformVerifier;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::error::{PgError, PgResult};
use super::url::{SslMode, StoreUrl};
use crate::workspace::durable;

/// No certificate file is longer than this.
const LONGEST: u64 = 4 << 20;

/// Makes what the client needs to speak TLS with the server of a URL.
pub(super) fn connector(url: &StoreUrl) -> PgResult<MakeRustlsConnect> {
    let provider = Arc::new(ring::default_provider());
    let verifier = verifier(url, &provider)?;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| refuse(&error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let config = match (&url.cert, &url.key) {
        (Some(cert), Some(key)) => {
            let chain = certificates(cert)?;
            let key = PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|_| {
                refuse(&format!("{} has no private key in PEM form", key.display()))
            })?;
            builder
                .with_client_auth_cert(chain, key)
                .map_err(|error| refuse(&format!("sslcert and sslkey: {error}")))?
        }
        _ => builder.with_no_client_auth(),
    };
    Ok(MakeRustlsConnect::new(config))
}

fn verifier(
    url: &StoreUrl,
    provider: &Arc<CryptoProvider>,
) -> PgResult<Arc<dyn ServerCertVerifier>> {
    let named = url.root_cert.as_deref().filter(|cert| *cert != "system");
    let any_name = |roots| {
        let provider = provider.clone();
        Arc::new(AnyName { roots, provider })
    };
    match (url.ssl_mode, named) {
        (SslMode::Disable | SslMode::Prefer, _) | (SslMode::Require, None) => Ok(any_name(None)),
        // As libpq has it: whoever names an authority wants it asked.
        (SslMode::Require | SslMode::VerifyCa, Some(path)) => {
            Ok(any_name(Some(known_roots(Path::new(path), provider)?)))
        }
        (SslMode::VerifyFull, Some(path)) => Ok(known_roots(Path::new(path), provider)?),
        (SslMode::VerifyCa | SslMode::VerifyFull, None) => {
            let system = PlatformVerifier::new(provider.clone()).map_err(|error| {
                refuse(&format!(
                    "the machine's certificates cannot be used: {error}"
                ))
            })?;
            if url.ssl_mode == SslMode::VerifyFull {
                Ok(Arc::new(system))
            } else {
                // Anybody can have a certificate of a public authority: without a name it proves nothing.
                Err(refuse(
                    "sslmode=verify-ca needs sslrootcert=FILE; with the machine's certificates use verify-full",
                ))
            }
        }
    }
}

/// Tells why nobody can be verified by the certificates of this machine, if so.
pub fn machine_certificates() -> PgResult<()> {
    let provider = Arc::new(ring::default_provider());
    let found = PlatformVerifier::new(provider);
    found.map(drop).map_err(|error| refuse(&error.to_string()))
}

fn known_roots(path: &Path, provider: &Arc<CryptoProvider>) -> PgResult<Arc<WebPkiServerVerifier>> {
    let mut roots = RootCertStore::empty();
    for cert in certificates(path)? {
        roots
            .add(cert)
            .map_err(|error| refuse(&format!("{}: {error}", path.display())))?;
    }
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .build()
        .map_err(|error| refuse(&format!("{}: {error}", path.display())))
}

fn certificates(path: &Path) -> PgResult<Vec<CertificateDer<'static>>> {
    let bytes = read(path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(refuse(&format!(
            "{} has no certificate in PEM form",
            path.display()
        ))),
    }
}

fn read(path: &Path) -> PgResult<Vec<u8>> {
    // Links are followed: that is how Kubernetes mounts secrets.
    let opened = File::open(path).and_then(|file| durable::read_open(file, LONGEST));
    opened.map_err(|error| refuse(&format!("cannot read {}: {error}", path.display())))
}

fn refuse(what: &str) -> PgError {
    PgError::Url {
        what: what.to_owned(),
    }
}

/// Lets any name pass, and any certificate where no authority is known; the handshake's signature must still fit it. The
/// name is looked at last, so a name that does not fit means that everything else did.
#[derive(Debug)]
struct AnyName {
    roots: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        cert: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(roots) = &self.roots else {
            return Ok(ServerCertVerified::assertion());
        };
        match roots.verify_server_cert(cert, others, name, ocsp, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(
            message,
            cert,
            signed,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(
            message,
            cert,
            signed,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
