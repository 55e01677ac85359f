//! The rules as data: what each says, why it matters, how to fix it, and where it is written.
//!
//! The checks are elsewhere and refer to a rule by its static. A rule's severity here is the usual one; a check may
//! give a weaker one where the same thing is worse in one place than in another.

mod a2a;
mod eth;
mod live;
mod lsp;
mod mcp;
mod rpc;

pub(crate) use a2a::*;
pub(crate) use eth::*;
pub use live::*;
pub(crate) use lsp::*;
pub(crate) use mcp::*;
pub(crate) use rpc::*;

use std::fmt;

/// One rule.
#[derive(Debug)]
#[non_exhaustive]
pub struct Rule {
    /// Such as `RPC001`. It never changes its meaning.
    pub id: &'static str,
    /// The usual severity of a violation.
    pub severity: Severity,
    /// What has to be looked at.
    pub scope: Scope,
    /// What is wrong where it is broken, in a few words.
    pub title: &'static str,
    /// Why it matters.
    pub why: &'static str,
    /// How to fix it.
    pub fix: &'static str,
    /// Where it is written.
    pub source: &'static str,
}

/// How bad a finding is. The worse, the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Legal, or nearly, but somebody will stumble over it.
    Warning,
    /// Against the specification.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        })
    }
}

/// What has to be inspected to find a violation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scope {
    /// One message.
    Message,
    /// What came before or after it.
    Session,
    /// The answers of a live peer to what it is asked.
    Live,
    /// The file itself.
    File,
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Scope::Message => "message",
            Scope::Session => "session",
            Scope::Live => "live",
            Scope::File => "file",
        })
    }
}

/// Defines the statics of one table and the list of them.
macro_rules! define {
    ($visibility:vis $list:ident: $($id:ident $severity:ident $scope:ident {
        title: $title:literal, why: $why:literal, fix: $fix:literal, source: $source:literal $(,)?
    })+) => {
        $(
            #[doc = $title]
            $visibility static $id: Rule = Rule {
                id: stringify!($id),
                severity: Severity::$severity,
                scope: Scope::$scope,
                title: $title,
                why: $why,
                fix: $fix,
                source: $source,
            };
        )+
        pub(crate) static $list: &[&Rule] = &[$(&$id),+];
    };
}

use define;

/// All rules, in the order of their ids within a group.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    [rpc::RPC, mcp::MCP, lsp::LSP, a2a::A2A, eth::ETH, live::LIVE].into_iter().flatten().copied()
}

/// The rule with this id, in any case.
///
/// ```
/// let rule = sabir_model::rules::rule("rpc024").unwrap();
/// assert_eq!(rule.title, "a request is never answered");
/// ```
pub fn rule(id: &str) -> Option<&'static Rule> {
    rules().find(|rule| rule.id.eq_ignore_ascii_case(id))
}
