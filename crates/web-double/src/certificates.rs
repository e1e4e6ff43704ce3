//! Certificates of the server: a good one, and bad ones.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// The certificate that the server shows. All but the self-signed one are issued by the authority that
/// [`WebDouble::root_certificate`](crate::WebDouble::root_certificate) returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certificate {
    /// Valid for `localhost` and `127.0.0.1`.
    Good,
    /// Valid for another host.
    OtherHost,
    /// Valid until 2001.
    Expired,
    /// For `localhost`, issued by itself.
    SelfSigned,
}

/// A certificate for a server of another program, as PEM.
#[derive(Debug, Clone)]
pub struct Issued {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
    /// The certificate of its authority.
    pub root: String,
}

impl Certificate {
    /// Issues such a certificate.
    ///
    /// # Panics
    /// It cannot be made.
    #[must_use]
    pub fn issue(self) -> Issued {
        let (shown, key, root) = made(self).expect("a certificate");
        Issued { certificate: shown.pem(), key: key.serialize_pem(), root: root.pem() }
    }
}

/// A server's configuration of TLS, and the certificate of its authority as PEM.
pub(crate) fn issue(certificate: Certificate) -> Result<(Arc<ServerConfig>, String), Box<dyn std::error::Error>> {
    let (shown, key, root) = made(certificate)?;
    let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from(shown)], private)?;
    Ok((Arc::new(config), root.pem()))
}

/// A certificate, its key, and the certificate of its authority.
fn made(certificate: Certificate) -> Result<(rcgen::Certificate, KeyPair, rcgen::Certificate), rcgen::Error> {
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_key = KeyPair::generate()?;
    let root = authority.self_signed(&authority_key)?;
    let issuer = Issuer::from_params(&authority, &authority_key);

    let names = match certificate {
        Certificate::OtherHost => vec!["other.example".to_owned()],
        _ => vec!["localhost".to_owned(), "127.0.0.1".to_owned()],
    };
    let mut params = CertificateParams::new(names)?;
    if certificate == Certificate::Expired {
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = date_time_ymd(2001, 1, 1);
    }
    let key = KeyPair::generate()?;
    let shown = match certificate {
        Certificate::SelfSigned => params.self_signed(&key)?,
        _ => params.signed_by(&key, &issuer)?,
    };
    Ok((shown, key, root))
}
