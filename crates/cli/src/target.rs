//! Whom to talk to: what a target means, and how a connection to it is made.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use sabir::transport::{self, Child, Transport};
use sabir::{DialError, DialFailure, Framing};

use crate::demo::rpc;
use crate::exit::{Exit, Failure};
use crate::platform;

/// How long a program may take to exit once its input is closed, and again once it was told to.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// The demo service in this process.
    Demo,
    /// A program to start, with its arguments.
    Program(Vec<String>),
    /// Host and port.
    Tcp(String),
    Unix(PathBuf),
    /// The name of a named pipe on Windows.
    Pipe(String),
    /// A whole URL: HTTP, WebSocket, or TLS by itself.
    Web(String),
}

impl Target {
    pub(crate) fn parse(text: &str) -> Result<Target, Failure> {
        if let Some(words) = text.strip_prefix("stdio:") {
            let words = platform::split(words)
                .ok_or_else(|| Failure::usage(format_args!("`{text}` has a quote that is never closed")))?;
            return Target::program(words);
        }
        if let Some(address) = text.strip_prefix("tcp://") {
            return match address.rsplit_once(':') {
                Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
                    Ok(Target::Tcp(address.to_owned()))
                }
                _ => Err(Failure::usage(format_args!("`{text}` names no host and port"))
                    .hint("write it as tcp://127.0.0.1:4000")),
            };
        }
        if let Some(path) = text.strip_prefix("unix:") {
            return match path.strip_prefix("//").unwrap_or(path) {
                "" => Err(Failure::usage("`unix:` names no path").hint("write it as unix:/run/server.sock")),
                path => Ok(Target::Unix(path.into())),
            };
        }
        if let Some(name) = text.strip_prefix("pipe:") {
            return match name.strip_prefix("//").unwrap_or(name) {
                "" => Err(Failure::usage("`pipe:` names no pipe").hint("write it as pipe:server")),
                name => Ok(Target::Pipe(name.to_owned())),
            };
        }
        if let Some((scheme, rest)) = text.split_once("://")
            && ["http", "https", "ws", "wss", "tls"].contains(&scheme)
        {
            return match rest.trim_start_matches('/') {
                "" => Err(Failure::usage(format_args!("`{text}` names no host"))
                    .hint(format_args!("write it as {scheme}://127.0.0.1:4000"))),
                _ => Ok(Target::Web(text.to_owned())),
            };
        }
        match text {
            "demo:" => Ok(Target::Demo),
            _ => Err(Failure::usage(format_args!("`{text}` is no target")).hint(
                "a target is demo:, stdio:COMMAND, http(s)://…, ws(s)://…, tcp://HOST:PORT, tls://HOST:PORT or \
                 unix:PATH (on Windows pipe:NAME), or a command after --",
            )),
        }
    }

    /// A program given as its words.
    pub(crate) fn program(words: Vec<String>) -> Result<Target, Failure> {
        match words.first() {
            Some(name) if !name.is_empty() => Ok(Target::Program(words)),
            _ => Err(Failure::usage("no command is given").hint("write it as stdio:COMMAND, or after --")),
        }
    }

    fn scheme(&self) -> Option<&str> {
        match self {
            Target::Web(url) => url.split_once("://").map(|(scheme, _)| scheme),
            _ => None,
        }
    }

    pub(crate) fn has_headers(&self) -> bool {
        matches!(self.scheme(), Some("http" | "https" | "ws" | "wss"))
    }

    pub(crate) fn has_certificates(&self) -> bool {
        matches!(self.scheme(), Some("https" | "wss" | "tls"))
    }

    /// Whether there is no framing: the transport knows where a message ends.
    pub(crate) fn keeps_messages_apart(&self) -> bool {
        self.has_headers()
    }

    /// Starts what must be started. Others are connected to later.
    pub(crate) fn open(&self, framing: Framing) -> Result<Transport, Failure> {
        let opened = match self {
            Target::Demo => Ok(demo(framing)),
            Target::Program(words) => {
                let mut command = std::process::Command::new(platform::program(&words[0]));
                command.args(&words[1..]);
                Child::new(command).patience(PATIENCE).spawn()
            }
            Target::Tcp(_) | Target::Unix(_) | Target::Pipe(_) | Target::Web(_) => {
                Ok(transport::url(self.to_string()))
            }
        };
        opened.map(|transport| transport.framing(framing)).map_err(|error| self.unreachable(&error))
    }

    /// There is no connection, and why.
    pub(crate) fn unreachable(&self, error: &io::Error) -> Failure {
        if let Some(error) = DialError::of(error) {
            let exit = match error.failure() {
                DialFailure::Protocol => Exit::Protocol,
                _ => Exit::Connect,
            };
            let what = format_args!("cannot connect to {self}: {}", error.reason());
            return Failure::new(exit, what).hint(hint(error.failure()));
        }
        if error.kind() == io::ErrorKind::InvalidInput && !matches!(self, Target::Program(_)) {
            return Failure::usage(error);
        }
        let (what, hint) = match self {
            Target::Program(words) => {
                let hint = match error.kind() {
                    io::ErrorKind::NotFound => "check the spelling, or give its whole path",
                    io::ErrorKind::PermissionDenied => "check that the file may be executed",
                    _ => "run it by itself to see what is wrong",
                };
                (format!("cannot start `{}`: {error}", words[0]), hint)
            }
            _ => {
                (format!("cannot connect to {self}: {error}"), "check the address, and that the server runs")
            }
        };
        Failure::new(Exit::Connect, what).hint(hint)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Demo => f.write_str("demo:"),
            Target::Program(words) => write!(f, "stdio:{}", platform::join(words)),
            Target::Tcp(address) => write!(f, "tcp://{address}"),
            Target::Unix(path) => write!(f, "unix:{}", path.display()),
            Target::Pipe(name) => write!(f, "pipe:{name}"),
            Target::Web(url) => f.write_str(url),
        }
    }
}

/// What to try, with the options of this program where it has one for it.
fn hint(failure: DialFailure) -> &'static str {
    match failure {
        DialFailure::Tls => {
            "check that TLS is served there; give its root with --cacert FILE, or trust anybody with --insecure"
        }
        DialFailure::Status(401 | 403) => "give what it wants, as in -H 'Authorization: Bearer ${TOKEN}'",
        DialFailure::Status(405) => "check the path of the URL: what is there takes no messages",
        failure => failure.hint(),
    }
}

/// What to try if HTTP answers with this status.
pub(crate) fn status_hint(status: u16) -> &'static str {
    hint(DialFailure::Status(status))
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
            ("tcp://[::1]:80", Ok(Target::Tcp("[::1]:80".to_owned()))),
            ("unix:/x", Ok(Target::Unix("/x".into()))),
            ("unix:///x", Ok(Target::Unix("/x".into()))),
            ("pipe:x", Ok(Target::Pipe("x".to_owned()))),
            ("pipe:", Err("`pipe:` names no pipe")),
            ("https://x/rpc", Ok(Target::Web("https://x/rpc".to_owned()))),
            ("ws://", Err("`ws://` names no host")),
            ("stdio:", Err("no command is given")),
            ("stdio:a 'b", Err("`stdio:a 'b` has a quote that is never closed")),
            ("tcp://localhost", Err("`tcp://localhost` names no host and port")),
            ("unix:", Err("`unix:` names no path")),
            ("add", Err("`add` is no target")),
        ] {
            let got = Target::parse(text).map_err(|failure| failure.what);
            assert_eq!(got, want.map_err(str::to_owned));
        }
    }
}
