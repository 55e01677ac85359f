//! The Language Server Protocol 3.17.

use crate::rules::table::{Rule, Scope, Severity, define};

define! { pub(crate) LSP:
LSP001 Error Session {
    title: "a request before `initialize` is not refused with -32002",
    why: "The server does not know the client's capabilities yet, so the answer cannot be right.",
    fix: "Answer -32002 (server not initialized) until `initialize` has come.",
    source: "LSP 3.17, initialize request",
}
LSP002 Error Session {
    title: "`initialize` is sent twice",
    why: "It may be sent once only; servers refuse the second, or start over with half their state.",
    fix: "Start a new server for a new session.",
    source: "LSP 3.17, initialize request",
}
LSP003 Error Session {
    title: "something other than `exit` is sent after `shutdown`",
    why: "The server answers -32600 or has stopped listening.",
    fix: "Send `exit` next, and nothing else.",
    source: "LSP 3.17, shutdown request",
}
LSP004 Error File {
    title: "the headers or the `Content-Length` of a message are wrong",
    why: "Where the message ends is not known, so the rest of the stream is lost too.",
    fix: "Count bytes, not characters, and end each header line with \\r\\n. Write logs to standard error.",
    source: "LSP 3.17, base protocol, header part",
}
LSP005 Error Message {
    title: "a method is sent in the wrong direction",
    why: "The receiver has no such method: it answers -32601, or ignores it.",
    fix: "Check which side this message belongs to.",
    source: "LSP 3.17, meta model",
}
LSP006 Error Session {
    title: "a cancelled request is left unanswered",
    why: "In LSP a cancelled request still has to be answered, or the client waits for ever.",
    fix: "Answer with -32800 (request cancelled), or with what there is.",
    source: "LSP 3.17, cancellation support",
}
LSP007 Error Session {
    title: "a `$/` request that is not known is not refused with -32601",
    why: "Requests that begin with `$/` are optional; -32601 is how the sender learns that there is no support.",
    fix: "Answer -32601 (method not found).",
    source: "LSP 3.17, $ notifications and requests",
}
LSP008 Error Session {
    title: "work-done progress is out of order",
    why: "A report before `begin` or after `end` belongs to no progress bar; clients drop it or leave one open.",
    fix: "Send `begin` once, then reports, then `end` once.",
    source: "LSP 3.17, work done progress",
}
LSP009 Error Session {
    title: "a result repeats what was already sent in parts",
    why: "Once partial results are sent, all of the result comes that way; clients show the rest twice.",
    fix: "Answer with an empty array or null after partial results.",
    source: "LSP 3.17, partial result progress",
}
LSP010 Error Message {
    title: "a batch is sent",
    why: "LSP has no batches. Language servers drop it, or exit.",
    fix: "Send the messages one by one.",
    source: "LSP 3.17, base protocol",
}
}
