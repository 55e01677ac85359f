//! Serves behind something that changes bytes, for faults that the library would not make.

use std::net::SocketAddr;
use std::time::Duration;

use sabir::Router;
use sabir::transport::{self, RawStreams, Scheme};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, copy, split};
use tokio::net::TcpStream;

use super::bytes::Faulty;
use crate::demo::cannot_listen;
use crate::exit::{Exit, Failure};
use crate::listener::{Accepted, Listener, Place};
use crate::print::Printer;
use crate::serve::ServeOptions;
use crate::web::Duplex;

/// Connections at the same time. Others wait.
const MOST: usize = 256;

/// How long a client may take for the handshake of TLS.
const HANDSHAKE: Duration = Duration::from_secs(20);

pub(super) async fn serve(router: Router, options: ServeOptions, printer: &Printer) -> Result<(), Failure> {
    match options.listen.clone() {
        None => stdio(router, options).await,
        Some(url) => listen(&url, router, options, printer).await,
    }
}

async fn stdio(router: Router, options: ServeOptions) -> Result<(), Failure> {
    let stopped =
        |error: sabir::Error| Failure::new(Exit::Protocol, format_args!("stopped serving: {error}"));
    let RawStreams { read, write, .. } = transport::stdio().into_streams().await.map_err(stopped)?;
    let framing = options.framing.unwrap_or_else(|| options.protocol.framing());
    let transport = transport::streams(read, Faulty::new(write));
    let transport = transport.framing(framing).dialect(options.protocol.dialect()).with_signals();
    // A connection that was closed on purpose is not a failure.
    let _ = sabir::serve(transport, router).await;
    Ok(())
}

async fn listen(at: &str, router: Router, options: ServeOptions, printer: &Printer) -> Result<(), Failure> {
    let place = Place::parse(at)?;
    let scheme = place.url.scheme();
    if scheme == Scheme::Pipe || scheme.is_nats() {
        return Err(Failure::usage(format_args!("the faults garbage and close cannot be used at {at}"))
            .hint("listen at tcp://, http:// or unix:"));
    }
    let listener = Listener::bind(&place).await?;
    let path = if scheme.is_web() { place.url.path() } else { "" };
    // Faults are in what is encrypted, so TLS ends here.
    let inside = match scheme {
        Scheme::Https => "http",
        Scheme::Wss => "ws",
        Scheme::Tls | Scheme::Unix => "tcp",
        other => other.name(),
    };
    let tls = options.tls.filter(|_| scheme.is_secure());
    let inner = sabir::listen(format!("{inside}://127.0.0.1:0{path}"), router)
        .framing(options.framing)
        .dialect(options.protocol.dialect())
        .http(options.protocol.http())
        .with_signals()
        .await
        .map_err(|error| cannot_listen(at, &error))?;
    let authority = inner.url().split("://").nth(1).and_then(|rest| rest.split('/').next());
    let inside: SocketAddr = authority
        .and_then(|authority| authority.parse().ok())
        .ok_or_else(|| Failure::new(Exit::Connect, "cannot find the server behind the faults"))?;
    printer.note(&format!("serving on {}", listener.url()));
    let slots = std::sync::Arc::new(tokio::sync::Semaphore::new(MOST));
    let accept = async {
        while let Ok(slot) = slots.clone().acquire_owned().await {
            let Ok(client) = listener.accept().await else {
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let tls = tls.clone();
            tokio::spawn(async move {
                let client: Duplex = match client {
                    Accepted::Tcp(client) => Box::pin(client),
                    #[cfg(unix)]
                    Accepted::Unix(client) => Box::pin(client),
                };
                match tls {
                    None => pass(client, inside).await,
                    Some(tls) => {
                        if let Ok(Ok(client)) = tokio::time::timeout(HANDSHAKE, tls.accept(client)).await {
                            pass(client, inside).await;
                        }
                    }
                }
                drop(slot);
            });
        }
    };
    tokio::select! {
        served = inner.run() => {
            served.map_err(|error| Failure::new(Exit::Connect, format_args!("stopped serving: {error}")))
        }
        () = accept => Ok(()),
    }
}

/// Passes bytes on until one side ends, or a fault does.
async fn pass(client: impl AsyncRead + AsyncWrite, inside: SocketAddr) {
    let Ok(server) = TcpStream::connect(inside).await else { return };
    let _ = server.set_nodelay(true);
    let (mut from_client, to_client) = split(client);
    let (mut from_server, mut to_server) = split(server);
    let mut to_client = Faulty::new(to_client);
    let asks = async {
        let _ = copy(&mut from_client, &mut to_server).await;
        let _ = to_server.shutdown().await;
        // The answers to what was asked are still to come.
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = asks => {}
        _ = copy(&mut from_server, &mut to_client) => drop(to_client.shutdown().await),
    }
}
