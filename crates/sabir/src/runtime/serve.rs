//! Running a connection.

use std::io;

use sabir_proto::Cause;

use crate::peer::Peer;
use crate::peer::commands::Wish;
use crate::router::Router;
use crate::runtime::connection::Connection;
use crate::runtime::signals::asked_to_stop;
use crate::transport::{Opened, Transport};

/// Serves one connection until it ends. That the peer has gone, or that we were asked to stop, is a good
/// end; anything else is the error.
pub async fn serve(transport: impl Into<Transport>, router: Router) -> Result<(), Cause> {
    let opened = transport.into().open().await.map_err(|e| Cause::Lost(e.to_string().into()))?;
    let Opened { port, config, on_report, grace, heeds_signals, .. } = opened;
    let connection = Connection::new(config, router.into_routes(), port, on_report);
    let peer = connection.peer();
    let cause = if heeds_signals {
        let stop = asked_to_stop();
        let mut connection = std::pin::pin!(connection);
        tokio::select! {
            cause = &mut connection => cause,
            () = stop => {
                let _ = peer.shared.wish(Wish::Shutdown(grace));
                connection.await
            }
        }
    } else {
        connection.await
    };
    good_end(cause)
}

/// Which ends are good ones.
pub(crate) fn good_end(cause: Cause) -> Result<(), Cause> {
    match cause {
        Cause::Ended | Cause::Shutdown | Cause::Idle => Ok(()),
        // A reader that has gone away is the ordinary end of a pipe or a socket.
        Cause::Lost(what) if has_gone(&what) => Ok(()),
        cause => Err(cause),
    }
}

/// What a connection says that was lost for this error. That the peer has gone begins alike on every system, in
/// front of the system's own words.
pub(crate) fn lost_text(error: &io::Error) -> String {
    let text = error.to_string();
    let start = match error.kind() {
        io::ErrorKind::BrokenPipe => BROKEN_PIPE,
        io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => CONNECTION_RESET,
        _ => return text,
    };
    match error.raw_os_error() {
        Some(_) if !text.starts_with(start) => format!("{start}: {text}"),
        // Only the kind is known.
        None if error.get_ref().is_none() => start.to_owned(),
        _ => text,
    }
}

const BROKEN_PIPE: &str = "Broken pipe";
const CONNECTION_RESET: &str = "Connection reset";

fn has_gone(what: &str) -> bool {
    what.starts_with(BROKEN_PIPE) || what.starts_with(CONNECTION_RESET)
}

/// Connects to a [URL](crate::transport::url) or over any other transport: runs the connection in a task of its own, and returns the
/// peer to call. The router answers what the peer asks in return; `Router::new()` answers nothing.
///
/// ```no_run
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let peer = sabir::connect("tcp://127.0.0.1:4000", sabir::Router::new()).await?;
/// let sum: i64 = peer.call("add", (1, 2)).await?;
/// # Ok(())
/// # }
/// ```
///
/// A [`DialError`](crate::DialError) in the error tells what went wrong: the name, the socket, TLS, or HTTP.
pub async fn connect(transport: impl Into<Transport>, router: Router) -> io::Result<Peer> {
    let opened = transport.into().open().await?;
    let connection = Connection::new(opened.config, router.into_routes(), opened.port, opened.on_report);
    let peer = connection.peer();
    #[cfg(feature = "http")]
    if let Some(headers) = opened.headers {
        let _ = peer.shared.headers.set(headers);
    }
    if let Some(process) = opened.process {
        let _ = peer.shared.process.set(process);
    }
    tokio::spawn(connection);
    Ok(peer)
}
