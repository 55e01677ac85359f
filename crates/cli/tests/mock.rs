//! `sabir mock` and `sabir replay --server` over TLS, and how long a mock and a replay take. `data/program/mock.console` has what
//! they do.

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
