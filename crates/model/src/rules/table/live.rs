//! What a live peer does with what it is asked.

use crate::rules::table::{Rule, Scope, Severity, define};

define! { pub LIVE:
LIVE001 Error Live {
    title: "a valid request is not answered",
    why: "The caller waits until its time is up, or for ever.",
    fix: "Answer every request, with -32601 if there is no such method.",
    source: "JSON-RPC 2.0, section 5",
}
LIVE002 Warning Live {
    title: "an unknown method is not answered with -32601",
    why: "Callers that ask whether a method exists go by the code.",
    fix: "Answer -32601 (method not found).",
    source: "JSON-RPC 2.0, section 5.1",
}
LIVE003 Warning Live {
    title: "broken JSON is not answered with -32700 and the id null",
    why: "The sender does not learn that its message was lost.",
    fix: "Answer -32700 (parse error) with the id null.",
    source: "JSON-RPC 2.0, section 5.1",
}
LIVE004 Warning Live {
    title: "an invalid request is not answered with -32600",
    why: "The sender does not learn that its message was lost.",
    fix: "Answer -32600 (invalid request), with the id null if it cannot be read.",
    source: "JSON-RPC 2.0, section 5.1",
}
LIVE005 Warning Live {
    title: "an empty batch is not answered with one -32600",
    why: "Clients wait for an answer, and an empty array does not count as one.",
    fix: "Answer with one error object, not an array.",
    source: "JSON-RPC 2.0, section 6",
}
LIVE006 Warning Live {
    title: "a batch is not answered with one array for its requests alone",
    why: "Clients wait for one array with an answer to each request and none to the notifications.",
    fix: "Gather the answers in one array; send nothing if there are none.",
    source: "JSON-RPC 2.0, section 6",
}
LIVE007 Error Live {
    title: "an id does not come back as it was sent",
    why: "The caller cannot match the answer.",
    fix: "Echo the id's own JSON text, without going through a double or an integer.",
    source: "JSON-RPC 2.0, section 5",
}
LIVE008 Error Live {
    title: "the peer stops after an invalid message",
    why: "One bad message ends every call of every user of the connection.",
    fix: "Answer with an error and go on.",
    source: "JSON-RPC 2.0, section 5.1",
}
LIVE009 Error Live {
    title: "a notification is answered",
    why: "The sender waits for no answer, and may take this one for the answer to something else.",
    fix: "Never answer a message without an id, not even with an error.",
    source: "JSON-RPC 2.0, section 4.1",
}
}
