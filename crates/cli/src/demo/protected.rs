//! The protected demo: takes tokens of the issuers that are named, for this server.

use sabir::Http;
use sabir_mcp::{ClientCredentials, Introspection, ResourceServer};

use super::mcp;
use crate::args::ProtectionArgs;
use crate::exit::{Exit, Failure};
use crate::print::Printer;
use crate::variables;

/// The settings of HTTP. What is wrong is found here, before anything listens.
pub(super) async fn http(url: &str, args: &ProtectionArgs, printer: &Printer) -> Result<Http, Failure> {
    let resource = args.resource.as_deref().unwrap_or(url);
    let mut settings = ResourceServer::new(resource);
    settings = match introspection(args)? {
        Some(introspection) => settings.introspection(introspection),
        None => args.issuer.iter().fold(settings, |settings, issuer| settings.issuer(issuer)),
    };
    for scope in &args.scope {
        settings = match scope.split_once('=') {
            Some((tool, scope)) => settings.tool_scopes(tool, [scope]),
            None => settings.scopes([scope]),
        };
    }
    if !args.algorithm.is_empty() {
        settings = settings.algorithms(args.algorithm.iter().copied());
    }
    if args.require_dpop {
        settings = settings.require_dpop();
    }
    if args.dpop_nonces {
        settings = settings.dpop_nonces();
    }
    if args.allow_private {
        settings = settings.allow_private_addresses();
    }
    let started = settings.start().await;
    let started = started
        .map_err(|error| Failure::new(Exit::Connect, format_args!("tokens cannot be checked: {error}")))?;
    let http = started.http(&mcp::server()).map_err(Failure::usage)?;
    let (wanted, served) = (path(resource), path(url));
    if wanted != served {
        printer.note(&format!(
            "clients are told to use the path /{wanted}, but /{served} is served: a proxy has to rewrite it"
        ));
    }
    Ok(http)
}

/// The path of a URL, without slashes at its ends.
fn path(url: &str) -> &str {
    let path = url.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map_or("", |(_, path)| path);
    path.split(['?', '#']).next().unwrap_or_default().trim_matches('/')
}

/// Whom to ask about tokens, where they are not checked by keys.
fn introspection(args: &ProtectionArgs) -> Result<Option<Introspection>, Failure> {
    let (Some(endpoint), Some(id)) = (&args.introspection, &args.client_id) else { return Ok(None) };
    let [issuer] = args.issuer.as_slice() else {
        return Err(Failure::usage("--introspection is for one --issuer"));
    };
    let client = match &args.client_secret_env {
        Some(name) => {
            let secret = variables::environment(name)?;
            let unset = || Failure::usage(format_args!("the variable `{name}` is not set"));
            ClientCredentials::secret(id, secret.ok_or_else(unset)?)
        }
        None => ClientCredentials::public(id),
    };
    Ok(Some(Introspection::new(issuer, endpoint, client)))
}
