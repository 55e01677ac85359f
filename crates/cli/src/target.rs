//! Targets: what they mean, and how a connection to one is opened.

use std::ffi::OsString;
use std::fmt;
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

const TARGETS: &str = "a target is demo:, stdio:COMMAND, http(s)://…, ws(s)://…, tcp://HOST:PORT, tls://HOST:PORT or \
                       unix:PATH (on Windows pipe:NAME), a command after --, or a name that `sabir targets` lists";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// The demo service in this process.
    Demo,
    Program(Program),
    Url(Url),
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
            _ if Target::is_one(text) => Url::parse(text).map(Target::Url).map_err(Failure::usage),
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
        self.scheme().is_some_and(Scheme::is_secure)
    }

    /// Whether the transport delimits messages, so that there is no framing.
    pub(crate) fn delimits_messages(&self) -> bool {
        self.has_headers()
    }

    /// Starts a program; a URL is connected to later. The program's standard error is passed on; with `tracing` it
    /// becomes part of the transcript.
    pub(crate) fn open(&self, framing: Framing, tracing: Option<&Printer>) -> Result<Transport, Error> {
        let opened = match self {
            Target::Demo => Ok(demo(framing)),
            Target::Program(Program { words, env, folder }) => {
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
            Target::Url(url) => Ok(transport::url(url.to_string())),
        };
        opened.map(|transport| transport.framing(framing))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Demo => f.write_str("demo:"),
            Target::Program(program) => {
                let words: Vec<String> =
                    program.words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
                write!(f, "stdio:{}", platform::join(&words))
            }
            Target::Url(url) => url.fmt(f),
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
        for (text, want) in [
            ("demo:", Ok(Target::Demo)),
            ("stdio:cat", Ok(program(&["cat"]))),
            ("stdio:a 'b c' \"d\\\"e\"", Ok(program(&["a", "b c", "d\"e"]))),
            ("unix:/x", Ok(Target::Url(Url::parse("unix:/x").expect("a URL")))),
            ("pipe:x", Ok(Target::Url(Url::parse("pipe:x").expect("a URL")))),
            ("pipe:", Err("`pipe:` names no pipe")),
            ("https://x/rpc", Ok(Target::Url(Url::parse("https://x/rpc").expect("a URL")))),
            ("ws://", Err("`ws://` names no host")),
            ("stdio:", Err("no command is given")),
            ("stdio:a 'b", Err("`stdio:a 'b` has an unclosed quote")),
            ("tcp://localhost", Err("`tcp://localhost` names no port: write it as tcp://localhost:PORT")),
            ("unix:", Err("`unix:` names no path")),
            ("add", Err("`add` is not a valid target: it has no scheme")),
            ("htp://x", Err("`htp://x` has the unknown scheme `htp`")),
        ] {
            let got = Target::parse(text).map_err(|failure| failure.what);
            assert_eq!(got, want.map_err(str::to_owned));
        }
    }
}
