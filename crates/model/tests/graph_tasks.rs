//! Calls of MCP that are not over with their answer: those that become tasks, and those that go on with more input. How they
//! end, and when, is said of the call.

#![allow(clippy::unwrap_used)]

mod graphs;

use std::fmt::Write;

use graphs::{table, written};
use sabir_model::graph::Syntax;

/// A capture of MCP: milliseconds, the direction, and a message without its version.
fn capture(messages: &[(u64, &str, &str)]) -> String {
    let mut text = "{\"jrl\":1,\"at\":\"2026-11-19T21:00:00Z\",\"profile\":\"mcp\"}\n".to_owned();
    for (number, (ms, direction, message)) in messages.iter().enumerate() {
        let _ = writeln!(
            text,
            "{{\"n\":{},\"t\":{},\"d\":\"{direction}\",\"msg\":{{\"jsonrpc\":\"2.0\",{message}}}}}",
            number + 1,
            ms * 1_000_000
        );
    }
    text
}

const CALL: &str = r#""id":1,"method":"tools/call","params":{"name":"slow","arguments":{"x":1}}"#;
const CREATED_2025: &str = r#""id":1,"result":{"task":{"taskId":"T1","status":"working"}}"#;
const CREATED_2026: &str = r#""id":1,"result":{"resultType":"task","taskId":"T1","status":"working"}"#;
const ASK_RESULT: &str = r#""id":2,"method":"tasks/result","params":{"taskId":"T1"}"#;
const GET: &str = r#""id":3,"method":"tasks/get","params":{"taskId":"T1"}"#;
const FAILED: &str = r#""id":2,"result":{"content":[{"type":"text","text":"disk full"}],"isError":true}"#;

/// The rows of the queries that ask how calls went.
#[track_caller]
fn check(name: &str, capture: &str, arguments: &[&str], asked: &[&str], rates: &[&str], slowest: &[&str]) {
    for (query, want) in [
        ("failed-arguments", arguments),
        ("who-asked-what", asked),
        ("error-rate", rates),
        ("slowest-methods", slowest),
    ] {
        assert_eq!(table(capture, query), want, "{name}: {query}");
    }
}

