//! Progress tokens: whose they are, how far they are, and when they end.

use std::collections::HashMap;

use sabir_proto::{Id, RawJson};

use super::params::Params;
use crate::rules::engine::calls::Side;
use crate::rules::engine::finding::quoted;
use crate::rules::engine::session::CheckContext;
use crate::rules::table::*;

/// Tokens that are remembered. At the bound those of answered requests are forgotten, then all.
const TOKENS: usize = 4096;
/// Bytes of a token or of the id of its request. Longer ones are not followed.
const LONGEST: usize = 256;

#[derive(Default)]
pub(crate) struct Tokens {
    tokens: HashMap<(Side, Id<'static>), Token, foldhash::fast::RandomState>,
    /// By which request a token is used, to end it.
    requests: HashMap<(Side, Id<'static>), Id<'static>, foldhash::fast::RandomState>,
    forgot: bool,
}

struct Token {
    line: u64,
    last: Option<f64>,
    /// The line of the answer.
    answered: Option<u64>,
}

impl Tokens {
    /// Records are missing: tokens may have begun or ended in them.
    pub(crate) fn missed(&mut self) {
        *self = Tokens { forgot: true, ..Tokens::default() };
    }

    /// A request carries a token.
    pub(crate) fn open(&mut self, context: &mut CheckContext<'_>, text: &str, request: &Id<'_>) {
        let Some(token) = id(text).filter(|_| request.text().len() <= LONGEST) else {
            self.forgot = true;
            return;
        };
        // Many requests may share a token, though they should not.
        if self.tokens.len() >= TOKENS || self.requests.len() >= TOKENS {
            self.forgot = true;
            self.tokens.retain(|_, token| token.answered.is_none());
            if self.tokens.len() >= TOKENS || self.requests.len() >= TOKENS {
                self.tokens.clear();
                self.requests.clear();
            }
        }
        let key = (context.from, token.clone());
        if let Some(other) = self.tokens.get(&key).filter(|other| other.answered.is_none()) {
            let line = other.line;
            context.add(&MCP011, text, format!("the token {} is in use by another request", quoted(text)));
            context.report.related(&MCP011, line, "that request is here");
        }
        self.tokens.insert(key, Token { line: context.line(), last: None, answered: None });
        self.requests.insert((context.from, request.clone().into_owned()), token);
    }

    /// A request with a token is answered.
    pub(crate) fn close(&mut self, side: Side, request: &Id<'static>, line: u64) {
        if self.requests.is_empty() {
            return;
        }
        if let Some(token) = self.requests.remove(&(side, request.clone()))
            && let Some(token) = self.tokens.get_mut(&(side, token))
        {
            token.answered = Some(line);
        }
    }

    /// Progress is reported, to the side that asked.
    pub(crate) fn progress(&mut self, context: &mut CheckContext<'_>, params: &Params<'_>) {
        let Some((text, key)) = params.get("progressToken").and_then(|text| Some((text, id(text)?))) else {
            return;
        };
        let Some(token) = self.tokens.get_mut(&(context.from.other(), key)) else {
            if !self.forgot {
                context.add(
                    &MCP011,
                    text,
                    format!("no request asked for progress by the token {}", quoted(text)),
                );
            }
            return;
        };
        if let Some(line) = token.answered {
            context.add(&MCP012, text, "the request is answered already");
            context.report.related(&MCP012, line, "the answer is here");
            return;
        }
        let Some((part, now)) = params.get("progress").and_then(|part| Some((part, part.parse().ok()?)))
        else {
            return;
        };
        if token.last.is_some_and(|last| now <= last) {
            let what = format!("{part} is not more than the last report, {}", token.last.unwrap_or_default());
            context.add(&MCP010, part, what);
        }
        token.last = Some(now);
    }
}

fn id(text: &str) -> Option<Id<'static>> {
    if text.len() > LONGEST {
        return None;
    }
    RawJson::new(text).ok().and_then(Id::from_json).map(Id::into_owned)
}
