//! `sabir.toml`, read with the line of what is wrong.

use std::ops::Range;
use std::path::Path;

use clap::ValueEnum;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::entry::{Address, Entry};
use super::{Source, shown};
use crate::args::ClientFraming;
use crate::exit::Failure;
use crate::files;
use crate::platform;
use crate::session::Protocol;
use crate::suggest;
use crate::target::Target;

/// A file that is larger is something else.
const LARGEST: usize = 4 << 20;

const FIELDS: [&str; 7] = ["url", "command", "headers", "env", "cwd", "framing", "as"];

/// The targets of a file; none if it does not exist.
pub(super) fn read(path: &Path, source: Source) -> Result<Vec<Entry>, Failure> {
    let Some(text) = load(path, source)? else { return Ok(Vec::new()) };
    let file = File { path, source, text: &text };
    file.targets()
}

/// The text of a file that may be used. A file of a project may have been put there by anyone who can write to one of
/// the folders above.
pub(super) fn load(path: &Path, source: Source) -> Result<Option<String>, Failure> {
    let unreadable =
        |error: &dyn std::fmt::Display| Failure::file(format_args!("cannot read {}: {error}", shown(path)));
    let foreign = || {
        Failure::usage(format_args!("{} is not used: others can write to it", shown(path)))
            .hint("make it yours, and writable for nobody else")
    };
    // The link itself, and that of its folder: whoever made it chooses what is read.
    let links = [Some(path), path.parent()].into_iter().flatten();
    let is_foreign = |link: &Path| {
        std::fs::symlink_metadata(link).is_ok_and(|about| about.is_symlink() && !platform::is_ours(&about))
    };
    if source.is_project && links.into_iter().any(is_foreign) {
        return Err(foreign());
    }
    let allowed = |about: &std::fs::Metadata| match !source.is_project || platform::is_ours(about) {
        true => Ok(()),
        false => Err(std::io::ErrorKind::PermissionDenied.into()),
    };
    match files::regular(path, LARGEST, allowed) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        // The system gives a number with its own refusal.
        Err(error)
            if error.kind() == std::io::ErrorKind::PermissionDenied && error.raw_os_error().is_none() =>
        {
            Err(foreign())
        }
        Err(error) => Err(unreadable(&error)),
    }
}

struct File<'a> {
    path: &'a Path,
    source: Source,
    text: &'a str,
}

type Value<'a> = Spanned<DeValue<'a>>;

