//! Clients of HTTP/2 and WebSocket that flood with what the protocol allows, or break it: others are served, and the
//! server keeps little.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::client::{Client, within};
use crate::frames::frame as socket_frame;
use crate::open::open;
use crate::server::router;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// How long a flood goes on.
const TIME: Duration = Duration::from_millis(400);

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// The head of a POST to `/`, as HPACK.
fn head() -> Vec<u8> {
    let mut block = vec![0x83, 0x86, 0x84, 0x41, 9];
    block.extend(b"localhost");
    block.extend([0x0F, 0x10, 16]);
    block.extend(b"application/json");
    block
}

/// What to send: this, and then that again and again, with the number of the round.
type Again = fn(u32) -> Vec<u8>;

#[tokio::test]
async fn floods_of_http2_frames() {
    let floods: [(&str, Vec<u8>, Again); 11] = [
        ("settings", Vec::new(), |_| frame(4, 0, 0, &[])),
        ("settings that change", Vec::new(), |n| frame(4, 0, 0, &[[0, 4], [0, 0], [0, n as u8]].concat())),
        ("pings", Vec::new(), |_| frame(6, 0, 0, &[0; 8])),
        ("window updates", Vec::new(), |_| frame(8, 0, 0, &[0, 0, 0, 1])),
        ("priorities", Vec::new(), |n| frame(2, 0, 2 * n + 1, &[0, 0, 0, 0, 1])),
        ("unknown frames", Vec::new(), |_| frame(0xFA, 0, 0, &[0; 100])),
        ("continuations", frame(1, 0, 1, &head()), |_| frame(9, 0, 1, &[])),
        ("large continuations", frame(1, 0, 1, &head()), |_| {
            frame(9, 0, 1, &[&[0x00, 0x01, b'x', 0x7F, 0x80, 0x70][..], &[b'y'; 14_000]].concat())
        }),
        ("resets", Vec::new(), |n| {
            [frame(1, 0x4, 2 * n + 1, &head()), frame(3, 0, 2 * n + 1, &[0, 0, 0, 8])].concat()
        }),
        ("empty data", frame(1, 0x4, 1, &head()), |_| frame(0, 0, 1, &[])),
        ("heads that are refused", Vec::new(), |n| frame(1, 0x5, 2 * n + 1, &[0x83, 0x86, 0x84])),
    ];
    for reads in [true, false] {
        for (name, first, again) in &floods {
            let server = open("http", router(), |server| server).await;
            let stream = TcpStream::connect(("127.0.0.1", server.port)).await.unwrap();
            let (mut read, mut write) = stream.into_split();
            let flooding = async {
                let start = [PREFACE, &frame(4, 0, 0, &[]), first].concat();
                let mut sent = write.write_all(&start).await;
                for round in (0..).step_by(100) {
                    let frames: Vec<u8> = (round..round + 100).flat_map(again).collect();
                    if sent.is_err() {
                        break;
                    }
                    sent = write.write_all(&frames).await;
                }
            };
            let reading = async {
                if reads {
                    while read.read(&mut [0; 4096]).await.is_ok_and(|count| count > 0) {}
                }
                std::future::pending::<()>().await;
            };
            let honest = async {
                tokio::time::sleep(TIME / 4).await;
                server.assert_serves().await;
                tokio::time::sleep(TIME / 4).await;
                server.assert_serves().await;
            };
            let flood = timeout(TIME, async { tokio::join!(flooding, reading) });
            let (_, ()) = within(async { tokio::join!(flood, honest) }).await;
            drop((read, write));
            eprintln!("{name}, {reads}");
            server.stop().await;
        }
    }
}

#[tokio::test]
async fn frames_that_break_http2() {
    let server = open("http", router(), |server| server).await;
    for bytes in [
        frame(4, 0, 1, &[]),
        frame(4, 0, 0, &[0; 5]),
        frame(4, 0, 0, &[0, 4, 0xFF, 0xFF, 0xFF, 0xFF]),
        frame(6, 0, 0, &[0; 7]),
        frame(8, 0, 0, &[0; 4]),
        frame(8, 0, 0, &[0x7F, 0xFF, 0xFF, 0xFF]),
        frame(0, 0, 0, b"{}"),
        frame(0, 0, 1, b"{}"),
        frame(1, 0x5, 2, &head()),
        frame(1, 0x5, 0, &head()),
        frame(1, 0x5, 1, &[0xFF; 16]),
        [frame(1, 0, 1, &head()), frame(6, 0, 0, &[0; 8])].concat(),
        frame(5, 0x4, 1, &[0, 0, 0, 2, 0x82]),
        frame(9, 0x4, 1, &head()),
        vec![0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0, 1],
    ] {
        let mut client = Client::connect(server.port).await;
        client.send([PREFACE, &frame(4, 0, 0, &[]), &bytes].concat()).await;
        within(client.ends()).await;
    }
    server.assert_serves().await;
    server.stop().await;
}

#[tokio::test]
async fn floods_of_websocket_frames() {
    let floods: [(&str, Vec<u8>, Vec<u8>); 5] = [
        ("pings", Vec::new(), socket_frame(0x89, &[0; 125])),
        ("pongs", Vec::new(), socket_frame(0x8A, b"")),
        ("empty fragments", socket_frame(0x01, b""), socket_frame(0x00, b"")),
        ("empty messages", Vec::new(), socket_frame(0x81, b"")),
        ("fragments", socket_frame(0x01, b""), socket_frame(0x00, &[b' '; 1000])),
    ];
    for (name, first, again) in floods {
        let server = open("http", router(), |server| server).await;
        let mut client = Client::connect(server.port).await.upgrade("").await;
        let again = again.repeat(8192usize.div_ceil(again.len()));
        let flood = timeout(TIME, async {
            let mut sent = client.stream.write_all(&first).await;
            while sent.is_ok() {
                sent = client.stream.write_all(&again).await;
            }
        });
        let honest = async {
            tokio::time::sleep(TIME / 4).await;
            server.assert_serves().await;
        };
        let (_, ()) = within(async { tokio::join!(flood, honest) }).await;
        drop(client);
        eprintln!("{name}");
        server.stop().await;
    }
}
