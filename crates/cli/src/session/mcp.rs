//! MCP: which era a server is of, and what a name stands for: a tool, a prompt, or a resource.

use sabir::{CallError, ErrorCode, ErrorObject, Peer, RawJson};
use sabir_mcp::{McpClient, McpConnectError, McpHeaders, McpRevision, McpSession, Tool};
use serde_json::{Value, json};

use super::answers::Answers;
use super::tasks::{self, CallOptions};
use super::{Answer, CallFailure, Form, OnProgress};
use crate::exit::{Exit, Failure};
use crate::suggest;
use crate::values::{Arguments, Parameter, parameters};

/// How a session begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Beginning {
    pub(super) revision: Option<McpRevision>,
    /// Somebody says that it is MCP: it need not be proved.
    pub(super) explicit: bool,
    /// The headers name a session that is open already.
    pub(super) brought: bool,
}

/// Opens a session, in one round trip if it is known to be MCP. `None`: the server does not speak it.
///
/// `initialize` comes first: most servers are of the legacy era, and one of the modern era says that it is not, after
/// which its requests need no opening. The other order would cost a second round trip with every server of today.
pub(super) async fn open(
    peer: &Peer,
    headers: &McpHeaders,
    answers: &Answers,
    begin: Beginning,
) -> Result<Option<McpSession>, McpConnectError> {
    let client = client(answers);
    let headers = headers.clone();
    let assume = |client: McpClient, revision: McpRevision| {
        peer.set_dialect(super::Protocol::Mcp(Some(revision)).dialect());
        client.assume(revision, peer.clone(), headers.clone())
    };
    match begin.revision {
        _ if begin.brought => Ok(Some(assume(client, begin.revision.unwrap_or(McpRevision::NEWEST_LEGACY)))),
        Some(revision) if revision.is_modern() => Ok(Some(assume(client, revision))),
        Some(revision) => {
            let session = client.revision(revision).initialize(peer.clone(), headers.clone()).await?;
            Ok(Some(session))
        }
        None => match client.clone().initialize(peer.clone(), headers.clone()).await {
            Ok(session) => Ok(Some(session)),
            Err(error) if !is_refusal(&error) => Err(error),
            Err(_) if begin.explicit => Ok(Some(assume(client, McpRevision::NEWEST))),
            Err(_) => client.discover(peer.clone(), headers).await,
        },
    }
}

/// Opens a session to ask what the server offers. If it refuses, the first refusal is the error: it says most.
pub(super) async fn open_to_list(
    peer: &Peer,
    headers: &McpHeaders,
    revision: Option<McpRevision>,
) -> Result<McpSession, McpConnectError> {
    let client = client(&Answers::default());
    let modern = client.clone().discover(peer.clone(), headers.clone());
    let legacy = match revision {
        Some(revision) if revision.is_modern() => {
            let refused = || {
                McpConnectError::Call(CallError::Error(ErrorObject::standard(ErrorCode::METHOD_NOT_FOUND)))
            };
            return modern.await?.ok_or_else(refused);
        }
        Some(revision) => client.revision(revision),
        None => client,
    };
    match legacy.initialize(peer.clone(), headers.clone()).await {
        Err(error) if is_refusal(&error) && revision.is_none() => modern.await.ok().flatten().ok_or(error),
        opened => opened,
    }
}

/// Asks whether a server is of the modern era.
pub(super) async fn discover(peer: &Peer, headers: &McpHeaders, answers: &Answers) -> Option<McpSession> {
    client(answers).discover(peer.clone(), headers.clone()).await.ok().flatten()
}

fn client(answers: &Answers) -> McpClient {
    let asked = answers.clone();
    let client = McpClient::new("sabir", env!("CARGO_PKG_VERSION")).probe_timeout(super::PROBE_TIMEOUT);
    crate::telemetry::mcp_client(client).tasks().on_question(answers.capabilities(), move |method, params| {
        let asked = asked.clone();
        async move { asked.answer(&method, params.as_ref()).await }
    })
}

/// Whether the server has answered, and does not want to be initialized.
fn is_refusal(error: &McpConnectError) -> bool {
    match error {
        McpConnectError::Call(CallError::Error(_)) | McpConnectError::Revision(_) => true,
        McpConnectError::Call(CallError::Undelivered(lost)) => {
            lost.status.is_some_and(|status| matches!(status, 400 | 404 | 405 | 422))
        }
        _ => false,
    }
}

