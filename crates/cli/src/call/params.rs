//! Converts the arguments of the command line to params.

use std::collections::HashSet;

use sabir::{JsonKind, RawJson};

use crate::exit::Failure;
use crate::platform::word;

/// The most that is read of a file or of standard input. More cannot be a message.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

enum Arg<'a> {
    Named(&'a str, String),
    Positional(&'a str),
}

/// The params for these arguments; `None` if there are none.
pub(super) fn from_args(args: &[String]) -> Result<Option<RawJson<'static>>, Failure> {
    let mut named = Vec::new();
    let mut positional = Vec::new();
    let mut names = HashSet::new();
    for arg in args {
        match read(arg)? {
            Arg::Positional(json) => positional.push(json),
            Arg::Named(name, json) => {
                if !names.insert(name) {
                    return Err(Failure::usage(format_args!("the argument `{name}` is given twice")));
                }
                let name = serde_json::Value::from(name);
                named.push(format!("{name}:{json}"));
            }
        }
    }
    let text = match (named.is_empty(), positional.is_empty()) {
        (true, true) => return Ok(None),
        (false, true) => format!("{{{}}}", named.join(",")),
        (true, false) => format!("[{}]", positional.join(",")),
        (false, false) => {
            return Err(Failure::usage("arguments by name and by position cannot be mixed")
                .hint("name all of them, as in a:=1 b=text, or none"));
        }
    };
    RawJson::new(text).map(Some).map_err(|error| Failure::usage(format_args!("the arguments: {error}")))
}

fn read(arg: &str) -> Result<Arg<'_>, Failure> {
    let not_json = match RawJson::new(arg) {
        Ok(_) => return Ok(Arg::Positional(arg)),
        Err(error) => error,
    };
    // An argument that begins like JSON was meant to be JSON, also if it has a `=` in it.
    if let (false, Some((name, value))) = (arg.starts_with(['{', '[', '"']), arg.split_once('=')) {
        return match name.strip_suffix(':') {
            Some(name) => match RawJson::new(value) {
                Ok(json) => Ok(Arg::Named(name, json.as_str().to_owned())),
                Err(error) => Err(Failure::usage(format_args!("`{arg}`: the value is not JSON: {error}"))
                    .hint(format_args!("for a string write {}", word(&format!("{name}={value}"))))),
            },
            None => Ok(Arg::Named(name, serde_json::Value::from(value).to_string())),
        };
    }
    let failure = Failure::usage(format_args!("the argument `{arg}` is not JSON: {not_json}"));
    Err(match serde_json::Value::from(arg).to_string() {
        _ if arg.starts_with(['{', '[', '"']) => {
            failure.hint("the shell may have removed its quotes: put '…' around it")
        }
        quoted => failure.hint(format_args!(
            "quote a string as {}, or name it: {}",
            word(&quoted),
            word(&format!("key={arg}"))
        )),
    })
}

/// The params that `--data` stands for.
pub(super) fn from_data(data: &str) -> Result<Option<RawJson<'static>>, Failure> {
    let text = match data {
        "-" => text_of("-")?,
        _ => match data.strip_prefix('@') {
            Some(path) => text_of(path)?,
            None => data.to_owned(),
        },
    };
    let params = RawJson::new(text).map_err(|error| {
        Failure::usage(format_args!("the params are not JSON: {error}"))
            .hint("give JSON, @FILE, or - for standard input")
    })?;
    match params.kind() {
        JsonKind::Array | JsonKind::Object => Ok(Some(params)),
        JsonKind::Null => Ok(None),
        other => Err(Failure::usage(format_args!("params must be an array or an object, found {other}"))
            .hint(format_args!("for one argument write [{params:.40}]"))),
    }
}

/// The text of a file, or of standard input for `-`.
pub(super) fn text_of(path: &str) -> Result<String, Failure> {
    use std::io::Read;
    let mut text = String::new();
    let read = match path {
        "-" => std::io::stdin().take(MOST_BYTES).read_to_string(&mut text),
        _ => std::fs::File::open(path).and_then(|file| file.take(MOST_BYTES).read_to_string(&mut text)),
    };
    match read {
        Ok(_) => Ok(text),
        Err(error) if path == "-" => Err(Failure::usage(format_args!("cannot read standard input: {error}"))),
        Err(error) => Err(Failure::usage(format_args!("cannot read `{path}`: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(args: &[&str], want: Result<&str, &str>) {
        let args: Vec<_> = args.iter().map(|&arg| arg.to_owned()).collect();
        let got = from_args(&args).map(|params| params.map_or(String::new(), |p| p.to_string()));
        assert_eq!(
            got.map_err(|failure| failure.what),
            want.map(str::to_owned).map_err(str::to_owned),
            "{args:?}"
        );
    }

    #[test]
    fn arguments_become_params() {
        check(&[], Ok(""));
        check(&["2", "-3", "1.0", "true", "null"], Ok("[2,-3,1.0,true,null]"));
        check(&["\"a=b\"", "[1]", "{\"a\":\"=\"}"], Ok(r#"["a=b",[1],{"a":"="}]"#));
        check(
            &["a=b", "c:=1.0", "d=", "e=f=g", "h=:=", "9007199254740993:=1"],
            Ok(r#"{"a":"b","c":1.0,"d":"","e":"f=g","h":":=","9007199254740993":1}"#),
        );
        check(&["say=\"hi\""], Ok(r#"{"say":"\"hi\""}"#));
        check(&["a=1", "2"], Err("arguments by name and by position cannot be mixed"));
        check(&["a=1", "a:=2"], Err("the argument `a` is given twice"));
    }

    #[test]
    fn invalid_arguments_say_why() {
        for (arg, want) in [
            ("hello", "the argument `hello` is not JSON"),
            ("a:=x", "`a:=x`: the value is not JSON"),
            ("{a=b}", "the argument `{a=b}` is not JSON"),
        ] {
            let failure = from_args(&[arg.to_owned()]).expect_err(arg);
            assert!(failure.what.starts_with(want), "{}", failure.what);
            assert!(failure.hint.is_some());
        }
    }
}
