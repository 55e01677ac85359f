//! What a peer may send.

/// Few enough ids that they meet.
fn id(choice: u8) -> &'static str {
    const IDS: [&str; 8] = ["1", "2", "3", "1.0", "\"a\"", "\"\\u0061\"", "null", "7.5"];
    IDS[choice as usize % IDS.len()]
}

pub(crate) fn from_peer(kind: u8, choice: u8) -> String {
    let id = id(choice);
    match kind % 20 {
        0 | 1 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m","params":{{"a":{choice}}}}}"#),
        2 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize"}}"#),
        3 => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"m","params":{{"_meta":{{"progressToken":{choice},"traceparent":"00-x"}}}}}}"#
        ),
        4 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m","params":{{"workDoneToken":"t"}}}}"#),
        5 => r#"{"jsonrpc":"2.0","method":"n","params":{"a":[1,2]}}"#.to_owned(),
        6 => format!(r#"{{"jsonrpc":"2.0","method":"$/cancelRequest","params":{{"id":{id}}}}}"#),
        7 => format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"r"}}}}"#
        ),
        8 => format!(r#"{{"jsonrpc":"2.0","method":"$/progress","params":{{"token":{id},"value":1}}}}"#),
        9 => format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":1}}}}"#
        ),
        10 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":[{choice}]}}"#),
        11 => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-1,"message":"e"}}}}"#),
        12 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":1,"error":{{"code":-1,"message":"e"}}}}"#),
        13 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":7}}"#),
        14 => format!("[{},{},1]", from_peer(0, choice), from_peer(0, choice.wrapping_add(1))),
        15 => format!("[{},{}]", from_peer(5, choice), from_peer(6, choice)),
        16 => format!("[{},{}]", from_peer(10, choice), from_peer(11, choice.wrapping_add(1))),
        17 => format!("[{}1]", "1,".repeat(choice as usize % 8)),
        18 => "not JSON".to_owned(),
        _ => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"long","params":["{}"]}}"#,
            "x".repeat(choice as usize)
        ),
    }
}

/// Ids of subscriptions, few enough that they meet.
fn subscription(choice: u8) -> &'static str {
    const IDS: [&str; 6] = ["\"s\"", "\"\\u0073\"", "1", "1.0", "null", "\"0x1\""];
    IDS[choice as usize % IDS.len()]
}

/// The answer to a call that subscribes, or to any other.
pub(crate) fn subscribed(call: u8, id: u8) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{},"result":{}}}"#, call % 16 + 1, subscription(id))
}

/// What looks like an item of a subscription.
pub(crate) fn item(kind: u8, choice: u8) -> String {
    const METHODS: [&str; 5] = ["item", "eth_subscription", "slotNotification", "n", "other"];
    let (method, id) = (METHODS[kind as usize % METHODS.len()], subscription(choice));
    let params = match kind / 5 % 8 {
        0 | 1 => format!(r#"{{"subscription":{id},"result":[{choice}]}}"#),
        2 => format!(r#"{{"subscription":{id},"error":{{"code":-32014,"message":"done"}}}}"#),
        3 => format!(r#"{{"error":"e","subscription":{id}}}"#),
        4 => format!(r#"{{"token":"partial-{}","value":[1]}}"#, choice % 16 + 1),
        5 => format!(r#"{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{}}}}}"#, choice % 16 + 1),
        6 => format!(r#"{{"subscription":{id}}}"#),
        _ => format!(r#"{{"subscription":{id},"result":"{}"}}"#, "x".repeat(choice as usize)),
    };
    let method = if kind / 5 % 8 == 4 { "$/progress" } else { method };
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)
}

/// An answer to a call of the session.
pub(crate) fn answer(kind: u8, id: u64) -> String {
    match kind % 8 {
        0 => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":5,"message":"no","data":{{}}}}}}"#),
        1 => format!(r#"{{"jsonrpc":"2.0","id":"{id}","result":null}}"#),
        2 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":1,"error":{{}}}}"#),
        3 => format!("[{}]", answer(4, id)),
        5 => format!(r#"{{"jsonrpc":"2.0","method":"$/progress","params":{{"token":{id},"value":"v"}}}}"#),
        6 => format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":1}}}}"#
        ),
        7 => format!("[{},{}]", answer(4, id), answer(4, id)),
        _ => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"r"}}"#),
    }
}
