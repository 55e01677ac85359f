//! WebSocket, and what goes wrong before there is a connection.

use std::io::ErrorKind;

use sabir::{ConnectErrorKind, Error, Router, Transport, transport};
use tokio::net::TcpListener;

use crate::script::{Act, Script, json, status, three, within};

/// Why a connection cannot be opened: what kind of error, which step, and what it says, with `URL` for the URL.
async fn failure(transport: impl Into<Transport>) -> (ErrorKind, Option<ConnectErrorKind>, String) {
    let error = within(sabir::connect(transport, Router::new())).await.unwrap_err();
    let (step, text) = match &error {
        Error::Connect(error) => (Some(error.kind()), error.to_string()),
        error => (None, error.to_string()),
    };
    (std::io::Error::from(error).kind(), step, text)
}

#[tokio::test]
async fn failures_are_told_apart() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    for scheme in ["http", "ws", "tcp"] {
        let (kind, step, text) = failure(format!("{scheme}://{free}")).await;
        assert_eq!((kind, step), (ErrorKind::ConnectionRefused, Some(ConnectErrorKind::Refused)), "{text}");
        // What the system itself says is different on each.
        let says = if cfg!(unix) { "Connection refused" } else { "" };
        let want = format!("cannot connect to {scheme}://{free}: {says}");
        assert!(text.starts_with(&want), "{text}");
        assert!(text.ends_with("check the address, and that the server runs"), "{text}");
        let (_, step, text) = failure(format!("{scheme}://nonesuch.invalid:1")).await;
        assert_eq!(step, Some(ConnectErrorKind::Resolve), "{text}");
    }
    let nowhere = if cfg!(unix) { "unix:/nonesuch/socket" } else { "pipe:nonesuch" };
    let (_, step, _) = failure(nowhere).await;
    assert_eq!(step, Some(ConnectErrorKind::Unreachable));

    for (status_line, want) in [("401 Unauthorized", 401), ("404 Not Found", 404), ("200 OK", 200)] {
        let script = Script::play([status(status_line, "")]).await;
        let (_, step, text) = failure(format!("ws://{}/", script.address)).await;
        assert_eq!(step, Some(ConnectErrorKind::Status(want)), "{text}");
    }
    let script = Script::play([Act::Last(b"SSH-2.0\r\n\r\n".to_vec())]).await;
    let (_, step, text) = failure(format!("ws://{}/", script.address)).await;
    assert_eq!(step, Some(ConnectErrorKind::Protocol), "{text}");
}

#[tokio::test]
async fn what_makes_no_sense_is_said() {
    for (transport, want) in [
        (transport::url("gopher://x"), "`gopher://x` is not a valid URL: expected http(s)://"),
        (transport::url("tcp://x"), "`tcp://x` names no port"),
        (transport::url("tcp://x:1/path"), "`tcp://x:1/path` must name a host and a port"),
        (transport::url("http://"), "`http://`"),
        (transport::url("http://a b/"), "`http://a b/`"),
        (transport::url("http://:80/"), "`http://:80/`"),
        (transport::url("http://me:secret@x/"), "a name and a password belong in"),
        (transport::url("http://x/").header("a b", "c"), "`a b` is not a header: a name"),
        (transport::url("http://x/").bearer("a\nb"), "`authorization` is not a header: its value"),
        (transport::url("tcp://x:1").bearer("a"), "`tcp://x:1` has no headers"),
    ] {
        let (kind, _, text) = failure(transport).await;
        assert_eq!(kind, ErrorKind::InvalidInput, "{text}");
        assert!(text.starts_with(want), "{text}");
        assert!(!text.contains("secret"), "{text}");
    }
}

/// A server whose every byte is right, by a library that is not ours.
async fn echo() -> String {
    use futures_util::{SinkExt, StreamExt};
    use tokio_tungstenite::tungstenite::Message;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut socket = tokio_tungstenite::accept_async(stream).await.unwrap();
        let ask = r#"{"jsonrpc":"2.0","id":"q","method":"ask"}"#;
        socket.send(Message::text(ask)).await.unwrap();
        let answer = socket.next().await.unwrap().unwrap().into_text().unwrap();
        assert_eq!(answer.as_str(), r#"{"jsonrpc":"2.0","id":"q","result":"yes"}"#);
        while let Some(Ok(message)) = socket.next().await {
            if let Message::Text(text) = message {
                assert!(text.contains("add"), "{text}");
                socket.send(Message::text(r#"{"jsonrpc":"2.0","id":1,"result":3}"#)).await.unwrap();
            }
        }
    });
    format!("ws://{address}/rpc?x=1")
}

#[tokio::test]
async fn websockets_go_both_ways() {
    let url = echo().await;
    let (asked, mut was_asked) = tokio::sync::mpsc::unbounded_channel();
    let router = Router::new().method("ask", move |_, (): ()| {
        asked.send(()).unwrap();
        async { Ok("yes") }
    });
    let peer = sabir::connect(transport::url(url).bearer("x"), router).await.unwrap();
    within(was_asked.recv()).await.unwrap();
    assert_eq!(within(peer.call("add", (1, 2))).await, Ok(3));
    within(peer.shutdown(std::time::Duration::from_secs(5))).await;
}

/// IPv6 addresses, ports, queries and what stands behind a `#`.
#[tokio::test]
async fn the_parts_of_a_url() {
    let script = Script::answer(|seen| json(&three(seen))).await;
    for (path, want) in [("", "/"), ("/a/b?c=d", "/a/b?c=d"), ("/?q#fragment", "/?q")] {
        let url = format!("HTTP://{}{path}", script.address);
        let peer = sabir::connect(url, Router::new()).await.unwrap();
        assert_eq!(within(peer.call("add", (1, 2))).await, Ok(3));
        let seen = script.seen(1).await;
        assert!(seen.last().unwrap().head.starts_with(&format!("POST {want} HTTP/1.1")), "{seen:?}");
    }
}
