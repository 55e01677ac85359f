//! How connections through `sabir tap --listen` end: the last bytes of either side arrive, a side that says no more can still
//! listen, and a reset stays a reset.

// Resets are passed on where the system says what is sent: docs/tap.md.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod folder;

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command, Stdio};
use std::thread;

use folder::{Folder, SABIR, until, wait};
use socket2::SockRef;

/// Small enough for every buffer on the way, so that all of it is sent when it is written.
const LAST: usize = 32 << 10;

/// More than fits into the buffers on the way.
const MUCH: usize = 6 << 20;

/// A tap that runs until the test is over.
struct Tap {
    url: String,
    child: Child,
}

impl Tap {
    fn start(folder: &Folder, listen: &str, target: &str, more: &[&str]) -> Self {
        let mut command = Command::new(SABIR);
        command.args(["tap", "--record", "s.jrl", "--listen", listen, target]).args(more);
        let mut child = command.current_dir(&folder.0).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        // The second tap of a folder says first that it records to another file.
        let line = lines.find(|line| line.as_ref().unwrap().starts_with("listening at ")).unwrap().unwrap();
        thread::spawn(move || lines.for_each(drop));
        let url = line.split_whitespace().nth(2).unwrap();
        Tap { url: url.trim_end_matches(',').to_owned(), child }
    }

    fn authority(&self) -> &str {
        self.url.split("://").nth(1).unwrap().split('/').next().unwrap()
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(self.authority()).unwrap()
    }

