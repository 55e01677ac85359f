//! `lsp-server`, as in its `minimal_lsp` example: `Connection::stdio` and a loop over the receiver.

use std::error::Error;

use lsp_server::{Connection, ErrorCode, Message, Request, Response};
use serde_json::json;

fn main() -> Result<(), Box<dyn Error + Sync + Send>> {
    let (connection, io_threads) = Connection::stdio();
    connection.initialize(json!({ "capabilities": {} }))?;
    for message in &connection.receiver {
        if let Message::Request(request) = message {
            connection.sender.send(Message::Response(answer(request)))?;
        }
    }
    drop(connection);
    io_threads.join()?;
    Ok(())
}

fn answer(request: Request) -> Response {
    match request.method.as_str() {
        "add" => match serde_json::from_value::<[i64; 2]>(request.params) {
            Ok([a, b]) => Response::new_ok(request.id, a + b),
            Err(e) => Response::new_err(request.id, ErrorCode::InvalidParams as i32, e.to_string()),
        },
        "echo" => Response::new_ok(request.id, request.params),
        method => {
            Response::new_err(request.id, ErrorCode::MethodNotFound as i32, format!("no method {method}"))
        }
    }
}
