//! Which protocol a peer speaks, as far as that can be told before anything is sent.
//!
//! Nothing is started twice to find out, and nothing is sent that a plain server could misunderstand. What is asked
//! decides first, then the name of the program or the path of the URL. If neither says anything, the peer is taken for
//! a plain one, and its answer to the call decides ([`Session::call`](super::Session::call)).

use std::fmt;
use std::str::FromStr;

use sabir::transport::Url;
use sabir::{Dialect, Framing, LENIENT, LSP, McpRevision};
use sabir_model::rules::Profile;

use crate::target::Target;

/// What a peer speaks on top of JSON-RPC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Plain,
    /// Ethereum: plain, with subscriptions of its own.
    Eth,
    /// The Language Server Protocol.
    Lsp,
    /// The Model Context Protocol; without a revision, whichever the server has.
    Mcp(Option<McpRevision>),
}

impl FromStr for Protocol {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "plain" => Ok(Protocol::Plain),
            "eth" => Ok(Protocol::Eth),
            "lsp" => Ok(Protocol::Lsp),
            "mcp" => Ok(Protocol::Mcp(None)),
            _ => match text.strip_prefix("mcp@") {
                Some(date) => {
                    McpRevision::parse(date).map(|date| Protocol::Mcp(Some(date))).ok_or_else(|| {
                        let known: Vec<&str> =
                            McpRevision::ALL.iter().map(|revision| revision.as_str()).collect();
                        let known = known.join(", ");
                        format!("`{date}` is not a revision of MCP: they are {known}")
                    })
                }
                None => Err("it is one of mcp, mcp@REVISION, lsp, eth, plain".to_owned()),
            },
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Protocol::Plain => f.write_str("plain"),
            Protocol::Eth => f.write_str("eth"),
            Protocol::Lsp => f.write_str("lsp"),
            Protocol::Mcp(None) => f.write_str("mcp"),
            Protocol::Mcp(Some(revision)) => write!(f, "mcp@{}", revision.as_str()),
        }
    }
}

/// Prefixes of methods that only MCP has.
const MCP_METHODS: [&str; 7] = [
    "tools/",
    "resources/",
    "prompts/",
    "completion/complete",
    "logging/setLevel",
    "subscriptions/",
    "sampling/",
];

/// Prefixes of methods that only the Language Server Protocol has.
const LSP_METHODS: [&str; 12] = [
    "textDocument/",
    "workspace/symbol",
    "workspace/executeCommand",
    "workspace/diagnostic",
    "workspaceSymbol/resolve",
    "callHierarchy/",
    "typeHierarchy/",
    "notebookDocument/",
    "completionItem/resolve",
    "codeAction/resolve",
    "codeLens/resolve",
    "inlayHint/resolve",
];

/// Programs that are language servers, beside those whose name says so.
const LANGUAGE_SERVERS: [&str; 22] = [
    "clangd",
    "ccls",
    "gopls",
    "rust-analyzer",
    "pylsp",
    "pyls",
    "ty",
    "ruff",
    "zls",
    "jdtls",
    "solargraph",
    "texlab",
    "marksman",
    "nil",
    "nixd",
    "taplo",
    "tinymist",
    "metals",
    "omnisharp",
    "sourcekit-lsp",
    "biome",
    "dprint",
];

impl Protocol {
    /// What `--as` takes, besides a revision of MCP.
    pub(crate) const NAMES: [&str; 4] = ["mcp", "lsp", "eth", "plain"];

    /// What a target seems to speak; `None` if nothing says so. `method` is what is asked first.
    pub(crate) fn guess(target: &Target, method: &str) -> Option<Protocol> {
        if *target == Target::Demo {
            return None;
        }
        if Protocol::Mcp(None).has(method) {
            return Some(Protocol::Mcp(None));
        }
        if Protocol::Lsp.has(method) {
            return Some(Protocol::Lsp);
        }
        match target {
            Target::Demo => None,
            Target::Program(program) => {
                let words: Vec<String> =
                    program.words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
                of_program(&words)
            }
            Target::Url(url) => of_url(url),
        }
    }