    fn finish(mut self) {
        assert!(Command::new("kill").arg(self.child.id().to_string()).status().unwrap().success());
        wait(&mut self.child);
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One end of a connection.
enum End {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl End {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            End::Tcp(stream) => stream.write_all(bytes),
            End::Unix(stream) => stream.write_all(bytes),
        }
    }

    /// All that comes, and whether it ends in order.
    fn rest(&mut self) -> (usize, io::Result<()>) {
        let mut came = Vec::new();
        let read = match self {
            End::Tcp(stream) => stream.read_to_end(&mut came),
            End::Unix(stream) => stream.read_to_end(&mut came),
        };
        (came.len(), read.map(drop))
    }

    fn say_no_more(&self) {
        match self {
            End::Tcp(stream) => stream.shutdown(Shutdown::Write).unwrap(),
            End::Unix(stream) => stream.shutdown(Shutdown::Write).unwrap(),
        }
    }

    fn clone(&self) -> Self {
        match self {
            End::Tcp(stream) => End::Tcp(stream.try_clone().unwrap()),
            End::Unix(stream) => End::Unix(stream.try_clone().unwrap()),
        }
    }

    /// Waits for a byte and leaves it where it is: who closes now resets.
    fn leave_unread(&self) {
        let mut byte = [std::mem::MaybeUninit::uninit()];
        let count = match self {
            End::Tcp(stream) => SockRef::from(stream).peek(&mut byte),
            End::Unix(stream) => SockRef::from(stream).peek(&mut byte),
        };
        assert_eq!(count.unwrap(), 1);
    }
}

/// What leads from a client to a server.
struct Way {
    name: &'static str,
    taps: Vec<Tap>,
    listener: Listener,
    folder: Folder,
    has_resets: bool,
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Way {
    fn all() -> [Way; 4] {
        let tcp = || {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let at = listener.local_addr().unwrap();
            (Listener::Tcp(listener), at, Folder::new())
        };
        let (listener, at, folder) = tcp();
        let taps = vec![Tap::start(&folder, "tcp://127.0.0.1:0", &format!("tcp://{at}"), &[])];
        let plain = Way { name: "tcp", taps, listener, folder, has_resets: true };

        let folder = Folder::new();
        let listener = Listener::Unix(UnixListener::bind(folder.0.join("server")).unwrap());
        let taps = vec![Tap::start(&folder, "unix:tap", "unix:server", &[])];
        let unix = Way { name: "unix", taps, listener, folder, has_resets: false };

        // One tap encrypts, the other decrypts.
        let (listener, at, folder) = tcp();
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        fs::write(folder.0.join("cert.pem"), made.cert.pem()).unwrap();
        fs::write(folder.0.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
        let own = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"];
        let second = Tap::start(&folder, "tls://127.0.0.1:0", &format!("tcp://{at}"), &own);
        let target = format!("tls://{}", second.authority());
        let first = Tap::start(&folder, "tcp://127.0.0.1:0", &target, &["--cacert", "cert.pem"]);
        let tls = Way { name: "tls", taps: vec![first, second], listener, folder, has_resets: true };

        let (listener, at, folder) = tcp();
        let taps = vec![Tap::start(&folder, "ws://127.0.0.1:0", &format!("ws://{at}"), &[])];
        let web_socket = Way { name: "ws", taps, listener, folder, has_resets: true };
        [plain, unix, tls, web_socket]
    }

    /// A client and the server that it has reached.
    fn open(&self) -> (End, End) {
        let mut client = match self.listener {
            Listener::Tcp(_) => End::Tcp(self.taps[0].connect()),
            Listener::Unix(_) => End::Unix(UnixStream::connect(self.folder.0.join("tap")).unwrap()),
        };
        if self.name == "ws" {
            client.write(UPGRADE).unwrap();
        }
        let mut server = match &self.listener {
            Listener::Tcp(listener) => End::Tcp(listener.accept().unwrap().0),
            Listener::Unix(listener) => End::Unix(listener.accept().unwrap().0),
        };
        if let (End::Tcp(client), End::Tcp(server)) = (&mut client, &mut server)
            && self.name == "ws"
        {
            head(server);
            server.write_all(SWITCHED).unwrap();
            head(client);
        }
        (client, server)
    }

    /// The one that is asked for, and the other.
    fn open_from(&self, who: &str) -> (End, End) {
        let (client, server) = self.open();
        if who == "client" { (client, server) } else { (server, client) }
    }

    /// The same; the first resets the connection when it is closed.
    fn about_to_reset(&self, who: &str) -> (End, End) {
        let (goes, mut stays) = self.open_from(who);
        stays.write(b"x").unwrap();
        goes.leave_unread();
        (goes, stays)
    }

    /// That something which was reset ends so.
    fn is_reset(&self, how: &io::Result<()>) {
        let is_reset = matches!(how, Err(error) if error.kind() == io::ErrorKind::ConnectionReset);
        assert!(is_reset == self.has_resets, "{}: {how:?}", self.name);
    }
}

const UPGRADE: &[u8] =
    b"GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
const SWITCHED: &[u8] =
    b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

/// Reads to the end of a head.
fn head(stream: &mut TcpStream) -> String {
    let mut came = Vec::new();
    let mut byte = [0];
    while !came.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        came.push(byte[0]);
    }
    String::from_utf8(came).unwrap()
}

#[test]
fn last_words_arrive_before_a_reset() {
    for way in Way::all() {
        for who in ["server", "client"] {
            let (mut goes, mut stays) = way.about_to_reset(who);
            // Whoever stays goes on writing, which fails at some time.
            let mut writes = stays.clone();
            let writing = thread::spawn(move || while writes.write(&[b'x'; 1000]).is_ok() {});
            goes.write(&[b'l'; LAST]).unwrap();
            drop(goes);
            let (came, how) = stays.rest();
            assert_eq!(came, LAST, "{}: of the {who}: {how:?}", way.name);
            if let End::Tcp(stream) = &stays {
                // Nothing stays to be written to.
                let _ = stream.shutdown(Shutdown::Both);
            }
            drop(stays);
            writing.join().unwrap();
        }
    }
}

#[test]
fn a_reset_stays_a_reset() {
    for way in Way::all() {
        for who in ["server", "client"] {
            let (mut goes, mut stays) = way.about_to_reset(who);
            goes.write(&[b'l'; LAST]).unwrap();
            drop(goes);
            let (came, how) = stays.rest();
            assert_eq!(came, LAST, "{}: of the {who}: {how:?}", way.name);
            way.is_reset(&how);
        }
    }
}

#[test]
fn who_says_no_more_still_listens() {
    for way in Way::all() {
        for who in ["server", "client"] {
            let (mut first, mut second) = way.open_from(who);
            let mut writes = first.clone();
            let writing = thread::spawn(move || {
                writes.write(&vec![b'x'; MUCH]).unwrap();
                writes.say_no_more();
            });
            let (came, how) = second.rest();
            assert_eq!((came, how.is_ok()), (MUCH, true), "{}: of the {who}", way.name);
            writing.join().unwrap();
            let writing = thread::spawn(move || {
                second.write(&vec![b'y'; MUCH]).unwrap();
                drop(second);
            });
            let (came, how) = first.rest();
            assert_eq!((came, how.is_ok()), (MUCH, true), "{}: to the {who}", way.name);
            writing.join().unwrap();
        }
    }
}

/// A tap of HTTP, and what it leads to.
fn web(folder: &Folder) -> (Tap, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = format!("http://{}/", listener.local_addr().unwrap());
    (Tap::start(folder, "http://127.0.0.1:0/", &target, &[]), listener)
}

#[test]
fn what_was_said_of_a_body_arrives_before_it_breaks() {
    let folder = Folder::new();
    let (tap, listener) = web(&folder);
    for is_reset in [true, false] {
        let mut client = tap.connect();
        client.write_all(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}").unwrap();
        let (mut server, _) = listener.accept().unwrap();
        head(&mut server);
        End::Tcp(server.try_clone().unwrap()).leave_unread();
        let mut answer =
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99999\r\n\r\n".to_vec();
        answer.resize(answer.len() + LAST, b'l');
        server.write_all(&answer).unwrap();
        if !is_reset {
            server.read_exact(&mut [0; 2]).unwrap();
        }
        drop(server);
        head(&mut client);
        let (came, how) = End::Tcp(client).rest();
        assert_eq!(came, LAST, "{how:?}");
        assert_eq!(how.is_err(), is_reset, "{how:?}");
    }
}

#[test]
fn what_was_said_of_a_request_arrives_before_it_breaks() {
    let folder = Folder::new();
    let (tap, listener) = web(&folder);
    let mut client = tap.connect();
    let mut request = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 99999\r\n\r\n".to_vec();
    request.resize(request.len() + LAST, b'l');
    client.write_all(&request).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    head(&mut server);
    SockRef::from(&client).set_linger(Some(std::time::Duration::ZERO)).unwrap();
    drop(client);
    let (came, how) = End::Tcp(server).rest();
    assert_eq!(came, LAST, "{how:?}");
}

#[test]
fn an_answer_arrives_that_does_not_wait_for_its_request() {
    let folder = Folder::new();
    let (tap, listener) = web(&folder);
    let mut client = tap.connect();
    let mut writes = client.try_clone().unwrap();
    let writing = thread::spawn(move || {
        let head = format!("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: {MUCH}\r\n\r\n");
        // Nobody reads all of it.
        let _ = writes.write_all(head.as_bytes()).and_then(|()| writes.write_all(&vec![b' '; MUCH]));
    });
    let (mut server, _) = listener.accept().unwrap();
    head(&mut server);
    server
        .write_all(b"HTTP/1.1 413 Content Too Large\r\nconnection: close\r\ncontent-length: 5\r\n\r\nlarge")
        .unwrap();
    drop(server);
    assert!(head(&mut client).starts_with("HTTP/1.1 413 "));
    let mut body = [0; 5];
    client.read_exact(&mut body).unwrap();
    assert_eq!(&body, b"large");
    drop(client);
    writing.join().unwrap();
}

#[test]
fn the_last_row_of_a_websocket_says_how_it_was_closed() {
    let folder = Folder::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = format!("ws://{}", listener.local_addr().unwrap());
    let tap = Tap::start(&folder, "ws://127.0.0.1:0", &target, &[]);
    let rows = || {
        let mut view = Command::new(SABIR);
        let view = view.args(["view", "--print", "s.jrl", "--filter", "kind:close"]).current_dir(&folder.0);
        String::from_utf8(view.output().unwrap().stdout).unwrap()
    };
    // Both close, and then each hangs up as it likes; only one closes; nobody does.
    let closes: [(&[u8], &[u8]); 3] = [
        (&[0x88, 0x85, 0, 0, 0, 0, 0x03, 0xe8, b'b', b'y', b'e'], &[0x88, 2, 0x03, 0xe8]),
        (&[0x88, 0x80, 0, 0, 0, 0], &[]),
        (&[], &[]),
    ];
    for (number, (of_client, of_server)) in closes.into_iter().enumerate() {
        let mut client = tap.connect();
        client.write_all(UPGRADE).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        head(&mut server);
        server.write_all(SWITCHED).unwrap();
        head(&mut client);
        client.write_all(of_client).unwrap();
        server.read_exact(&mut vec![0; of_client.len()]).unwrap();
        server.write_all(of_server).unwrap();
        client.read_exact(&mut vec![0; of_server.len()]).unwrap();
        SockRef::from(&client).set_linger(Some(std::time::Duration::ZERO)).unwrap();
        drop(client);
        until("a row for its end", || rows().lines().count() > number);
    }
    let rows: Vec<String> =
        rows().lines().map(|row| row.split_whitespace().skip(2).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(
        rows,
        [
            "close 1000 bye",
            "close c2",
            "close c3 without a close frame: Connection reset by peer (os error 104)"
        ]
    );
    tap.finish();
}
