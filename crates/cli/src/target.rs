//! Targets: what they mean, and how a connection to one is opened.

use std::ffi::OsString;
use std::fmt;
use std::ops::Deref;
use std::path::PathBuf;
use std::time::Duration;

use sabir::transport::{self, Child, Scheme, Stderr, Transport, Url};
use sabir::{Error, Framing};

use crate::demo::rpc;
use crate::exit::Failure;
use crate::platform;
use crate::print::Printer;
use crate::suggest;

/// How long a program may take to exit after its input is closed, and again after SIGTERM.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);

const TARGETS: &str = "a target is demo:, stdio:COMMAND, http(s)://…, ws(s)://…, tcp://HOST:PORT, tls://HOST:PORT, \
                       nats://HOST/SERVICE or unix:PATH (on Windows pipe:NAME), a command after --, or a name that `sabir targets` lists";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// The demo service in this process.
    Demo,
    Program(Program),
    Url(Address),
}

/// A URL to connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    url: Url,
    /// How it is shown, if it has values of variables in it: they may be secrets.
    shown: Option<String>,
}

impl Address {
    /// Whether it must not be shown as it is.
    pub(crate) fn is_secret(&self) -> bool {
        self.shown.is_some()
    }
}

impl From<Url> for Address {
    fn from(url: Url) -> Self {
        Address { url, shown: None }
    }
}

impl Deref for Address {
    type Target = Url;

    fn deref(&self) -> &Url {
        &self.url
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.shown {
            Some(shown) => f.write_str(shown),
            None => self.url.fmt(f),
        }
    }
}

/// A program to start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Program {
    /// Its name and its arguments.
    pub(crate) words: Vec<OsString>,
    /// Variables that are added to its environment.
    pub(crate) env: Vec<(String, String)>,
    /// Where it runs, if not here.
    pub(crate) folder: Option<PathBuf>,
    /// How it is shown, if it has values of variables in it.
    pub(crate) shown: Option<String>,
}

impl Target {
    pub(crate) fn parse(text: &str) -> Result<Target, Failure> {
        if let Some(words) = text.strip_prefix("stdio:") {
            let words = platform::split(words)
                .ok_or_else(|| Failure::usage(format_args!("`{text}` has an unclosed quote")))?;
            return Target::program(words);
        }
        if text == "demo:" {
            return Ok(Target::Demo);
        }
        match text.split_once("://") {
            Some((scheme, _)) if Scheme::parse(scheme).is_none() => {
                // A password in the URL is not repeated.
                let failure = match text.contains('@') {
                    true => Failure::usage(format_args!("the URL has the unknown scheme `{scheme}`")),
                    false => Failure::usage(format_args!("`{text}` has the unknown scheme `{scheme}`")),
                };
                let suggested = suggest::scheme(text).filter(|_| !text.contains('@'));
                Err(failure.hint(suggested.unwrap_or_else(|| TARGETS.to_owned())))
            }
            _ if Target::is_one(text) => {
                Url::parse(text).map(|url| Target::Url(url.into())).map_err(Failure::usage)
            }
            // A password in it is not repeated.
            _ if text.contains('@') => {
                Err(Failure::usage("this is not a valid target: it has no scheme").hint(TARGETS))
            }
            _ => {
                let failure =
                    Failure::usage(format_args!("`{text}` is not a valid target: it has no scheme"));
                Err(failure.hint(suggest::target(text).unwrap_or_else(|| TARGETS.to_owned())))
            }
        }
    }

    /// Whether a text is meant as a target, and not as the name of a file.
    pub(crate) fn is_one(text: &str) -> bool {
        text.contains("://")
            || ["demo:", "stdio:", "unix:", "pipe:"].iter().any(|start| text.starts_with(start))
    }

    /// A program given as its words.
    pub(crate) fn program<W: Into<OsString>>(words: Vec<W>) -> Result<Target, Failure> {
        let words: Vec<OsString> = words.into_iter().map(W::into).collect();
        match words.first() {
            Some(name) if !name.is_empty() => Ok(Target::Program(Program { words, ..Program::default() })),
            _ => Err(Failure::usage("no command is given").hint("write it as stdio:COMMAND, or after --")),
        }
    }

