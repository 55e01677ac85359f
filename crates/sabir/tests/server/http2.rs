//! HTTP/2, known beforehand or by ALPN.

use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;

use crate::client::{Stream, within};
use crate::open::{ADD, Certificate, SUM, open};
use crate::server::router;

pub(crate) type Sender = http2::SendRequest<Full<Bytes>>;

pub(crate) async fn dial(stream: impl Stream + 'static) -> Sender {
    let handshake = http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
    let (sender, connection) = within(handshake).await.unwrap();
    tokio::spawn(connection);
    sender
}

pub(crate) fn request(accept: &str, body: &str) -> Request<Full<Bytes>> {
    Request::post("http://localhost/")
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, accept)
        .body(Full::from(body.to_owned()))
        .unwrap()
}

async fn post(sender: &mut Sender, accept: &str, body: &str) -> (StatusCode, String) {
    let response = within(sender.send_request(request(accept, body))).await.unwrap();
    let status = response.status();
    let body = within(response.into_body().collect()).await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

async fn assert_spoken(mut sender: Sender) {
    let (json, events) = ("application/json", "text/event-stream");
    assert_eq!(post(&mut sender, json, ADD).await, (StatusCode::OK, SUM.to_owned()));
    let tell = r#"{"jsonrpc":"2.0","id":1,"method":"tell"}"#;
    let told = "data: {\"jsonrpc\":\"2.0\",\"method\":\"told\"}\n\n\
                data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"told\"}\n\n";
    assert_eq!(post(&mut sender, events, tell).await, (StatusCode::OK, told.to_owned()));
    assert_eq!(post(&mut sender, "image/png", ADD).await.0, StatusCode::NOT_ACCEPTABLE);
    // Side by side, on one connection.
    let calls: Vec<_> = (0..50u32)
        .map(|id| {
            let mut sender = sender.clone();
            tokio::spawn(async move {
                let nap = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"nap","params":[{}]}}"#, 50 - id);
                let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{}}}"#, 50 - id);
                assert_eq!(post(&mut sender, "*/*", &nap).await, (StatusCode::OK, answer));
            })
        })
        .collect();
    for call in calls {
        within(call).await.unwrap();
    }
}

#[tokio::test]
async fn known_beforehand() {
    let server = open("http", router(), |server| server).await;
    assert_spoken(dial(TcpStream::connect(("127.0.0.1", server.port)).await.unwrap()).await).await;
    server.stop().await;
}

#[tokio::test]
async fn by_alpn() {
    let certificate = Certificate::new();
    let server = open("https", router(), |server| server.tls(certificate.server())).await;
    let stream = certificate.connect(server.port, &["h2", "http/1.1"]).await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    assert_spoken(dial(stream).await).await;
    server.stop().await;
}
