//! Methods that are the same at every server of a kind: tables that are shipped, one method on a line.

use sabir::openrpc::{Content, Method, ParamStructure};
use serde_json::{Value, json};

const ETHEREUM: &str = include_str!("ethereum.txt");
const SOLANA: &str = include_str!("solana.txt");
const LSP: &str = include_str!("lsp.txt");

/// How the pattern of what is written in hexadecimal begins.
const HEX: &str = "^0x[0-9a-fA-F]";

/// The methods of an Ethereum node. `modules` are those that it has, if it tells.
pub(super) fn ethereum(modules: Option<&Value>) -> Vec<Method> {
    let has = |method: &Method| {
        let module = method.name.split('_').next().unwrap_or_default();
        modules.and_then(Value::as_object).is_none_or(|modules| modules.contains_key(module))
    };
    // What not every node has is listed only if the node says that it has it.
    let is_usual =
        |method: &Method| ["web3_", "net_", "eth_"].iter().any(|start| method.name.starts_with(start));
    methods(ETHEREUM, ParamStructure::ByPosition)
        .filter(|method| if modules.is_some() { has(method) } else { is_usual(method) })
        .collect()
}

/// The methods of a Solana node. Streams are for WebSocket only.
pub(super) fn solana(streams: bool) -> Vec<Method> {
    methods(SOLANA, ParamStructure::ByPosition)
        .filter(|method| streams || !(method.name.ends_with("ubscribe")))
        .collect()
}

/// The methods that a language server declares by its capabilities.
pub(super) fn lsp(capabilities: &Value) -> Vec<Method> {
    let declared = |path: &str| {
        let found = path.split('.').try_fold(capabilities, |value, name| value.get(name));
        found.is_some_and(|value| !matches!(value, Value::Null | Value::Bool(false)) && *value != json!(0))
    };
    lines(LSP)
        .filter_map(|line| line.split_once(' '))
        .filter(|(capability, _)| *capability == "-" || declared(capability))
        .filter_map(|(_, line)| method(line, ParamStructure::ByName))
        .collect()
}

/// The names of all methods that a language server may have.
pub(crate) fn lsp_methods() -> Vec<String> {
    let methods = lines(LSP).filter_map(|line| line.split_once(' ')?.1.split_once('('));
    methods.map(|(name, _)| name.to_owned()).collect()
}

/// The names of the methods that an Ethereum node usually has.
pub(crate) fn ethereum_methods() -> Vec<String> {
    ethereum(None).into_iter().map(|method| method.name).collect()
}

/// What is known of this method of an Ethereum node.
pub(crate) fn ethereum_method(name: &str) -> Option<Method> {
    methods(ETHEREUM, ParamStructure::ByPosition).find(|known| known.name == name)
}

/// How many digits follow `0x` in what a schema of the tables describes: a number, or any. `None` if it describes something else.
pub(crate) fn hex_digits(schema: &Value) -> Option<Option<usize>> {
    let digits = schema.get("pattern")?.as_str()?.strip_prefix(HEX)?;
    let count = digits.trim_end_matches('$').trim_start_matches('{').trim_end_matches('}');
    Some(count.parse().ok())
}

fn lines(table: &'static str) -> impl Iterator<Item = &'static str> {
    table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn methods(table: &'static str, structure: ParamStructure) -> impl Iterator<Item = Method> {
    lines(table).filter_map(move |line| method(line, structure))
}

/// `name(param: type, param?: type) -> type : summary`; without `->` it is a notification.
fn method(line: &str, structure: ParamStructure) -> Option<Method> {
    let (signature, summary) = line.split_once(" : ")?;
    let (name, rest) = signature.split_once('(')?;
    let (params, rest) = rest.split_once(')')?;
    let result = match rest.strip_prefix(" -> ") {
        Some(name) => {
            Some(Content { name: "result".to_owned(), schema: schema(name)?, ..Content::default() })
        }
        None => rest.is_empty().then_some(None)?,
    };
    let params = params.split(", ").filter(|param| !param.is_empty()).map(|param| {
        let (name, type_) = param.split_once(": ")?;
        let (name, required) = name.strip_suffix('?').map_or((name, true), |name| (name, false));
        let (name, whole) = name.strip_prefix("...").map_or((name, false), |name| (name, true));
        Some(Content { name: name.to_owned(), schema: schema(type_)?, required, whole, ..Content::default() })
    });
    Some(Method {
        name: name.to_owned(),
        summary: Some(summary.to_owned()),
        param_structure: Some(structure),
        params: params.collect::<Option<_>>()?,
        result,
        ..Method::default()
    })
}

/// What a word of the tables stands for.
fn schema(word: &str) -> Option<Value> {
    if let Some(item) = word.strip_suffix("[]") {
        return Some(json!({"type": "array", "items": schema(item)?}));
    }
    let hex = |digits: &str| json!({"type": "string", "pattern": format!("{HEX}{digits}$")});
    let position = || {
        json!({
            "type": "object",
            "properties": {"line": {"type": "integer"}, "character": {"type": "integer"}},
            "required": ["line", "character"],
        })
    };
    Some(match word {
        "any" => json!({}),
        "null" | "boolean" | "string" | "number" | "integer" | "object" => json!({"type": word}),
        "address" => hex("{40}"),
        "hash" => hex("{64}"),
        "data" => hex("*"),
        "quantity" => hex("+"),
        "block" => json!({"type": "string", "default": "latest"}),
        "doc" => json!({"type": "object", "properties": {"uri": {"type": "string"}}, "required": ["uri"]}),
        "item" => json!({
            "type": "object",
            "properties": {
                "uri": {"type": "string"},
                "languageId": {"type": "string"},
                "version": {"type": "integer"},
                "text": {"type": "string"},
            },
            "required": ["uri", "languageId", "version", "text"],
        }),
        "pos" => position(),
        "range" => json!({
            "type": "object",
            "properties": {"start": position(), "end": position()},
            "required": ["start", "end"],
        }),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_method() {
        for table in [ETHEREUM, SOLANA] {
            let mut names = std::collections::HashSet::new();
            for line in lines(table) {
                let method = method(line, ParamStructure::ByPosition).unwrap_or_else(|| panic!("{line}"));
                assert!(names.insert(method.name), "twice: {line}");
            }
        }
        for line in lines(LSP) {
            let (_, rest) = line.split_once(' ').unwrap_or_else(|| panic!("{line}"));
            assert!(method(rest, ParamStructure::ByName).is_some(), "{line}");
        }
    }

    #[test]
    fn capabilities_decide() {
        let names = |capabilities: Value| {
            let methods = lsp(&capabilities).into_iter().map(|method| method.name);
            methods.filter(|name| name.contains('/')).collect::<Vec<_>>()
        };
        assert!(names(json!({})).is_empty());
        assert_eq!(names(json!({"hoverProvider": true, "renameProvider": false})), ["textDocument/hover"]);
        assert_eq!(
            names(json!({"renameProvider": {"prepareProvider": true}})),
            ["textDocument/rename", "textDocument/prepareRename"]
        );
        assert_eq!(names(json!({"textDocumentSync": 0})), [""; 0]);
    }

    #[test]
    fn modules_decide() {
        let count = |modules: Option<Value>| ethereum(modules.as_ref()).len();
        assert_eq!(count(Some(json!({"web3": "1.0"}))), 2);
        assert!(count(Some(json!({"debug": "1.0"}))) > 2);
        assert!(count(None) > 40);
    }
}
