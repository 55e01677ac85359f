//! JSON-RPC 2.0 itself. These hold in every profile, unless it says otherwise.

use crate::rules::table::{Rule, Scope, Severity, define};

define! { pub(crate) RPC:
CAP001 Warning File {
    title: "a part of the file cannot be read",
    why: "What is written there is not checked, and what depends on it may be reported wrongly.",
    fix: "Look at the line. A writer that was killed leaves one torn line; anything else was edited or cut.",
    source: "Sabir's capture format",
}
RPC000 Error Message {
    title: "the text is not JSON, or neither an object nor a batch",
    why: "The receiver cannot read it. It answers -32700 or -32600 with the id null at best; many peers fall silent or exit.",
    fix: "Send one JSON object, in UTF-8. Keep logs and banners off the stream: write them to standard error.",
    source: "JSON-RPC 2.0, sections 4 and 5.1",
}
RPC001 Error Message {
    title: "`jsonrpc` is absent or not exactly \"2.0\"",
    why: "It is how 2.0 is told from 1.0. Strict peers refuse the message, and language servers exit on it.",
    fix: "Add \"jsonrpc\":\"2.0\", a string, to every message.",
    source: "JSON-RPC 2.0, sections 4 and 5",
}
RPC002 Error Message {
    title: "`method` is absent or not a string",
    why: "Nobody can tell what is asked for. It is answered -32600.",
    fix: "Name the method in a string.",
    source: "JSON-RPC 2.0, section 4",
}
RPC003 Error Message {
    title: "`params` is neither an array nor an object",
    why: "Strict peers refuse it: null in particular is taken by some and silently dropped by others.",
    fix: "Leave `params` out where there are none; put a single value into an array.",
    source: "JSON-RPC 2.0, section 4.2",
}
RPC004 Error Message {
    title: "a response has both `result` and `error`, or neither",
    why: "The caller cannot know whether the call succeeded, and clients choose differently.",
    fix: "Send exactly one of them. A method that returns nothing answers \"result\":null.",
    source: "JSON-RPC 2.0, section 5",
}
RPC005 Error Message {
    title: "`method` stands beside `result` or `error`",
    why: "It is a request and a response at once: receivers disagree on which.",
    fix: "Split it into two messages.",
    source: "JSON-RPC 2.0, sections 4 and 5",
}
RPC006 Error Message {
    title: "`id` is not a string, a number or null",
    why: "Such an id cannot be matched. Some peers echo it, others answer with the id null, so the call never ends.",
    fix: "Use a string or an integer.",
    source: "JSON-RPC 2.0, section 4",
}
RPC007 Warning Message {
    title: "a request has the id null",
    why: "Half of all peers take it for a notification and never answer, and its answer looks like one to an unreadable message.",
    fix: "Use a string or an integer; leave `id` out for a notification.",
    source: "JSON-RPC 2.0, section 4, note on null",
}
RPC008 Warning Message {
    title: "a number id has a fraction or an exponent, or is beyond 2^53-1",
    why: "Peers that keep numbers as doubles or integers send a different number back, and the call never ends.",
    fix: "Count up from 1, or use a string.",
    source: "JSON-RPC 2.0, section 4, note on fractions; RFC 8259, section 6",
}
RPC009 Warning Message {
    title: "a method begins with `rpc.` and is not a known extension",
    why: "The prefix is reserved for the protocol's own extensions; a later one may give the name another meaning.",
    fix: "Take another name.",
    source: "JSON-RPC 2.0, section 4",
}
RPC010 Error Message {
    title: "a response has no `id`",
    why: "It cannot be matched to its request.",
    fix: "Echo the request's id, or null if that could not be read.",
    source: "JSON-RPC 2.0, section 5",
}
RPC011 Error Message {
    title: "`error` is not an object, or its `code` is not an integer",
    why: "Clients decide by the code. Many fail to read the whole response without it.",
    fix: "Send {\"code\":-32603,\"message\":\"Internal error\"} at the least.",
    source: "JSON-RPC 2.0, section 5.1",
}
RPC012 Error Message {
    title: "`error.message` is absent or not a string",
    why: "Many clients fail to read the whole response without it.",
    fix: "Add one short sentence for people; details go into `data`.",
    source: "JSON-RPC 2.0, section 5.1",
}
RPC013 Note Message {
    title: "`error.message` is not one short sentence",
    why: "It is shown in one line of a log or a dialog; stack traces there hide what happened.",
    fix: "Keep it to one sentence of at most 200 characters, and move the rest to `data`.",
    source: "JSON-RPC 2.0, section 5.1",
}
RPC014 Warning Message {
    title: "an error code is reserved and undefined",
    why: "-32768 to -32000 belong to the specification. Clients may treat the code as something that it is not.",
    fix: "Take -32099 to -32000 for errors of the server, and anything outside the range for those of the application.",
    source: "JSON-RPC 2.0, section 5.1",
}
RPC015 Warning Session {
    title: "an error code contradicts what was asked",
    why: "A text that could not be parsed has no id to answer to, a valid request is not an invalid one, and a method that answered before exists. Callers that go by the code draw the wrong conclusion.",
    fix: "Answer -32700 with the id null, and keep -32600 and -32601 for what they mean.",
    source: "JSON-RPC 2.0, sections 5 and 5.1",
}
RPC016 Error Message {
    title: "a batch is empty",
    why: "It asks for nothing, and is answered by one error instead of an array. As an answer it leaves every call open.",
    fix: "Send nothing instead.",
    source: "JSON-RPC 2.0, section 6",
}
RPC017 Error Message {
    title: "a batch mixes calls and responses",
    why: "Receivers look at the first entry to decide what a batch is, and drop or refuse the rest.",
    fix: "Send calls and responses in separate messages.",
    source: "JSON-RPC 2.0, section 6",
}
RPC018 Warning Message {
    title: "an id occurs twice in one batch",
    why: "Answers in a batch come in any order, so these two cannot be told apart.",
    fix: "Give each request of a batch an id of its own.",
    source: "JSON-RPC 2.0, section 6",
}
RPC020 Error Session {
    title: "a notification is answered",
    why: "The sender waits for no answer, and may take this one for the answer to something else.",
    fix: "Never answer a message without an id, not even with an error.",
    source: "JSON-RPC 2.0, section 4.1",
}
RPC021 Error Session {
    title: "a response answers nothing that was asked",
    why: "The caller ignores it, and the request that it was meant for stays open.",
    fix: "Echo the id exactly as it came: 1 and \"1\" are different ids.",
    source: "JSON-RPC 2.0, section 5",
}
RPC022 Error Session {
    title: "a request is answered twice",
    why: "The caller takes the first answer and ignores the other, or hands it to a later call with the same id.",
    fix: "Answer each request exactly once.",
    source: "JSON-RPC 2.0, section 5",
}
RPC023 Error Session {
    title: "an id is used again while its request is open",
    why: "The answers cannot be told apart.",
    fix: "Count up, and never use an id again before its answer has come.",
    source: "JSON-RPC 2.0, section 4",
}
RPC024 Warning Session {
    title: "a request is never answered",
    why: "The caller waits until its time is up, or for ever.",
    fix: "Answer every request, with an error if need be. If the capture ends too early, take a longer one.",
    source: "JSON-RPC 2.0, section 5",
}
RPC025 Error Session {
    title: "a response comes from the side that asked",
    why: "A side answers its own request: it is relayed or labelled the wrong way round.",
    fix: "Check which way the messages were forwarded or written down.",
    source: "JSON-RPC 2.0, section 5",
}
RPC026 Warning Message {
    title: "a message has members that nobody defined",
    why: "Some peers silently drop such a message, others lose the member when they forward it.",
    fix: "Put it into `params` or `result`; in MCP into their `_meta`.",
    source: "JSON-RPC 2.0, sections 4 and 5",
}
RPC027 Warning Message {
    title: "an object names a member twice",
    why: "Parsers keep the first, the last, or refuse: what one side checks is not what the other does.",
    fix: "Name each member once.",
    source: "RFC 8259, section 4",
}
RPC028 Error Session {
    title: "params do not match what the method is described to take",
    why: "The peer answers -32602, or takes something else for granted. Clients that are generated from the description send other params than this one.",
    fix: "Send the params that the OpenRPC document names, or correct the document.",
    source: "OpenRPC, method objects: params",
}
RPC029 Error Session {
    title: "a result or `error.data` does not match what the method is described to give",
    why: "Clients that are generated from the description cannot read it.",
    fix: "Return what the OpenRPC document says, or correct the document.",
    source: "OpenRPC, method objects: result",
}
RPC030 Note Message {
    title: "a value does not survive every JSON parser",
    why: "Numbers that a double cannot hold are rounded, a lone surrogate is replaced or refused, and deep nesting overflows or is refused.",
    fix: "Send large numbers as strings, whole characters, and at most 128 levels.",
    source: "RFC 8259, sections 6, 8.2 and 9",
}
}
