//! `sabir mock` and `sabir replay --server` over TLS. `data/program/mock.console` has what they do.

#![allow(clippy::unwrap_used)]

mod started;

use std::path::Path;
use std::process::Command;
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
