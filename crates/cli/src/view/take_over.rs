//! The page of a tap that has ended: another process serves it from the record, at the same address, for as long as somebody
//! looks at it. The tap itself must end with its command, whoever looks.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::capture::{Given, Origin};
use super::serve::{Page, Served};
use crate::exit::{Exit, Failure};

/// How long the tap may take to give its address free, and how often it is looked.
const ADDRESS: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(20);

/// How long pages may take to come back, at first and after one was loaded again.
const FIRST: Duration = Duration::from_secs(20);
const AGAIN: Duration = Duration::from_secs(5);

/// What is to be served. The token is in it: it goes through a pipe, where no list of processes shows it.
#[derive(Serialize, Deserialize)]
pub(super) struct Will {
    pub(super) port: u16,
    pub(super) token: String,
    pub(super) path: PathBuf,
    pub(super) name: String,
    /// Nobody asked for the record: it goes with the page.
    pub(super) is_temporary: bool,
}

impl Will {
    /// Starts the process that takes over once this one has ended.
    pub(super) fn leave(&self) -> std::io::Result<()> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["view", "--take-over"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if let Some(folder) = self.path.parent() {
            command.current_dir(folder);
        }
        crate::platform::apart(&mut command);
        let mut child = command.spawn()?;
        match child.stdin.take() {
            Some(mut stdin) => stdin.write_all(&serde_json::to_vec(self)?),
            None => Ok(()),
        }
    }
}

/// Takes over from the tap that is read from standard input.
pub(super) async fn run() -> Result<Exit, Failure> {
    let mut text = Vec::new();
    std::io::stdin().lock().read_to_end(&mut text)?;
    let will: Will = serde_json::from_slice(&text).map_err(|error| Failure::usage(error.to_string()))?;
    let ended = serve(&will).await;
    if will.is_temporary {
        remove(&will.path);
    }
    ended.map_err(|error| Failure::new(Exit::Connect, format_args!("cannot serve the page: {error}")))
}

async fn serve(will: &Will) -> std::io::Result<Exit> {
    let deadline = Instant::now() + ADDRESS;
    let page = loop {
        let origin = Origin { path: will.path.clone(), name: will.name.clone(), is_live: false };
        let record = (!will.is_temporary).then(|| will.path.display().to_string());
        let served = Served { port: will.port, token: Some(will.token.clone()), record, ..Served::default() };
        match Page::serve(Given { origins: vec![origin], more: None, is_tap: false }, served) {
            Ok(page) => break page,
            Err(error) if Instant::now() > deadline => return Err(error),
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    };
    let mut deadline = Instant::now() + FIRST;
    while Instant::now() < deadline {
        tokio::time::sleep(PAUSE * 10).await;
        if page.is_followed() {
            deadline = Instant::now() + AGAIN;
        }
    }
    Ok(Exit::Ok)
}

pub(super) fn remove(path: &Path) {
    let _ = std::fs::remove_file(path);
}
