//! The Model Context Protocol, by revision.

use crate::rules::table::{Rule, Scope, Severity, define};

define! { pub(crate) MCP:
MCP001 Error Message {
    title: "a request has the id null or a fraction",
    why: "MCP wants a string or an integer. The SDKs drop such a message without an answer.",
    fix: "Count up from 1, or use a string.",
    source: "MCP, base protocol, requests",
}
MCP002 Error Session {
    title: "an id is used twice in a session",
    why: "Up to 2025-11-25 an id names one request for the whole session; logs and caches rely on it.",
    fix: "Count up, and never start over within a session.",
    source: "MCP 2025-11-25 and earlier, base protocol, requests",
}
MCP003 Error Message {
    title: "a batch is sent where the revision has none, or with `initialize` in it",
    why: "Batches exist in 2025-03-26 alone. Elsewhere servers drop the whole of it, or exit.",
    fix: "Send the messages one by one.",
    source: "MCP 2025-06-18, changelog; 2025-03-26, lifecycle",
}
MCP004 Error Session {
    title: "something is sent before the session is initialized",
    why: "Until then neither side knows the other's revision and capabilities; servers refuse or ignore it.",
    fix: "Send `initialize` first, wait for its answer, then send `notifications/initialized`.",
    source: "MCP 2025-11-25 and earlier, lifecycle, initialization",
}
MCP005 Warning Session {
    title: "`notifications/initialized` is missing or sent twice",
    why: "Servers wait for it before they send anything of their own.",
    fix: "Send it once, right after the answer to `initialize`.",
    source: "MCP 2025-11-25 and earlier, lifecycle, initialization",
}
MCP006 Error Session {
    title: "`initialize` is cancelled",
    why: "The session would be half open, which the protocol has no way to say.",
    fix: "Close the connection instead.",
    source: "MCP, cancellation",
}
MCP007 Error Message {
    title: "a method is sent in the wrong direction",
    why: "The receiver has no such method: it answers -32601, or ignores it.",
    fix: "Check which side this message belongs to.",
    source: "MCP, schema: ClientRequest, ServerRequest and their notifications",
}
MCP008 Error Session {
    title: "a feature is used that was not declared",
    why: "Only what both sides declared in their capabilities may be used; the other side may not have it.",
    fix: "Declare the capability, or do not use the feature.",
    source: "MCP, lifecycle, capability negotiation",
}
MCP009 Error Message {
    title: "params or a result do not have the shape that the method wants",
    why: "The SDKs check messages against the schema, and drop or refuse what does not match.",
    fix: "Add the member that is named, or give it the right type.",
    source: "MCP, schema of the revision",
}
MCP010 Error Session {
    title: "progress does not rise",
    why: "Each notification must report more than the one before; progress bars jump back, and timeouts are not extended.",
    fix: "Send a notification only when there is more progress to report.",
    source: "MCP, progress",
}
MCP011 Error Session {
    title: "a progress token is unknown, or shared by two open requests",
    why: "The progress cannot be told to belong to one request.",
    fix: "Echo the request's own token, and choose a new one for each request.",
    source: "MCP, progress",
}
MCP012 Error Session {
    title: "progress is reported after the answer",
    why: "The request is over; the token may already mean another one.",
    fix: "Stop sending progress before the answer is sent.",
    source: "MCP, progress",
}
MCP013 Warning Session {
    title: "a cancellation names no open request of its sender",
    why: "It does nothing: the request is unknown, answered, or not the sender's own to cancel.",
    fix: "Cancel only requests that were sent and not answered yet. From 2026-07-28 a server cancels nothing but `subscriptions/listen`.",
    source: "MCP, cancellation",
}
MCP014 Warning Session {
    title: "a cancelled request is answered",
    why: "No answer is owed after a cancellation. The two may have crossed; if it happens often, cancelling has no effect.",
    fix: "Stop the work when the cancellation comes, and send nothing more for it.",
    source: "MCP, cancellation",
}
MCP015 Warning Session {
    title: "a tool is called that was never listed",
    why: "The name is guessed, or the list was not read to its end.",
    fix: "Read all pages of `tools/list`, and call what is in them.",
    source: "MCP, tools",
}
MCP016 Error Session {
    title: "the arguments of a tool do not match its `inputSchema`",
    why: "The tool refuses them, or works on what it did not expect.",
    fix: "Send what the last `tools/list` says, or correct the schema.",
    source: "MCP, tools, calling tools",
}
MCP017 Error Session {
    title: "the structured content of a result does not match the tool's `outputSchema`",
    why: "A tool with a schema promises content that matches it. Clients check, and refuse the whole result.",
    fix: "Return `structuredContent` as the schema says, or \"isError\":true; or correct the schema.",
    source: "MCP 2025-06-18 and later, tools, output schema",
}
MCP018 Error Message {
    title: "`_meta` lacks the protocol version or the client's capabilities",
    why: "From 2026-07-28 every request carries both, and servers answer -32602 without them.",
    fix: "Add io.modelcontextprotocol/protocolVersion and io.modelcontextprotocol/clientCapabilities to `params._meta`.",
    source: "MCP 2026-07-28, base protocol, _meta",
}
MCP019 Error Message {
    title: "a result has no `resultType`, or an unknown one",
    why: "From 2026-07-28 it tells a finished result from one that asks for more input.",
    fix: "Add \"resultType\":\"complete\".",
    source: "MCP 2026-07-28, base protocol, results",
}
MCP020 Error Message {
    title: "a method is used that the revision has removed, or the server sends a request",
    why: "From 2026-07-28 there is no handshake, no ping and no request by the server; peers answer -32601.",
    fix: "Use `server/discover`, `subscriptions/listen` and results with \"resultType\":\"input_required\".",
    source: "MCP 2026-07-28, changelog",
}
MCP021 Error Message {
    title: "an error code is MCP's own and means something else, or is retired",
    why: "From 2026-07-28 -32020 to -32099 belong to MCP, and -32002 and -32042 are no longer sent.",
    fix: "Use the defined codes, and codes outside -32768 to -32000 for errors of the application.",
    source: "MCP 2026-07-28, base protocol, errors",
}
MCP022 Error Message {
    title: "a key of `_meta` is malformed or reserved",
    why: "Prefixes whose second label is `modelcontextprotocol` or `mcp` belong to MCP; others are to be reverse domain names.",
    fix: "Use a prefix of your own, such as com.example/key.",
    source: "MCP 2025-06-18 and later, base protocol, _meta",
}
MCP023 Error Session {
    title: "a log message is sent for a request that asked for none",
    why: "From 2026-07-28 a server logs only for requests with io.modelcontextprotocol/logLevel in their `_meta`.",
    fix: "Check the request's `_meta` before sending `notifications/message`.",
    source: "MCP 2026-07-28, logging",
}
MCP024 Error Message {
    title: "a header of HTTP is missing, or does not say what the message says",
    why: "From 2026-07-28 `MCP-Protocol-Version`, `Mcp-Method` and `Mcp-Name` repeat parts of a request. Gateways act on the headers and servers on the message, and a server must refuse a request whose headers differ.",
    fix: "Write the headers from the message that is sent, after the last change to it; a value that is not plain ASCII as =?base64?…?=.",
    source: "MCP 2026-07-28, Streamable HTTP, standard headers",
}
}
