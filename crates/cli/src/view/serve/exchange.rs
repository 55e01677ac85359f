//! The HTTP that a message went over: the heads that were recorded with it.

use sabir_model::calls::{Entry, Kind};
use sabir_model::capture::{Direction, Header};

use super::row::Known;
use crate::view::capture::{AllContents, Captures};

/// Rows behind a request among which its response is looked for, and how many of these are read.
const BEHIND: u32 = 4096;
const READ: usize = 256;

/// Where the head of a response is: in the row that the list has for one without a message, or whose status is not 200, or
/// with the first message.
pub(super) fn response(
    captures: &Captures,
    request: &Known,
    number: u64,
    contents: &mut AllContents,
) -> Option<(Known, String)> {
    let state = captures.state();
    let rows = request.row + 1..state.rows.index.len().min(request.row.saturating_add(BEHIND));
    let is_one = |entry: &Entry| {
        let is_answer = entry.kind.is_message() && entry.direction == Some(Direction::ToClient);
        entry.connection == request.entry.connection && (entry.kind == Kind::Http || is_answer)
    };
    let known: Vec<Known> = rows
        .filter(|&row| state.rows.index.entry(row).as_ref().is_some_and(is_one))
        .filter_map(|row| Known::record(&state, row))
        .take(READ)
        .collect();
    drop(state);
    known.into_iter().find_map(|known| {
        let (source, place) = known.place;
        let exchange = contents.exchange(source, place).filter(|exchange| exchange.number == number)?;
        let head = match known.entry.kind {
            Kind::Http => String::from_utf8_lossy(&contents.at(source, place).ok()?).into_owned(),
            _ => exchange.head?.into_owned(),
        };
        Some((known, head))
    })
}

/// The headers of a head, behind its first line.
pub(super) fn fields(head: &str) -> impl Iterator<Item = (&str, &str)> {
    head.lines().skip(1).filter_map(|line| line.split_once(':')).map(|(name, value)| (name, value.trim()))
}

/// The status of a response, and what it is called.
pub(super) fn status(head: &str) -> Option<(u16, &str)> {
    let line = head.lines().next()?;
    let (code, rest) = line.split_once(' ').unwrap_or((line, ""));
    // What was asked is behind the name: the method in capitals, and the path.
    let words: Vec<&str> = rest.split(' ').collect();
    let name = words.len().checked_sub(2).map_or(rest, |count| &rest[..words[..count].join(" ").len()]);
    Some((code.parse().ok()?, name))
}

/// Where requests of HTTP go.
pub(super) fn web_address(header: &Header) -> Option<&str> {
    header.target.as_deref().filter(|target| target.starts_with("http://") || target.starts_with("https://"))
}

/// Where a request went. The query is that of the target: paths are recorded without one.
pub(super) fn url(header: &Header, head: Option<&str>) -> Option<String> {
    let target = web_address(header)?;
    let Some(path) = head.and_then(|head| head.lines().next()?.split(' ').nth(1)) else {
        return Some(target.to_owned());
    };
    let host = target.find("://").map_or(0, |at| at + 3);
    let end = target[host..].find(['/', '?']).map_or(target.len(), |at| host + at);
    let own = target[end..].split('?').next().unwrap_or_default();
    let is_own = path == own || own.is_empty() && path == "/";
    Some(if is_own { target.to_owned() } else { format!("{}{path}", &target[..end]) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_say_where_requests_went_and_how_they_ended() {
        let url =
            |target: &str, head| url(&Header { target: Some(target.to_owned()), ..Header::default() }, head);
        for (target, head, want) in [
            ("http://h:1/mcp?key=1", Some("POST /mcp\na: b"), Some("http://h:1/mcp?key=1")),
            ("http://h:1/mcp?key=1", Some("GET /.well-known/x"), Some("http://h:1/.well-known/x")),
            ("https://h", Some("POST /"), Some("https://h")),
            ("https://h/rpc", None, Some("https://h/rpc")),
            ("tcp://h:1", Some("POST /"), None),
        ] {
            assert_eq!(url(target, head).as_deref(), want, "{target} {head:?}");
        }
        for (head, want) in [
            ("200 OK POST /mcp\na: b", Some((200, "OK"))),
            ("404 Not Found GET /x", Some((404, "Not Found"))),
            ("299  POST /mcp", Some((299, ""))),
            ("POST /mcp", None),
        ] {
            assert_eq!(status(head), want, "{head}");
        }
        assert_eq!(fields("POST /\na: b: c\nd:e").collect::<Vec<_>>(), [("a", "b: c"), ("d", "e")]);
    }
}