    /// The same, shown like this instead.
    #[must_use]
    pub(crate) fn shown_as(self, text: String) -> Target {
        match self {
            Target::Demo => Target::Demo,
            Target::Program(program) => Target::Program(Program { shown: Some(text), ..program }),
            Target::Url(address) => Target::Url(Address { shown: Some(text), ..address }),
        }
    }

    pub(crate) fn scheme(&self) -> Option<Scheme> {
        match self {
            Target::Url(url) => Some(url.scheme()),
            Target::Demo | Target::Program(_) => None,
        }
    }

    pub(crate) fn has_headers(&self) -> bool {
        self.scheme().is_some_and(Scheme::is_web)
    }

    pub(crate) fn has_certificates(&self) -> bool {
        self.scheme().is_some_and(|scheme| scheme.is_secure() || scheme.is_nats())
    }

    /// Whether the transport delimits messages, so that there is no framing.
    pub(crate) fn delimits_messages(&self) -> bool {
        self.scheme().is_some_and(|scheme| scheme.is_web() || scheme.is_nats())
    }

    /// Starts a program; a URL is connected to later. The program's standard error is passed on; with `tracing` it
    /// becomes part of the transcript.
    pub(crate) fn open(&self, framing: Framing, tracing: Option<&Printer>) -> Result<Transport, Error> {
        let opened = match self {
            Target::Demo => Ok(demo(framing)),
            Target::Program(Program { words, env, folder, .. }) => {
                let name = words[0].to_str().map(|name| OsString::from(platform::program(name)));
                let mut command = std::process::Command::new(name.unwrap_or_else(|| words[0].clone()));
                command.args(&words[1..]).envs(env.iter().map(|(name, value)| (name, value)));
                if let Some(folder) = folder {
                    command.current_dir(folder);
                }
                let mut child = Child::new(command).exit_timeout(EXIT_TIMEOUT);
                if let Some(printer) = tracing.cloned() {
                    child = child.stderr(Stderr::Lines(Box::new(move |line| printer.note(&line))));
                }
                child.spawn()
            }
            Target::Url(address) => Ok(Transport::from(address.url.clone())),
        };
        opened.map(|transport| transport.framing(framing))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Demo => f.write_str("demo:"),
            Target::Program(Program { shown: Some(shown), .. }) => f.write_str(shown),
            Target::Program(program) => {
                let words: Vec<String> =
                    program.words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
                write!(f, "stdio:{}", platform::join(&words))
            }
            Target::Url(address) => address.fmt(f),
        }
    }
}

fn demo(framing: Framing) -> Transport {
    rpc::quiet_panic();
    let (client, server) = transport::memory();
    tokio::spawn(sabir::serve(server.framing(framing), rpc::router()));
    client
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_what_they_say() {
        let program = |words: &[&str]| {
            Target::program(words.iter().map(OsString::from).collect::<Vec<_>>()).expect("a program")
        };
        let url = |text: &str| Target::Url(Url::parse(text).expect("a URL").into());
        for (text, want) in [
            ("demo:", Ok(Target::Demo)),
            ("stdio:cat", Ok(program(&["cat"]))),
            ("stdio:a 'b c' \"d\\\"e\"", Ok(program(&["a", "b c", "d\"e"]))),
            ("unix:/x", Ok(url("unix:/x"))),
            ("pipe:x", Ok(url("pipe:x"))),
            ("pipe:", Err("`pipe:` names no pipe")),
            ("https://x/rpc", Ok(url("https://x/rpc"))),
            ("ws://", Err("`ws://` names no host")),
            ("stdio:", Err("no command is given")),
            ("stdio:a 'b", Err("`stdio:a 'b` has an unclosed quote")),
            ("tcp://localhost", Err("`tcp://localhost` names no port: write it as tcp://localhost:PORT")),
            ("unix:", Err("`unix:` names no path")),
            ("http:/u:pw@h/", Err("this is not a valid target: it has no scheme")),
            ("u:pw@h:80", Err("this is not a valid target: it has no scheme")),
            ("add", Err("`add` is not a valid target: it has no scheme")),
            ("htp://x", Err("`htp://x` has the unknown scheme `htp`")),
        ] {
            let got = Target::parse(text).map_err(|failure| failure.what);
            assert_eq!(got, want.map_err(str::to_owned));
        }
    }
}
