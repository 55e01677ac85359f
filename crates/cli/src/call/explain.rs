//! What may be wrong with a call that a plain server refuses, from what the server says it offers.

use std::time::Duration;

use sabir::openrpc::{Content, Method};
use sabir::{CallError, ErrorCode, ErrorObject, JsonKind, RawJson};

use crate::complete::is_plain;
use crate::discovery;
use crate::json::{MOST_VALUES, has_more_values};
use crate::peer::PeerOptions;
use crate::platform::word;
use crate::session::{Answer, Answers, CallFailure, Protocol, QUESTIONS, Session};
use crate::suggest;
use crate::values::{Arguments, method_parameters, parameters};

/// How long a server may take to say what it offers, for a hint.
const TIMEOUT: Duration = Duration::from_millis(500);

/// Characters of a name that are shown.
const LONGEST_NAME: usize = 100;

/// Methods of MCP that a client calls.
const MCP_METHODS: [&str; 12] = [
    "initialize",
    "ping",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/list",
    "prompts/get",
    "completion/complete",
];

/// A hint for the error of a call, if there is one.
pub(crate) async fn hint(
    session: &Session,
    peer: &PeerOptions,
    method: &str,
    args: &Arguments,
    error: &ErrorObject,
) -> Option<String> {
    if is_unknown_method(error, method) {
        let names = names(session, method).await?;
        let near =
            suggest::nearest(method, names.iter().map(String::as_str)).filter(|near| *near != method)?;
        let (near, target) = (word(near), word(&peer.target.to_string()));
        return Some(format!("did you mean `{near}`? `sabir list {target}` lists the methods"));
    }
    if session.protocol() != Protocol::Plain {
        let is_resource = session.mcp().is_some() && method.contains("://");
        let target = word(&peer.target.to_string());
        return is_resource.then(|| format!("`sabir list {target}` lists the resources"));
    }
    // Nodes of a chain have codes of their own for wrong params.
    if let Some(known) = discovery::ethereum_method(method) {
        return by_position(&known, args);
    }
    if error.code != ErrorCode::INVALID_PARAMS {
        return None;
    }
    let known = session.description(TIMEOUT).await.and_then(|described| method_parameters(described, method));
    match known {
        Some(known) => args.mismatch(method, &known),
        // Nobody says what type it should be.
        None => args.as_json(),
    }
}

/// Whether an error says that there is no such method. Some servers have a code of their own for that.
fn is_unknown_method(error: &ErrorObject, method: &str) -> bool {
    let message = error.message.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|words| message.contains(words));
    let names_it = message.contains("method") && message.contains(&method.to_ascii_lowercase());
    error.code == ErrorCode::METHOD_NOT_FOUND
        || says(&["no such method", "method not found", "unknown method"])
        || names_it && says(&["does not exist", "not available", "not found", "not supported"])
}

/// What does not fit a method of an Ethereum node.
fn by_position(method: &Method, args: &Arguments) -> Option<String> {
    let Method { name, params, .. } = method;
    let usage = || {
        let word = |param: &Content| match param.required {
            true => param.name.to_uppercase(),
            false => format!("[{}]", param.name.to_uppercase()),
        };
        let words: Vec<String> = std::iter::once(name.clone()).chain(params.iter().map(word)).collect();
        format!("write it as: {}", words.join(" "))
    };
    let given = args.params().ok()?.unwrap_or(RawJson::NULL);
    if given.kind() == JsonKind::Object {
        return Some(format!("`{name}` takes its arguments by position, without names; {}", usage()));
    }
    let given: Vec<RawJson<'_>> = given.elements().collect();
    if given.len() > params.len() {
        return Some(usage());
    }
    if let Some(missing) = params.iter().skip(given.len()).find(|param| param.required) {
        return Some(format!("the argument `{}` is missing; {}", missing.name, usage()));
    }
    params.iter().zip(&given).find_map(|(param, value)| {
        let count = discovery::hex_digits(&param.schema)?;
        let text: String = value.parse().unwrap_or_default();
        let digits = text.strip_prefix("0x").filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let wanted = match count {
            _ if digits.is_some_and(|digits| count.is_none_or(|count| digits.len() == count)) => return None,
            Some(count) => format!("0x and {count} hexadecimal digits"),
            None => "0x and hexadecimal digits".to_owned(),
        };
        Some(format!("the argument `{}` must be {wanted}, found {value:.60}", param.name))
    })
}

