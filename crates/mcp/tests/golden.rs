//! Golden transcripts: each file in `tests/data` is played to a server over a connection in memory, and what the
//! server says must be what the file says. `UPDATE=1` rewrites the files.
//!
//! `#! connect` opens a new connection. Time is virtual: after each message everything happens that can.

#![allow(clippy::unwrap_used)]
// Without `validate`, other words tell which argument does not fit.
#![cfg(feature = "validate")]

mod service;

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sabir::transport;
use sabir_proto::{Line, transcript};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, WriteHalf};

#[tokio::test(start_paused = true)]
async fn transcripts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let update = std::env::var_os("UPDATE").is_some();
    let mut paths: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut failed = Vec::new();
    for path in &paths {
        let want = fs::read_to_string(path).unwrap();
        let got = play(&want).await;
        match got == want {
            true => {}
            false if update => fs::write(path, got).unwrap(),
            false => failed.push(format!("{}:\n{}", path.display(), difference(&want, &got))),
        }
    }
    assert!(!paths.is_empty(), "no transcripts in {}", folder.display());
    assert!(failed.is_empty(), "run with UPDATE=1 to accept:\n\n{}", failed.join("\n"));
}

/// The transcript with its outputs as they really are.
async fn play(text: &str) -> String {
    let mut connection = Connection::open();
    let mut out = String::new();
    for (source, line) in text.lines().zip(transcript(text)) {
        let line = line.unwrap();
        if let Line::ToClient(_) | Line::Event(_) = line {
            continue;
        }
        out.push_str(source);
        out.push('\n');
        match &line {
            Line::Comment(command) if command.starts_with("! connect") => connection = Connection::open(),
            Line::ToServer(message) => connection.send(message).await,
            _ => {}
        }
        // Virtual time moves on only when nothing else can.
        tokio::time::sleep(Duration::from_millis(1)).await;
        for line in std::mem::take(&mut *connection.said.lock().unwrap()) {
            out.push_str(&format!("{}\n", Line::ToClient(line.into())));
        }
    }
    out
}

struct Connection {
    write: WriteHalf<tokio::io::DuplexStream>,
    said: Arc<Mutex<Vec<String>>>,
}

impl Connection {
    fn open() -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (read, write) = tokio::io::split(theirs);
        tokio::spawn(service::server().serve(transport::streams(read, write)));
        let (read, write) = tokio::io::split(ours);
        let said = Arc::<Mutex<Vec<String>>>::default();
        let lines = Arc::clone(&said);
        tokio::spawn(async move {
            let mut read = BufReader::new(read).lines();
            while let Ok(Some(line)) = read.next_line().await {
                lines.lock().unwrap().push(line);
            }
        });
        Connection { write, said }
    }

    async fn send(&mut self, message: &str) {
        self.write.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }
}

/// Both sides, from the first line that differs.
fn difference(want: &str, got: &str) -> String {
    let same = want.lines().zip(got.lines()).take_while(|(a, b)| a == b).count();
    let excerpt = |text: &str| {
        text.lines().skip(same.saturating_sub(2)).take(8).map(|l| format!("    {l}\n")).collect::<String>()
    };
    format!("  line {}, the file says:\n{}  the server says:\n{}", same + 1, excerpt(want), excerpt(got))
}
