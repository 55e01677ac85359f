//! Arguments as people type them, and the params that they become.
//!
//! | typed | is |
//! |---|---|
//! | `KEY=TEXT` | a named string; another type where a schema asks for one |
//! | `KEY:=JSON` | a named value, as JSON |
//! | `JSON` | a value by position |
//! | `WORD` | a string by position: whatever is not JSON, such as `hello` or `0xff` |
//! | `=TEXT`, `:=JSON` | by position, a string or JSON for certain |

mod parameter;
mod typed;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::Path;

pub(crate) use parameter::{Parameter, method_parameters, parameters};
use sabir::{JsonKind, RawJson};

use crate::exit::Failure;
use crate::platform::{self, word};

/// The most that is read of a file or of standard input. More cannot be a message.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// The arguments of a call.
#[derive(Debug, Clone, Default)]
pub(crate) struct Arguments {
    args: Vec<Arg>,
    /// All params at once.
    data: Option<RawJson<'static>>,
}

#[derive(Debug, Clone)]
struct Arg {
    /// `None` by position.
    name: Option<String>,
    value: Value,
}

#[derive(Debug, Clone)]
enum Value {
    Json(String),
    Text(String),
    /// It is what a schema wants it to be. Without one, it is a string by name, and JSON, if it is that, by position.
    Loose(String),
}

impl Arguments {
    pub(crate) fn parse(words: &[String]) -> Result<Arguments, Failure> {
        let args = words.iter().map(|word| read(word)).collect::<Result<Vec<Arg>, _>>()?;
        let mut names = HashSet::new();
        for name in args.iter().filter_map(|arg| arg.name.as_deref()) {
            if !names.insert(name) {
                return Err(Failure::usage(format_args!("the argument `{name}` is given twice")));
            }
        }
        Ok(Arguments { args, data: None })
    }

    /// What `--data` stands for, or else the words.
    pub(crate) fn given(data: Option<&OsStr>, words: &[String]) -> Result<Arguments, Failure> {
        match data {
            Some(_) if !words.is_empty() => Err(Failure::usage("--data cannot be combined with arguments")),
            Some(data) => Arguments::from_data(data),
            None => Arguments::parse(words),
        }
    }

    /// What `--data` stands for.
    pub(crate) fn from_data(data: &OsStr) -> Result<Arguments, Failure> {
        let params = RawJson::from_bytes(&bytes_of(data)?).map(RawJson::into_owned).map_err(|error| {
            Failure::usage(format_args!("the params are not JSON: {error}"))
                .hint("give JSON, @FILE, or - for standard input")
        })?;
        match params.kind() {
            JsonKind::Array | JsonKind::Object => Ok(Arguments { args: Vec::new(), data: Some(params) }),
            JsonKind::Null => Ok(Arguments::default()),
            other => Err(Failure::usage(format_args!("params must be an array or an object, found {other}"))
                .hint(format_args!("for one argument write [{params:.40}]"))),
        }
    }

    /// Params as they were recorded.
    pub(crate) fn from_params(params: RawJson<'static>) -> Arguments {
        Arguments { args: Vec::new(), data: Some(params) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.args.is_empty() && self.data.is_none()
    }

    /// The params, if nothing is known of their types; `None` if there are none.
    pub(crate) fn params(&self) -> Result<Option<RawJson<'static>>, Failure> {
        if let Some(data) = &self.data {
            return Ok(Some(data.clone()));
        }
        let named = self.args.iter().filter(|arg| arg.name.is_some()).count();
        if named != 0 && named != self.args.len() {
            return Err(Failure::usage("arguments by name and by position cannot be mixed")
                .hint("name all of them, as in a:=1 b=text, or none"));
        }
        let values = self.args.iter().map(|arg| (arg.name.as_deref(), arg.json()));
        params(values.collect())
    }

    /// The params as an object, for protocols that have no others.
    pub(crate) fn named(&self) -> Result<Option<RawJson<'static>>, Failure> {
        let params = self.params()?;
        match &params {
            Some(params) if params.kind() != JsonKind::Object => {
                Err(Failure::usage("this server takes arguments by name alone")
                    .hint("name them, as in a:=1 b=text"))
            }
            _ => Ok(params),
        }
    }

    /// Whether a schema would make a difference where all arguments have names: what is by position gets one from it.
    pub(crate) fn need_schema(&self) -> bool {
        self.need_types() || self.args.iter().any(|arg| arg.name.is_none())
    }

    /// Whether a named argument is text that could also be of another type.
    pub(crate) fn need_types(&self) -> bool {
        self.text_like_json().is_some()
    }

    /// How an argument is written that went out as a string, and may have been meant otherwise.
    pub(crate) fn as_json(&self) -> Option<String> {
        let (name, text) = self.text_like_json()?;
        let (typed, meant) = (word(&format!("{name}={text}")), word(&format!("{name}:={text}")));
        Some(format!("{typed} is a string; if it is to be JSON, write {meant}"))
    }

    fn text_like_json(&self) -> Option<(&str, &str)> {
        self.args.iter().find_map(|arg| match (&arg.name, &arg.value) {
            (Some(name), Value::Loose(text)) => {
                let json = RawJson::new(text.as_str()).ok()?;
                (json.kind() != JsonKind::String).then_some((name.as_str(), text.as_str()))
            }
            _ => None,
        })
    }

    /// The first argument, if it is by position, and what follows it.
    pub(crate) fn split_first(&self) -> Option<(&str, Arguments)> {
        let (first, rest) = self.args.split_first()?;
        match (&first.name, &first.value) {
            (None, Value::Loose(text) | Value::Text(text)) => {
                Some((text, Arguments { args: rest.to_vec(), data: None }))
            }
            _ => None,
        }
    }
}

