//! The classes of errors by their codes, which each protocol gives a meaning of its own: as its ontology says.

use std::sync::OnceLock;

use crate::graph::terms::Prefix;

/// A protocol above JSON-RPC that has classes of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Above {
    A2a,
    Lsp,
    Mcp,
}

impl Above {
    /// By the name that a capture has for it.
    pub(crate) fn of(profile: &str) -> Option<Above> {
        match profile {
            "a2a" => Some(Above::A2a),
            "lsp" => Some(Above::Lsp),
            profile if profile.starts_with("mcp") => Some(Above::Mcp),
            _ => None,
        }
    }

    fn ontology(self) -> (&'static [Prefix], &'static str) {
        match self {
            Above::A2a => (&[Prefix::A2ax], include_str!("../../files/blocks/a2a/ontology.ttl")),
            Above::Lsp => (&[Prefix::Lspx], include_str!("../../files/blocks/lsp/ontology.ttl")),
            Above::Mcp => (&[Prefix::Mcp, Prefix::Mcpx], include_str!("../../files/mcp/head.ttl")),
        }
    }

    /// The class of an error, if the protocol has one for its code.
    pub(crate) fn error(self, code: i64) -> Option<(Prefix, &'static str)> {
        static CLASSES: [OnceLock<Vec<Class>>; 3] = [const { OnceLock::new() }; 3];
        let classes = CLASSES[self as usize].get_or_init(|| self.classes());
        classes.iter().find(|class| class.code == code).map(|class| (class.prefix, class.local))
    }

    fn classes(self) -> Vec<Class> {
        let (prefixes, ontology) = self.ontology();
        let mut classes = classes(prefixes, ontology);
        if self == Above::Mcp {
            let generated = |(code, local)| Class { code, prefix: Prefix::Mcpx, local };
            classes.extend(GENERATED.map(generated));
        }
        classes
    }
}

/// Those of MCP that are generated from the schemas of the protocol, which a program without schemas does not read.
const GENERATED: [(i64, &str); 4] = [
    (-32020, "HeaderMismatch"),
    (-32021, "MissingRequiredClientCapability"),
    (-32022, "UnsupportedProtocolVersion"),
    (-32042, "URLElicitationRequired"),
];

#[derive(Debug, PartialEq)]
struct Class {
    code: i64,
    prefix: Prefix,
    local: &'static str,
}

/// Each class that begins a line, and the code in its restriction.
fn classes(prefixes: &[Prefix], ontology: &'static str) -> Vec<Class> {
    const RESTRICTION: &str = "owl:onProperty jrpc:hasErrorCode ; owl:hasValue ";
    let mut classes = Vec::new();
    let mut subject = "";
    for line in ontology.lines() {
        if !line.starts_with([' ', '#', '@']) {
            subject = line.split(' ').next().unwrap_or_default();
        }
        let Some((_, rest)) = line.split_once(RESTRICTION) else { continue };
        let code = rest.split(' ').next().and_then(|code| code.parse().ok());
        let named = prefixes
            .iter()
            .find_map(|prefix| Some((*prefix, subject.strip_prefix(prefix.label())?.strip_prefix(':')?)));
        if let (Some(code), Some((prefix, local))) = (code, named) {
            classes.push(Class { code, prefix, local });
        }
    }
    classes
}

/// The same as those that the building blocks read from the ontologies.
#[cfg(all(test, feature = "schemas"))]
mod tests {
    use super::*;
    use crate::blocks::error_codes;

    #[test]
    fn the_classes_are_those_of_the_ontologies() {
        for above in [Above::A2a, Above::Lsp, Above::Mcp] {
            let (prefixes, ontology) = above.ontology();
            let complete =
                if above == Above::Mcp { crate::blocks::mcp_ontology() } else { ontology.to_owned() };
            let namespaces: Vec<_> = prefixes.iter().map(|prefix| prefix.iri()).collect();
            let mut came: Vec<_> = above
                .classes()
                .iter()
                .map(|class| (class.code, [class.prefix.iri(), class.local].concat()))
                .collect();
            came.sort();
            assert_eq!(came, error_codes(&complete, &namespaces), "{above:?}");
        }
        assert_eq!(Above::Lsp.error(-32002), Some((Prefix::Lspx, "ServerNotInitialized")));
        assert_eq!(Above::A2a.error(-32002), Some((Prefix::A2ax, "TaskNotCancelable")));
        assert_eq!(Above::Mcp.error(-32042), Some((Prefix::Mcpx, "URLElicitationRequired")));
        assert_eq!(Above::Lsp.error(-1), None);
    }
}
