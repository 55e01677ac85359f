//! The floor of the network: one thread and `epoll`, finds where requests end and writes a fixed answer
//! for each, once per read. `floor_net lines`, `floor_net http`, `floor_net websocket`. `floor_net lines ids` and `floor_net http ids`
//! read the id of a call and give it back, for a generator that matches them.
//!
//! It looks at nothing that is not needed to find the end of a request, and keeps nothing for a
//! connection but its socket.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};

use memchr::{memchr, memmem};
use rustix::buffer::spare_capacity;
use rustix::event::epoll;

const ANSWER: &[u8] = br#"{"jsonrpc":"2.0","id":123456,"result":123456}"#;
/// For the key that the load generator always sends.
const UPGRADED: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
const LISTENER: u64 = u64::MAX;

#[derive(Clone, Copy)]
enum Speaks {
    Lines,
    Http,
    Upgrade,
    Frames,
}

struct Connection {
    socket: TcpStream,
    speaks: Speaks,
    ids: bool,
    /// The beginning of a request whose end has not come.
    rest: Vec<u8>,
}

fn main() -> io::Result<()> {
    let speaks = match std::env::args().nth(1).as_deref() {
        Some("lines") => Speaks::Lines,
        Some("http") => Speaks::Http,
        Some("websocket") => Speaks::Upgrade,
        _ => return Err(io::Error::other("expected lines, http or websocket")),
    };
    let ids = std::env::args().nth(2).as_deref() == Some("ids");
    let listener = TcpListener::bind("127.0.0.1:0")?;
    eprintln!("serving on tcp://{}", listener.local_addr()?);
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&poll, &listener, epoll::EventData::new_u64(LISTENER), epoll::EventFlags::IN)?;

    let mut connections = HashMap::new();
    let (mut count, mut events) = (0, Vec::with_capacity(64));
    let (mut buffer, mut out) = (vec![0; 64 * 1024], Vec::with_capacity(128 * 1024));
    loop {
        events.clear();
        epoll::wait(&poll, spare_capacity(&mut events), None)?;
        for event in &events {
            let key = event.data.u64();
            if key == LISTENER {
                let socket = listener.accept()?.0;
                socket.set_nodelay(true)?;
                epoll::add(&poll, &socket, epoll::EventData::new_u64(count), epoll::EventFlags::IN)?;
                connections.insert(count, Connection { socket, speaks, ids, rest: Vec::new() });
                count += 1;
            } else if let Some(connection) = connections.get_mut(&key)
                && !serve(connection, &mut buffer, &mut out).unwrap_or(false)
            {
                connections.remove(&key);
            }
        }
    }
}

/// One read and one write. Returns whether the connection goes on.
fn serve(connection: &mut Connection, buffer: &mut [u8], out: &mut Vec<u8>) -> io::Result<bool> {
    let Connection { socket, speaks, ids, rest } = connection;
    let kept = rest.len();
    buffer[..kept].copy_from_slice(rest);
    rest.clear();
    let n = socket.read(&mut buffer[kept..])?;
    let bytes = &buffer[..kept + n];
    let mut at = 0;
    out.clear();
    while let Some(length) = speaks.end(&bytes[at..]) {
        match *ids {
            true => speaks.answer_with_id(&bytes[at..at + length], out),
            false => speaks.answer(out),
        }
        at += length;
    }
    rest.extend_from_slice(&bytes[at..]);
    socket.write_all(out)?;
    Ok(n > 0)
}

impl Speaks {
    /// Where the first request ends, if it does.
    fn end(self, bytes: &[u8]) -> Option<usize> {
        match self {
            Speaks::Lines => memchr(b'\n', bytes).map(|at| at + 1),
            Speaks::Upgrade => memmem::find(bytes, b"\r\n\r\n").map(|at| at + 4),
            Speaks::Http => {
                let head = memmem::find(bytes, b"\r\n\r\n")? + 4;
                let named = |name: &[u8]| memmem::find(&bytes[..head], name);
                let digits = named(b"Content-Length: ").or_else(|| named(b"content-length: "))? + 16;
                let digits = bytes[digits..].iter().take_while(|byte| byte.is_ascii_digit());
                let body = digits.fold(0, |sum, digit| sum * 10 + usize::from(digit - b'0'));
                (head + body <= bytes.len()).then_some(head + body)
            }
            // Frames from a client have a mask of four bytes; requests are shorter than 126.
            Speaks::Frames => {
                let length = 6 + usize::from(bytes.get(1)? & 0x7f);
                (length <= bytes.len()).then_some(length)
            }
        }
    }

    fn answer_with_id(self, request: &[u8], out: &mut Vec<u8>) {
        match self {
            Speaks::Http => {
                let mut body = Vec::with_capacity(64);
                sabir_bench_peers::answer_with_id(request, &mut body);
                let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ";
                out.extend_from_slice(format!("{head}{}\r\n\r\n", body.len()).as_bytes());
                out.extend_from_slice(&body);
            }
            _ => {
                sabir_bench_peers::answer_with_id(request, out);
                out.push(b'\n');
            }
        }
    }

    fn answer(&mut self, out: &mut Vec<u8>) {
        match self {
            Speaks::Lines => {
                out.extend_from_slice(ANSWER);
                out.push(b'\n');
            }
            Speaks::Http => {
                out.extend_from_slice(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 45\r\n\r\n",
                );
                out.extend_from_slice(ANSWER);
            }
            Speaks::Upgrade => {
                out.extend_from_slice(UPGRADED);
                *self = Speaks::Frames;
            }
            Speaks::Frames => {
                out.extend_from_slice(&[0x81, ANSWER.len() as u8]);
                out.extend_from_slice(ANSWER);
            }
        }
    }
}
