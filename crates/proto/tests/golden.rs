//! Golden transcripts: each file in `tests/data` is played to a session, and what the session answers must
//! be what the file says. `UPDATE=1` rewrites the files.
//!
//! The session is the server, unless a file makes it call. Lines that begin with `#!` are for this runner:
//!
//! ```text
//! #! session dialect=lsp framing=headers high_water=100   a new session
//! #! call METHOD [PARAMS] [timeout=1s] [total=5s] [reset] [progress]
//! #! notify METHOD [PARAMS]
//! #! batch [{"method": …, "params": …, "id": true}, …]
//! #! cancel CALL
//! #! item SINK [key=1] JSON / #! finish SINK [failed]    for a subscription of the peer, by its number
//! #! subscribe STYLE [PARAMS] [timeout=1s] / #! leave SUBSCRIPTION
//! #! undelivered REASON          the transport has no way for items
//! #! stop writing / #! write     the peer stops reading / reads again
//! #! eof / #! lost REASON / #! shutdown 5s
//! ```

#![allow(clippy::unwrap_used)]

#[path = "golden/player.rs"]
mod player;
#[path = "golden/service.rs"]
mod service;
#[path = "golden/settings.rs"]
mod settings;
#[path = "golden/subscriptions.rs"]
mod subscriptions;

use std::fs;
use std::path::Path;

use player::Player;
use sabir_proto::{Line, transcript};

#[test]
fn transcripts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let update = std::env::var_os("UPDATE").is_some();
    let mut failed = Vec::new();
    let mut played = 0;
    let mut paths: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|e| e == "rpc")) {
        let want = fs::read_to_string(path).unwrap();
        let got = play(&want).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        played += 1;
        if got == want {
            continue;
        }
        if update {
            fs::write(path, got).unwrap();
        } else {
            failed.push(format!("{}:\n{}", path.display(), difference(&want, &got)));
        }
    }
    assert!(played > 0, "no transcripts in {}", folder.display());
    assert!(failed.is_empty(), "run with UPDATE=1 to accept:\n\n{}", failed.join("\n"));
}

/// The transcript with its outputs as they really are.
fn play(text: &str) -> Result<String, String> {
    let mut player = Player::default();
    let mut out = String::new();
    for (number, (source, line)) in text.lines().zip(transcript(text)).enumerate() {
        let line = line.map_err(|error| error.to_string())?;
        if matches!(line, Line::ToClient(_) | Line::BytesToClient(_) | Line::Event(_)) {
            continue;
        }
        out.push_str(source);
        out.push('\n');
        let told = match &line {
            Line::Comment(text) if text.starts_with('!') => player.command(text[1..].trim()),
            Line::ToServer(message) => player.message(message),
            Line::BytesToServer(bytes) => player.bytes(bytes),
            Line::Time(time) => player.sleep(*time),
            _ => Ok(()),
        };
        told.map_err(|error| format!("line {}: {error}", number + 1))?;
        for line in player.take_output() {
            out.push_str(&line);
            out.push('\n');
        }
    }
    Ok(out)
}

/// Both sides, from the first line that differs.
fn difference(want: &str, got: &str) -> String {
    let same = want.lines().zip(got.lines()).take_while(|(a, b)| a == b).count();
    let excerpt = |text: &str| {
        text.lines().skip(same.saturating_sub(2)).take(8).map(|l| format!("    {l}\n")).collect::<String>()
    };
    format!("  line {}, the file says:\n{}  the session says:\n{}", same + 1, excerpt(want), excerpt(got))
}
