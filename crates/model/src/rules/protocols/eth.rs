//! Rules of Ethereum's JSON-RPC.

use std::collections::HashSet;

use sabir_proto::{JsonKind, Notification, RawJson, Request, Response};

use crate::json_path::{elements, kind, member, members, string};
use crate::rules::engine::calls::Call;
use crate::rules::engine::finding::quoted;
use crate::rules::engine::session::CheckContext;
use crate::rules::table::*;

/// Subscriptions that are remembered. Beyond it no event is called unknown.
const SUBSCRIPTIONS: usize = 4096;

/// Methods whose result is a quantity.
const QUANTITIES: [&str; 14] = [
    "eth_blobBaseFee",
    "eth_blockNumber",
    "eth_chainId",
    "eth_estimateGas",
    "eth_gasPrice",
    "eth_getBalance",
    "eth_getBlockTransactionCountByHash",
    "eth_getBlockTransactionCountByNumber",
    "eth_getTransactionCount",
    "eth_getUncleCountByBlockHash",
    "eth_getUncleCountByBlockNumber",
    "eth_maxPriorityFeePerGas",
    "eth_newFilter",
    "net_peerCount",
];

/// Members of a transaction that are quantities.
const FIELDS: [&str; 8] = [
    "chainId",
    "gas",
    "gasPrice",
    "maxFeePerBlobGas",
    "maxFeePerGas",
    "maxPriorityFeePerGas",
    "nonce",
    "value",
];

/// One connection to a node.
#[derive(Default)]
pub(crate) struct Eth {
    subscriptions: HashSet<Box<str>>,
    /// What `eth_unsubscribe` wants to end, by the id of the request.
    ending: Vec<(Box<str>, Box<str>)>,
    forgot: bool,
}

impl Eth {
    /// Records are missing: subscriptions may have begun in them.
    pub(crate) fn missed(&mut self) {
        *self = Eth { forgot: true, ..Eth::default() };
    }

    /// Nothing of a request is wanted again.
    pub(crate) fn request(&mut self, context: &mut CheckContext<'_>, request: &Request<'_>) -> bool {
        let Some(params) = request.params.as_ref().map(RawJson::as_str) else { return false };
        if kind(params) == JsonKind::Object {
            context.add(&ETH003, params, "params are given by name");
            return false;
        }
        match &*request.method {
            "eth_call" | "eth_estimateGas" | "eth_sendTransaction" | "eth_signTransaction" => {
                let transaction = elements(params).next().unwrap_or("null");
                for (name, value) in members(transaction) {
                    if FIELDS.contains(&&*name) && value != "null" {
                        quantity(context, value);
                    }
                }
            }
            "eth_unsubscribe" => {
                if let Some(subscription) = elements(params).next()
                    && self.ending.len() < SUBSCRIPTIONS
                {
                    self.ending.push((request.id.text().into(), subscription.into()));
                }
            }
            _ => {}
        }
        false
    }

    pub(crate) fn notification(&mut self, context: &mut CheckContext<'_>, notification: &Notification<'_>) {
        let params = notification.params.as_ref().map_or("null", RawJson::as_str);
        if notification.method != "eth_subscription" {
            return;
        }
        let Some(subscription) = member(params, &["subscription"]) else { return };
        if !self.forgot && !self.subscriptions.contains(subscription) {
            context.add(
                &ETH002,
                subscription,
                format!("{} is not an open subscription", quoted(subscription)),
            );
        }
    }

    pub(crate) fn response(
        &mut self,
        context: &mut CheckContext<'_>,
        response: &Response<'_>,
        asked: Option<&Call>,
    ) {
        let method = asked.map_or("", |call| &*call.method);
        match &response.outcome {
            Err(error) => {
                let known = matches!(
                    error.code.0,
                    -32700 | -32603..=-32600 | -32099..=-32000 | -38006..=-38001 | 3 | 4001 | 4100 | 4200 | 4900 | 4901
                );
                if !known {
                    let part = context.part(&["error", "code"]);
                    context.add(&ETH004, part, format!("{} is of no known range", error.code));
                }
            }
            Ok(result) if QUANTITIES.contains(&method) && result.as_str() != "null" => {
                quantity(context, result.as_str());
            }
            Ok(result) if method == "eth_subscribe" => {
                if self.subscriptions.len() < SUBSCRIPTIONS {
                    self.subscriptions.insert(result.as_str().into());
                } else {
                    self.forgot = true;
                }
            }
            Ok(result) if method == "eth_unsubscribe" => {
                let id = response.id.text();
                if let Some(at) = self.ending.iter().position(|(request, _)| **request == *id) {
                    let (_, subscription) = self.ending.swap_remove(at);
                    if result.as_str() == "true" {
                        self.subscriptions.remove(&subscription);
                    }
                }
            }
            Ok(_) => {}
        }
    }
}

fn quantity(context: &mut CheckContext<'_>, value: &str) {
    let text = string(value);
    let minimal = match text.as_deref().and_then(|text| text.strip_prefix("0x")) {
        Some("0") => true,
        Some(digits) => {
            !digits.is_empty() && !digits.starts_with('0') && digits.bytes().all(|c| c.is_ascii_hexdigit())
        }
        None => false,
    };
    if !minimal {
        context.add(&ETH001, value, format!("{} is not a minimal quantity", quoted(value)));
    }
}