impl Arg {
    /// As JSON, if nothing is known of its type.
    fn json(&self) -> String {
        match &self.value {
            Value::Json(json) => json.clone(),
            Value::Loose(text) if self.name.is_none() && RawJson::new(text.as_str()).is_ok() => text.clone(),
            Value::Text(text) | Value::Loose(text) => string(text),
        }
    }
}

fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// An object of what is named, or an array.
fn params(values: Vec<(Option<&str>, String)>) -> Result<Option<RawJson<'static>>, Failure> {
    let Some((first, _)) = values.first() else { return Ok(None) };
    let (open, close) = if first.is_some() { ('{', '}') } else { ('[', ']') };
    let parts: Vec<String> = values
        .into_iter()
        .map(|(name, json)| name.map_or_else(|| json.clone(), |name| format!("{}:{json}", string(name))))
        .collect();
    let text = format!("{open}{}{close}", parts.join(","));
    RawJson::new(text).map(Some).map_err(|error| Failure::usage(format_args!("the arguments: {error}")))
}

fn read(arg: &str) -> Result<Arg, Failure> {
    let positional = |value| Ok(Arg { name: None, value });
    if RawJson::new(arg).is_ok() {
        return positional(Value::Loose(arg.to_owned()));
    }
    // An argument that begins like JSON was meant to be JSON, also if it has a `=` in it.
    if arg.starts_with(['{', '[', '"']) {
        let error = RawJson::new(arg).err().map_or_else(String::new, |error| error.to_string());
        return Err(Failure::usage(format_args!("the argument `{arg}` is not JSON: {error}"))
            .hint("the shell may have removed its quotes: put '…' around it, or =… for a string"));
    }
    let Some((name, value)) = arg.split_once('=').filter(|(name, _)| is_name(name)) else {
        return positional(Value::Loose(arg.to_owned()));
    };
    let (name, value) = match name.strip_suffix(':') {
        Some(name) => match RawJson::new(value) {
            Ok(json) => (name, Value::Json(json.as_str().to_owned())),
            Err(error) => {
                return Err(Failure::usage(format_args!("`{arg}`: the value is not JSON: {error}"))
                    .hint(format_args!("for a string write {}", word(&format!("{name}={value}")))));
            }
        },
        None if name.is_empty() => (name, Value::Text(value.to_owned())),
        None => (name, Value::Loose(value.to_owned())),
    };
    Ok(Arg { name: (!name.is_empty()).then(|| name.to_owned()), value })
}

/// Whether what stands before a `=` is a name. In a URL it is not.
fn is_name(text: &str) -> bool {
    !text.contains(|c: char| c.is_whitespace() || "/?&".contains(c))
}

/// The bytes that an option stands for: its text, those of a file (`@FILE`), or of standard input (`-`).
pub(crate) fn bytes_of(text: &OsStr) -> Result<Vec<u8>, Failure> {
    let bytes = text.as_encoded_bytes();
    if bytes == b"-" {
        return read_all(Path::new("-"));
    }
    match bytes.strip_prefix(b"@") {
        Some(_) => read_all(&platform::without_first(text)),
        None => Ok(bytes.to_vec()),
    }
}

/// The text of a file, or of standard input for `-`.
pub(crate) fn text_of(path: &Path) -> Result<String, Failure> {
    String::from_utf8(read_all(path)?).map_err(|error| unreadable(path, &error.utf8_error()))
}

fn read_all(path: &Path) -> Result<Vec<u8>, Failure> {
    use std::io::Read;
    let mut bytes = Vec::new();
    let read = match path == Path::new("-") {
        true => std::io::stdin().take(MOST_BYTES + 1).read_to_end(&mut bytes),
        false => std::fs::File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes)),
    };
    read.map_err(|error| unreadable(path, &error))?;
    match bytes.len() as u64 > MOST_BYTES {
        true => Err(unreadable(path, &"it is larger than 64 MiB")),
        false => Ok(bytes),
    }
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    match path == Path::new("-") {
        true => Failure::file(format_args!("cannot read standard input: {error}")),
        false => Failure::file(format_args!("cannot read `{}`: {error}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(args: &[&str], want: Result<&str, &str>) {
        let args: Vec<_> = args.iter().map(|&arg| arg.to_owned()).collect();
        let got = Arguments::parse(&args).and_then(|args| args.params());
        let got = got.map(|params| params.map_or(String::new(), |p| p.to_string()));
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
    fn words_that_are_not_json_are_strings() {
        check(
            &["hello", "0xff", "0x00", "1e", "+1", "01", "-"],
            Ok(r#"["hello","0xff","0x00","1e","+1","01","-"]"#),
        );
        check(&["=42", "=a=b", "=", ":=42", ":=\"x\""], Ok(r#"["42","a=b","",42,"x"]"#));
        check(&["https://example.org/?a=b&c=d", "a b=c"], Ok(r#"["https://example.org/?a=b&c=d","a b=c"]"#));
        check(&["uri=test://x?a=b"], Ok(r#"{"uri":"test://x?a=b"}"#));
    }

    #[test]
    fn invalid_arguments_say_why() {
        for (arg, want) in [
            ("a:=x", "`a:=x`: the value is not JSON"),
            (":=x", "`:=x`: the value is not JSON"),
            ("{a=b}", "the argument `{a=b}` is not JSON"),
        ] {
            let failure = Arguments::parse(&[arg.to_owned()]).expect_err(arg);
            assert!(failure.what.starts_with(want), "{}", failure.what);
            assert!(failure.hint.is_some());
        }
    }
}
