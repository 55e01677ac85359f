//! Agent2Agent 1.0, its JSON-RPC binding.

use crate::rules::table::{Rule, Scope, Severity, define};

define! { pub(crate) A2A:
A2A001 Error Session {
    title: "a request is answered twice, and its method does not stream",
    why: "Only SendStreamingMessage and SubscribeToTask answer more than once.",
    fix: "Answer once, or let the client call the streaming method.",
    source: "A2A 1.0, JSON-RPC binding, streaming",
}
A2A002 Warning Message {
    title: "a method has the name that it had before 1.0",
    why: "Agents of version 1.0 answer -32601 to it.",
    fix: "Use the new name.",
    source: "A2A 1.0, JSON-RPC binding, methods",
}
A2A003 Error Message {
    title: "`error.data` is not an array of objects with `@type`",
    why: "Clients look for google.rpc.ErrorInfo in it, and fail on anything else.",
    fix: "Put details into objects with \"@type\":\"type.googleapis.com/google.rpc.ErrorInfo\", in an array.",
    source: "A2A 1.0, JSON-RPC binding, errors",
}
A2A004 Error Message {
    title: "the error code and `ErrorInfo.reason` disagree",
    why: "Clients of different bindings go by one or the other, and would act differently.",
    fix: "Use the pair that the specification's table gives.",
    source: "A2A 1.0, error codes",
}
}
