//! Somebody who looks at the page of a tap, as a browser does: hears the news, and asks for the rows at the end.

use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use sabir_bench::wrong;
use serde_json::Value;

/// How long a tap takes at most until it has its page.
const PATIENCE: Duration = Duration::from_secs(10);

/// Rows that are visible.
const ROWS: u64 = 60;

/// A page that is open until this is dropped.
pub(crate) struct Page {
    feed: TcpStream,
}

impl Page {
    /// Opens the page of a tap, which leaves a note of where that is.
    pub(crate) fn open(tap: u32) -> io::Result<Page> {
        let note = state_folder()?.join(format!("sabir/taps/{tap}.json"));
        let url = noted(&note)?;
        let (host, token) = url
            .strip_prefix("http://")
            .and_then(|url| url.split_once("/#t="))
            .ok_or_else(|| wrong("the address of a page", &url.as_str().into()))?;
        let feed = ask(host, token, "feed")?;
        let (host, token) = (host.to_owned(), token.to_owned());
        let lines = BufReader::new(feed.try_clone()?).lines();
        thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| look(&host, &token, &line)));
        Ok(Page { feed })
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.feed.shutdown(Shutdown::Both);
    }
}

/// Asks for the last rows after each piece of news.
fn look(host: &str, token: &str, line: &str) -> io::Result<()> {
    // The head of the response is among the lines.
    let Ok(news) = serde_json::from_str::<Value>(line) else { return Ok(()) };
    let Some(rows) = news["rows"].as_u64() else { return Ok(()) };
    let from = rows.saturating_sub(ROWS);
    ask(host, token, &format!("rows?from={from}&count={ROWS}"))?.read_to_end(&mut Vec::new())?;
    Ok(())
}

/// In HTTP/1.0 the answer has no chunks, and its end is that of the connection.
fn ask(host: &str, token: &str, path: &str) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(host)?;
    let head = format!("GET /api/{path} HTTP/1.0\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    Ok(stream)
}

fn state_folder() -> io::Result<PathBuf> {
    let set = env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    set.or_else(home).ok_or_else(|| io::Error::other("there is no folder for the notes of taps"))
}

/// The address in a note, once it is written.
fn noted(note: &Path) -> io::Result<String> {
    let start = Instant::now();
    loop {
        let text = fs::read(note).unwrap_or_default();
        if let Some(url) = serde_json::from_slice::<Value>(&text)
            .ok()
            .and_then(|note| Some(note["url"].as_str()?.to_owned()))
        {
            return Ok(url);
        }
        if start.elapsed() > PATIENCE {
            return Err(io::Error::other(format!("the tap has no page: {} says nothing", note.display())));
        }
        thread::sleep(Duration::from_millis(5));
    }
}
