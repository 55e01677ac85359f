//! Rules of Agent2Agent 1.0, its JSON-RPC binding. All but one look at single messages.

use sabir_proto::{JsonKind, RawJson, Request, Response};

use crate::json_path::{elements, kind, member, text_at};
use crate::rules::engine::finding::quoted;
use crate::rules::engine::session::CheckContext;
use crate::rules::table::*;

/// Names before 1.0, and now.
const RENAMED: [(&str, &str); 10] = [
    ("message/send", "SendMessage"),
    ("message/stream", "SendStreamingMessage"),
    ("tasks/get", "GetTask"),
    ("tasks/list", "ListTasks"),
    ("tasks/cancel", "CancelTask"),
    ("tasks/resubscribe", "SubscribeToTask"),
    ("tasks/pushNotificationConfig/set", "CreateTaskPushNotificationConfig"),
    ("tasks/pushNotificationConfig/get", "GetTaskPushNotificationConfig"),
    ("tasks/pushNotificationConfig/delete", "DeleteTaskPushNotificationConfig"),
    ("agent/getAuthenticatedExtendedCard", "GetExtendedAgentCard"),
];

/// Codes and the reason that belongs to each.
const REASONS: [(i64, &str); 9] = [
    (-32001, "TASK_NOT_FOUND"),
    (-32002, "TASK_NOT_CANCELABLE"),
    (-32003, "PUSH_NOTIFICATION_NOT_SUPPORTED"),
    (-32004, "UNSUPPORTED_OPERATION"),
    (-32005, "CONTENT_TYPE_NOT_SUPPORTED"),
    (-32006, "INVALID_AGENT_RESPONSE"),
    (-32007, "EXTENDED_AGENT_CARD_NOT_CONFIGURED"),
    (-32008, "EXTENSION_SUPPORT_REQUIRED"),
    (-32009, "VERSION_NOT_SUPPORTED"),
];

/// Whether a method answers more than once.
pub(crate) fn streams(method: &str) -> bool {
    matches!(method, "SendStreamingMessage" | "SubscribeToTask")
}

/// Nothing of a request is wanted again.
pub(crate) fn request(context: &mut CheckContext<'_>, request: &Request<'_>) -> bool {
    if let Some((_, new)) = RENAMED.iter().find(|(old, _)| *old == request.method) {
        context.add(&A2A002, &request.method, format!("{} is called `{new}` now", quoted(&request.method)));
    }
    false
}

pub(crate) fn response(context: &mut CheckContext<'_>, response: &Response<'_>) {
    let Err(error) = &response.outcome else { return };
    let Some(data) = error.data.as_ref().map(RawJson::as_str) else { return };
    let typed = |detail: &&str| member(detail, &["@type"]).is_some_and(|name| kind(name) == JsonKind::String);
    if kind(data) != JsonKind::Array {
        return context.add(&A2A003, data, format!("`error.data` must be an array, found {}", kind(data)));
    }
    if let Some(untyped) = elements(data).find(|detail| !typed(detail)) {
        return context.add(&A2A003, untyped, "this detail has no `@type`");
    }
    let Some((_, wanted)) = REASONS.iter().find(|(code, _)| *code == error.code.0) else { return };
    for detail in elements(data) {
        let is_info = text_at(detail, &["@type"]).is_some_and(|name| name.ends_with("google.rpc.ErrorInfo"));
        if let Some(reason) = member(detail, &["reason"]).filter(|_| is_info)
            && text_at(detail, &["reason"]).is_none_or(|reason| reason != *wanted)
        {
            context.add(&A2A004, reason, format!("the reason of {} is `{wanted}`", error.code));
        }
    }
}
