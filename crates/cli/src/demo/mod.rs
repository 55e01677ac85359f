//! `sabir demo`: serves the demo service on standard input and output, or on a port.

mod mcp;
mod protected;
pub(crate) mod rpc;

use std::io::{self, IsTerminal};

use sabir::{Dialect, Error, Http, MCP, PLAIN, Router, Sessions, transport};

use crate::args::DemoArgs;
use crate::exit::{Exit, Failure};
use crate::nats;
use crate::platform::{LISTEN, raise_descriptor_limit};
use crate::print::Printer;
use crate::telemetry;

pub(crate) async fn run(args: DemoArgs, printer: &Printer) -> Result<Exit, Failure> {
    rpc::quiet_panic();
    let telemetry = telemetry::start(
        "demo",
        telemetry::Calls::OfSessions,
        &args.telemetry,
        Some(&args.metrics),
        printer,
    )?;
    let served = match &args.listen {
        None => stdio(&args, printer).await,
        Some(url) => listen(url, &args, printer).await,
    };
    telemetry.finish(printer);
    served
}

/// The service to serve, and its dialect.
fn served(args: &DemoArgs) -> (Router, Dialect) {
    let (router, dialect) = match (args.mcp, args.chain) {
        (true, _) => (telemetry::served_mcp(mcp::server()).into_router(), MCP),
        (false, true) => (rpc::router().merge(rpc::chain::router()), PLAIN),
        (false, false) => (rpc::router(), PLAIN),
    };
    (telemetry::served(router, args.mcp), dialect)
}

async fn stdio(args: &DemoArgs, printer: &Printer) -> Result<Exit, Failure> {
    if io::stdin().is_terminal() {
        printer.note(
            "serving on standard input: type a message and press enter; Ctrl-D (on Windows Ctrl-Z) ends",
        );
    }
    let (router, dialect) = served(args);
    let transport = transport::stdio().framing(args.framing.known()).dialect(dialect).with_signals();
    match sabir::serve(transport, router).await {
        Ok(()) => Ok(Exit::Ok),
        Err(cause) => Err(Failure::new(Exit::Protocol, format_args!("stopped serving: {cause}"))),
    }
}

async fn listen(url: &str, args: &DemoArgs, printer: &Printer) -> Result<Exit, Failure> {
    let authority =
        url.split_once("://").map(|(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or_default());
    if !nats::is_one(url) && authority.is_some_and(|authority| authority.contains('@')) {
        // It is not repeated.
        return Err(Failure::usage("the URL to listen at has a name or a password in it")
            .hint("--bearer TOKEN lets in only who has the token"));
    }
    if nats::is_one(url)
        && let Some(option) = unused_by_nats(args)
    {
        return Err(Failure::usage(format_args!("{option} cannot be used with nats://"))
            .hint("messages of NATS need no framing, and its server decides who may call"));
    }
    let tls = args.tls.server_tls(Some(url))?;
    raise_descriptor_limit();
    let (tell, mut told) = tokio::sync::mpsc::channel(1);
    let (router, dialect) = served(args);
    let nats = nats::for_worker(url)?;
    let nats = nats.version(env!("CARGO_PKG_VERSION")).description("The demo service of Sabir.");
    let server = sabir::listen(url, router).framing(args.framing.known()).dialect(dialect).nats(nats);
    let mut server =
        server.http(http(url, args, printer).await?).with_signals().on_accept_error(move |error| {
            let _ = tell.try_send(format!("cannot accept connections: {error}"));
        });
    if let Some(tls) = tls {
        server = server.tls(tls);
    }
    let server = server.await.map_err(|error| cannot_listen(url, &error))?;
    printer.note(&format!("serving on {}", server.url()));
    let mut running = std::pin::pin!(server.run());
    let ended = loop {
        tokio::select! {
            ended = &mut running => break ended,
            Some(problem) = told.recv() => printer.note(&problem),
        }
    };
    match ended {
        Ok(()) => Ok(Exit::Ok),
        Err(error) => Err(Failure::new(Exit::Connect, format_args!("stopped serving: {error}"))),
    }
}

/// An option that says nothing to a worker.
fn unused_by_nats(args: &DemoArgs) -> Option<&'static str> {
    let given = [
        ("--framing", args.framing.known().is_some()),
        ("--allow-host", !args.allow_host.is_empty()),
        ("--allow-origin", !args.allow_origin.is_empty()),
        ("--bearer", args.bearer.is_some()),
    ];
    given.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
}

async fn http(url: &str, args: &DemoArgs, printer: &Printer) -> Result<Http, Failure> {
    let mut http = match (args.mcp, args.protection.issuer.is_empty()) {
        (true, false) => protected::http(url, &args.protection, printer).await?,
        (true, true) => sabir_mcp::streamable_http(),
        (false, _) => Http::new().sessions(Sessions::opened_by_subscribing()),
    };
    for origin in &args.allow_origin {
        http = http.allow_origin(origin);
    }
    for host in &args.allow_host {
        http = http.allow_host(host);
    }
    if let Some(token) = &args.bearer {
        http = http.bearer(token.clone());
    }
    Ok(http)
}

pub(crate) fn cannot_listen(url: &str, error: &Error) -> Failure {
    let kind = match error {
        Error::Bind { source, .. } => source.kind(),
        Error::Config(_) => io::ErrorKind::InvalidInput,
        _ => io::ErrorKind::Other,
    };
    match kind {
        io::ErrorKind::InvalidInput => {
            let usual = if nats::is_one(url) { "nats://HOST/SERVICE" } else { LISTEN };
            Failure::new(Exit::Usage, error).hint(format_args!("write it as {usual}"))
        }
        io::ErrorKind::AddrInUse => {
            Failure::new(Exit::Connect, error).hint("use another port or path; port 0 is any free port")
        }
        _ => Failure::new(Exit::Connect, error),
    }
}
