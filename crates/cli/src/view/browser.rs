//! The live view: a page for a browser on this machine.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use sabir_model::capture::ReadError;
use sabir_model::rules::Profile;
use tokio::net::TcpListener;

use super::api::Api;
use super::capture::Capture;
use super::web::{self, Web};

/// A page that is being served.
pub(crate) struct View {
    /// Where to open it. It has the token.
    pub(crate) address: String,
    listener: TcpListener,
    web: Arc<Web>,
}

impl View {
    /// Opens a capture and a port. `live` captures grow.
    pub(crate) async fn open(path: &Path, live: bool, profile: Option<Profile>, port: u16) -> Result<View, ReadError> {
        let capture = Capture::open(path, live, profile)?;
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
        let at = listener.local_addr()?;
        let token = token()?;
        let address = web::address(at, &token);
        Ok(View { address, listener, web: Arc::new(Web { api: Api(capture), token, port: at.port() }) })
    }

    /// Serves it, for as long as it is polled.
    pub(crate) async fn serve(self) {
        web::serve(self.listener, self.web).await;
    }
}

/// 128 bits that nobody can guess.
fn token() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(std::io::Error::from)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
