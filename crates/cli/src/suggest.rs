//! What somebody may have meant who typed something that is not a target.

use std::path::Path;

use crate::platform::{self, word};

/// The ways in which targets begin.
const SCHEMES: [&str; 7] = ["http", "https", "ws", "wss", "tcp", "tls", "nats"];

/// Longer names are not compared: a server chooses them.
const LONGEST: usize = 200;

/// For a URL whose scheme is unknown: the same URL with the most similar scheme.
pub(crate) fn scheme(url: &str) -> Option<String> {
    let (typed, rest) = url.split_once("://")?;
    let typed = typed.to_ascii_lowercase();
    let nearest = SCHEMES.into_iter().min_by_key(|scheme| distance(scheme, &typed))?;
    (distance(nearest, &typed) <= 1)
        .then(|| format!("did you mean {}?", word(&format!("{nearest}://{rest}"))))
}

/// For a text without a scheme: targets that it may stand for.
pub(crate) fn target(text: &str) -> Option<String> {
    let bare = text.trim_end_matches([':', '/']);
    if ["demo", "stdio", "unix"].contains(&bare) || SCHEMES.contains(&bare) {
        let rest = if SCHEMES.contains(&bare) { "://" } else { ":" };
        return Some(format!("did you mean {bare}{rest}?"));
    }
    if let Some(hint) = path(text) {
        return Some(hint);
    }
    let (host, rest) = text.split_at(text.find('/').unwrap_or(text.len()));
    let is_host = |host: &str| {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || ".-:".contains(c))
    };
    match host.rsplit_once(':') {
        Some((name, port)) if is_host(name) && port.parse::<u16>().is_ok_and(|port| port > 0) => {
            let http = word(&format!("http://{text}"));
            Some(match rest {
                "" | "/" => format!("try {http} or {}", word(&format!("tcp://{host}"))),
                _ => format!("try {http}"),
            })
        }
        None if is_host(host) && host.contains('.') && rest.len() > 1 => {
            Some(format!("try {}", word(&format!("https://{text}"))))
        }
        _ => None,
    }
}

/// For the name of a program in the place of a target: the command that starts it. `command` comes before the words that
/// follow the name, as in `sabir call`.
pub(crate) fn started(command: &str, name: &str, words: &[String]) -> Option<String> {
    if name.is_empty() || name.contains(['/', '\\', ':']) {
        return None;
    }
    let folders = std::env::var_os("PATH")?;
    let is_program = |folder: std::path::PathBuf| folder.join(platform::program(name)).is_file();
    std::env::split_paths(&folders).any(is_program).then(|| {
        let words: String = words.iter().map(|text| format!("{} ", word(text))).collect();
        format!("to start the program, put it behind --: sabir {command} {words}-- {}", word(name))
    })
}

/// For a file: a socket to connect to, or a program to start.
fn path(text: &str) -> Option<String> {
    let kind = std::fs::metadata(Path::new(text)).ok()?.file_type();
    #[cfg(unix)]
    if std::os::unix::fs::FileTypeExt::is_socket(&kind) {
        return Some(format!("try {}", word(&format!("unix:{text}"))));
    }
    (kind.is_file() && text.contains('/'))
        .then(|| format!("to start it, try {}", word(&format!("stdio:{text}"))))
}

/// The name that somebody may have meant who typed another.
pub(crate) fn nearest<'n>(typed: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    if typed.is_empty() {
        return None;
    }
    let typed = typed.to_lowercase();
    let score = |name: &str| {
        let name = name.to_lowercase();
        let part = typed.len() >= 3 && (name.contains(&typed) || typed.contains(&name)) && name.len() >= 3;
        match distance(&name, &typed) {
            far if far <= 1 + typed.len() / 4 => Some(far),
            // A part of the name is further away than a slip of the keys.
            _ if part => Some(typed.len()),
            _ => None,
        }
    };
    names
        .filter(|name| name.len() <= LONGEST)
        .filter_map(|name| Some((score(name)?, name)))
        .min()
        .map(|(_, name)| name)
}

/// How many letters must be inserted, removed or replaced to make one text of the other.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let replaced = corner + usize::from(x != y);
            corner = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_mistyped() {
        let names = || ["get-sum", "echo", "get-tiny-image", "x"].into_iter();
        for (typed, want) in [
            ("get_sum", Some("get-sum")),
            ("ehco", Some("echo")),
            ("ech", Some("echo")),
            ("Echo", Some("echo")),
            ("tiny-image", Some("get-tiny-image")),
            ("sum", Some("get-sum")),
            ("nonesuch", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, names()), want, "{typed}");
        }
    }

    #[test]
    fn what_was_meant() {
        // How a word is quoted depends on the system.
        let quoted = word("http://localhost:8080/a?b=$(x)&c");
        let (http, tcp) = (word("http://[::1]:80"), word("tcp://[::1]:80"));
        for (text, want) in [
            ("127.0.0.1:1", Some("try http://127.0.0.1:1 or tcp://127.0.0.1:1")),
            ("localhost:8080", Some("try http://localhost:8080 or tcp://localhost:8080")),
            ("localhost:8080/rpc", Some("try http://localhost:8080/rpc")),
            ("localhost:8080/a?b=$(x)&c", Some(&*format!("try {quoted}"))),
            ("[::1]:80", Some(&*format!("try {http} or {tcp}"))),
            ("example.org/rpc", Some("try https://example.org/rpc")),
            ("nonesuch.jrl", None),
            ("demo", Some("did you mean demo:?")),
            ("http:", Some("did you mean http://?")),
            ("localhost:99999", None),
            ("add", None),
            ("", None),
            ("a b:1", None),
        ] {
            assert_eq!(target(text).as_deref(), want, "{text}");
        }
        for (url, want) in [
            ("htp://x/y", Some("did you mean http://x/y?")),
            ("HTTPSS://x", Some("did you mean https://x?")),
            ("htp://$(x)", Some(&*format!("did you mean {}?", word("http://$(x)")))),
            ("ftp://x", None),
            ("gopher://x", None),
        ] {
            assert_eq!(scheme(url).as_deref(), want, "{url}");
        }
    }
}
