//! A peer to talk to, as the options of a command describe it.

use std::time::Duration;

use sabir::{Framing, Transport};

use crate::args::WireArgs;
use crate::auth::StoredLogin;
use crate::exit::Failure;
use crate::print::Printer;
use crate::session::Protocol;
use crate::target::Target;
use crate::targets;
use crate::web::Web;

#[derive(Debug, Clone)]
pub(crate) struct PeerOptions {
    pub(crate) target: Target,
    pub(crate) framing: Framing,
    /// What it is known to speak.
    pub(crate) protocol: Option<Protocol>,
    pub(crate) web: Web,
    pub(crate) timeout: Duration,
    /// The largest message that is accepted.
    pub(crate) max_size: usize,
    /// Whether `--trace` was given. `None` if the command does not have it.
    pub(crate) trace: Option<bool>,
}

impl PeerOptions {
    pub(crate) fn traces(&self) -> bool {
        self.trace == Some(true)
    }

    /// What the target seems to speak by its name, if nobody says it.
    pub(crate) fn guess(&self) -> Option<Protocol> {
        self.protocol.is_none().then(|| Protocol::guess(&self.target, "")).flatten()
    }

    /// Whether it is MCP in its first form over HTTP.
    pub(crate) fn has_event_stream(&self) -> bool {
        self.protocol.or(self.guess()).is_some_and(|protocol| protocol.has_event_stream(&self.target))
    }

    /// With the tokens of an earlier login: for a server over HTTP, unless the user gives credentials.
    pub(crate) fn logged_in(&self, transport: Transport) -> Transport {
        match self.login() {
            Some(login) => transport.authorizer(login),
            None => transport,
        }
    }

    /// The tokens of an earlier login, where they may be sent.
    pub(crate) fn login(&self) -> Option<StoredLogin> {
        match &self.target {
            Target::Url(url) if url.scheme().is_http() && !self.web.has("authorization") => {
                Some(StoredLogin::of(url.as_str(), self.web.root()))
            }
            _ => None,
        }
    }

    /// The framing on the wire: none where the transport delimits messages.
    pub(crate) fn wire_framing(&self) -> Framing {
        if self.target.delimits_messages() { Framing::Whole } else { self.framing }
    }
}

/// What a TARGET of the command line, or the command after `--`, stands for.
#[derive(Debug, Clone)]
pub(crate) struct Chosen {
    pub(crate) target: Target,
    /// What a saved target says. Options of the command line win.
    pub(crate) framing: Option<Framing>,
    pub(crate) protocol: Option<Protocol>,
    pub(crate) headers: Vec<(String, String)>,
}

impl Chosen {
    /// A target as it is typed, or the name of a saved one.
    pub(crate) fn of(text: &str, printer: &Printer) -> Result<Chosen, Failure> {
        let parsed = match Target::is_one(text) {
            true => Target::parse(text),
            false => match targets::find(text, printer)? {
                Some(chosen) => return Ok(chosen),
                // It says what a target is.
                None => Target::parse(text),
            },
        };
        parsed.map(Chosen::from)
    }

    /// The peer, with the options of the command line. `trace` is whether `--trace` was given; `None` if the command does
    /// not have it.
    pub(crate) fn peer(
        self,
        wire: &WireArgs,
        protocol: Option<Protocol>,
        trace: Option<bool>,
    ) -> Result<PeerOptions, Failure> {
        let WireArgs { timeout, max_size, framing, web } = wire;
        let protocol = protocol.or(self.protocol);
        let usual = Protocol::framing(protocol, Protocol::guess(&self.target, ""));
        let mut web = Web::new(web)?.with(self.headers);
        if let Target::Url(address) = &self.target {
            web = web.for_target(address)?;
        }
        web.check(&self.target)?;
        Ok(PeerOptions {
            target: self.target,
            framing: framing.map(Framing::from).or(self.framing).unwrap_or(usual),
            protocol,
            web,
            timeout: *timeout,
            max_size: *max_size,
            trace,
        })
    }
}

impl From<Target> for Chosen {
    fn from(target: Target) -> Self {
        Chosen { target, framing: None, protocol: None, headers: Vec::new() }
    }
}
