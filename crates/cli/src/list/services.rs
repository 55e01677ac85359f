//! `sabir list nats://HOST`: the services behind NATS, who serves them, and their methods.

use std::time::Duration;

use sabir::transport::nats::{Service, services};
use serde_json::json;
use tokio::time::{Instant, timeout_at};

use super::{cells, line, summary};
use crate::args::ListArgs;
use crate::detect::Watch;
use crate::discovery::{self, Discovered};
use crate::exit::{Exit, Failure};
use crate::layout::Table;
use crate::nats;
use crate::paint::Paint;
use crate::peer::{Chosen, PeerOptions};
use crate::print::Printer;
use crate::stop;
use crate::target::{Address, Target};

/// How long answers are gathered. Nobody knows how many there will be.
const WITHIN: Duration = Duration::from_millis(300);

/// The servers of NATS that are meant, if no service is named.
pub(super) fn host(chosen: &Chosen) -> Option<Address> {
    match &chosen.target {
        Target::Url(url) if url.scheme().is_nats() && url.path() == "/" => Some(url.clone()),
        _ => None,
    }
}

pub(super) async fn run(url: &Address, args: &ListArgs, printer: &Printer) -> Result<Exit, Failure> {
    let session = &args.peer.session;
    let deadline = Instant::now() + session.wire.timeout;
    stop::at(deadline);
    let chosen = Chosen::from(Target::Url(url.clone()));
    let peer = chosen.peer(&session.wire, session.protocol, Some(session.trace))?;
    let mut nats = nats::settings(url)?;
    if let Some(root) = peer.web.root() {
        nats = nats.root_certificate(root);
    }
    let asking = services(url, nats, WITHIN);
    let found = tokio::select! {
        biased;
        interrupted = stop::interrupted() => return Err(interrupted),
        found = timeout_at(deadline, asking) => match found {
            Ok(found) => found.map_err(|error| peer.unreachable(&error))?,
            Err(_) => return Err(peer.timed_out(&Watch::default())),
        },
    };
    if found.is_empty() {
        return Err(Failure::new(Exit::Connect, format_args!("no service has a worker at {}", peer.target))
            .hint("check that workers run, and that they are allowed to answer `$SRV.INFO`"));
    }
    let mut out = String::new();
    for service in &found {
        let methods = methods(&peer, url, service, printer).await;
        if args.json {
            printer.json(&service_line(service, methods.as_ref()).to_string())?;
            continue;
        }
        if !out.is_empty() {
            out.push('\n');
        }
        let layout = printer.layout();
        layout.painter.paint(&mut out, Paint::Hint, &heading(service));
        out.push('\n');
        if methods.is_none() && service.is_jsonrpc {
            out.push_str("  It does not say which methods it has: its workers answer no `rpc.discover`.\n");
        }
        if let Some(methods) = &methods {
            let mut table = Table::bare().indent(2);
            for method in &methods.document.methods {
                table.row(cells(&method.name, &summary(method)));
            }
            out.push_str(&table.text(layout));
        }
    }
    stop::never();
    if !out.is_empty() {
        printer.page(&out)?;
    }
    Ok(Exit::Ok)
}

/// What a service offers, if it says so.
async fn methods(
    peer: &PeerOptions,
    url: &Address,
    service: &Service,
    printer: &Printer,
) -> Option<Discovered> {
    if !service.is_jsonrpc {
        return None;
    }
    let target = Target::Url(url.with_service(&service.name).ok()?.into());
    discovery::discover(&PeerOptions { target, ..peer.clone() }, printer).await.ok()
}

fn heading(service: &Service) -> String {
    let count = service.instances.len();
    let mut versions: Vec<_> = service.instances.iter().map(|instance| instance.version.as_str()).collect();
    versions.dedup();
    let instances = if count == 1 { "1 instance".to_owned() } else { format!("{count} instances") };
    let speaks = if service.is_jsonrpc { "" } else { ", not JSON-RPC" };
    let name = sabir_proto::escape_controls(&service.name).into_owned();
    let versions = sabir_proto::escape_controls(&versions.join(", ")).into_owned();
    let ids: Vec<_> = service.instances.iter().map(|instance| instance.id.as_str()).collect();
    let ids = sabir_proto::escape_controls(&ids.join(" ")).into_owned();
    format!("{name} {versions} ({instances}{speaks}): {ids}")
}

fn service_line(service: &Service, methods: Option<&Discovered>) -> serde_json::Value {
    let instances: Vec<_> = service
        .instances
        .iter()
        .map(|instance| {
            json!({
                "id": instance.id,
                "version": instance.version,
                "description": instance.description,
                "metadata": instance.metadata,
            })
        })
        .collect();
    let methods = methods
        .map(|found| found.document.methods.iter().map(|method| line(method, found)).collect::<Vec<_>>());
    json!({
        "service": service.name,
        "jsonrpc": service.is_jsonrpc,
        "instances": instances,
        "methods": methods,
    })
}
