//! Running a connection.

use std::io;
use std::time::Duration;

use sabir_proto::{Cause, Config, Lost, Role};
use tokio::task::AbortHandle;

use crate::Error;
use crate::peer::Peer;
use crate::peer::commands::Command;
use crate::router::Router;
use crate::runtime::connection::Connection;
use crate::runtime::io::Io;
use crate::runtime::signals::asked_to_stop;
use crate::transport::{Opened, Transport};

/// Serves one connection until it ends. A peer that disconnects is not an error, and neither is being asked to stop.
pub async fn serve(transport: impl Into<Transport>, router: Router) -> Result<(), Error> {
    let opened = transport.into().open().await?;
    let Opened { io, config, on_report, grace, handles_signals, network, .. } = opened;
    let connection = Connection::new(config, router.into_routes(), io, on_report);
    if let Some(network) = network {
        connection.set_network(network.without_address().into());
    }
    Ok(good_end(run(connection, handles_signals, grace).await)?)
}

/// Runs a connection until it ends, or until a signal asks it to stop, if it is to listen for one.
pub(crate) async fn run(
    connection: Connection<impl Io + Unpin>,
    handles_signals: bool,
    grace: Duration,
) -> Cause {
    if !handles_signals {
        return connection.await;
    }
    let (stop, peer) = (asked_to_stop(), connection.peer());
    // A task of its own: it is not to be looked at with each message.
    let watching = tokio::spawn(async move {
        stop.await;
        let _ = peer.shared.command(Command::Shutdown(grace));
    });
    let _watching = AbortOnDrop(watching.abort_handle());
    connection.await
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Which ends are good ones.
pub(crate) fn good_end(cause: Cause) -> Result<(), Cause> {
    match cause {
        Cause::Ended | Cause::Shutdown | Cause::Idle => Ok(()),
        // A reader that has gone away is the ordinary end of a pipe or a socket.
        Cause::Lost(lost) if has_gone(&lost) => Ok(()),
        cause => Err(cause),
    }
}

fn has_gone(lost: &Lost) -> bool {
    let chain = std::iter::successors(lost.error(), |error| error.source());
    let kinds = chain.filter_map(|error| error.downcast_ref::<io::Error>()).map(io::Error::kind);
    // Windows aborts a connection whose peer has reset it.
    let gone = [io::ErrorKind::BrokenPipe, io::ErrorKind::ConnectionReset, io::ErrorKind::ConnectionAborted];
    kinds.into_iter().any(|kind| gone.contains(&kind))
}

/// Connects to a [URL](crate::transport::url) or over any other transport: runs the connection in a task of its own, and returns the
/// peer to call. The router answers what the peer asks in return; `Router::new()` answers nothing.
///
/// ```no_run
/// # async fn run() -> Result<(), sabir::Error> {
/// let peer = sabir::connect("tcp://127.0.0.1:4000", sabir::Router::new()).await?;
/// let sum: i64 = peer.call("add", (1, 2)).await?;
/// # Ok(())
/// # }
/// ```
///
/// [`Error::Connect`](crate::Error::Connect) tells what went wrong: the name, the socket, TLS, or HTTP.
pub async fn connect(transport: impl Into<Transport>, router: Router) -> Result<Peer, Error> {
    let opened = transport.into().open().await?;
    let config = Config { role: Role::Client, ..opened.config };
    let connection = Connection::new(config, router.into_routes(), opened.io, opened.on_report);
    let peer = connection.peer();
    #[cfg(feature = "http")]
    if let Some(headers) = opened.headers {
        let _ = peer.shared.headers.set(headers);
    }
    if let Some(process) = opened.process {
        let _ = peer.shared.process.set(process);
    }
    if let Some(network) = opened.network {
        connection.set_network(network.into());
    }
    tokio::spawn(connection);
    Ok(peer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Wrapped(io::Error);

    impl std::fmt::Display for Wrapped {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("something broke")
        }
    }

    impl std::error::Error for Wrapped {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn ends_are_told_apart_by_the_kind_of_the_error() {
        use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, PermissionDenied};
        let gone = [BrokenPipe, ConnectionAborted, ConnectionReset].map(|kind| (kind, true));
        for (kind, good) in gone.into_iter().chain([(PermissionDenied, false)]) {
            // Whatever language the system speaks.
            let error = || io::Error::new(kind, "gebrochenes Rohr");
            let causes = [Lost::from_error(error()), Lost::from_error(Wrapped(error()))];
            for lost in causes {
                assert_eq!(good_end(Cause::Lost(lost.clone())).is_ok(), good, "{lost:?} {kind:?}");
            }
        }
        assert!(good_end(Cause::Lost("Broken pipe, says the peer".into())).is_err());
    }
}
