//! What a profile adds to the rules of JSON-RPC itself.

pub(crate) mod a2a;
pub(crate) mod eth;
pub(crate) mod lsp;
pub(crate) mod mcp;
pub(crate) mod profile;

use sabir_proto::{Dialect, Notification, Request, Response};

use crate::rules::engine::calls::{Call, Mark, Side};
use crate::rules::engine::finding::{Report, quoted};
use crate::rules::engine::session::CheckContext;
use crate::rules::protocols::eth::Eth;
use crate::rules::protocols::lsp::Lsp;
use crate::rules::protocols::mcp::Mcp;
use crate::rules::protocols::profile::Profile;
use crate::rules::schemas::MemoryBudget;
use crate::rules::table::{A2A001, LSP006, LSP010, RPC022, Rule};

/// The protocol of one connection, with what it has to remember.
pub(crate) enum Protocol {
    Plain(Profile),
    Mcp(Box<Mcp>),
    Lsp(Box<Lsp>),
    A2a,
    Eth(Box<Eth>),
}

impl Protocol {
    /// `budget` is for the schemas that the connection shows.
    pub(crate) fn new(profile: Profile, budget: &MemoryBudget) -> Self {
        match profile {
            Profile::JsonRpc | Profile::Lenient => Protocol::Plain(profile),
            Profile::Mcp(revision) => Protocol::Mcp(Box::new(Mcp::new(revision, budget.clone()))),
            Profile::Lsp => Protocol::Lsp(Box::default()),
            Profile::A2a => Protocol::A2a,
            Profile::Eth => Protocol::Eth(Box::default()),
        }
    }

    /// What is legal, as far as it is known by now.
    pub(crate) fn dialect(&self) -> Dialect {
        match self {
            Protocol::Plain(profile) => profile.dialect(),
            Protocol::Mcp(mcp) => mcp.revision().dialect(),
            Protocol::Lsp(_) => sabir_proto::LSP,
            Protocol::A2a | Protocol::Eth(_) => sabir_proto::PLAIN,
        }
    }

    /// Who sends a method, if only one side does.
    pub(crate) fn sender(&self, method: &str) -> Option<Side> {
        match self {
            Protocol::Mcp(mcp) => mcp.sender(method),
            Protocol::Lsp(_) => crate::rules::protocols::lsp::sender(method),
            Protocol::Eth(_) if method == "eth_subscription" => Some(Side::Server),
            _ => None,
        }
    }

    /// A request, before it is open. What the protocol wants to know of it when its answer comes.
    pub(crate) fn request(&mut self, context: &mut CheckContext<'_>, request: &Request<'_>) -> Mark {
        match self {
            Protocol::Plain(_) => Mark::default(),
            Protocol::Mcp(mcp) => mcp.request(context, request),
            Protocol::Lsp(lsp) => lsp.request(context, request).into(),
            Protocol::A2a => a2a::request(context, request).into(),
            Protocol::Eth(eth) => eth.request(context, request).into(),
        }
    }

    pub(crate) fn notification(&mut self, context: &mut CheckContext<'_>, notification: &Notification<'_>) {
        match self {
            Protocol::Plain(_) | Protocol::A2a => {}
            Protocol::Mcp(mcp) => mcp.notification(context, notification),
            Protocol::Lsp(lsp) => lsp.notification(context, notification),
            Protocol::Eth(eth) => eth.notification(context, notification),
        }
    }

    /// A response, and what it answers if that is known.
    pub(crate) fn response(
        &mut self,
        context: &mut CheckContext<'_>,
        response: &Response<'_>,
        asked: Option<&Call>,
    ) {
        match self {
            Protocol::Plain(_) => {}
            Protocol::Mcp(mcp) => mcp.response(context, response, asked),
            Protocol::Lsp(lsp) => lsp.response(context, response, asked),
            Protocol::A2a => a2a::response(context, response),
            Protocol::Eth(eth) => eth.response(context, response, asked),
        }
    }

    pub(crate) fn batch(&mut self, context: &mut CheckContext<'_>) {
        match self {
            Protocol::Mcp(mcp) => mcp.batch(context),
            Protocol::Lsp(_) => {
                let entry = context.entry;
                context.add(&LSP010, entry, "LSP has no batches");
            }
            _ => {}
        }
    }

    /// The rule that a second answer to a method breaks, if it breaks one.
    pub(crate) fn repeated(&self, method: &str) -> Option<&'static Rule> {
        match self {
            Protocol::A2a if a2a::streams(method) => None,
            Protocol::A2a => Some(&A2A001),
            _ => Some(&RPC022),
        }
    }

    /// Whether `1` may be answered as `"1"`.
    pub(crate) fn forgives_types(&self) -> bool {
        matches!(self, Protocol::Plain(Profile::Lenient))
    }

    /// Whether -32600 is wrong for a valid request. LSP uses it after `shutdown`.
    pub(crate) fn wants_valid_answered(&self) -> bool {
        matches!(self, Protocol::Plain(Profile::JsonRpc) | Protocol::A2a)
    }

    /// At the end a request is open that was cancelled at `line`.
    pub(crate) fn cancelled_unanswered(&self, call: &Call, line: u64, report: &mut Report) {
        if let Protocol::Lsp(_) = self {
            let what = format!("{} was cancelled and never answered", quoted(&call.method));
            call.report(&LSP006, what, report);
            report.related(&LSP006, line, "it is cancelled here");
        }
    }

    /// Records are missing. Forgets what they may have changed.
    pub(crate) fn missed(&mut self) {
        match self {
            Protocol::Plain(_) | Protocol::A2a => {}
            Protocol::Mcp(mcp) => mcp.missed(),
            Protocol::Lsp(lsp) => lsp.missed(),
            Protocol::Eth(eth) => eth.missed(),
        }
    }

    pub(crate) fn finish(&mut self, report: &mut Report) {
        if let Protocol::Mcp(mcp) = self {
            mcp.finish(report);
        }
    }
}
