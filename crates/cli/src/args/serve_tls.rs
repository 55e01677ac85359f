//! The certificate of the commands that listen.

use std::path::PathBuf;

use sabir::ServerTls;
use sabir::transport::Scheme;

use super::CONNECTION;
use crate::exit::Failure;

// What to serve TLS with. It goes with an option `--listen`.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct ServeTlsArgs {
    /// The certificate chain to serve TLS with (PEM)
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "listen"], help_heading = CONNECTION)]
    tls_cert: Option<PathBuf>,
    /// Its private key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = CONNECTION)]
    tls_key: Option<PathBuf>,
}

impl ServeTlsArgs {
    /// For serving at this URL. One of TLS needs a certificate.
    pub(crate) fn server_tls(&self, listen: Option<&str>) -> Result<Option<ServerTls>, Failure> {
        let scheme = listen.and_then(|url| Scheme::parse(url.split_once("://")?.0));
        match (&self.tls_cert, &self.tls_key) {
            (Some(cert), Some(key)) => ServerTls::from_files(cert, key).map(Some).map_err(Failure::usage),
            // A worker behind NATS is a client of its server.
            _ if scheme.is_some_and(|scheme| scheme.is_secure() && !scheme.is_nats()) => {
                Err(Failure::usage(format_args!("{} needs a certificate", listen.unwrap_or_default()))
                    .hint("give it with --tls-cert server.pem --tls-key server.key"))
            }
            _ => Ok(None),
        }
    }
}
