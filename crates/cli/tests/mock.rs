//! `sabir mock` and `sabir replay --server` over TLS, how long a mock and a replay take, and faults of bytes on every
//! transport. `data/program/mock.console` has what they do.

#![allow(clippy::unwrap_used)]

mod started;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, str};

use started::Started;

const SABIR: &str = env!("CARGO_BIN_EXE_sabir");
const SESSION: &str = r#"> {"jsonrpc":"2.0","id":1,"method":"add","params":[2,3]}
< {"jsonrpc":"2.0","id":1,"result":5}
"#;

#[test]
fn it_serves_with_a_certificate() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mock-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    fs::write(folder.join("cert.pem"), made.cert.pem()).unwrap();
    fs::write(folder.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
    fs::write(folder.join("s.rpc"), SESSION).unwrap();
    let call = |at: &str| {
        let args = ["call", at, "add", "2", "3", "--cacert", "cert.pem", "--timeout", "20s"];
        let run = Command::new(SABIR).args(args).current_dir(&folder).output().unwrap();
        let text = |bytes: &[u8]| str::from_utf8(bytes).unwrap().to_owned();
        (run.status.code(), text(&run.stdout), text(&run.stderr))
    };
    let served = |command: &[&str], listen: &str| {
        let tls = ["s.rpc", "--listen", listen, "--tls-cert", "cert.pem", "--tls-key", "key.pem"];
        Started::new(&folder, &[command, &tls].concat())
    };
    for listen in ["tls://127.0.0.1:0", "https://127.0.0.1:0/rpc", "wss://127.0.0.1:0/rpc"] {
        let mut mock = served(&["mock"], listen);
        assert_eq!(call(&mock.url("serving on")), (Some(0), "5\n".to_owned(), String::new()), "{listen}");
        let mut replay = served(&["replay", "--server"], listen);
        assert_eq!(call(&replay.url("serving on")), (Some(0), "5\n".to_owned(), String::new()), "{listen}");
        // What the faults change is inside.
        let mut broken = served(&["mock", "--fault=close"], listen);
        let (code, out, said) = call(&broken.url("serving on"));
        assert!(code != Some(0) && out.is_empty(), "{listen}: {code:?} {out} {said}");
    }
    fs::remove_dir_all(&folder).unwrap();
}

/// Two calls, the first of which has taken 300 ms, and 400 ms between them.
const SLOW: &str = r#"> {"jsonrpc":"2.0","id":1,"method":"add","params":[2,3]}
~ 300ms
< {"jsonrpc":"2.0","id":1,"result":5}
~ 400ms
> {"jsonrpc":"2.0","id":2,"method":"add","params":[3,3]}
< {"jsonrpc":"2.0","id":2,"result":6}
"#;

fn slow(name: &str) -> std::path::PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mock-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("s.rpc"), SLOW).unwrap();
    folder
}

