//! Which calls are made how often: lines with weights, or the client's side of a recording.

use std::ffi::OsStr;

use sabir::RawJson;
use sabir_load::mixed_order;
use sabir_model::capture::Direction;
use sabir_proto::Cursor;

use crate::exit::Failure;
use crate::platform;
use crate::print::Printer;
use crate::recorded::{PartKind, Recording, call_name};
use crate::session::Protocol;
use crate::values::{Arguments, bytes_of};

/// Different calls at most.
const MOST_ENTRIES: usize = 10_000;

/// A call as it is typed.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// The row that it is reported in.
    pub(super) name: String,
    pub(super) method: String,
    pub(super) args: Arguments,
    pub(super) is_notification: bool,
}

impl Entry {
    pub(super) fn new(method: String, args: Arguments, is_notification: bool) -> Entry {
        Entry { name: method.clone(), method, args, is_notification }
    }
}

/// The calls of a file, and the order in which they are made.
pub(super) fn read(file: &OsStr, printer: &Printer) -> Result<(Vec<Entry>, Vec<u32>), Failure> {
    let name = if file == "-" { "standard input".to_owned() } else { file.to_string_lossy().into_owned() };
    let mut path = std::ffi::OsString::from("@");
    path.push(file);
    let bytes = bytes_of(if file == "-" { file } else { &path })?;
    let (entries, order) = match as_list(&bytes) {
        Some(text) => list(text, &name)?,
        None => {
            let recording = Recording::read(&bytes[..], &name, printer);
            recorded(&recording.map_err(|failure| failure.hint(FORM))?)
        }
    };
    match entries.is_empty() || order.is_empty() {
        true => Err(Failure::usage(format_args!("{name} has no calls")).hint(FORM)),
        false => Ok((entries, order)),
    }
}

const FORM: &str = "write a line for each call, its weight first, such as `80 add 2 3`, or give a recording";

/// The text of a list. What is recorded has JSON in its first line, or says how long that is.
fn as_list(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    // Some editors begin files with it.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'))?;
    let is_recorded = first.contains(['{', '[', '<', '>']) || first.starts_with("Content-");
    (first.starts_with(|c: char| c.is_ascii_digit()) || !is_recorded).then_some(text)
}

fn list(text: &str, name: &str) -> Result<(Vec<Entry>, Vec<u32>), Failure> {
    let (mut entries, mut weights) = (Vec::new(), Vec::new());
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong =
            |what: &str| Failure::usage(format_args!("{name}, line {}: {what}", number + 1)).hint(FORM);
        let words = platform::split(line).ok_or_else(|| wrong("a quote is not closed"))?;
        let [weight, method, args @ ..] = &words[..] else { return Err(wrong("it names no method")) };
        let weight: u32 = weight.parse().map_err(|_| wrong("it does not begin with a weight"))?;
        let args = Arguments::parse(args).map_err(|failure| wrong(&failure.what))?;
        if entries.len() == MOST_ENTRIES {
            return Err(wrong("there are too many calls"));
        }
        entries.push(Entry::new(method.clone(), args, false));
        weights.push(weight);
    }
    let order = mixed_order(&weights);
    Ok((entries, order))
}

/// The client's calls and notifications. Those of a handshake are left out: each connection makes its own.
fn recorded(recording: &Recording) -> (Vec<Entry>, Vec<u32>) {
    let (mut entries, mut order): (Vec<Entry>, Vec<u32>) = (Vec::new(), Vec::new());
    let mut known = std::collections::HashMap::new();
    for place in recording.places() {
        let part = recording.part(place);
        let is_notification = part.kind == PartKind::Notification;
        let is_call = part.kind == PartKind::Request || is_notification;
        let Some(method) = part.method.as_deref().filter(|_| is_call) else { continue };
        if recording.sent(place).direction != Direction::ToServer
            || Protocol::is_opening(method)
            || matches!(method, "initialized" | "shutdown" | "exit" | "$/cancelRequest")
            || method.starts_with("notifications/")
        {
            continue;
        }
        let text = recording.text(place);
        let params = Cursor::trusted(text).member("params").unwrap_or_default().to_owned();
        let at = *known.entry((method.to_owned(), params.clone())).or_insert(entries.len() as u32);
        if at as usize == entries.len() {
            if entries.len() == MOST_ENTRIES {
                continue;
            }
            let args = RawJson::new(params).ok().map(Arguments::from_params).unwrap_or_default();
            let name = call_name(text);
            entries.push(Entry { name, ..Entry::new(method.to_owned(), args, is_notification) });
        }
        order.push(at);
    }
    order.retain(|at| (*at as usize) < entries.len());
    (entries, order)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names((entries, order): (Vec<Entry>, Vec<u32>)) -> String {
        let names: Vec<String> = order
            .iter()
            .map(|at| {
                let Entry { name, args, is_notification, .. } = &entries[*at as usize];
                let params = args.params().ok().flatten().map_or(String::new(), |params| params.to_string());
                format!("{name}{params}{}", if *is_notification { "!" } else { "" })
            })
            .collect();
        names.join(" ")
    }

    #[test]
    fn lines_have_weights() {
        let text = "# a mix\n2 add 2 3\n\n1 echo 'a b'\n0 never\n";
        assert_eq!(names(list(text, "f").expect("a list")), "add[2,3] echo[\"a b\"] add[2,3]");
        for (text, want) in [
            ("1", "f, line 1: it names no method"),
            ("\n9x add", "f, line 2: it does not begin with a weight"),
            ("1 add 'x", "f, line 1: a quote is not closed"),
            ("1 add a=1 2", ""),
        ] {
            let got = list(text, "f").map(drop).map_err(|failure| failure.what);
            assert_eq!(got, if want.is_empty() { Ok(()) } else { Err(want.to_owned()) }, "{text}");
        }
    }

    #[test]
    fn a_list_is_told_from_a_recording_by_its_first_line() {
        for (text, want) in [
            ("80 add 2 3", true),
            ("# a mix\n\n80 echo '{}'", true),
            ("add 2 3", true),
            ("-1 add", true),
            ("\u{feff}80 add", true),
            ("> {\"jsonrpc\":\"2.0\"}", false),
            ("Content-Length: 2\r\n\r\n{}", false),
            ("{\"sabir\":1}", false),
            ("", false),
        ] {
            assert_eq!(as_list(text.as_bytes()).is_some(), want, "{text}");
        }
        assert_eq!(
            names(list(as_list("\u{feff}1 add".as_bytes()).expect("a list"), "f").expect("calls")),
            "add"
        );
    }

    #[test]
    fn recorded_calls_keep_their_order_and_leave_out_the_handshake() {
        let text = "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{}}\n\
                    < {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\
                    > {\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n\
                    > {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"add\"}}\n\
                    > {\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"b\"}\n\
                    < {\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ask\"}\n\
                    > {\"jsonrpc\":\"2.0\",\"method\":\"log\",\"params\":[1]}\n\
                    > {\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"b\"}\n";
        let recording = Recording::read(text.as_bytes(), "f", &Printer::new(false)).map_err(|f| f.what);
        let mixed = recorded(&recording.expect("a recording"));
        assert_eq!(mixed.0.len(), 3);
        assert_eq!(names(mixed), "tools/call add{\"name\":\"add\"} b log[1]! b");
    }
}
