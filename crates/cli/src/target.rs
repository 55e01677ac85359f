//! Whom to talk to: what a target means, and how a connection to it is made.

use std::fmt;
use std::io;
use std::time::Duration;

use sabir::transport::{self, Child, Scheme, Stderr, Transport, Url};
use sabir::{ConnectErrorKind, Error, Framing};

use crate::demo::rpc;
use crate::exit::{Exit, Failure};
use crate::platform;
use crate::print::Printer;

/// How long a program may take to exit once its input is closed, and again once it was told to.
const PATIENCE: Duration = Duration::from_secs(1);

const TARGETS: &str = "a target is demo:, stdio:COMMAND, http(s)://…, ws(s)://…, tcp://HOST:PORT, tls://HOST:PORT or \
                       unix:PATH (on Windows pipe:NAME), or a command after --";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// The demo service in this process.
    Demo,
    /// A program to start, with its arguments.
    Program(Vec<String>),
    Url(Url),
}

impl Target {
    pub(crate) fn parse(text: &str) -> Result<Target, Failure> {
        if let Some(words) = text.strip_prefix("stdio:") {
            let words = platform::split(words)
                .ok_or_else(|| Failure::usage(format_args!("`{text}` has a quote that is never closed")))?;
            return Target::program(words);
        }
        if text == "demo:" {
            return Ok(Target::Demo);
        }
        if Target::is_one(text) {
            return Url::parse(text).map(Target::Url).map_err(Failure::usage);
        }
        let did_you_mean = ["demo:", "stdio:", "http://", "https://", "tcp://", "unix:", "pipe:"]
            .into_iter()
            .find(|start| text.starts_with(start.trim_end_matches([':', '/'])))
            .map_or_else(String::new, |start| format!("; did you mean `{start}`?"));
        Err(Failure::usage(format_args!("`{text}` is not a valid target{did_you_mean}")).hint(TARGETS))
    }

    /// Whether a text is meant as a target, and not as the name of a file.
    pub(crate) fn is_one(text: &str) -> bool {
        text.contains("://")
            || ["demo:", "stdio:", "unix:", "pipe:"].iter().any(|start| text.starts_with(start))
    }

    /// A program given as its words.
    pub(crate) fn program(words: Vec<String>) -> Result<Target, Failure> {
        match words.first() {
            Some(name) if !name.is_empty() => Ok(Target::Program(words)),
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

    /// Whether there is no framing: the transport knows where a message ends.
    pub(crate) fn keeps_messages_apart(&self) -> bool {
        self.has_headers()
    }

    /// Starts what must be started. Others are connected to later. What a program prints on standard error is passed
    /// on; `tracing` makes it part of a transcript.
    pub(crate) fn open(&self, framing: Framing, tracing: Option<&Printer>) -> Result<Transport, Failure> {
        let opened = match self {
            Target::Demo => Ok(demo(framing)),
            Target::Program(words) => {
                let mut command = std::process::Command::new(platform::program(&words[0]));
                command.args(&words[1..]);
                let mut child = Child::new(command).patience(PATIENCE);
                if let Some(printer) = tracing.cloned() {
                    child = child.stderr(Stderr::Lines(Box::new(move |line| printer.note(&line))));
                }
                child.spawn()
            }
            Target::Url(url) => Ok(transport::url(url.to_string())),
        };
        opened.map(|transport| transport.framing(framing)).map_err(|error| self.unreachable(&error))
    }

    /// There is no connection, and why.
    pub(crate) fn unreachable(&self, error: &Error) -> Failure {
        match error {
            Error::Connect(error) => {
                let exit = match error.kind() {
                    ConnectErrorKind::Protocol => Exit::Protocol,
                    _ => Exit::Connect,
                };
                let what = format!("cannot connect to {self}: {}", error.reason());
                Failure::new(exit, what).hint(hint(error.kind()))
            }
            Error::Config(error) => Failure::usage(error),
            Error::Start { source, .. } => {
                let hint = match source.kind() {
                    io::ErrorKind::NotFound => "check the spelling, or give its whole path",
                    io::ErrorKind::PermissionDenied => "check that the file may be executed",
                    _ => "run it by itself to see what is wrong",
                };
                Failure::new(Exit::Connect, error).hint(hint)
            }
            _ => Failure::new(Exit::Connect, format_args!("cannot connect to {self}: {error}"))
                .hint("check the address, and that the server runs"),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Demo => f.write_str("demo:"),
            Target::Program(words) => write!(f, "stdio:{}", platform::join(words)),
            Target::Url(url) => url.fmt(f),
        }
    }
}

/// What to try, with the options of this program where it has one for it.
fn hint(failure: ConnectErrorKind) -> &'static str {
    match failure {
        ConnectErrorKind::Tls => {
            "check that TLS is served there; give its root with --cacert FILE, or skip verification with --insecure"
        }
        ConnectErrorKind::Status(401 | 403) => {
            "give what it wants, as in -H 'Authorization: Bearer ${TOKEN}'"
        }
        ConnectErrorKind::Status(405) => "check the path of the URL: what is there takes no messages",
        failure => failure.hint(),
    }
}

/// What to try if HTTP answers with this status.
pub(crate) fn status_hint(status: u16) -> &'static str {
    hint(ConnectErrorKind::Status(status))
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
        let program = |words: &[&str]| Target::Program(words.iter().map(|&word| word.to_owned()).collect());
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
            ("stdio:a 'b", Err("`stdio:a 'b` has a quote that is never closed")),
            ("tcp://localhost", Err("`tcp://localhost` names no port: write it as tcp://localhost:PORT")),
            ("unix:", Err("`unix:` names no path")),
            ("add", Err("`add` is not a valid target")),
            ("demo", Err("`demo` is not a valid target; did you mean `demo:`?")),
        ] {
            let got = Target::parse(text).map_err(|failure| failure.what);
            assert_eq!(got, want.map_err(str::to_owned));
        }
    }
}
