//! The language of filters: what matches, what is refused and where, and that nothing makes it panic or take long.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use proptest::prelude::*;
use sabir_model::calls::{Entry, Kind, Tracker};
use sabir_model::capture::Direction::{self, ToClient, ToServer};
use sabir_model::capture::Event;
use sabir_model::filter::Filter;

/// A session with one of each.
const SESSION: [(Direction, &str); 12] = [
    (
        ToServer,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","n":250,"flag":true}}"#,
    ),
    (ToClient, r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"Grüße an alle"}]}}"#),
    (ToServer, r#"{"jsonrpc":"2.0","id":"1","method":"add","params":[2,3]}"#),
    (ToClient, r#"{"jsonrpc":"2.0","id":"1","error":{"code":-32601,"message":"no such method"}}"#),
    (ToServer, r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#),
    (ToServer, r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#),
    (ToServer, r#"[{"jsonrpc":"2.0","id":7,"method":"batched"},{"jsonrpc":"2.0","id":8,"method":"b"}]"#),
    (ToClient, r#"[{"jsonrpc":"2.0","id":7,"error":{"code":5,"message":"x"}}]"#),
    (ToClient, "Starting up on /tmp/socket"),
    (ToClient, r#"{"neither":1}"#),
    (ToServer, r#"{"jsonrpc":"2.0","id":9,"method":"tasks/get","params":{"taskId":"t-1"}}"#),
    (
        ToClient,
        r#"{"jsonrpc":"2.0","id":9,"result":{"task":{"taskId":"t-1"},"big":1e3,"deep":[{"a":1},{"a":2}]}}"#,
    ),
];

fn session() -> (Tracker, Vec<(Entry, &'static str)>) {
    let mut tracker = Tracker::default();
    let mut at = Duration::ZERO;
    let entries = SESSION.iter().map(|(direction, text)| {
        at += Duration::from_millis(100);
        (tracker.message(Some(at), Some(*direction), 1, text.as_bytes()), *text)
    });
    let mut entries: Vec<_> = entries.collect();
    let text = "panicked at src/main.rs";
    entries.push((tracker.other(Some(at), Some(ToClient), 2, Kind::Stderr, text.len() as u64), text));
    let text = "401 Unauthorized";
    entries.push((tracker.event(Some(at), Some(ToClient), 2, Event::Http, text), text));
    (tracker, entries)
}

/// The numbers of what matches. Where a glance is enough, it says the same.
fn found(filter: &Filter) -> Vec<u64> {
    let (tracker, entries) = session();
    let names = tracker.names();
    let matches = |(entry, text): &&(Entry, &str)| {
        let whole = filter.matches(entry, names, text.as_bytes());
        if let Some(glance) = filter.glance(entry, names) {
            assert_eq!(glance, whole, "{filter:?} at {entry:?}");
        }
        whole
    };
    entries.iter().filter(matches).map(|(entry, _)| entry.number).collect()
}

#[test]
fn words_match() {
    for (filter, want) in [
        ("", &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14][..]),
        ("ECHO", &[1, 2]),
        ("grüSSe", &[]),
        ("GRÜßE", &[2]),
        ("\"such method\"", &[4]),
        ("-32601", &[4]),
        ("/gr.+e an/i", &[2]),
        ("/Gr.+e an/", &[2]),
        (r"/\/tmp\/s/", &[9]),
        ("method:tools", &[1, 2, 5]),
        ("method:tools/*", &[1, 2, 5]),
        ("method:*list", &[5]),
        ("method:\"tools\"", &[]),
        ("method:add,batched", &[3, 4, 7]),
        ("tool:echo", &[1, 2]),
        ("tool:ec*x", &[]),
        ("id:1", &[1, 2, 3, 4]),
        ("id:1.0", &[1, 2]),
        ("id:\"1\"", &[3, 4]),
        ("id:8", &[7]),
        ("id:2", &[5, 6]),
        ("task:t-1", &[11, 12]),
        ("dir:s2c kind:res", &[2, 4, 12]),
        ("kind:req", &[1, 3, 5, 11]),
        ("kind:err", &[4]),
        ("kind:noise,invalid,stderr", &[9, 10, 13]),
        ("kind:notify", &[6]),
        ("status:pending", &[1, 3, 5, 7, 11]),
        ("status:error", &[4, 8]),
        ("status:401,error", &[4, 8, 14]),
        ("code:401", &[]),
        ("code:-32601", &[4]),
        ("code:5", &[8]),
        ("conn:2", &[13, 14]),
        ("ms>=100", &[2, 4, 8, 12]),
        ("ms<100", &[]),
        ("ms>=0.1s", &[2, 4, 8, 12]),
        ("ms>=100ms ms<1m", &[2, 4, 8, 12]),
        ("\"OR\"", &[4, 8, 14]),
        ("ms", &[1, 3, 6, 11]),
        ("bytes>0.09k", &[1, 12]),
        ("bytes<=14 dir:<", &[10]),
        ("$.params.name=echo", &[1]),
        ("$.params.name=e*o", &[1]),
        ("$.params.name=ech", &[]),
        ("$.params.n=250.0", &[1]),
        ("$.params.n=\"250\"", &[]),
        ("$.params.n>249 $.params.n<=250", &[1]),
        ("$.params.flag=true", &[1]),
        ("$.result.big=1000", &[12]),
        ("$.result.deep[*].a=2", &[12]),
        ("$.result.deep[0].a=2", &[]),
        ("$[1].method=b", &[7]),
        ("$.error", &[4]),
        ("-kind:req,note,res,batch", &[9, 10, 13, 14]),
        ("  -method:tools   -id:1 kind:req ", &[11]),
    ] {
        let parsed: Filter = filter.parse().unwrap_or_else(|error| panic!("{filter}: {error}"));
        assert_eq!(found(&parsed), want, "{filter}");
    }
}

#[test]
fn errors_point_at_the_word() {
    let long = "x".repeat(5000);
    let many = "x ".repeat(65);
    for (filter, span, what) in [
        ("add methd:x", 4..9, "`methd:` is not a filter; did you mean `method:`?"),
        ("http://x", 0..4, "`http:` is not a filter; put a text into quotes to search for it"),
        (
            "kind:reqest",
            5..11,
            "a kind is one of req, note, res, err, batch, invalid, noise, stderr, open, close, exit, gap, mark, http, start, damage",
        ),
        (
            "status:ok,nice",
            10..14,
            "a status is one of pending, ok, error, cancel, late, input, or a number of HTTP",
        ),
        ("dir:up", 4..6, "a direction is c2s or s2c"),
        ("dir:c2s,s2c", 8..11, "there is one direction: c2s or s2c"),
        ("code:x", 5..6, "a code is a whole number"),
        ("conn:-1", 5..7, "a connection is a number"),
        ("method:", 6..7, "a value is missing here"),
        ("method:a, b", 8..9, "a value is missing here"),
        ("ms>fast", 0..7, "a number of milliseconds follows, as in `ms>250` or `ms>1.5s`"),
        ("ms > 250", 0..2, "a comparison has no blanks, as in `ms>250`"),
        ("bytes >1k", 0..5, "a comparison has no blanks, as in `ms>250`"),
        ("$.params.n = 2", 11..12, "an operator has no blanks around it, as in `ms>250`"),
        ("a != b", 2..4, "a comparison is written `=`, without blanks, as in `$.params.n=250`"),
        (
            "tool:\"echo\" OR tool:add",
            12..14,
            "there is no `or`: several values have commas between them, as in `tool:echo,add`",
        ),
        ("a && b", 2..4, "all words must apply: leave this out"),
        ("NOT a", 0..3, "`-` before a word negates it, as in `-status:ok`"),
        ("bytes>1x", 0..8, "a number of bytes follows, as in `bytes>1k` or `bytes>2MiB`"),
        ("a - b", 2..3, "`-` stands before what must not match"),
        ("\"a", 0..2, "a quoted text ends with a quote, and has JSON's escapes"),
        ("\"\"", 0..2, "there is no text between the quotes"),
        ("\"a\"b", 3..4, "a space is missing here, or quotes around a text"),
        ("/a", 0..2, "a regular expression ends with `/`; put a text that begins with one into quotes"),
        (
            "/tmp/x",
            5..6,
            "behind the last `/` only `i` may follow; put a text that begins with `/` into quotes",
        ),
        ("x /(/", 2..5, "this is not a regular expression: unclosed group"),
        ("/(a{1000}){1000}/", 0..17, "the regular expression is too large"),
        ("$.a.[b", 4..6, "a name follows the dot"),
        ("$.a>x", 4..5, "only numbers are compared like this"),
        (&long, 0..5000, "a filter has 4096 bytes at most"),
        (&many, 128..130, "a filter has 64 words at most"),
    ] {
        let error = filter.parse::<Filter>().unwrap_err();
        assert_eq!((error.span.clone(), error.to_string().as_str()), (span, what), "{filter}");
    }
}

proptest! {
    /// Any text is read or refused, with a place that is in it, and what is read can be used.
    #[test]
    fn any_text_is_read_or_refused(text in "(method|tool|kind|ms|bytes|\\$|/|\"|-|:|,|>|<|=|\\.|\\[|\\]|\\*|\\\\|[a-zé0-9 ]){0,40}") {
        match text.parse::<Filter>() {
            Ok(filter) => drop(found(&filter)),
            Err(error) => prop_assert!(text.get(error.span.clone()).is_some(), "{error:?}"),
        }
    }

    /// A quoted text finds itself in any content, and its negation does not.
    #[test]
    fn quoted_texts_are_found(needle in "\\PC{1,20}", before in "\\PC{0,20}") {
        let mut tracker = Tracker::default();
        let content = format!("{before}{needle}");
        let entry = tracker.other(None, None, 1, Kind::Noise, content.len() as u64);
        let quoted = serde_json::to_string(&needle).unwrap();
        let matches = |text: String| {
            text.parse::<Filter>().unwrap().matches(&entry, tracker.names(), content.as_bytes())
        };
        prop_assert!(matches(quoted.clone()));
        let negated = format!("-{quoted}");
        prop_assert!(!matches(negated));
    }
}