    /// Whether it is a method of the tasks of MCP. Others have methods of these names, too: they say nothing of the peer.
    pub(crate) fn is_of_tasks(method: &str) -> bool {
        matches!(method, "tasks/get" | "tasks/result" | "tasks/update" | "tasks/cancel" | "tasks/list")
    }

    /// Whether a method belongs to the protocol.
    pub(crate) fn has(self, method: &str) -> bool {
        let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| method.starts_with(prefix));
        match self {
            Protocol::Mcp(_) => begins(&MCP_METHODS),
            Protocol::Lsp => begins(&LSP_METHODS),
            Protocol::Plain | Protocol::Eth => false,
        }
    }

    /// Whether a method opens a session: whoever calls it does so by themselves.
    pub(crate) fn is_opening(method: &str) -> bool {
        matches!(method, "initialize" | "server/discover")
    }

    /// The framing of a peer of which this is said, and this is guessed. That it is plain says nothing about its framing:
    /// a language server can be talked to without its handshake.
    pub(crate) fn framing(said: Option<Protocol>, guess: Option<Protocol>) -> Framing {
        let spoken = said.filter(|said| matches!(said, Protocol::Mcp(_) | Protocol::Lsp));
        match spoken.or(guess) {
            Some(Protocol::Lsp) => Framing::Headers,
            Some(Protocol::Plain | Protocol::Eth | Protocol::Mcp(_)) | None => Framing::Lines,
        }
    }

    /// Its dialect, lenient where real servers deviate.
    pub(crate) fn dialect(self) -> Dialect {
        let of = match self {
            Protocol::Plain | Protocol::Eth => return LENIENT,
            Protocol::Lsp => LSP,
            Protocol::Mcp(revision) => revision.unwrap_or(McpRevision::NEWEST).dialect(),
        };
        Dialect {
            allow_non_json: true,
            lenient_responses: true,
            errors_without_id: true,
            version_required: false,
            ..of
        }
    }

    /// The rules that hold for it, and how it is talked to byte by byte.
    pub(crate) fn profile(self, target: &Target) -> Profile {
        match self {
            Protocol::Mcp(_) if self.has_event_stream(target) => Profile::Mcp(Some(McpRevision::V2024_11_05)),
            Protocol::Mcp(revision) => Profile::Mcp(revision),
            Protocol::Lsp => Profile::Lsp,
            Protocol::Eth => Profile::Eth,
            Protocol::Plain => Profile::JsonRpc,
        }
    }

    /// Whether it is MCP in its first form over HTTP: by its revision, or by the path that all such servers have.
    pub(crate) fn has_event_stream(self, target: &Target) -> bool {
        let Target::Url(url) = target else { return false };
        let path = url.path().split(['?', '#']).next().unwrap_or_default();
        url.scheme().is_http()
            && match self {
                Protocol::Mcp(Some(McpRevision::V2024_11_05)) => true,
                Protocol::Mcp(None) => path.trim_end_matches('/').ends_with("/sse"),
                _ => false,
            }
    }
}

fn of_program(words: &[String]) -> Option<Protocol> {
    let names = || words.iter().map(|word| base(word));
    if names().any(|name| name.contains("mcp"))
        || words.iter().any(|word| word.contains("modelcontextprotocol"))
    {
        return Some(Protocol::Mcp(None));
    }
    // Of a program that does several things, its arguments say which.
    let is_server = |name: &str| {
        name.ends_with("-language-server")
            || name.ends_with("-langserver")
            || name.ends_with("-lsp")
            || matches!(name, "lsp" | "--lsp" | "langserver" | "lsp-proxy")
    };
    let program = names().next().unwrap_or_default();
    let serves = |name: &str| match name {
        "ruff" | "ty" | "taplo" | "tinymist" | "biome" | "dprint" => {
            words.iter().any(|word| matches!(word.as_str(), "server" | "lsp" | "lsp-proxy"))
        }
        _ => true,
    };
    let known = LANGUAGE_SERVERS.contains(&program.as_str()) && serves(&program);
    (known || names().any(|name| is_server(&name))).then_some(Protocol::Lsp)
}