#[test]
fn the_end_of_a_task_is_that_of_its_call() {
    check(
        "the result says that the tool has failed",
        &capture(&[
            (0, ">", CALL),
            (1, "<", CREATED_2025),
            (2, ">", ASK_RESULT),
            (30_003, "<", FAILED),
            // Asking again changes nothing.
            (30_004, ">", &ASK_RESULT.replace(":2", ":9")),
            (30_010, "<", &FAILED.replace(":2", ":9")),
        ]),
        &["- 2 slow {\"x\":1} failed disk full"],
        &["client server tasks/result  2 0 0", "client server tools/call slow 1 1 30003"],
        &["tools/call 1 0 1 100", "tasks/result 2 0 0 0"],
        &["tools/call 1 30003 30003 30003"],
    );
    check(
        "the status comes before the result",
        &capture(&[
            (0, ">", CALL),
            (1, "<", CREATED_2025),
            (20, ">", GET),
            (21, "<", r#""id":3,"result":{"taskId":"T1","status":"failed"}"#),
            (30, ">", ASK_RESULT),
            (31, "<", FAILED),
        ]),
        &["- 2 slow {\"x\":1} failed disk full"],
        &[
            "client server tasks/get  1 0 1",
            "client server tasks/result  1 0 0",
            "client server tools/call slow 1 1 21",
        ],
        &["tools/call 1 0 1 100", "tasks/get 1 0 0 0", "tasks/result 1 0 0 0"],
        &["tools/call 1 21 21 21", "tasks/get 1 1 1 1"],
    );
    check(
        "only a notification tells the status",
        &capture(&[
            (0, ">", CALL),
            (1, "<", CREATED_2025),
            (
                9,
                "<",
                r#""method":"notifications/tasks/status","params":{"taskId":"T1","status":"failed","statusMessage":"no disk"}"#,
            ),
        ]),
        &["- 2 slow {\"x\":1} failed no disk"],
        &["client server tools/call slow 1 1 9"],
        &["tools/call 1 0 1 100"],
        &["tools/call 1 9 9 9"],
    );
    check(
        "the call is refused as a task",
        &capture(&[
            (0, ">", CALL),
            (1, "<", CREATED_2025),
            (2, ">", ASK_RESULT),
            (5, "<", r#""id":2,"error":{"code":-32603,"message":"out of paper"}"#),
        ]),
        &["- 2 slow {\"x\":1} refused out of paper"],
        &["client server tasks/result  1 0 0", "client server tools/call slow 1 1 5"],
        &["tools/call 1 1 0 100", "tasks/result 1 0 0 0"],
        &["tools/call 1 5 5 5"],
    );
    check(
        "a task that is not known to the server is a failure of who asks",
        &capture(&[
            (0, ">", CALL),
            (1, "<", CREATED_2025),
            (2, ">", ASK_RESULT),
            (5, "<", r#""id":2,"error":{"code":-32602,"message":"no such task"}"#),
        ]),
        &[],
        &["client server tasks/result  1 1 3", "client server tools/call slow 1 0 1"],
        &["tasks/result 1 1 0 100", "tools/call 1 0 0 0"],
        &["tasks/result 1 3 3 3", "tools/call 1 1 1 1"],
    );
    check(
        "a task that goes well, and one that is cancelled",
        &capture(&[
            (0, ">", CALL),
            (1, "<", CREATED_2025),
            (2, ">", ASK_RESULT),
            (50, "<", r#""id":2,"result":{"content":[]}"#),
            (60, ">", &CALL.replace(":1,\"m", ":4,\"m")),
            (61, "<", &CREATED_2025.replace(":1,\"r", ":4,\"r").replace("T1", "T2")),
            (70, ">", r#""id":5,"method":"tasks/cancel","params":{"taskId":"T2"}"#),
            (71, "<", r#""id":5,"result":{"taskId":"T2","status":"cancelled"}"#),
        ]),
        &[],
        &[
            "client server tools/call slow 2 0 61",
            "client server tasks/cancel  1 0 1",
            "client server tasks/result  1 0 0",
        ],
        &["tools/call 2 0 0 0", "tasks/cancel 1 0 0 0", "tasks/result 1 0 0 0"],
        &["tools/call 2 50 30.5 61", "tasks/cancel 1 1 1 1"],
    );
}

#[test]
fn a_task_has_its_result_in_it() {
    for (status, what, row, rate) in [
        (
            "completed",
            r#""result":{"content":[{"type":"text","text":"disk full"}],"isError":true}"#,
            "- 2 slow {\"x\":1} failed disk full",
            "tools/call 1 0 1 100",
        ),
        (
            "failed",
            r#""error":{"code":-32603,"message":"disk full"}"#,
            "- 2 slow {\"x\":1} refused disk full",
            "tools/call 1 1 0 100",
        ),
    ] {
        let task = format!(r#"{{"taskId":"T1","status":"{status}",{what}}}"#);
        let told = format!(r#""method":"notifications/tasks","params":{task}"#);
        let got = format!(r#""id":3,"result":{task}"#);
        for news in [vec![(8, "<", told.as_str())], vec![(7, ">", GET), (8, "<", got.as_str())]] {
            let messages = [vec![(0, ">", CALL), (1, "<", CREATED_2026)], news].concat();
            let capture = capture(&messages);
            assert_eq!(table(&capture, "failed-arguments"), [row]);
            assert_eq!(table(&capture, "error-rate")[0], rate);
            assert_eq!(table(&capture, "slowest-methods")[0], "tools/call 1 8 8 8");
        }
    }
}

#[test]
fn the_result_of_a_task_is_compared_with_the_schema_of_its_tool() {
    let list = r#""id":9,"method":"tools/list""#;
    let tools = r#""id":9,"result":{"tools":[{"name":"slow","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"a":{"type":"integer"}}}}]}"#;
    let result = r#"{"content":[],"structuredContent":{"a":"b"}}"#;
    let want = "`structuredContent` does not match its schema at /a: the value is not of type \"integer\"";
    let start = [(0, ">", list), (1, "<", tools), (2, ">", CALL)];
    let answer = format!(r#""id":2,"result":{result}"#);
    let by_result =
        [start.as_slice(), &[(3, "<", CREATED_2025), (4, ">", ASK_RESULT), (5, "<", &answer)]].concat();
    let rows = table(&capture(&by_result), "broken-results");
    assert_eq!(rows.len(), 1);
    assert!(rows[0].starts_with(&format!("- 7 slow {want} ")), "{rows:?}");
    let news = format!(
        r#""method":"notifications/tasks","params":{{"taskId":"T1","status":"completed","result":{result}}}"#
    );
    let by_news = [start.as_slice(), &[(3, "<", CREATED_2026), (4, "<", &news)]].concat();
    let rows = table(&capture(&by_news), "broken-results");
    assert_eq!(rows.len(), 1);
    assert!(rows[0].starts_with(&format!("- 6 slow {want} ")), "{rows:?}");
}

const NEEDS_INPUT: &str = r#""id":1,"result":{"resultType":"input_required","inputRequests":{"who":{"method":"elicitation/create","params":{"message":"Your name?"}}}}"#;
const GOES_ON: &str = r#""id":2,"method":"tools/call","params":{"name":"slow","arguments":{"x":1},"inputResponses":{"who":{"action":"accept","content":{"name":"Ann"}}}}"#;

/// A call that goes on with answers, with and without a state, is one.
#[test]
fn a_call_goes_on_with_what_was_asked_for() {
    let states = [("", ""), (r#""requestState":"s","#, r#""requestState":"s","#)];
    for (in_result, in_params) in states {
        let asks = NEEDS_INPUT.replace("\"inputRequests\"", &format!("{in_result}\"inputRequests\""));
        let goes_on = GOES_ON.replace("\"inputResponses\"", &format!("{in_params}\"inputResponses\""));
        let capture = capture(&[
            (0, ">", CALL),
            (3, "<", &asks),
            (1000, ">", &goes_on),
            (1004, "<", r#""id":2,"result":{"content":[{"type":"text","text":"no"}],"isError":true}"#),
        ]);
        check(
            in_result,
            &capture,
            &["- 2 slow {\"x\":1} failed no"],
            &["client server tools/call slow 1 1 1004", "server client elicitation/create  1 0 997"],
            &["tools/call 1 0 1 100"],
            &["tools/call 1 1004 1004 1004"],
        );
        let tree = table(&capture, "call-tree");
        assert_eq!(
            tree,
            [
                "- 0 tools/call slow to server 1004.0 - m2 -",
                "- 1   elicitation/create - to client 997.0 - m3-question-who m2",
            ]
        );
        let chains = table(&capture, "slowest-chains");
        assert_eq!(chains, ["- 2 slow 1004.0 1 997"]);
        let text = written(capture.as_bytes(), Syntax::Turtle);
        for want in ["mcpx:continues c:m2", "mcpx:answeredIn c:m4", "mcp:hasAction \"accept\""] {
            assert!(text.contains(want), "{want} is not in {text}");
        }
    }
}

/// Of two calls that ask the same, each goes on with its own arguments; other keys, tools and states go on with nothing.
#[test]
fn only_what_fits_goes_on() {
    let other = |text: &str, id: u8| {
        text.replace("\"id\":1", &format!("\"id\":{id}"))
            .replace("\"id\":2", &format!("\"id\":{id}"))
            .replace("\"x\":1", "\"x\":2")
    };
    let two = capture(&[
        (0, ">", CALL),
        (1, "<", NEEDS_INPUT),
        (2, ">", &other(CALL, 5)),
        (3, "<", &other(NEEDS_INPUT, 5)),
        (4, ">", &other(GOES_ON, 6)),
        (5, ">", GOES_ON),
    ]);
    let links = |text: &str| {
        let rows = table(text, "SELECT ?later ?call { ?later mcpx:continues ?call } ORDER BY ?later");
        rows.join(", ")
    };
    assert_eq!(links(&two), "m6 m4, m7 m2");
    for (from, to) in
        [("\"who\"", "\"other\""), ("\"slow\"", "\"fast\""), ("\"inputResponses\"", "\"requestState\"")]
    {
        let goes_on = GOES_ON.replace(from, to);
        let messages = [(0, ">", CALL), (1, "<", NEEDS_INPUT), (2, ">", goes_on.as_str())];
        assert_eq!(links(&capture(&messages)), "", "{to}");
    }
}

/// Questions of a task are asked once, however often the task is looked at, and answered by `tasks/update`.
#[test]
fn a_task_asks_and_tells_its_news() {
    let asks = r#""id":3,"result":{"taskId":"T1","status":"input_required","inputRequests":{"k/1":{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"Say hi"}}],"maxTokens":5}}}}"#;
    let listen = r#""id":"s","method":"subscriptions/listen","params":{"notifications":{"taskIds":["T1"]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
    let meta = r#""_meta":{"io.modelcontextprotocol/subscriptionId":"s"}"#;
    let acknowledged = format!(r#""method":"notifications/subscriptions/acknowledged","params":{{{meta}}}"#);
    let news = format!(
        r#""method":"notifications/tasks","params":{{"taskId":"T1","status":"completed","result":{{"content":[]}},{meta}}}"#
    );
    let capture = capture(&[
        (0, ">", CALL),
        (1, "<", CREATED_2026),
        (2, ">", GET),
        (3, "<", asks),
        (4, ">", &GET.replace(":3", ":4")),
        (5, "<", &asks.replace(":3", ":4")),
        (
            10,
            ">",
            r#""id":6,"method":"tasks/update","params":{"taskId":"T1","inputResponses":{"k/1":{"role":"assistant","model":"parrot","content":{"type":"text","text":"hi"}}}}"#,
        ),
        (11, "<", r#""id":6,"result":{"resultType":"complete"}"#),
        (12, ">", listen),
        (13, "<", &acknowledged),
        (20, "<", &news),
    ]);
    let asked = "SELECT ?q ?during ?in ?answer ?text ?model { ?q a mcpx:Question ; mcpx:askedDuring ?during ; mcpx:askedIn ?in ; \
                 mcpx:answeredIn ?answer ; mcp:containsMessage/mcp:hasContent/mcp:hasText ?text ; mcp:hasModel ?model }";
    assert_eq!(table(&capture, asked), ["m5-question-k%2F1 m2 m5 m8 Say hi parrot"]);
    let subscribed = "SELECT ?n ?class { ?n mcpx:subscribedBy c:m10 ; a ?class FILTER (?class != jrpc:Notification) } ORDER BY ?n";
    let mcpx = "urn:sabir:ontology:mcp#";
    assert_eq!(
        table(&capture, subscribed),
        [format!("m11 {mcpx}SubscriptionsAcknowledgedNotification"), format!("m12 {mcpx}TaskNotification")]
    );
    assert_eq!(
        table(&capture, "SELECT ?m { ?m a mcpx:UpdateTaskRequest ; mcpx:aboutTask/mcpx:taskId \"T1\" }"),
        ["m8"]
    );
    assert_eq!(
        table(&capture, "SELECT ?v { ?s a rpcx:Session ; mcp:hasProtocolVersion ?v }"),
        ["2026-07-28"]
    );
    assert!(
        table(&capture, "who-asked-what").contains(&"server client sampling/createMessage  1 0 7".to_owned())
    );
    assert_eq!(table(&capture, "slowest-methods")[0], "tools/call 1 20 20 20");
}

/// As many tasks as anybody likes: the older ones are forgotten, the newer ones are followed.
#[test]
fn of_very_many_tasks_the_newest_are_followed() {
    let mut messages = Vec::new();
    for number in 0..10_000 {
        messages.push((0, ">", CALL.to_owned()));
        messages.push((0, "<", CREATED_2026.replace("T1", &format!("T{number}"))));
    }
    let news = r#""method":"notifications/tasks","params":{"taskId":"T9999","status":"completed","result":{"isError":true}}"#;
    messages.push((5, "<", news.to_owned()));
    let borrowed: Vec<_> = messages.iter().map(|(ms, way, text)| (*ms, *way, text.as_str())).collect();
    let failed =
        table(&capture(&borrowed), "SELECT (COUNT(?c) AS ?n) { ?c mcpx:finalOutcome mcpx:ToolFailed }");
    assert_eq!(failed, ["1"]);
}
