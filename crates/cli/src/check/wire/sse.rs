//! HTTP as MCP 2024-11-05 has it: one stream brings all messages of the server, and its first event says where messages
//! to the server are posted.

use std::collections::VecDeque;
use std::io;

use http_body_util::BodyExt;
use hyper::Method;
use sabir::transport::Url;
use sabir::{DeliveryFailure, Undelivered};

use super::post::{Events, NoAnswer, Post, is_stream};
use super::{Got, WireTarget};

/// The first event is not longer.
const LONGEST_ENDPOINT: usize = 64 << 10;

pub(crate) struct Sse {
    post: Post,
    events: Events,
    status: Option<u16>,
    /// Posts that were refused, and not told yet.
    refused: VecDeque<Undelivered>,
    max_size: usize,
}

impl Sse {
    /// It is an error if the server has no such stream.
    pub(super) async fn open(url: &Url, target: &WireTarget) -> io::Result<Sse> {
        let no_stream = || io::Error::other(format!("{url} has no stream of events"));
        let post = Post::open(url, target).await?;
        let (response, _) =
            post.exchange(Method::GET, String::new(), None).await.map_err(|(_, error)| error)?;
        if !response.status().is_success() || !is_stream(response.headers()) {
            return Err(no_stream());
        }
        let max_size = target.peer.max_size;
        let mut body = response.into_body();
        let mut start = Vec::new();
        let (endpoint, rest) = loop {
            let frame = body.frame().await.and_then(Result::ok).ok_or_else(no_stream)?;
            start.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
            if let Some(found) = first_event(&start) {
                break found;
            }
            if start.len() > LONGEST_ENDPOINT {
                return Err(no_stream());
            }
        };
        let endpoint = resolve(url, &endpoint).ok_or_else(no_stream)?;
        let mut events = Events::new(body, max_size);
        events.feed(&start[rest..]);
        let post = Post::open(&endpoint, target).await?;
        Ok(Sse { post, events, status: None, refused: VecDeque::new(), max_size })
    }

    pub(super) async fn send(&mut self, text: &str) -> io::Result<()> {
        let sent = self.post.exchange(Method::POST, text.to_owned(), None).await;
        let (response, _) = sent.map_err(|(_, error)| error)?;
        let status = response.status();
        self.status = Some(status.as_u16());
        if !status.is_success() {
            let what = format!("HTTP {status}");
            let lost = Undelivered::new(DeliveryFailure::Refused, what);
            self.refused.push_back(Undelivered { status: self.status, ..lost });
        }
        Ok(())
    }

    pub(super) async fn next(&mut self) -> Got {
        if let Some(lost) = self.refused.pop_front() {
            return Got::Nothing(lost);
        }
        match self.events.next().await {
            Ok(Some(text)) => Got::Message(text),
            Err(NoAnswer::TooLarge) => Got::TooLarge { limit: self.max_size },
            Ok(None) | Err(NoAnswer::Undelivered(_)) => Got::End,
        }
    }

    pub(super) fn status(&self) -> Option<u16> {
        self.status
    }
}

/// The data of the event `endpoint`, which is the first, and where the next one begins. The parser of messages skips
/// events of other names.
fn first_event(text: &[u8]) -> Option<(String, usize)> {
    let ends = [&b"\n\n"[..], b"\r\n\r\n"];
    let end = ends.iter().filter_map(|end| {
        text.windows(end.len()).position(|part| part == *end).map(|at| (at, at + end.len()))
    });
    let (at, rest) = end.min()?;
    let event = String::from_utf8_lossy(&text[..at]);
    let data = event.lines().find_map(|line| line.strip_prefix("data:"))?;
    event
        .lines()
        .any(|line| line.strip_prefix("event:").is_some_and(|name| name.trim() == "endpoint"))
        .then(|| (data.trim().to_owned(), rest))
}

/// The endpoint's URL. It must be of the same server: what is sent may hold secrets.
fn resolve(url: &Url, endpoint: &str) -> Option<Url> {
    let text = url.to_string();
    let (scheme, _) = text.split_once("://")?;
    let origin = format!("{scheme}://{}", url.authority());
    let endpoint = endpoint.trim();
    match endpoint.strip_prefix(&origin) {
        Some(rest) if rest.starts_with(['/', '?']) => Url::parse(endpoint).ok(),
        None if endpoint.starts_with('/') && !endpoint.starts_with("//") => {
            Url::parse(&format!("{origin}{endpoint}")).ok()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_event_names_it() {
        for (text, want) in [
            ("event: endpoint\ndata: /m\n\ndata: {}", Some(("/m", 26))),
            ("event: endpoint\r\ndata: /m\r\n\r\n", Some(("/m", 29))),
            ("event: endpoint\ndata: /m\n", None),
            ("data: {}\n\n", None),
        ] {
            let got = first_event(text.as_bytes());
            assert_eq!(got, want.map(|(data, rest)| (data.to_owned(), rest)), "{text}");
        }
    }

    #[test]
    fn an_endpoint_is_of_the_same_server() {
        let url = Url::parse("http://127.0.0.1:1/sse").expect("a URL");
        for (endpoint, want) in [
            ("/message?sessionId=1", Some("http://127.0.0.1:1/message?sessionId=1")),
            ("http://127.0.0.1:1/m", Some("http://127.0.0.1:1/m")),
            ("http://127.0.0.1:12/m", None),
            ("http://elsewhere/m", None),
            ("//elsewhere/m", None),
            ("message", None),
        ] {
            let got = resolve(&url, endpoint).map(|url| url.to_string());
            assert_eq!(got.as_deref(), want, "{endpoint}");
        }
    }
}