impl File<'_> {
    fn targets(&self) -> Result<Vec<Entry>, Failure> {
        let whole = DeTable::parse(self.text)
            .map_err(|error| self.wrong(&error.span().unwrap_or_default(), error.message()))?;
        let mut entries = Vec::new();
        for (key, value) in whole.get_ref() {
            if key.get_ref() != "targets" {
                return Err(self
                    .wrong(&key.span(), format_args!("unknown key `{}`", key.get_ref()))
                    .hint("targets are written as [targets.NAME]"));
            }
            let Some(targets) = value.get_ref().as_table() else {
                return Err(self.wrong(&value.span(), "`targets` is not a table"));
            };
            for (name, value) in targets {
                let plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
                if name.get_ref().is_empty() || !name.get_ref().chars().all(plain) {
                    let what = format!("`{}` cannot be the name of a target", name.get_ref());
                    return Err(self.wrong(&name.span(), what).hint("use letters, digits, `_`, `.` and `-`"));
                }
                entries.push(self.target(name.get_ref(), value)?);
            }
        }
        Ok(entries)
    }

    fn target(&self, name: &str, value: &Value<'_>) -> Result<Entry, Failure> {
        let new = |address| Entry::new(name, self.source, self.path, address);
        let fields = match value.get_ref() {
            DeValue::String(text) => return Ok(new(Address::Text(self.typed(text, &value.span())?))),
            DeValue::Table(fields) => fields,
            _ => {
                let what = format!("`{name}` is neither a target, as in \"https://…\", nor a table");
                return Err(self.wrong(&value.span(), what));
            }
        };
        let mut address = None;
        let mut entry = new(Address::Command(Vec::new()));
        for (key, value) in fields {
            let span = value.span();
            match &**key.get_ref() {
                field @ ("url" | "command") if address.is_some() => {
                    let what = format!("`{name}` has a `url` and a `command`: remove `{field}`");
                    return Err(self.wrong(&key.span(), what));
                }
                "url" => address = Some(Address::Text(self.typed(self.string("url", value)?, &span)?)),
                "command" => address = Some(Address::Command(self.command(value)?)),
                "headers" => entry.headers = self.pairs("headers", value)?,
                "env" => entry.env = self.pairs("env", value)?,
                "cwd" => {
                    let folder = self.string("cwd", value)?;
                    entry.folder = Some(self.path.parent().unwrap_or(Path::new("")).join(folder));
                }
                "framing" => entry.framing = Some(self.one_of::<ClientFraming>("framing", value)?.into()),
                "as" => entry.protocol = Some(self.protocol(value)?),
                other => {
                    let wrong = self.wrong(&key.span(), format_args!("unknown key `{other}` in `{name}`"));
                    return Err(match suggest::nearest(other, FIELDS.into_iter()) {
                        Some(near) => wrong.hint(format_args!("did you mean `{near}`?")),
                        None => wrong.hint(format_args!("the keys are {}", FIELDS.join(", "))),
                    });
                }
            }
        }
        let Some(address) = address else {
            return Err(
                self.wrong(&value.span(), format_args!("`{name}` has neither a `url` nor a `command`"))
            );
        };
        entry.address = address;
        if !entry.is_command() && (!entry.env.is_empty() || entry.folder.is_some()) {
            let what = format!("`{name}` has no command that `env` or `cwd` could be for");
            return Err(self.wrong(&value.span(), what));
        }
        Ok(entry)
    }

    /// A target as it is typed.
    fn typed(&self, text: &str, span: &Range<usize>) -> Result<String, Failure> {
        match Target::is_one(text) {
            true => Ok(text.to_owned()),
            false => Err(self
                .wrong(span, format_args!("`{text}` is not a target: it has no scheme"))
                .hint("write it as https://…, or a command as stdio:… or with `command`")),
        }
    }

    fn string<'v>(&self, name: &str, value: &'v Value<'_>) -> Result<&'v str, Failure> {
        value
            .get_ref()
            .as_str()
            .ok_or_else(|| self.wrong(&value.span(), format_args!("`{name}` is not a string")))
    }

    fn command(&self, value: &Value<'_>) -> Result<Vec<String>, Failure> {
        let words = match value.get_ref() {
            DeValue::String(text) => platform::split(text)
                .ok_or_else(|| self.wrong(&value.span(), "the command has an unclosed quote"))?,
            DeValue::Array(words) => words
                .iter()
                .map(|word| self.string("command", word).map(str::to_owned))
                .collect::<Result<_, _>>()?,
            _ => return Err(self.wrong(&value.span(), "`command` is neither a string nor a list of strings")),
        };
        match words.first().is_some_and(|name| !name.is_empty()) {
            true => Ok(words),
            false => Err(self.wrong(&value.span(), "`command` is empty")),
        }
    }

    fn pairs(&self, name: &str, value: &Value<'_>) -> Result<Vec<(String, String)>, Failure> {
        let Some(table) = value.get_ref().as_table() else {
            return Err(self.wrong(&value.span(), format_args!("`{name}` is not a table of strings")));
        };
        let pair = |(key, value): (&Spanned<_>, &Value<'_>)| {
            let key: &std::borrow::Cow<'_, str> = key.get_ref();
            Ok((key.to_string(), self.string(key, value)?.to_owned()))
        };
        table.iter().map(pair).collect()
    }

    fn protocol(&self, value: &Value<'_>) -> Result<Protocol, Failure> {
        let text = self.string("as", value)?;
        let wrong = |why| self.wrong(&value.span(), format_args!("`as` cannot be `{text}`: {why}"));
        text.parse().map_err(|why: String| wrong(why))
    }

    fn one_of<T: ValueEnum>(&self, name: &str, value: &Value<'_>) -> Result<T, Failure> {
        let text = self.string(name, value)?;
        T::from_str(text, false).map_err(|_| {
            let all = T::value_variants().iter().filter_map(|value| value.to_possible_value());
            let all: Vec<String> = all.map(|value| value.get_name().to_owned()).collect();
            self.wrong(&value.span(), format_args!("`{text}` is not one of {}", all.join(", ")))
        })
    }

    fn wrong(&self, span: &Range<usize>, what: impl std::fmt::Display) -> Failure {
        let before = self.text.get(..span.start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        Failure::usage(format_args!("{}:{line}: {what}", shown(self.path)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::USER;

    #[test]
    fn what_is_wrong_has_its_line() {
        for (text, want) in [
            ("", Ok("")),
            ("[targets]\na = 'demo:'\nb.command = 'x \"y\"'", Ok("a demo:; b stdio:x y")),
            ("[targets.a]\nurl = 'https://u:p@x/y?a=b@c'", Ok("a https://…@x/y?a=b@c")),
            ("[targets.a]\ncommand = ['x', 'y']\ncwd = 'z'\nas = 'lsp'", Ok("a stdio:x y")),
            ("a = 1", Err("t.toml:1: unknown key `a`")),
            ("[targets.'a b']\nurl = 'demo:'", Err("t.toml:1: `a b` cannot be the name of a target")),
            (
                "[targets]\n\na = 1",
                Err("t.toml:3: `a` is neither a target, as in \"https://…\", nor a table"),
            ),
            ("[targets]\na = 'x'", Err("t.toml:2: `x` is not a target: it has no scheme")),
            ("[targets.a]\nulr = 'x'", Err("t.toml:2: unknown key `ulr` in `a`")),
            (
                "[targets.a]\nas = 'x'",
                Err("t.toml:2: `as` cannot be `x`: it is one of mcp, mcp@REVISION, lsp, eth, plain"),
            ),
            ("[targets.a]\nheaders = { b = 1 }", Err("t.toml:2: `b` is not a string")),
            (
                "[targets.a]\nurl = 'demo:'\nenv = { B = '1' }",
                Err("t.toml:1: `a` has no command that `env` or `cwd` could be for"),
            ),
            ("[targets.a]", Err("t.toml:1: `a` has neither a `url` nor a `command`")),
            ("[targets.a]\ncommand = []", Err("t.toml:2: `command` is empty")),
        ] {
            let file = File { path: Path::new("t.toml"), source: USER, text };
            let got = file.targets().map(|entries| {
                let shown = entries.iter().map(|entry| format!("{} {}", entry.name, entry.what()));
                shown.collect::<Vec<_>>().join("; ")
            });
            let got = got.map_err(|failure| failure.what);
            assert_eq!(got, want.map(str::to_owned).map_err(str::to_owned), "{text}");
        }
    }
}
