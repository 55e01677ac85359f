//! An HTTP/2 server that breaks the protocol, or floods with what it allows: every call ends, in its own time.

use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sabir::{CallError, Router, transport};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::script::within;
use crate::tls::identity;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// `:status: 200` and `content-type: application/json`.
fn answer_head(flags: u8) -> Vec<u8> {
    let mut block = vec![0x88, 0x0F, 0x10, 16];
    block.extend(b"application/json");
    frame(HEADERS, flags, 1, &block)
}

/// What a server sends once a request has come: this, and then that again and again.
#[derive(Clone)]
struct Play {
    first: Vec<u8>,
    again: Vec<u8>,
    reads: bool,
}

async fn serve(mut stream: TlsStream<TcpStream>, play: Play) {
    // The preface, and frames up to the first request.
    let mut preface = [0; 24];
    if stream.read_exact(&mut preface).await.is_err() {
        return;
    }
    let _ = stream.write_all(&frame(SETTINGS, 0, 0, &[])).await;
    loop {
        let mut head = [0; 9];
        if stream.read_exact(&mut head).await.is_err() {
            return;
        }
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let mut payload = vec![0; length];
        if stream.read_exact(&mut payload).await.is_err() {
            return;
        }
        if head[3] == HEADERS {
            break;
        }
    }
    let (mut read, mut write) = tokio::io::split(stream);
    let reading = async {
        if play.reads {
            while read.read(&mut [0; 4096]).await.is_ok_and(|count| count > 0) {}
        }
        std::future::pending::<()>().await;
    };
    let writing = async {
        let again = match play.again.is_empty() {
            true => Vec::new(),
            false => play.again.repeat(16_384usize.div_ceil(play.again.len())),
        };
        let mut sent = write.write_all(&play.first).await;
        let _ = write.flush().await;
        while sent.is_ok() && !again.is_empty() {
            sent = write.write_all(&again).await;
        }
        if again.is_empty() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = reading => {}
        () = writing => {}
    }
}

/// Each call ends: with an error, or when its time is up. Nothing else on the thread waits for it.
async fn check(name: &str, play: Play, by_itself: bool) {
    let identity = identity("localhost");
    let certificate = CertificateDer::from_pem_slice(identity.chain.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let serving = tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (acceptor, play) = (acceptor.clone(), play.clone());
            tokio::spawn(async move {
                if let Ok(stream) = acceptor.accept(stream).await {
                    serve(stream, play).await;
                }
            });
        }
    });
    let url = transport::url(format!("https://localhost:{port}/")).root_certificate(identity.chain);
    let peer = within(sabir::connect(url, Router::new())).await.unwrap();
    let time = if by_itself { Duration::from_secs(10) } else { Duration::from_millis(300) };
    let ended = within(peer.call::<i64>("add", (1, 2)).timeout(time)).await;
    match ended {
        Err(CallError::Undelivered(_)) if by_itself => {}
        Err(CallError::TimedOut) if !by_itself => {}
        // A flood may also be found out.
        Err(CallError::Undelivered(_)) => {}
        other => panic!("{name}: {other:?}"),
    }
    within(peer.shutdown(Duration::ZERO)).await;
    serving.abort();
}

#[tokio::test]
async fn what_breaks_the_protocol_ends_the_call() {
    let once = |first: Vec<u8>| Play { first, again: Vec::new(), reads: true };
    let head = || answer_head(0x4);
    for (name, play) in [
        ("settings for a stream", once(frame(SETTINGS, 0, 1, &[]))),
        ("settings of odd length", once(frame(SETTINGS, 0, 0, &[0; 5]))),
        ("a window of more than 2^31", once(frame(SETTINGS, 0, 0, &[0, 4, 0xFF, 0xFF, 0xFF, 0xFF]))),
        ("a short ping", once(frame(PING, 0, 0, &[0; 7]))),
        ("a window update of nothing", once(frame(WINDOW_UPDATE, 0, 0, &[0; 4]))),
        ("data for no stream", once(frame(DATA, 0, 0, b"{}"))),
        ("data before the head", once(frame(DATA, 0x1, 1, b"{}"))),
        ("data for a stream of ours that is not open", once(frame(DATA, 0x1, 99, b"{}"))),
        ("a promise", once(frame(PUSH_PROMISE, 0x4, 1, &[0, 0, 0, 2, 0x82]))),
        ("a continuation of nothing", once(frame(CONTINUATION, 0x4, 1, &[0x88]))),
        ("headers that are none", once(frame(HEADERS, 0x5, 1, &[0xFF; 16]))),
        ("headers that something interrupts", once([answer_head(0), frame(PING, 0, 0, &[0; 8])].concat())),
        ("no status", once(frame(HEADERS, 0x5, 1, &[0x0F, 0x10, 1, b'x']))),
        ("a reset", once(frame(RST_STREAM, 0, 1, &[0, 0, 0, 2]))),
        ("a reset in the body", once([head(), frame(RST_STREAM, 0, 1, &[0, 0, 0, 2])].concat())),
        ("a goodbye", once(frame(GOAWAY, 0, 0, &[0, 0, 0, 0, 0, 0, 0, 11]))),
        ("a frame that is too large", once(vec![0xFF, 0xFF, 0xFF, DATA, 0, 0, 0, 0, 1])),
        ("an empty body", once([head(), frame(DATA, 0x1, 1, b"")].concat())),
        ("half a body", once([head(), frame(DATA, 0x1, 1, b"{\"jsonrpc\"")].concat())),
    ] {
        check(name, play, true).await;
    }
    // Headers without end are cut off.
    let endless = Play {
        first: frame(HEADERS, 0, 1, &[0x88]),
        again: frame(
            CONTINUATION,
            0,
            1,
            &[&[0x00, 0x01, b'x', 0x7F, 0x80, 0x70][..], &[b'y'; 14_000]].concat(),
        ),
        reads: true,
    };
    check("continuations", endless, true).await;
}

#[tokio::test]
async fn floods_leave_time_for_others() {
    for reads in [true, false] {
        let flood = |again: Vec<u8>| Play { first: Vec::new(), again, reads };
        for (name, play) in [
            ("settings", flood(frame(SETTINGS, 0, 0, &[]))),
            ("pings", flood(frame(PING, 0, 0, &[0; 8]))),
            ("window updates", flood(frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1]))),
            ("unknown frames", flood(frame(0xFA, 0, 0, &[0; 100]))),
            ("empty continuations", {
                Play { first: frame(HEADERS, 0, 1, &[0x88]), ..flood(frame(CONTINUATION, 0, 1, &[])) }
            }),
            ("empty data", Play { first: answer_head(0x4), ..flood(frame(DATA, 0, 1, b"")) }),
            ("space", Play { first: answer_head(0x4), ..flood(frame(DATA, 0, 1, b"        ")) }),
        ] {
            check(name, play, false).await;
        }
    }
}
