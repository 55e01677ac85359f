//! Whom to talk to: what a target means, and how a connection to it is made.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use sabir::Framing;
use sabir::transport::{self, Child, Transport};

use crate::exit::{Exit, Failure};
use crate::service;

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
}

impl Target {
    pub(crate) fn parse(text: &str) -> Result<Target, Failure> {
        if let Some(words) = text.strip_prefix("stdio:") {
            let words = shlex::split(words)
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
        match text {
            "demo:" => Ok(Target::Demo),
            _ => Err(Failure::usage(format_args!("`{text}` is no target")).hint(
                "a target is demo:, stdio:COMMAND, tcp://HOST:PORT or unix:PATH, or a command after --",
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

    /// Connects.
    pub(crate) async fn open(&self, framing: Framing) -> Result<Transport, Failure> {
        let opened = match self {
            Target::Demo => Ok(demo(framing)),
            Target::Program(words) => {
                let mut command = std::process::Command::new(&words[0]);
                command.args(&words[1..]);
                Child::new(command).patience(PATIENCE).spawn()
            }
            Target::Tcp(address) => transport::tcp(address).await,
            Target::Unix(path) => transport::unix(path).await,
        };
        opened.map(|transport| transport.framing(framing)).map_err(|error| self.unreachable(&error))
    }

    fn unreachable(&self, error: &io::Error) -> Failure {
        let (what, hint) = match self {
            Target::Program(words) => {
                let hint = match error.kind() {
                    io::ErrorKind::NotFound => "check the spelling, or give its whole path",
                    io::ErrorKind::PermissionDenied => "check that the file may be executed",
                    _ => "run it by itself to see what is wrong",
                };
                (format!("cannot start `{}`: {error}", words[0]), hint)
            }
            Target::Unix(_) if error.kind() == io::ErrorKind::NotFound => {
                (format!("cannot connect to {self}: {error}"), "check the path, and that the server runs")
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
            Target::Program(words) => {
                let joined = shlex::try_join(words.iter().map(String::as_str));
                write!(f, "stdio:{}", joined.unwrap_or_else(|_| words.join(" ")))
            }
            Target::Tcp(address) => write!(f, "tcp://{address}"),
            Target::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

fn demo(framing: Framing) -> Transport {
    service::quiet_panic();
    let (client, server) = transport::memory();
    tokio::spawn(sabir::serve(server.framing(framing), service::router()));
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
            ("stdio:a 'b c' \"d\\\"e\" f\\ g", Ok(program(&["a", "b c", "d\"e", "f g"]))),
            ("tcp://[::1]:80", Ok(Target::Tcp("[::1]:80".to_owned()))),
            ("unix:/x", Ok(Target::Unix("/x".into()))),
            ("unix:///x", Ok(Target::Unix("/x".into()))),
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