/// The last part of a path, without what its file ends with.
fn base(word: &str) -> String {
    let name = word.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase();
    let ends = [".exe", ".cmd", ".bat", ".py", ".js", ".mjs", ".sh"];
    ends.iter().find_map(|end| name.strip_suffix(end).map(str::to_owned)).unwrap_or(name)
}

fn of_url(url: &Url) -> Option<Protocol> {
    let path = url.path().split(['?', '#']).next().unwrap_or_default();
    let says = url.scheme().is_web() && path.split('/').any(|part| matches!(part, "mcp" | "sse"));
    says.then_some(Protocol::Mcp(None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_target_seems_to_speak() {
        let mcp = Some(Protocol::Mcp(None));
        for (target, method, want) in [
            ("demo:", "tools/list", None),
            ("stdio:my-mcp-server", "echo", mcp),
            ("stdio:npx -y @modelcontextprotocol/server-everything", "echo", mcp),
            ("stdio:python mcp_server.py", "echo", mcp),
            ("stdio:/srv/mcp/bin/adder --stdio", "echo", None),
            ("stdio:my-server", "tools/call", mcp),
            ("stdio:my-server", "textDocument/hover", Some(Protocol::Lsp)),
            ("stdio:/usr/bin/clangd --log=error", "x", Some(Protocol::Lsp)),
            ("stdio:typescript-language-server --stdio", "x", Some(Protocol::Lsp)),
            ("stdio:ruff server", "x", Some(Protocol::Lsp)),
            ("stdio:ruff check", "x", None),
            ("stdio:deno lsp", "x", Some(Protocol::Lsp)),
            ("https://example.org/mcp", "echo", mcp),
            ("https://example.org/v1/mcp/?key=1", "echo", mcp),
            ("https://example.org/sse", "echo", mcp),
            ("https://mcp.example.org/rpc", "echo", None),
            ("tcp://127.0.0.1:4000", "echo", None),
        ] {
            let target = Target::parse(target).expect(target);
            assert_eq!(Protocol::guess(&target, method), want, "{target} {method}");
        }
    }

    #[test]
    fn a_framing_is_said_or_guessed() {
        let lsp = Some(Protocol::Lsp);
        for (said, guess, want) in [
            (None, None, Framing::Lines),
            (None, lsp, Framing::Headers),
            (Some(Protocol::Plain), lsp, Framing::Headers),
            (Some(Protocol::Plain), None, Framing::Lines),
            (Some(Protocol::Mcp(None)), lsp, Framing::Lines),
            (lsp, Some(Protocol::Mcp(None)), Framing::Headers),
        ] {
            assert_eq!(Protocol::framing(said, guess), want, "{said:?} {guess:?}");
        }
    }

    #[test]
    fn protocols_have_names() {
        for (text, want) in [
            ("mcp", Ok(Protocol::Mcp(None))),
            ("mcp@2025-06-18", Ok(Protocol::Mcp(Some(McpRevision::V2025_06_18)))),
            ("lsp", Ok(Protocol::Lsp)),
            ("eth", Ok(Protocol::Eth)),
            ("plain", Ok(Protocol::Plain)),
            ("soap", Err("it is one of mcp, mcp@REVISION, lsp, eth, plain".to_owned())),
        ] {
            assert_eq!(text.parse(), want);
            assert!(want.is_err() || want.is_ok_and(|protocol| protocol.to_string() == text));
        }
        assert!("mcp@1999".parse::<Protocol>().is_err());
    }
}