/// Calls what a name stands for.
pub(super) async fn call(
    session: &McpSession,
    name: &str,
    args: &Arguments,
    options: CallOptions<'_>,
) -> Result<Answer, CallFailure> {
    if name.contains("://") && args.is_empty() {
        let params = params(&json!({"uri": name}))?;
        return Ok(Answer {
            result: request(session, "resources/read", params, options.progress).await?,
            form: Form::Resource,
        });
    }
    if args.need_schema() {
        let tools = session.tools().await?;
        return match tools.iter().find(|tool| tool.name == name) {
            Some(tool) => tool_call(session, name, typed(args, tool)?, options).await,
            None => no_tool(session, name, args, &tools, options).await,
        };
    }
    let arguments = args.named()?;
    match tool_call(session, name, arguments.clone(), options).await {
        Ok(answer) if !answer.is_unknown_tool(name) => Ok(answer),
        Err(CallFailure::Call(CallError::Error(error))) if error.code == sabir_mcp::code::HEADER_MISMATCH => {
            // Which arguments travel in headers is in the list of the tools.
            session.tools().await?;
            tool_call(session, name, arguments, options).await
        }
        Err(error @ CallFailure::Failed(_)) => Err(error),
        Err(CallFailure::Call(error)) if !matches!(error, CallError::Error(_)) => Err(error.into()),
        // It may be that there is no such tool, or that its arguments are wrong: the list tells.
        answered => {
            let Ok(tools) = session.tools().await else { return answered };
            match tools.iter().find(|tool| tool.name == name) {
                Some(tool) => {
                    typed(args, tool)?;
                    answered
                }
                None => no_tool(session, name, args, &tools, options).await,
            }
        }
    }
}

/// What calling a name is on the wire: a tool, a prompt or a resource.
pub(super) async fn resolve(
    session: &McpSession,
    name: &str,
    args: &Arguments,
) -> Result<(String, Option<RawJson<'static>>), CallFailure> {
    if name.contains("://") && args.is_empty() {
        return Ok(("resources/read".to_owned(), Some(params(&json!({"uri": name}))?)));
    }
    let tools = session.tools().await?;
    let (method, arguments) = match tools.iter().find(|tool| tool.name == name) {
        Some(tool) => ("tools/call", typed(args, tool)?),
        None => ("prompts/get", args.named()?),
    };
    let arguments = arguments.map_or(Ok(json!({})), |arguments| arguments.parse());
    let whole = json!({"name": name, "arguments": arguments.map_err(Failure::usage)?});
    Ok((method.to_owned(), Some(params(&whole)?)))
}

fn typed(args: &Arguments, tool: &Tool) -> Result<Option<RawJson<'static>>, Failure> {
    let schema: Value = tool.input_schema.parse().unwrap_or_default();
    args.typed(&tool.name, &parameters(&schema))
}

async fn tool_call(
    session: &McpSession,
    name: &str,
    arguments: Option<RawJson<'static>>,
    options: CallOptions<'_>,
) -> Result<Answer, CallFailure> {
    let arguments = arguments.unwrap_or(RawJson::new("{}").map_err(Failure::usage)?);
    let params = RawJson::new(format!(r#"{{"name":{},"arguments":{arguments}}}"#, Value::from(name)));
    let params = params.map_err(Failure::usage)?;
    tasks::call_tool(session, &params, options).await
}

/// A prompt of that name, or what may have been meant.
async fn no_tool(
    session: &McpSession,
    name: &str,
    args: &Arguments,
    tools: &[Tool],
    options: CallOptions<'_>,
) -> Result<Answer, CallFailure> {
    let prompts = session.prompts().await.unwrap_or_default();
    if let Some(prompt) = prompts.iter().find(|prompt| prompt.name == name) {
        let known: Vec<Parameter> = prompt
            .arguments
            .iter()
            .map(|argument| Parameter::text(argument.name.clone(), argument.required))
            .collect();
        let arguments =
            args.typed(name, &known)?.map_or(Value::Null, |args| args.parse().unwrap_or_default());
        let mut whole = json!({"name": name});
        if !arguments.is_null() {
            whole["arguments"] = arguments;
        }
        let result = request(session, "prompts/get", params(&whole)?, options.progress).await?;
        return Ok(Answer { result, form: Form::Prompt });
    }
    if name.contains('/') {
        // A method of the protocol, or of an extension of it.
        let result = request(session, name, args.named()?, options.progress).await?;
        return Ok(Answer { result, form: Form::Json });
    }
    let names =
        tools.iter().map(|tool| tool.name.as_str()).chain(prompts.iter().map(|prompt| prompt.name.as_str()));
    let failure = Failure::new(Exit::Error, format_args!("the server has no tool or prompt `{name}`"));
    Err(CallFailure::Failed(match suggest::nearest(name, names.clone()) {
        Some(near) => failure.hint(format_args!("did you mean `{near}`?")),
        None => {
            let names: Vec<&str> = names.take(super::NAMED).collect();
            let more = tools.len() + prompts.len() > names.len();
            let more = if more { ", …" } else { "" };
            match names.is_empty() {
                true => failure.hint("it has none at all"),
                false => failure.hint(format_args!("it has {}{more}", names.join(", "))),
            }
        }
    }))
}

/// Calls a method of the protocol.
pub(super) async fn request(
    session: &McpSession,
    method: &str,
    params: impl Into<Option<RawJson<'static>>>,
    progress: Option<&OnProgress>,
) -> Result<RawJson<'static>, CallError> {
    let mut call = session.request(method.to_owned(), params.into());
    if let Some(progress) = progress.cloned() {
        call = call.on_raw_progress(move |value| progress(&value));
    }
    call.await
}

fn params(value: &Value) -> Result<RawJson<'static>, Failure> {
    RawJson::from_value(value).map_err(Failure::usage)
}