/// Answers come no sooner than is said. How much later is the machine's.
#[test]
fn answers_take_as_long_as_is_asked_for() {
    let folder = slow("latency");
    for (latency, call, least) in
        [("recorded", SLOW, 300), ("150ms", SLOW, 150), ("150ms", &SLOW[SLOW.rfind('>').unwrap()..], 150)]
    {
        let mut child = Command::new(SABIR)
            .args(["mock", "s.rpc", "--latency", latency])
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let call = call.lines().next().unwrap().trim_start_matches("> ");
        let mut stdin = child.stdin.take().unwrap();
        let start = Instant::now();
        writeln!(stdin, "{call}").unwrap();
        let mut answer = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut answer).unwrap();
        assert!(answer.contains(r#""result":"#), "{answer}");
        assert!(start.elapsed() >= Duration::from_millis(least), "{latency}: {:?}", start.elapsed());
        drop(stdin);
        assert!(child.wait().unwrap().success());
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_replay_waits_as_long_as_is_asked_for() {
    let folder = slow("pace");
    for (pace, least) in [(&["--pace", "recorded"][..], 700), (&["--speed", "4"], 175)] {
        let start = Instant::now();
        let args = [&["replay", "s.rpc"], pace, &["--", SABIR, "demo"]].concat();
        let run = Command::new(SABIR).args(args).current_dir(&folder).output().unwrap();
        let said = String::from_utf8_lossy(&run.stdout).into_owned();
        assert!(run.status.success() && said.ends_with("2 same\n"), "{said}");
        assert!(start.elapsed() >= Duration::from_millis(least), "{pace:?}: {:?}", start.elapsed());
    }
    fs::remove_dir_all(&folder).unwrap();
}

/// What a mock answers to a call: a line, or a response of HTTP.
fn answered(mut stream: impl std::io::Read + Write, is_web: bool) -> Vec<u8> {
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"add","params":[2,3]}"#;
    let head = format!(
        "POST /rpc HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json\r\nContent-Length: {}\r\n\r\n",
        call.len()
    );
    let sent = if is_web { format!("{head}{call}") } else { format!("{call}\n") };
    stream.write_all(sent.as_bytes()).unwrap();
    let mut came = Vec::new();
    let mut reader = BufReader::new(stream);
    let read = match is_web {
        false => reader.read_until(b'\n', &mut came),
        true => std::io::Read::read_to_end(&mut reader, &mut came),
    };
    assert!(read.unwrap() > 0);
    came
}

fn at(url: &str) -> &str {
    url.split("://").nth(1).unwrap().split('/').next().unwrap()
}

#[test]
fn garbage_is_a_whole_message_that_is_not_json() {
    let folder = slow("garbage");
    let not_json = |text: &[u8]| {
        let text = str::from_utf8(text).expect("UTF-8: the client's parser must get it");
        assert!(text.contains("this is not JSON"), "{text}");
        assert!(serde_json::from_str::<serde_json::Value>(text).is_err(), "{text}");
    };
    let start =
        |listen: &str| Started::new(&folder, &["mock", "s.rpc", "--fault=garbage", "--listen", listen]);
    let connect = |url: &str| std::net::TcpStream::connect(at(url)).unwrap();

    let mut mock = start("tcp://127.0.0.1:0");
    let line = answered(connect(&mock.url("serving on")), false);
    assert!(line.ends_with(b"\n"));
    not_json(&line);

    let mut mock = start("http://127.0.0.1:0/rpc");
    let url = mock.url("serving on");
    let answer = String::from_utf8(answered(connect(&url), true)).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(" 200 "), "{head}");
    let length =
        head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    assert_eq!(length, Some(body.len()), "{head}");
    not_json(body.as_bytes());

    let mut mock = start("ws://127.0.0.1:0/rpc");
    let url = mock.url("serving on");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        use futures_util::{SinkExt, StreamExt};
        use tokio_tungstenite::tungstenite::Message;
        let stream = tokio::net::TcpStream::connect(at(&url)).await.unwrap();
        let (mut socket, _) = tokio_tungstenite::client_async(&url, stream).await.unwrap();
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"add","params":[2,3]}"#;
        socket.send(Message::text(call)).await.unwrap();
        // A frame of text that is none would be an error here.
        let Message::Text(text) = socket.next().await.unwrap().unwrap() else { panic!("not text") };
        not_json(text.as_bytes());
    });
    fs::remove_dir_all(&folder).unwrap();
}

#[cfg(unix)]
#[test]
fn faults_of_bytes_work_on_a_unix_socket() {
    let folder = slow("unix");
    for (fault, is_line) in [("garbage", true), ("close", false)] {
        let mut mock =
            Started::new(&folder, &["mock", "s.rpc", "--fault", fault, "--listen", "unix:mock.sock"]);
        mock.line("serving on unix:");
        let stream = std::os::unix::net::UnixStream::connect(folder.join("mock.sock")).unwrap();
        let line = answered(stream, false);
        assert!(serde_json::from_slice::<serde_json::Value>(&line).is_err());
        assert_eq!(line.ends_with(b"\n"), is_line, "{fault}: {}", String::from_utf8_lossy(&line));
    }
    fs::remove_dir_all(&folder).unwrap();
}
