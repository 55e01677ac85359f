//! What goes over the wire between a server and its client, for a test to look at.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use sabir::{Transport, transport};
use sabir_model::capture::Reader;
use sabir_model::rules::{Checker, Finding, Profile, Severity};
use sabir_proto::Line;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader, duplex, split};

use super::stable::{difference, stable};
use crate::server::McpServer;

/// Bytes that may be on their way.
const BUFFER: usize = 64 << 10;

/// What went over the wire so far: a line for each message. Made by [`McpServer::recorded`].
#[derive(Debug, Clone, Default)]
pub struct Recording(Arc<Mutex<String>>);

impl McpServer {
    /// Serves in memory, as [`in_memory`](Self::in_memory) does, and writes down what goes over the wire.
    pub fn recorded(self) -> (Transport, Recording) {
        let recording = Recording::default();
        let (client, near) = duplex(BUFFER);
        let (far, server) = duplex(BUFFER);
        let ((near_read, near_write), (far_read, far_write)) = (split(near), split(far));
        let (up, down) = (recording.clone(), recording.clone());
        tokio::spawn(up.carry(near_read, far_write, |line| Line::ToServer(line.into())));
        tokio::spawn(down.carry(far_read, near_write, |line| Line::ToClient(line.into())));
        let ((read, write), (server_read, server_write)) = (split(client), split(server));
        tokio::spawn(self.serve(transport::streams(server_read, server_write)));
        (transport::streams(read, write), recording)
    }
}

impl Recording {
    /// Carries lines until one side ends.
    async fn carry(
        self,
        from: impl AsyncRead + Unpin,
        mut to: impl AsyncWrite + Unpin,
        line_of: impl Fn(String) -> Line<'static>,
    ) {
        let mut lines = BufReader::new(from).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let written = format!("{}\n", line_of(line.clone()));
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push_str(&written);
            if to.write_all(format!("{line}\n").as_bytes()).await.is_err() {
                return;
            }
        }
    }

    /// All of it, in the notation of `sabir`: `>` to the server, `<` to the client.
    ///
    /// What differs from run to run has placeholders: ids of tasks (`task-1`), states of requests (`state-1`), and when tasks were
    /// created and changed.
    pub fn transcript(&self) -> String {
        stable(&self.as_it_came())
    }

    fn as_it_came(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Fails unless a file has the same transcript. With `UPDATE=1` in the environment the file is written instead.
    ///
    /// # Panics
    /// If it is not the same, or the file cannot be read or written.
    pub fn assert_golden(&self, path: impl AsRef<Path>) {
        let (path, came) = (path.as_ref(), self.transcript());
        if std::env::var_os("UPDATE").is_some() {
            let written = std::fs::write(path, &came);
            return written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
        let want = std::fs::read_to_string(path).unwrap_or_else(|error| {
            panic!("{}: {error}; run the test with UPDATE=1 to write it", path.display())
        });
        let place = path.display();
        assert!(
            came == want,
            "{place} has another transcript; UPDATE=1 writes this one\n{}",
            difference(&want, &came)
        );
    }

    /// What `sabir check --profile mcp` finds wrong with it: by the same rules, and by the schemas that the server lists.
    pub fn findings(&self) -> Vec<Finding> {
        let transcript = self.as_it_came();
        let mut checker = Checker::new(Profile::Mcp(None));
        let mut found = Vec::new();
        if let Ok(mut reader) = Reader::new(transcript.as_bytes()) {
            while let Ok(Some(record)) = reader.next() {
                found.extend(checker.check(&record));
            }
        }
        found
    }

    /// Fails if either side has broken a rule.
    ///
    /// # Panics
    /// With what is wrong.
    pub fn assert_valid(&self) {
        let found = self.findings();
        let wrong = found.iter().filter(|finding| finding.severity >= Severity::Warning);
        let wrong: Vec<_> = wrong.map(|finding| format!("{}: {}", finding.rule.id, finding.what)).collect();
        assert!(wrong.is_empty(), "{}\n\n{}", wrong.join("\n"), self.transcript());
    }
}
