//! Serves a router of recorded or made-up answers, on standard streams or at a URL.

use std::future::Future;
use std::io::{self, IsTerminal};
use std::pin::Pin;

use sabir::{Dialect, Error, Framing, Http, LSP, MCP, PLAIN, Router, Server, ServerTls, transport};

use crate::demo::cannot_listen;
use crate::exit::Failure;
use crate::nats;
use crate::print::Printer;

/// How to serve.
pub(crate) struct ServeOptions {
    /// Where; standard streams without.
    pub(crate) listen: Option<String>,
    /// `None` is whichever the client uses.
    pub(crate) framing: Option<Framing>,
    pub(crate) protocol: Served,
    /// With which certificate.
    pub(crate) tls: Option<ServerTls>,
}

/// What is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Served {
    Plain,
    Mcp,
    Lsp,
}

impl Served {
    /// By the profile of a recording.
    pub(crate) fn of(profile: Option<&str>) -> Self {
        match profile {
            Some("mcp") => Served::Mcp,
            Some("lsp") => Served::Lsp,
            _ => Served::Plain,
        }
    }

    pub(crate) fn dialect(self) -> Dialect {
        match self {
            Served::Plain => PLAIN,
            Served::Mcp => MCP,
            Served::Lsp => LSP,
        }
    }

    pub(crate) fn http(self) -> Http {
        match self {
            Served::Mcp => sabir_mcp::streamable_http(),
            Served::Plain | Served::Lsp => Http::new(),
        }
    }

    /// The framing on standard streams, if nobody says.
    pub(crate) fn framing(self) -> Framing {
        if self == Served::Lsp { Framing::Headers } else { Framing::Lines }
    }
}

/// Where it is served.
pub(crate) enum Place {
    Stdio(Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>),
    Listening(Box<Server>),
}

/// Binds the address, and says where that is. Nothing is served before the result is run.
pub(crate) async fn listening(
    router: Router,
    options: ServeOptions,
    printer: &Printer,
) -> Result<Place, Failure> {
    let ServeOptions { listen, framing, protocol, tls } = options;
    let Some(url) = listen else {
        if io::stdin().is_terminal() {
            printer.note("serving on standard input: type a message and press enter; Ctrl-D ends");
        }
        let framing = framing.unwrap_or_else(|| protocol.framing());
        let transport = transport::stdio().framing(framing).dialect(protocol.dialect()).with_signals();
        return Ok(Place::Stdio(Box::pin(sabir::serve(transport, router))));
    };
    let mut server = sabir::listen(&url, router).framing(framing).dialect(protocol.dialect());
    server = server.nats(nats::for_worker(&url)?);
    if let Some(tls) = tls {
        server = server.tls(tls);
    }
    let server =
        server.http(protocol.http()).with_signals().await.map_err(|error| cannot_listen(&url, &error))?;
    printer.note(&format!("serving on {}", server.url()));
    Ok(Place::Listening(Box::new(server)))
}
