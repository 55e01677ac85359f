//! `sabir tap --listen`: a client and a server see through it what they would see without it.

#![allow(clippy::unwrap_used)]
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const SABIR: &str = env!("CARGO_BIN_EXE_sabir");
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder, and what runs in it until the test is over.
struct Setup {
    folder: PathBuf,
    running: Vec<Child>,
}

impl Setup {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("tap-listen-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&folder).unwrap();
        Setup { folder, running: Vec::new() }
    }

    /// Starts the program, and gives the URL that it says it listens at.
    fn start(&mut self, args: &[&str]) -> String {
        let mut command = Command::new(SABIR);
        command.args(args).current_dir(&self.folder).env("XDG_STATE_HOME", &self.folder);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        self.running.push(child);
        let line = lines.next().unwrap().unwrap();
        thread::spawn(move || lines.for_each(drop));
        let url = line.split_whitespace().find(|word| word.contains("://") || word.starts_with("unix:"));
        url.unwrap_or_else(|| panic!("no URL: {line}")).trim_end_matches(',').to_owned()
    }

    /// Starts a tap that records.
    fn tap(&mut self, listen: &str, target: &str, more: &[&str]) -> String {
        let mut args = vec!["tap", "--record", "s.jrl", "--listen", listen, target];
        args.extend(more);
        self.start(&args)
    }

    fn run(&self, args: &[&str]) -> (String, String) {
        let run = Command::new(SABIR).args(args).current_dir(&self.folder).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&run.stdout), text(&run.stderr))
    }

    /// Ends what was started last, in order, and gives what it recorded.
    fn recorded(&mut self) -> String {
        let mut tap = self.running.pop().unwrap();
        assert!(Command::new("kill").args(["-TERM", &tap.id().to_string()]).status().unwrap().success());
        let start = Instant::now();
        while tap.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < PATIENCE, "it hangs");
            thread::sleep(Duration::from_millis(2));
        }
        fs::read_to_string(self.folder.join("s.jrl")).unwrap()
    }

    fn check(&self) {
        let run = Command::new(SABIR).args(["check", "s.jrl"]).current_dir(&self.folder).output().unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stdout));
    }
}

