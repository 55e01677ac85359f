//! What calls need: scopes by method and by tool, and which scopes contain others.

use std::collections::{BTreeMap, BTreeSet};

use crate::auth::client::AuthError;
use crate::server::McpServer;

type Set = BTreeSet<String>;

/// Names that an error lists.
const MOST_SHOWN: usize = 10;

#[derive(Debug, Clone, Default)]
pub(super) struct Scopes {
    /// What every call needs.
    pub(super) all: Set,
    pub(super) methods: BTreeMap<String, Set>,
    pub(super) tools: BTreeMap<String, Set>,
    implied: BTreeMap<String, Set>,
}

impl Scopes {
    pub(super) fn imply(&mut self, broad: &str, narrow: impl IntoIterator<Item = String>) {
        self.implied.entry(broad.to_owned()).or_default().extend(narrow);
    }

    /// What a call needs.
    pub(super) fn needed(&self, method: &str, tool: Option<&str>) -> Set {
        let by_method = self.methods.get(method);
        let by_tool = tool.and_then(|tool| self.tools.get(tool));
        let mut needed = self.all.clone();
        needed.extend([by_method, by_tool].into_iter().flatten().flatten().cloned());
        needed
    }

    /// Whether what was granted is enough, with all that it implies.
    pub(super) fn allow(&self, granted: &Set, needed: &Set) -> bool {
        if needed.is_subset(granted) {
            return true;
        }
        let mut held = granted.clone();
        let mut open: Vec<String> = granted.iter().cloned().collect();
        while let Some(scope) = open.pop() {
            for narrow in self.implied.get(&scope).into_iter().flatten() {
                if held.insert(narrow.clone()) {
                    open.push(narrow.clone());
                }
            }
        }
        needed.is_subset(&held)
    }

    /// Fails if they name a tool or a method that a server does not have: the one that is meant would be open.
    pub(super) fn fit(&self, server: &McpServer) -> Result<(), AuthError> {
        let check = |kind: &str, names: &BTreeMap<String, Set>, known: &[&str]| {
            let Some(name) = names.keys().find(|name| !known.contains(&name.as_str())) else { return Ok(()) };
            let most = known.len().min(MOST_SHOWN);
            let (name, shown) = (name.escape_debug(), known[..most].join(", ").escape_debug().to_string());
            let more = if known.len() > most { ", …" } else { "" };
            Err(AuthError::new(format!(
                "there are scopes for the {kind} `{name}`, which the server does not have; it has {shown}{more}"
            )))
        };
        let tools = server.catalog().lists().tools.list().to_vec();
        let tools: Vec<&str> = tools.iter().map(|entry| &*entry.tool.name).collect();
        check("tool", &self.tools, &tools)?;
        check("method", &self.methods, &server.clone().into_router().methods())
    }

    /// All that are named anywhere.
    pub(super) fn known(&self) -> Set {
        let sets = self.methods.values().chain(self.tools.values()).chain(self.implied.values());
        let mut known: Set = sets.flatten().chain(&self.all).cloned().collect();
        known.extend(self.implied.keys().cloned());
        known
    }

    /// The first that cannot be a scope.
    pub(super) fn fault(&self) -> Option<String> {
        let is_scope = |scope: &String| {
            let fits = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
            !scope.is_empty() && scope.bytes().all(fits) && scope != "offline_access"
        };
        self.known().into_iter().find(|scope| !is_scope(scope))
    }
}

/// As they stand in a challenge.
pub(super) fn text(scopes: &Set) -> String {
    scopes.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> Set {
        text.split_ascii_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn broad_scopes_contain_narrow_ones() {
        let mut scopes = Scopes { all: set("mcp"), ..Scopes::default() };
        scopes.tools.insert("write".to_owned(), set("files:write"));
        scopes.imply("admin", set("files mcp"));
        scopes.imply("files", set("files:write files:read admin"));
        let needed = scopes.needed("tools/call", Some("write"));
        assert_eq!(text(&needed), "files:write mcp");
        for (granted, allowed) in [
            ("mcp files:write", true),
            ("admin", true),
            ("files", true),
            ("mcp", false),
            ("files:write", false),
            ("", false),
        ] {
            assert_eq!(scopes.allow(&set(granted), &needed), allowed, "{granted}");
        }
        assert_eq!(text(&scopes.needed("tools/list", None)), "mcp");
    }

    #[test]
    fn what_cannot_be_a_scope_is_found() {
        for (scope, fine) in
            [("a:b", true), ("a\"b", false), ("ü", false), ("offline_access", false), ("", false)]
        {
            let scopes = Scopes { all: [scope.to_owned()].into(), ..Scopes::default() };
            assert_eq!(scopes.fault().is_none(), fine, "{scope}");
        }
    }
}
