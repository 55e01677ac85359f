//! What may be wrong with a call that a plain server refuses, from what the server says it offers.

use std::time::Duration;

use sabir::openrpc::Document;
use sabir::{CallError, ErrorCode, ErrorObject};

use crate::complete::is_plain;
use crate::json::{MOST_VALUES, has_more_values};
use crate::peer::PeerOptions;
use crate::platform::word;
use crate::session::{Answer, Answers, CallFailure, Protocol, Session};
use crate::suggest;
use crate::values::{Arguments, Parameter};

/// How long a server may take to say what it offers, for a hint.
const TIMEOUT: Duration = Duration::from_millis(500);

/// Characters of a name that are shown.
const LONGEST_NAME: usize = 100;

/// A hint for the error of a call, if there is one.
pub(crate) async fn hint(
    session: &Session,
    peer: &PeerOptions,
    method: &str,
    args: &Arguments,
    error: &ErrorObject,
) -> Option<String> {
    if session.protocol() != Protocol::Plain {
        return None;
    }
    match error.code {
        ErrorCode::METHOD_NOT_FOUND => {
            let names = names(session).await?;
            let near = suggest::nearest(method, names.iter().map(String::as_str))?;
            let (near, target) = (word(near), word(&peer.target.to_string()));
            Some(format!("did you mean `{near}`? `sabir list {target}` lists the methods"))
        }
        ErrorCode::INVALID_PARAMS => {
            let document = discover(session).await?;
            let method = document.methods.into_iter().find(|known| known.name == method)?;
            let known: Vec<Parameter> = method
                .params
                .into_iter()
                .map(|param| Parameter { name: param.name, schema: param.schema, required: param.required })
                .collect();
            args.typed(&method.name, &known).err().map(|failure| match failure.hint {
                Some(hint) => format!("{}; {hint}", failure.what),
                None => failure.what,
            })
        }
        _ => None,
    }
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
    let questions =
        [("sampling", "sampling/createMessage"), ("elicit", "elicitation/create"), ("roots", "roots/list")];
    let (_, question) = questions.into_iter().find(|(word, question)| {
        said.contains(word)
            && ["capab", "support"].iter().any(|why| said.contains(why))
            && !answers.offers(question)
    })?;
    Some(format!("the server wants to ask `{question}`: answer it with --answer {question}=JSON"))
}

async fn discover(session: &Session) -> Option<Document> {
    let text = session.peer().call_raw("rpc.discover", None).timeout(TIMEOUT).await.ok()?;
    if has_more_values(text.as_str(), MOST_VALUES) {
        return None;
    }
    Document::from_json(text.as_str()).ok()
}

async fn names(session: &Session) -> Option<Vec<String>> {
    match discover(session).await {
        Some(document) => Some(document.methods.into_iter().map(|method| method.name).collect()),
        None => {
            let text = session.peer().call_raw("system.listMethods", None).timeout(TIMEOUT).await.ok()?;
            (!has_more_values(text.as_str(), MOST_VALUES)).then(|| text.parse().ok()).flatten()
        }
    }
}