/// What does not fit the schema of a tool that failed: the server may say it less clearly.
pub(crate) async fn tool(session: &Session, name: &str, args: &Arguments, answer: &Answer) -> Option<String> {
    let mcp = session.mcp().filter(|_| answer.is_error())?;
    let tools = tokio::time::timeout(TIMEOUT, mcp.tools()).await.ok()?.ok()?;
    let tool = tools.iter().find(|tool| tool.name == name)?;
    let schema = tool.input_schema.parse().unwrap_or_default();
    args.mismatch(name, &parameters(&schema))
}

/// A hint for a question of the server that nobody answered, or that it could not ask.
pub(super) fn unanswered(outcome: &Result<Answer, CallFailure>, answers: &Answers) -> Option<String> {
    let said = match outcome {
        Ok(answer) if answer.is_error() => answer.result.to_string(),
        Err(CallFailure::Call(CallError::Error(error))) => error.to_string(),
        _ => return None,
    };
    if let Some(question) = answers.refused() {
        // Its name may be meant for a shell.
        let given = if is_plain(&question) { question.as_str() } else { "METHOD" };
        let question: String = question.chars().take(LONGEST_NAME).collect();
        return Some(match answers.misspelt(&question) {
            Some(typed) => format!("the server asked `{question}`, and --answer names `{typed}`"),
            None => format!("the server asked `{question}`: answer it with --answer {given}=JSON"),
        });
    }
    // A server says so in words of its own.
    let said = said.to_lowercase();
    let (_, question) = QUESTIONS.into_iter().find(|(word, question)| {
        said.contains(word)
            && ["capab", "support"].iter().any(|why| said.contains(why))
            && !answers.offers(question)
    })?;
    Some(match answers.misspelt(question) {
        Some(typed) => format!("the server wants to ask `{question}`, and --answer names `{typed}`"),
        None => format!("the server wants to ask `{question}`: answer it with --answer {question}=JSON"),
    })
}

/// The names that a server has, or those that servers of its kind have.
async fn names(session: &Session, method: &str) -> Option<Vec<String>> {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    match session.protocol() {
        Protocol::Mcp(_) => return Some(owned(&MCP_METHODS)),
        Protocol::Lsp => return Some(discovery::lsp_methods()),
        Protocol::Plain | Protocol::Eth => {}
    }
    if let Some(document) = session.description(TIMEOUT).await {
        return Some(document.methods.iter().map(|method| method.name.clone()).collect());
    }
    let listed = session.peer().call_raw("system.listMethods", None).timeout(TIMEOUT).await;
    match listed {
        Ok(listed) if has_more_values(listed.as_str(), MOST_VALUES) => None,
        Ok(listed) => listed.parse().ok(),
        Err(_) if method.starts_with("eth_") || method.starts_with("net_") || method.starts_with("web3_") => {
            Some(discovery::ethereum_methods())
        }
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_say_in_many_ways_that_there_is_no_such_method() {
        for (message, want) in [
            ("The method eth_chainid does not exist/is not available", true),
            ("Method eth_chainid not found", true),
            ("no such method", true),
            ("the filter does not exist", false),
            ("the method handler crashed: filter not found", false),
        ] {
            let error = ErrorObject::new(ErrorCode(-32700), message);
            assert_eq!(is_unknown_method(&error, "eth_chainId"), want, "{message}");
        }
    }

    #[test]
    fn arguments_of_a_node_are_by_position() {
        let known = discovery::ethereum_method("eth_getBalance").expect("it is in the table");
        let account = format!("0x{}", "0".repeat(40));
        for (args, want) in [
            (&[][..], Some("the argument `address` is missing; write it as: eth_getBalance ADDRESS [BLOCK]")),
            (&["xyz"], Some("the argument `address` must be 0x and 40 hexadecimal digits, found \"xyz\"")),
            (
                &["address=0x00"],
                Some(
                    "`eth_getBalance` takes its arguments by position, without names; \
                     write it as: eth_getBalance ADDRESS [BLOCK]",
                ),
            ),
            (&[&account, "latest", "1"], Some("write it as: eth_getBalance ADDRESS [BLOCK]")),
            (&[&account], None),
        ] {
            let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
            let args = Arguments::parse(&args).unwrap_or_else(|failure| panic!("{}", failure.what));
            assert_eq!(by_position(&known, &args).as_deref(), want, "{args:?}");
        }
    }
}
