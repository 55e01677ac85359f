//! What may be wrong with a call that a plain server refuses, from what the server says it offers.

use std::time::Duration;

use sabir::{CallError, ErrorCode, ErrorObject};

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
    if is_unknown_method(error) {
        let names = names(session, method).await?;
        let near =
            suggest::nearest(method, names.iter().map(String::as_str)).filter(|near| *near != method)?;
        let (near, target) = (word(near), word(&peer.target.to_string()));
        return Some(format!("did you mean `{near}`? `sabir list {target}` lists the methods"));
    }
    match session.protocol() {
        Protocol::Plain if error.code == ErrorCode::INVALID_PARAMS => {
            let known = method_parameters(session.description(TIMEOUT).await?, method)?;
            args.mismatch(method, &known)
        }
        _ => None,
    }
}

/// Whether an error says that there is no such method. Some servers have a code of their own for that.
fn is_unknown_method(error: &ErrorObject) -> bool {
    let message = error.message.to_ascii_lowercase();
    error.code == ErrorCode::METHOD_NOT_FOUND
        || ["no such method", "method not found", "unknown method"]
            .iter()
            .any(|words| message.contains(words))
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
        return Some(format!("the server asked `{question}`: answer it with --answer {given}=JSON"));
    }
    // A server says so in words of its own.
    let said = said.to_lowercase();
    let (_, question) = QUESTIONS.into_iter().find(|(word, question)| {
        said.contains(word)
            && ["capab", "support"].iter().any(|why| said.contains(why))
            && !answers.offers(question)
    })?;
    Some(format!("the server wants to ask `{question}`: answer it with --answer {question}=JSON"))
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