impl Drop for Setup {
    fn drop(&mut self) {
        for child in &mut self.running {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn port(url: &str) -> String {
    let authority = url.split("://").nth(1).unwrap();
    authority.split('/').next().unwrap().to_owned()
}

/// Sends, closes its side, and takes what comes.
fn exchange(mut stream: TcpStream, input: &[u8]) -> Vec<u8> {
    let mut writer = stream.try_clone().unwrap();
    let input = input.to_vec();
    let sending = thread::spawn(move || {
        writer.write_all(&input).unwrap();
        writer.shutdown(Shutdown::Write).unwrap();
    });
    let mut came = Vec::new();
    stream.read_to_end(&mut came).unwrap();
    sending.join().unwrap();
    came
}

#[test]
fn bytes_go_through_tcp_as_they_are() {
    let mut setup = Setup::new();
    let echo = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = format!("tcp://{}", echo.local_addr().unwrap());
    thread::spawn(move || {
        for stream in echo.incoming() {
            let stream = stream.unwrap();
            thread::spawn(move || {
                let _ = std::io::copy(&mut &stream, &mut &stream);
                let _ = stream.shutdown(Shutdown::Write);
            });
        }
    });
    let tap = setup.tap("tcp://127.0.0.1:0", &target, &[]);
    let noise: Vec<u8> = (0..3_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    assert!(exchange(TcpStream::connect(port(&tap)).unwrap(), &noise) == noise);
    assert_eq!(exchange(TcpStream::connect(port(&tap)).unwrap(), b"{\"a\":1}\n"), b"{\"a\":1}\n");
    let record = setup.recorded();
    assert!(record.contains(r#""transport":"tcp""#) && record.contains(r#""c":2,"k":"open""#));
    assert!(
        record.lines().any(|line| line.contains(r#""c":2"#) && line.contains(r#""msg":{"a":1}"#)),
        "no message"
    );
}

#[test]
fn a_target_that_is_not_there_closes_the_connection() {
    let mut setup = Setup::new();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let tap = setup.tap("tcp://127.0.0.1:0", &format!("tcp://{free}"), &[]);
    assert_eq!(exchange(TcpStream::connect(port(&tap)).unwrap(), b""), b"");
    assert!(setup.recorded().contains("cannot connect to the target"));
    let web = setup.tap("http://127.0.0.1:0", &format!("http://{free}/"), &[]);
    let request = "POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    let answer = exchange(TcpStream::connect(port(&web)).unwrap(), request.as_bytes());
    assert!(answer.starts_with(b"HTTP/1.1 502 Bad Gateway"), "{}", String::from_utf8_lossy(&answer));
    assert!(
        setup.recorded().contains(r#""k":"http","raw":"502 Bad Gateway POST /\ncannot reach the target"#)
    );
}

/// A saved target: its URL, its headers, and its name for `sabir view`.
#[test]
fn a_target_may_be_a_saved_one() {
    let mut setup = Setup::new();
    let demo = setup.start(&["demo", "--listen", "http://127.0.0.1:0/", "--bearer", "s3cret"]);
    let saved = format!(
        "[targets]\nprogram = \"stdio:cat\"\n[targets.mine]\nurl = \"{demo}\"\nheaders = {{ Authorization = \"Bearer s3cret\" }}\n"
    );
    fs::write(setup.folder.join("sabir.toml"), saved).unwrap();
    let tap = setup.tap("http://127.0.0.1:0/", "mine", &[]);
    assert_eq!(setup.run(&["call", &tap, "add", "2", "3"]), ("5\n".to_owned(), String::new()));
    assert!(setup.recorded().contains(&format!("\"target\":\"{demo}\"")));
    let (_, error) = setup.run(&["tap", "--listen", "tcp://127.0.0.1:0", "program"]);
    assert!(error.contains("stdio:cat is not a URL to pass connections on to"), "{error}");
    let (_, error) = setup.run(&["tap", "--listen", "tcp://127.0.0.1:0", "unknown"]);
    assert!(error.contains("`unknown` is not a valid target"), "{error}");
    setup.start(&["view", "mine"]);
}

#[test]
fn the_target_is_recorded_without_its_secrets() {
    let mut setup = Setup::new();
    setup.tap("http://127.0.0.1:0", "http://127.0.0.1:1/rpc?a=1&token=s3cret", &["--redact", "token"]);
    let record = setup.recorded();
    assert!(record.contains("/rpc?a=1&token[redacted]") && !record.contains("s3cret"), "{record}");
}

#[test]
fn calls_go_through_every_transport() {
    let mut setup = Setup::new();
    let demo = setup.start(&["demo", "--listen", "tcp://127.0.0.1:0"]);
    let at = port(&demo);
    for (listen, target) in [
        ("tcp://127.0.0.1:0", format!("tcp://{at}")),
        ("unix:tap.sock", format!("tcp://{at}")),
        ("http://127.0.0.1:0/", format!("http://{at}/")),
        ("ws://127.0.0.1:0/", format!("ws://{at}/")),
    ] {
        let tap = setup.tap(listen, &target, &[]);
        let (result, errors) = setup.run(&["call", &tap, "add", "2", "3"]);
        assert_eq!((result.as_str(), errors.as_str()), ("5\n", ""), "{listen}");
        let (_, errors) = setup.run(&["call", &tap, "nope"]);
        assert!(errors.contains("-32601"), "{listen}: {errors}");
        let record = setup.recorded();
        assert!(record.contains(r#""k":"res","id":1,"m":"add","ms":"#), "{listen}: {record}");
        setup.check();
        fs::remove_file(setup.folder.join("s.jrl")).unwrap();
    }
    // Its socket is gone with it.
    assert!(UnixStream::connect(setup.folder.join("tap.sock")).is_err());
}

#[test]
fn a_session_of_mcp_is_one_connection() {
    let mut setup = Setup::new();
    let demo = setup.start(&["demo", "--mcp", "--listen", "http://127.0.0.1:0/mcp"]);
    let tap = setup.tap("http://127.0.0.1:0/mcp", &demo, &[]);
    let plain = setup.run(&["list", &demo, "--as", "mcp"]);
    assert_eq!(setup.run(&["list", &tap, "--as", "mcp"]), plain);
    assert!(plain.0.contains("touch"), "{plain:?}");
    let record = setup.recorded();
    assert!(record.lines().next().unwrap().contains(r#""profile":"mcp""#), "{record}");
    assert!(record.contains(r#""k":"http","raw":"202 Accepted POST /mcp"#), "{record}");
    setup.check();
}

/// Answers each request on one connection with what `answer` makes of its head, and gives the heads.
fn server(answers: Vec<&'static str>) -> (String, thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap().to_string();
    let serving = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut heads = Vec::new();
        for answer in answers {
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                if reader.read_line(&mut head).unwrap() == 0 {
                    return heads;
                }
            }
            let length = head
                .lines()
                .find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            let mut body = vec![0; length.unwrap_or(0)];
            reader.read_exact(&mut body).unwrap();
            heads.push(head + std::str::from_utf8(&body).unwrap());
            (&stream).write_all(answer.as_bytes()).unwrap();
        }
        heads
    });
    (at, serving)
}

#[test]
fn heads_are_kept_and_what_is_for_one_hop_is_not() {
    let mut setup = Setup::new();
    let refusal = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer resource_metadata=\"x\"\r\nX-Own: 1\r\nKeep-Alive: timeout=5\r\ncontent-length: 2\r\n\r\nno";
    let (at, serving) = server(vec![refusal, "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n"]);
    let tap =
        setup.tap("http://127.0.0.1:0/", &format!("http://{at}/rpc?x=1"), &["--redact", "authorization"]);
    let mut stream = TcpStream::connect(port(&tap)).unwrap();
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#;
    let post = |path: &str, more: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer s3cret\r\nAccept-Encoding: gzip\r\nX-Kept: yes\r\n{more}Content-Length: {}\r\n\r\n{body}",
            port(&tap),
            body.len()
        )
    };
    stream.write_all(post("/", "Connection: x-hop\r\nX-Hop: 1\r\n").as_bytes()).unwrap();
    let mut came = vec![0; 4096];
    let mut read = 0;
    while !came[..read].ends_with(b"\r\n\r\nno") {
        let count = stream.read(&mut came[read..]).unwrap();
        assert_ne!(count, 0);
        read += count;
    }
    let answer = String::from_utf8_lossy(&came[..read]).to_lowercase();
    assert!(answer.starts_with("http/1.1 401 unauthorized\r\n"), "{answer}");
    assert!(
        answer.contains("www-authenticate: bearer resource_metadata=\"x\"\r\n")
            && answer.contains("x-own: 1\r\n"),
        "{answer}"
    );
    assert!(!answer.contains("keep-alive"), "{answer}");
    assert!(
        exchange(stream, post("/other/path", "Connection: close\r\n").as_bytes())
            .starts_with(b"HTTP/1.1 202 Accepted")
    );
    let heads = serving.join().unwrap();
    let first = heads[0].to_lowercase();
    assert!(
        first.starts_with("post /rpc?x=1 http/1.1\r\n") && first.contains(&format!("host: {at}\r\n")),
        "{first}"
    );
    assert!(
        first.contains("x-kept: yes")
            && first.contains("authorization: bearer s3cret")
            && first.ends_with(body),
        "{first}"
    );
    assert!(!first.contains("x-hop") && !first.contains("accept-encoding"), "{first}");
    assert!(heads[1].starts_with("POST /other/path "), "{}", heads[1]);
    let record = setup.recorded();
    assert!(
        record.contains(r#""k":"http","raw":"401 Unauthorized POST /\nwww-authenticate: Bearer"#),
        "{record}"
    );
    assert!(
        record.contains(r#""k":"http","raw":"202 Accepted POST /other/path"#) && !record.contains("s3cret"),
        "{record}"
    );
    let rows = setup.run(&["view", "--print", "s.jrl", "--filter", "status:401"]).0;
    assert!(rows.contains("< http    401  401 Unauthorized POST / www-authenticate:"), "{rows}");
}

/// Else the tap would take away what protects the target from pages whose name leads to this machine.
#[test]
fn the_target_sees_a_host_that_is_not_this_machine() {
    let mut setup = Setup::new();
    let fine = "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n";
    let (at, serving) = server(vec![fine; 3]);
    let tap = setup.tap("http://127.0.0.1:0/", &format!("http://{at}/"), &[]);
    let ask = |host: &str, more: &str| format!("GET / HTTP/1.1\r\nHost: {host}\r\n{more}\r\n");
    let asked =
        ask("evil.example:9000", "") + &ask("localhost:9", "") + &ask(&port(&tap), "Connection: close\r\n");
    exchange(TcpStream::connect(port(&tap)).unwrap(), asked.as_bytes());
    let hosts: Vec<String> = serving
        .join()
        .unwrap()
        .iter()
        .filter_map(|head| {
            head.lines().find_map(|line| Some(line.to_lowercase().strip_prefix("host: ")?.to_owned()))
        })
        .collect();
    assert_eq!(hosts, ["evil.example:9000", &at, &at]);
}

/// The chunks say how long it is, and a client that would believe the length would take the rest for the next answer.
#[test]
fn a_length_beside_chunks_is_not_passed_on() {
    let mut setup = Setup::new();
    let both = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\nc\r\n{\"result\":1}\r\n0\r\n\r\n";
    let (at, serving) = server(vec![both]);
    let tap = setup.tap("http://127.0.0.1:0/", &format!("http://{at}/"), &[]);
    let asked = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let came = exchange(TcpStream::connect(port(&tap)).unwrap(), asked.as_bytes());
    serving.join().unwrap();
    let came = String::from_utf8(came).unwrap().to_lowercase();
    assert!(came.contains("{\"result\":1}") && !came.contains("content-length"), "{came}");
}

#[test]
fn events_come_one_by_one() {
    let mut setup = Setup::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = format!("http://{}/", listener.local_addr().unwrap());
    let tap = setup.tap("http://127.0.0.1:0/", &target, &[]);
    let mut client = TcpStream::connect(port(&tap)).unwrap();
    client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n").unwrap();
    let (mut server, _) = listener.accept().unwrap();
    let mut head = [0; 4096];
    assert_ne!(server.read(&mut head).unwrap(), 0);
    server.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n").unwrap();
    let mut came = Vec::new();
    for number in 1..=3 {
        let event = format!("data: {{\"jsonrpc\":\"2.0\",\"method\":\"n{number}\"}}\n\n");
        server.write_all(event.as_bytes()).unwrap();
        // The next is sent only when this one has arrived.
        while !String::from_utf8_lossy(&came).contains(&format!("n{number}")) {
            let mut part = [0; 4096];
            let count = client.read(&mut part).unwrap();
            assert_ne!(count, 0);
            came.extend_from_slice(&part[..count]);
        }
    }
    drop((server, client));
    let record = setup.recorded();
    assert_eq!(record.matches(r#""k":"note","m":"n"#).count(), 3, "{record}");
}

#[test]
fn tls_ends_on_either_side() {
    let mut setup = Setup::new();
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned(), "localhost".to_owned()]).unwrap();
    fs::write(setup.folder.join("cert.pem"), made.cert.pem()).unwrap();
    fs::write(setup.folder.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
    let own = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"];
    let trust = ["--cacert", "cert.pem"];
    let mut demo = vec!["demo", "--listen", "tcp://127.0.0.1:0"];
    demo.extend(own);
    let at = port(&setup.start(&demo));
    for (listen, target) in [
        ("tls://127.0.0.1:0", format!("tls://{at}")),
        ("https://127.0.0.1:0/", format!("https://{at}/")),
        ("wss://127.0.0.1:0/", format!("wss://{at}/")),
    ] {
        let tap = setup.tap(listen, &target, &[&own[..], &trust].concat());
        let mut call = vec!["call", &tap, "add", "2", "3"];
        call.extend(trust);
        assert_eq!(setup.run(&call), ("5\n".to_owned(), String::new()), "{listen}");
        assert!(setup.recorded().contains(r#""m":"add","ms":"#));
    }
    let (_, refused) = setup.run(&["tap", "--listen", "tls://127.0.0.1:0", "tcp://127.0.0.1:1"]);
    assert!(refused.contains("needs a certificate"), "{refused}");
    let (_, refused) = setup.run(&["tap", "--listen", "http://127.0.0.1:0", "tcp://127.0.0.1:1"]);
    assert!(refused.contains("http and tcp do not fit together"), "{refused}");
}

#[test]
fn only_a_socket_that_nobody_uses_is_replaced() {
    let mut setup = Setup::new();
    let path = setup.folder.join("precious");
    fs::write(&path, "text").unwrap();
    let listen = format!("unix:{}", path.display());
    let (_, refused) = setup.run(&["tap", "--listen", &listen, "tcp://127.0.0.1:1"]);
    assert!(refused.contains("a file with this name exists and is not a socket"), "{refused}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "text");
    fs::remove_file(&path).unwrap();
    // What a process has left behind that was killed.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    setup.tap(&listen, "tcp://127.0.0.1:1", &[]);
    let (_, refused) = setup.run(&["tap", "--listen", &listen, "tcp://127.0.0.1:1"]);
    assert!(refused.contains("use another port or path"), "{refused}");
}

#[test]
fn secrets_of_the_target_are_not_recorded() {
    let mut setup = Setup::new();
    let target = "http://127.0.0.1:1/rpc?token=HUNTER2";
    setup.tap("http://127.0.0.1:0/", target, &["--redact", "token"]);
    let record = setup.recorded();
    assert!(
        record.contains("http://127.0.0.1:1/rpc?token[redacted]") && !record.contains("HUNTER2"),
        "{record}"
    );
}
