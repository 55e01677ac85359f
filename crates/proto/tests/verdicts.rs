//! The dialect table, row by row: what each dialect says of each liberty, in which words, and to which id.

use sabir_proto::{
    Dialect, Entry, ErrorObject, Incoming, LENIENT, LSP, Limits, MCP, MCP_2024_11_05, MCP_2025_03_26,
    MCP_2025_06_18, MCP_2025_11_25, MCP_2026_07_28, Message, Notification, PLAIN, Request, Response, decode,
};

const DIALECTS: [Dialect; 8] =
    [PLAIN, LSP, MCP_2024_11_05, MCP_2025_03_26, MCP_2025_06_18, MCP_2025_11_25, MCP_2026_07_28, LENIENT];

/// A text, and what becomes of it in whose eyes: `*` is everybody, `mcp` all its revisions, and the last
/// that fits counts.
type Case<'a> = (&'a str, &'a [(&'a str, &'a str)]);

#[track_caller]
fn check(cases: &[Case<'_>]) {
    let limits = Limits { batch_len: 3, ..Limits::default() };
    for (text, verdicts) in cases {
        for dialect in &DIALECTS {
            let names = ["*", dialect.name.split(' ').next().unwrap_or_default(), dialect.name];
            let wanted = verdicts.iter().rfind(|(who, _)| names.contains(who)).map(|(_, verdict)| *verdict);
            let seen = match decode(text.as_bytes(), dialect, &limits) {
                Ok(Incoming::One(entry)) => describe(&entry),
                Ok(Incoming::Batch(entries)) => {
                    format!("batch [{}]", entries.iter().map(describe).collect::<Vec<_>>().join("; "))
                }
                Err(error) if dialect.allow_non_json => format!("reported: {error}"),
                Err(error) => refusal(&error.error(), "none"),
            };
            assert_eq!(Some(seen.as_str()), wanted, "{} on {text}", dialect.name);
        }
    }
}

fn describe(entry: &Entry<'_>) -> String {
    match entry {
        Ok(Message::Request(Request { id, method, params: Some(params) })) => {
            format!("request {id} {method} {params}")
        }
        Ok(Message::Request(Request { id, method, params: None })) => format!("request {id} {method}"),
        Ok(Message::Notification(Notification { method, params: Some(params) })) => {
            format!("notification {method} {params}")
        }
        Ok(Message::Notification(Notification { method, params: None })) => format!("notification {method}"),
        Ok(Message::Response(Response { id, outcome: Ok(result) })) => format!("result {id} {result}"),
        Ok(Message::Response(Response { id, outcome: Err(error) })) => format!("error {id} {error}"),
        Err(invalid) => {
            let id = invalid.id.as_ref().map_or("none", |id| id.text());
            if invalid.response {
                format!("reported, id {id}: {}", invalid.fault)
            } else {
                refusal(&invalid.error(), id)
            }
        }
    }
}

/// The error that goes back, in one line.
fn refusal(error: &ErrorObject<'_>, id: &str) -> String {
    let data: serde_json::Value = error.data.as_ref().map_or_else(Default::default, |data| {
        data.parse().unwrap_or_else(|error| panic!("{data} is not data: {error}"))
    });
    let reason = data["reason"].as_str().unwrap_or("no reason given");
    match data["offset"].as_u64() {
        Some(offset) => format!("{} {}: {reason}, at byte {offset}", error.code, error.message),
        None => format!("{}, id {id}: {reason}", error.code),
    }
}

#[test]
fn messages_that_everybody_takes() {
    check(&[
        (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[]}}"#, &[("*", r#"request 1 m {"a":[]}"#)]),
        (r#"{"jsonrpc":"2.0","id":"x","method":"m"}"#, &[("*", r#"request "x" m"#)]),
        (r#"{"method":"","id":-7,"jsonrpc":"2.0"}"#, &[("*", "request -7 ")]),
        (r#"{"jsonrpc":"2.0","id":1.0,"method":"m"}"#, &[("*", "request 1.0 m")]),
        (r#"{"jsonrpc":"2.0","id":10e-1,"method":"m"}"#, &[("*", "request 10e-1 m")]),
        (r#"{"jsonrpc":"2.0","method":"m","params":{}}"#, &[("*", "notification m {}")]),
        (r#"{"jsonrpc":"2.0","m\u0065thod":"\u006d"}"#, &[("*", "notification m")]),
        (r#"{"jsonrpc":"2\u002e0","method":"m"}"#, &[("*", "notification m")]),
        (r#"{"jsonrpc":"2.0","id":1,"result":null}"#, &[("*", "result 1 null")]),
        (r#"{"jsonrpc":"2.0","id":1.5,"result":[ 1 ]}"#, &[("*", "result 1.5 [ 1 ]")]),
        (r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"e"}}"#, &[("*", "error null -1: e")]),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"data":[0],"message":"e","code":5}}"#,
            &[("*", "error 1 5: e ([0])")],
        ),
    ]);
}

#[test]
fn jsonrpc_missing_or_not_2_0() {
    let taken = ("lenient", "request 1 m");
    check(&[
        (r#"{"id":1,"method":"m"}"#, &[("*", "-32600, id 1: `jsonrpc` is missing"), taken]),
        (
            r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#,
            &[("*", r#"-32600, id 1: `jsonrpc` must be "2.0""#), taken],
        ),
        (
            r#"{"jsonrpc":2.0,"id":1,"method":"m"}"#,
            &[("*", r#"-32600, id 1: `jsonrpc` must be the string "2.0", found number"#), taken],
        ),
        (
            r#"{"jsonrpc":null,"id":1,"method":"m"}"#,
            &[("*", r#"-32600, id 1: `jsonrpc` must be the string "2.0", found null"#), taken],
        ),
        (
            r#"{"jsonrpc":"\ud800","id":1,"method":"m"}"#,
            &[("*", "-32600, id 1: `jsonrpc` holds a lone surrogate"), taken],
        ),
        (
            r#"{"id":1,"result":2}"#,
            &[("*", "reported, id 1: `jsonrpc` is missing"), ("lenient", "result 1 2")],
        ),
    ]);
}

#[test]
fn params_null() {
    let wrong = "`params` must be an array or an object, found null";
    let mcp = "`params` must be an object, found null";
    check(&[
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":null}"#,
            &[
                ("*", &format!("-32600, id 1: {wrong}")),
                ("mcp", &format!("-32600, id 1: {mcp}")),
                ("lsp", "request 1 m"),
                ("lenient", "request 1 m"),
            ],
        ),
        (
            r#"{"jsonrpc":"2.0","method":"m","params":null}"#,
            &[
                ("*", &format!("-32600, id none: {wrong}")),
                ("mcp", &format!("-32600, id none: {mcp}")),
                ("lsp", "notification m"),
                ("lenient", "notification m"),
            ],
        ),
    ]);
}

#[test]
fn params_a_string_number_or_boolean() {
    for (params, kind) in [("\"x\"", "string"), ("5", "number"), ("true", "boolean")] {
        check(&[(
            &format!(r#"{{"jsonrpc":"2.0","id":"a","method":"m","params":{params}}}"#),
            &[
                ("*", &format!(r#"-32600, id "a": `params` must be an array or an object, found {kind}"#)),
                ("mcp", &format!(r#"-32600, id "a": `params` must be an object, found {kind}"#)),
            ],
        )]);
    }
}

#[test]
fn params_an_array() {
    check(&[(
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[1, 2]}"#,
        &[("*", "request 1 m [1, 2]"), ("mcp", "-32600, id 1: `params` must be an object, found array")],
    )]);
}

#[test]
fn id_null_in_a_request() {
    let refused = "-32600, id null: `id` must be a string or a number, found null";
    check(&[(
        r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#,
        &[("*", "request null m"), ("mcp", refused), ("lsp", refused)],
    )]);
}

#[test]
fn id_with_a_fraction() {
    for id in ["1.5", "-0.25", "15e-1", "1e-400"] {
        let refused = format!("-32600, id {id}: `id` must be an integer or a string, found a fraction");
        check(&[(
            &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#),
            &[("*", &format!("request {id} m")), ("mcp", &refused), ("lsp", &refused)],
        )]);
    }
}

#[test]
fn id_a_boolean_array_or_object() {
    for (id, kind) in [("true", "boolean"), ("[1]", "array"), ("{}", "object")] {
        let refused = format!("-32600, id none: `id` must be a string or a number, found {kind}");
        let wrong = format!("id none: `id` must be a string, a number or null, found {kind}");
        check(&[
            (
                &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#),
                &[("*", &format!("-32600, {wrong}")), ("mcp", &refused), ("lsp", &refused)],
            ),
            (
                &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":1}}"#),
                &[("*", &format!("reported, {wrong}"))],
            ),
        ]);
    }
}

const NO_BATCHES: &str = "-32600, id none: batches are not part of this protocol: send one at a time";
const NO_BATCHES_REPORTED: &str =
    "reported, id none: batches are not part of this protocol: send one at a time";

#[test]
fn a_batch() {
    let without = ["lsp", "mcp 2025-06-18", "mcp 2025-11-25", "mcp 2026-07-28"];
    for (text, taken, refused) in [
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"a"}, {"jsonrpc":"2.0","method":"b"}]"#,
            "batch [request 1 a; notification b]",
            NO_BATCHES,
        ),
        (
            r#"[1,{"jsonrpc":"2.0","id":2}]"#,
            "batch [-32600, id none: a message must be an object, found number; \
             -32600, id 2: there is no `method`, `result` or `error`]",
            NO_BATCHES,
        ),
        (
            r#"[{"jsonrpc":"2.0","id":1,"result":0},[]]"#,
            "batch [result 1 0; -32600, id none: a message must be an object, found array]",
            NO_BATCHES,
        ),
        (
            r#"[{"jsonrpc":"2.0","id":1,"result":0},{"jsonrpc":"2.0","result":0}]"#,
            "batch [result 1 0; reported, id none: `id` is missing]",
            NO_BATCHES_REPORTED,
        ),
        ("[1,2,3,4]", "-32010, id none: a batch may have 3 entries at most", NO_BATCHES),
    ] {
        let mut verdicts = vec![("*", taken)];
        verdicts.extend(without.map(|name| (name, refused)));
        check(&[(text, &verdicts)]);
    }
}

#[test]
fn an_empty_batch() {
    check(&[("[ ]", &[("*", "-32600, id none: a batch must have at least one entry")])]);
}

#[test]
fn a_member_of_the_envelope_twice() {
    check(&[
        (
            r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"m"}"#,
            &[("*", "-32600, id 1: `jsonrpc` occurs more than once")],
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"m"}"#,
            &[("*", "-32600, id none: `id` occurs more than once")],
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"\u0069d":2,"result":0}"#,
            &[("*", "reported, id none: `id` occurs more than once")],
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"m","method":"n"}"#,
            &[("*", "-32600, id 1: `method` occurs more than once")],
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{},"params":{}}"#,
            &[("*", "-32600, id 1: `params` occurs more than once")],
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":1,"result":1}"#,
            &[("*", "reported, id 1: `result` occurs more than once")],
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{},"error":{}}"#,
            &[("*", "reported, id 1: `error` occurs more than once")],
        ),
    ]);
}

#[test]
fn method_with_result_or_error() {
    check(&[
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"m","result":1}"#,
            &[("*", "-32600, id 1: `method` and `result` cannot be combined")],
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":null,"method":"m"}"#,
            &[("*", "-32600, id 1: `method` and `error` cannot be combined")],
        ),
    ]);
}

#[test]
fn result_and_error_together() {
    let both = ("*", "reported, id 1: `result` and `error` cannot be combined");
    check(&[
        (r#"{"jsonrpc":"2.0","id":1,"result":5,"error":null}"#, &[both, ("lenient", "result 1 5")]),
        (r#"{"jsonrpc":"2.0","id":1,"result":null,"error":null}"#, &[both, ("lenient", "result 1 null")]),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":1,"message":"e"}}"#,
            &[both, ("lenient", "error 1 1: e")],
        ),
        (r#"{"jsonrpc":"2.0","id":1,"result":5,"error":{"code":1,"message":"e"}}"#, &[both]),
    ]);
}

#[test]
fn an_error_response_without_id() {
    let taken = "error null -32700: Parse error";
    check(&[
        (
            r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}}"#,
            &[
                ("*", "reported, id none: `id` is missing"),
                ("mcp 2025-11-25", taken),
                ("mcp 2026-07-28", taken),
                ("lenient", taken),
            ],
        ),
        (r#"{"jsonrpc":"2.0","result":1}"#, &[("*", "reported, id none: `id` is missing")]),
    ]);
}

/// Whether the string stands for a number of ours is for the session to know.
#[test]
fn a_string_id_that_spells_a_number_stays_a_string() {
    check(&[(r#"{"jsonrpc":"2.0","id":"1","result":0}"#, &[("*", r#"result "1" 0"#)])]);
    let forgiving = DIALECTS.iter().filter(|dialect| dialect.lenient_responses).map(|dialect| dialect.name);
    assert_eq!(forgiving.collect::<Vec<_>>(), ["lenient"]);
}

#[test]
fn text_that_is_not_json() {
    check(&[
        (
            "Listening on port 80",
            &[
                ("*", "-32700 Parse error: expected a value, at byte 0"),
                ("lenient", "reported: expected a value, at byte 0"),
            ],
        ),
        (
            r#"{"jsonrpc":"2.0","method":"m""#,
            &[
                ("*", "-32700 Parse error: the text ends too early, at byte 29"),
                ("lenient", "reported: the text ends too early, at byte 29"),
            ],
        ),
        (
            r#"[{"jsonrpc":"2.0","method":"m"},{"jsonrpc"]"#,
            &[
                ("*", "-32700 Parse error: expected `:` after the member name, at byte 42"),
                ("lenient", "reported: expected `:` after the member name, at byte 42"),
            ],
        ),
    ]);
}

#[test]
fn members_that_nobody_defined() {
    check(&[
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"m","x":1,"x":[2],"Id":3,"ID":4,"meta":{"id":5}}"#,
            &[("*", "request 1 m")],
        ),
        (r#"{"jsonrpc":"2.0","id":1,"result":2,"params":3}"#, &[("*", "result 1 2")]),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"e","x":1,"x":2}}"#,
            &[("*", "error 1 1: e")],
        ),
    ]);
}

#[test]
fn json_that_is_no_message_at_all() {
    let shapeless = "there is no `method`, `result` or `error`";
    check(&[
        ("null", &[("*", "-32600, id none: a message must be an object, found null")]),
        ("true", &[("*", "-32600, id none: a message must be an object, found boolean")]),
        ("5", &[("*", "-32600, id none: a message must be an object, found number")]),
        ("\"{}\"", &[("*", "-32600, id none: a message must be an object, found string")]),
        (r#"{"jsonrpc":"2.0"}"#, &[("*", &format!("-32600, id none: {shapeless}"))]),
        (r#"{"jsonrpc":"2.0","id":"q","params":[]}"#, &[("*", &format!(r#"-32600, id "q": {shapeless}"#))]),
        (
            "{}",
            &[
                ("*", "-32600, id none: `jsonrpc` is missing"),
                ("lenient", &format!("-32600, id none: {shapeless}")),
            ],
        ),
    ]);
}

#[test]
fn a_method_that_is_no_name() {
    for (method, kind) in [("1", "number"), ("null", "null"), ("[\"m\"]", "array"), ("{}", "object")] {
        check(&[(
            &format!(r#"{{"jsonrpc":"2.0","id":1,"method":{method}}}"#),
            &[("*", &format!("-32600, id 1: `method` must be a string, found {kind}"))],
        )]);
    }
    check(&[(
        r#"{"jsonrpc":"2.0","id":1,"method":"\udc00"}"#,
        &[("*", "-32600, id 1: `method` holds a lone surrogate")],
    )]);
}

#[test]
fn an_error_that_is_malformed() {
    for (error, reason) in [
        ("null", "`error` must be an object, found null"),
        ("\"e\"", "`error` must be an object, found string"),
        ("[]", "`error` must be an object, found array"),
        ("{}", "`error.code` is missing"),
        (r#"{"code":1}"#, "`error.message` is missing"),
        (r#"{"message":"e"}"#, "`error.code` is missing"),
        (r#"{"code":"1","message":"e"}"#, "`error.code` must be an integer, found string"),
        (r#"{"code":1.5,"message":"e"}"#, "`error.code` must be an integer of 64 bits"),
        (r#"{"code":9223372036854775808,"message":"e"}"#, "`error.code` must be an integer of 64 bits"),
        (r#"{"code":1,"message":null}"#, "`error.message` must be a string, found null"),
        (r#"{"code":1,"message":"e","cod\u0065":1}"#, "a member of `error` occurs twice"),
    ] {
        check(&[(
            &format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#),
            &[("*", &format!("reported, id 1: {reason}"))],
        )]);
    }
}

#[test]
fn mcp_dialects_are_found_by_their_revision() {
    for dialect in &DIALECTS {
        match dialect.name.strip_prefix("mcp ") {
            Some(revision) => assert_eq!(Dialect::mcp(revision).as_ref(), Some(dialect)),
            None => assert_eq!(Dialect::mcp(dialect.name), None),
        }
    }
    assert_eq!(Dialect::mcp("2023-01-01"), None);
    assert_eq!(MCP, MCP_2026_07_28);
    assert_eq!(Dialect::default(), PLAIN);
}
