//! What can go wrong between the program and a peer. This is the one place where it becomes a message and a hint.
//!
//! A hint says what to do next. It never names an option that was given already, and a command in it can be pasted
//! into a shell.

use std::fmt;
use std::io;
use std::time::Duration;

use sabir::transport::{HttpFailure, Scheme};
use sabir::{
    CallError, Cause, ConnectError, ConnectErrorKind, DeliveryFailure, Error, Framing, RawJson, SendError,
    Undelivered,
};
use sabir_proto::{ByteSize, ParseError, Syntax};

use crate::auth;
use crate::detect::{Detected, Watch};
use crate::exit::{Exit, Failure};
use crate::json::compact;
use crate::peer::PeerOptions;
use crate::platform::word;
use crate::target::Target;

/// Characters of a name that are shown.
const LONGEST_NAME: usize = 100;

/// What to do where a worker or the server between was lost.
const NATS_LOGS: &str = "see the logs of the worker and of the NATS server";

/// What to do where a server has refused something.
const NATS_RIGHTS: &str = "the account may lack a right: see the log of the NATS server";

/// What to do where nobody serves.
const NATS_WORKERS: &str =
    "check the name of the service; `sabir list nats://HOST` shows those that have workers";

/// What to do where the answers may not be read.
const NATS_INBOX: &str =
    "NATS_INBOX_PREFIX names the prefix of the inboxes that the account may subscribe to";

/// What the end of a WebSocket begins with, if its peer has said why; a code follows.
const CLOSED_WEBSOCKET: &str = "the peer closed the WebSocket (";

const CREDENTIALS: &str = "-H 'Authorization: Bearer ${TOKEN}'";

impl PeerOptions {
    /// No connection could be opened, or the program could not be started.
    pub(crate) fn unreachable(&self, error: &Error) -> Failure {
        match error {
            Error::Connect(error) => self.not_connected(error),
            Error::Config(error) => Failure::usage(error),
            Error::Start { source, .. } => Failure::new(Exit::Connect, error).hint(start_hint(source)),
            _ => Failure::new(Exit::Connect, format_args!("cannot connect to {}: {error}", self.target))
                .hint("check the address, and that the server is running"),
        }
    }

    fn not_connected(&self, error: &ConnectError) -> Failure {
        let target = &self.target;
        let failed =
            |exit| Failure::new(exit, format_args!("cannot connect to {target}: {}", error.reason()));
        let plain = || {
            self.with_scheme(|scheme| match scheme {
                Scheme::Https => Some(Scheme::Http),
                Scheme::Wss => Some(Scheme::Ws),
                Scheme::Tls => Some(Scheme::Tcp),
                _ => None,
            })
        };
        match error.kind() {
            ConnectErrorKind::Resolve => {
                failed(Exit::Connect).hint("check the host name, and that the network is up")
            }
            ConnectErrorKind::Refused => {
                failed(Exit::Connect).hint("check the address, and that the server is running")
            }
            ConnectErrorKind::Timeout => {
                failed(Exit::Connect).hint("check the address; a firewall may block the connection")
            }
            ConnectErrorKind::Unreachable if target.scheme() == Some(Scheme::Unix) => {
                failed(Exit::Connect).hint("check the path, its permissions, and that the server is running")
            }
            ConnectErrorKind::Unreachable if target.scheme() == Some(Scheme::Pipe) => {
                failed(Exit::Connect).hint("check the name of the pipe, and that the server is running")
            }
            ConnectErrorKind::Unreachable => {
                failed(Exit::Connect).hint("check the address, and that the network is up")
            }
            ConnectErrorKind::NotTls if self.is_behind_nats() => {
                failed(Exit::Connect).hint("nats:// is for servers without TLS")
            }
            ConnectErrorKind::Tls if self.is_behind_nats() => failed(Exit::Connect)
                .hint("--cacert or NATS_CA must name the authority that signed the server's certificate"),
            ConnectErrorKind::NotTls => failed(Exit::Connect).hints([plain().map(|url| try_this(&url))]),
            ConnectErrorKind::Tls => failed(Exit::Connect).hint(match (self.web.has_root(), self.web.is_insecure()) {
                (_, true) => "see the log of the server: it may not support TLS 1.2 or 1.3",
                (true, _) => "--cacert must name the authority that signed the server's certificate; --insecure skips verification",
                (false, false) => "trust its authority with --cacert FILE, or skip verification with --insecure",
            }),
            ConnectErrorKind::Status(status) => self.no_websocket(status, error.reason()),
            ConnectErrorKind::Protocol => match error.received() {
                [] => failed(Exit::Protocol).hint("see the log of the server; the port may serve another protocol"),
                received if received.starts_with(b"HTTP/") => failed(Exit::Protocol),
                received => self.speaks(Detected::of(received)),
            },
            other => failed(Exit::Connect).hint(other.hint()),
        }
    }

    /// A server of HTTP has no WebSocket there.
    pub(crate) fn not_a_websocket(&self, answer: &HttpFailure<'_>) -> Failure {
        self.no_websocket(answer.status.as_u16(), &answer.instead_of("a WebSocket"))
    }

    fn no_websocket(&self, status: u16, reason: &str) -> Failure {
        let failure =
            Failure::new(Exit::Connect, format_args!("cannot connect to {}: {reason}", self.target));
        let http = self.with_scheme(|scheme| match scheme {
            Scheme::Ws => Some(Scheme::Http),
            Scheme::Wss => Some(Scheme::Https),
            _ => None,
        });
        match (http, status) {
            (Some(url), 200..=299 | 400 | 405 | 426) => {
                failure.hint(format_args!("if the server does not use WebSocket, {}", try_this(&url)))
            }
            // The message names the new URL, if there is one.
            (_, 300..=399) => failure.hint("redirects are not followed"),
            _ => failure.hints(self.status_hint(status, &DeliveryFailure::Refused)),
        }
    }

    /// A call that did not end with the peer's answer.
    pub(crate) fn call_failed(&self, error: &CallError, watch: &Watch) -> Failure {
        match error {
            CallError::TimedOut => self.timed_out(watch),
            CallError::Undelivered(lost) => self.undelivered(lost),
            CallError::Closed(cause @ (Cause::Lost(_) | Cause::Ended))
            | CallError::NotSent(SendError::Closed(cause)) => self.closed(&cause.to_string(), watch),
            CallError::NotSent(refused) => Failure::usage(format_args!("not sent: {refused}")),
            _ => self.invalid_answer(error),
        }
    }

    /// The transport delivered no usable answer.
    pub(crate) fn undelivered(&self, lost: &Undelivered) -> Failure {
        let failed = |exit| Failure::new(exit, lost);
        let endpoint = "check that the URL is a JSON-RPC endpoint".to_owned();
        match &lost.failure {
            DeliveryFailure::Connect => failed(Exit::Connect),
            DeliveryFailure::NoWorker => failed(Exit::Connect).hint(NATS_WORKERS),
            DeliveryFailure::Refused if self.is_behind_nats() => failed(Exit::Connect).hint(NATS_RIGHTS),
            DeliveryFailure::Closed if self.is_behind_nats() => failed(Exit::Connect).hint(NATS_LOGS),
            DeliveryFailure::Closed => {
                failed(Exit::Protocol).hint("see the log of the server; the port may serve another protocol")
            }
            DeliveryFailure::WrongProtocol(received) => self.speaks(Detected::of(received)),
            DeliveryFailure::SessionEnded => {
                failed(Exit::Connect).hint("start a new session, and use its Mcp-Session-Id")
            }
            DeliveryFailure::Empty => failed(Exit::Protocol).hints([Some(endpoint)]),
            DeliveryFailure::Incomplete => {
                failed(Exit::Protocol).hint("see the log of the server, or try again")
            }
            DeliveryFailure::ContentType(kind) if **kind == *"text/html" => {
                failed(Exit::Protocol).hint("this is a web page: check the path of the URL")
            }
            DeliveryFailure::ContentType(_) | DeliveryFailure::NotAMessage => {
                failed(Exit::Protocol).hints([Some(endpoint), self.trace_hint()])
            }
            DeliveryFailure::TooLarge => self.too_large(lost, lost.too_large.unwrap_or(self.max_size)),
            failure => match lost.status {
                Some(status) => failed(Exit::Connect).hints(self.status_hint(status, failure)),
                // A trace shows messages, but not what is not HTTP.
                None if *failure == DeliveryFailure::NoResponse => {
                    failed(Exit::Protocol).hints([self.trace_hint()])
                }
                None => failed(Exit::Protocol),
            },
        }
    }

    /// What to do about a status of HTTP.
    fn status_hint(&self, status: u16, failure: &DeliveryFailure) -> [Option<String>; 2] {
        let hint = match (failure, status) {
            (DeliveryFailure::Redirected(_), _) => "redirects are not followed: use the new URL".to_owned(),
            (DeliveryFailure::RetryAfter(time), _) => match time.parse::<u64>() {
                Ok(seconds) => format!("wait {seconds} s, then try again"),
                Err(_) if is_date(time) => format!("try again after {time}"),
                Err(_) => "wait a while, then try again".to_owned(),
            },
            (_, 401) if self.web.has("authorization") => {
                "the server does not accept this Authorization header: check the credentials".to_owned()
            }
            (_, 401 | 403) if auth::wanted().is_some() && !self.web.has("authorization") => {
                match (&self.target, auth::wanted()) {
                    (Target::Url(url), Some(wanted)) if !url.is_secret() => {
                        wanted.hint()
                    }
                    _ => "log in with `sabir auth login URL`".to_owned(),
                }
            }
            (_, 401) => format!("authentication is required: pass credentials with {CREDENTIALS}"),
            (_, 403) if self.web.has("authorization") => {
                "these credentials do not give access; ask for others, or see the log of the server"
                    .to_owned()
            }
            (_, 403) => format!("access is denied; if credentials are needed, pass them with {CREDENTIALS}"),
            (_, 400 | 404) if self.web.has("mcp-session-id") => {
                "the server may not know the session that Mcp-Session-Id names: leave it out to open a new one"
                    .to_owned()
            }
            (_, 404 | 410) => "check the path of the URL".to_owned(),
            (_, 405) => "the server does not accept POST there: check the path of the URL".to_owned(),
            (_, 413) => "the message is too large for the server: send less".to_owned(),
            (_, 408 | 425 | 429) => "wait a while, then try again".to_owned(),
            (_, 426) => match self.with_scheme(websocket) {
                Some(url) => format!("the server wants another protocol: {}", try_this(&url)),
                None => "check that the URL is a JSON-RPC endpoint".to_owned(),
            },
            (_, 300..=399) => "redirects are not followed, and no new URL is given".to_owned(),
            (_, 502 | 504) => "a proxy cannot reach the server: check that the server is running".to_owned(),
            (_, 503) => "the server is overloaded or not ready: try again later".to_owned(),
            (_, 500..=599) => "the server failed: see its log".to_owned(),
            _ => "check that the URL is a JSON-RPC endpoint".to_owned(),
        };
        let is_clear =
            !matches!(status, 400 | 402 | 406..=407 | 409 | 411..=412 | 414..=424 | 426..=428 | 430..=499);
        [Some(hint), self.trace_hint().filter(|_| !is_clear)]
    }

    /// The peer speaks another protocol than the target says.
    pub(crate) fn speaks(&self, protocol: Detected) -> Failure {
        let target = &self.target;
        let is_web = target.has_headers();
        let (what, hint) = match protocol {
            Detected::Tls => {
                let secure = self.with_scheme(|scheme| match scheme {
                    Scheme::Http => Some(Scheme::Https),
                    Scheme::Ws => Some(Scheme::Wss),
                    Scheme::Tcp => Some(Scheme::Tls),
                    _ => None,
                });
                (format!("{target} expects TLS"), secure.map(|url| try_this(&url)))
            }
            Detected::Http => {
                let http = self.with_scheme(|scheme| match scheme {
                    Scheme::Tcp => Some(Scheme::Http),
                    Scheme::Tls => Some(Scheme::Https),
                    _ => None,
                });
                let hint = http.map_or_else(
                    || "HTTP is not supported over a Unix socket".to_owned(),
                    |url| format!("{}, with the path of the service", try_this(&url)),
                );
                (format!("{target} answers with HTTP"), Some(hint))
            }
            Detected::Lines | Detected::Headers if is_web => {
                let stream = self.with_scheme(|scheme| {
                    Some(match scheme.is_secure() {
                        true => Scheme::Tls,
                        false => Scheme::Tcp,
                    })
                });
                let (spoken, option) = match protocol {
                    Detected::Lines => ("JSON lines", ""),
                    _ => ("Content-Length headers", " --framing headers"),
                };
                let hint = stream.map(|url| format!("{}{option}", try_this(&url)));
                (format!("{target} answers with {spoken}, not with HTTP"), hint)
            }
            Detected::Lines => (
                format!("{target} answers in lines, not with Content-Length headers"),
                Some("try --framing lines".to_owned()),
            ),
            Detected::Headers => (
                format!("{target} answers with Content-Length headers, not in lines"),
                Some("try --framing headers".to_owned()),
            ),
            Detected::Unknown => {
                (format!("{target} does not speak HTTP"), Some("check the port of the URL".to_owned()))
            }
        };
        let exit = if is_web || matches!(protocol, Detected::Tls | Detected::Http) {
            Exit::Connect
        } else {
            Exit::Protocol
        };
        Failure::new(exit, what).hints([hint])
    }

    /// The connection ended first.
    pub(crate) fn closed(&self, cause: &str, watch: &Watch) -> Failure {
        if let Some(protocol) = watch.found() {
            return self.speaks(protocol);
        }
        let target = &self.target;
        match target {
            Target::Program(_) => Failure::new(Exit::Protocol, format_args!("no answer: {cause}"))
                .hints([Some("run it by itself to see what it prints".to_owned()), self.framing_hint(watch)]),
            Target::Url(_) if self.is_behind_nats() => {
                let hint = match cause {
                    cause if cause.contains("Subscription") => NATS_INBOX,
                    cause if cause.starts_with("no worker") => NATS_WORKERS,
                    _ => NATS_LOGS,
                };
                Failure::new(Exit::Connect, format_args!("no answer from {target}: {cause}")).hint(hint)
            }
            Target::Url(_) => {
                let what = format!("{target} closed the connection without an answer");
                // The close code of a WebSocket, which may say why.
                let (what, hint) = match cause.strip_prefix(CLOSED_WEBSOCKET) {
                    Some(code) if code.starts_with("1009") => {
                        (format!("{what} ({code}"), "the message is too large for the server: send less")
                    }
                    Some(code) => (format!("{what} ({code}"), "see the log of the server"),
                    None => (what, "see the log of the server"),
                };
                let hint = Some(hint.to_owned());
                Failure::new(Exit::Protocol, what).hints([hint, self.framing_hint(watch)])
            }
            Target::Demo => Failure::new(Exit::Protocol, format_args!("no answer: {cause}")),
        }
    }

    pub(crate) fn is_behind_nats(&self) -> bool {
        self.target.scheme().is_some_and(Scheme::is_nats)
    }

    /// Nothing came in time.
    pub(crate) fn timed_out(&self, watch: &Watch) -> Failure {
        let what = format!("no answer from {} within {}", self.target, time(self.timeout));
        let failure = Failure::new(Exit::Timeout, what);
        let seen = match watch.received() {
            true => self.trace_hint(),
            false => self.framing_hint(watch),
        };
        failure.hints([Some(self.longer()), seen])
    }

    /// `check` did not finish in time.
    pub(crate) fn unfinished(&self, watch: &Watch) -> Failure {
        let what = format!("{} did not finish within {}", self.target, time(self.timeout));
        Failure::new(Exit::Timeout, what).hints([Some(self.longer()), self.framing_hint(watch)])
    }

    /// A peer did not say in time what it offers.
    pub(crate) fn undiscovered(&self, watch: &Watch) -> Failure {
        let what = format!("{} did not list its methods within {}", self.target, time(self.timeout));
        let seen = match watch.received() {
            true => self.trace_hint(),
            false => self.framing_hint(watch),
        };
        Failure::new(Exit::Timeout, what).hints([Some(self.longer()), seen])
    }

    /// It answers every call with an error that says so.
    pub(crate) fn wants_credentials(&self, code: i64, message: &str, has_params: bool) -> Failure {
        let message: String = message.chars().take(LONGEST_NAME).collect();
        let what = format!("{} wants credentials: it answers {code} {message}", self.target);
        let header = self.target.has_headers() && !self.web.has("authorization");
        let header = header.then(|| format!("if it takes them in a header, pass them with {CREDENTIALS}"));
        let params = (!has_params).then(|| {
            "if it takes them in the params, pass those with -d, such as -d '[\"token:…\"]'".to_owned()
        });
        Failure::new(Exit::Connect, what).hints([header, params])
    }

    /// What else a silent peer may speak.
    pub(crate) fn other_protocols(&self, is_plain: bool, watch: &Watch) -> Option<String> {
        let profile =
            is_plain.then_some("if it is a language server or an MCP server, try --profile lsp or mcp");
        let hints = [self.framing_hint(watch), profile.map(str::to_owned)];
        let hints: Vec<String> = hints.into_iter().flatten().collect();
        (!hints.is_empty()).then(|| hints.join("; "))
    }

    /// How to wait longer.
    pub(crate) fn longer(&self) -> String {
        let minutes = match self.timeout.as_secs() {
            0..15 => 1,
            15..60 => 5,
            seconds => seconds.div_ceil(60).saturating_mul(4),
        };
        format!("wait longer with --timeout {minutes}m")
    }

    /// A message was skipped because of its size.
    pub(crate) fn too_large(&self, what: impl fmt::Display, limit: usize) -> Failure {
        const LARGEST: usize = crate::args::LARGEST_SIZE;
        let more = limit.saturating_mul(4).div_ceil(1 << 20).min(LARGEST >> 20);
        let hint = (limit < LARGEST).then(|| format!("accept larger answers with --max-size {more}MiB"));
        Failure::new(Exit::Protocol, what).hints([hint])
    }

    /// The answer is not what the protocol allows.
    pub(crate) fn invalid_answer(&self, what: impl fmt::Display) -> Failure {
        Failure::new(Exit::Protocol, what).hints([self.trace_hint()])
    }

    /// A limit in words.
    pub(crate) fn larger_than(limit: usize) -> String {
        format!("the answer is larger than {}", ByteSize(limit))
    }

    fn trace_hint(&self) -> Option<String> {
        (self.trace == Some(false)).then(|| "--trace shows what was received".to_owned())
    }

    /// The other framing, if the peer may wait for that.
    fn framing_hint(&self, watch: &Watch) -> Option<String> {
        if watch.received() || self.target == Target::Demo {
            return None;
        }
        match self.wire_framing() {
            Framing::Lines => Some("if it uses Content-Length headers, try --framing headers".to_owned()),
            Framing::Headers => Some("if it uses lines, try --framing lines".to_owned()),
            _ => None,
        }
    }

    /// The URL with another scheme. Streams have no path.
    fn with_scheme(&self, other: impl Fn(Scheme) -> Option<Scheme>) -> Option<String> {
        let Target::Url(url) = &self.target else { return None };
        let scheme = other(url.scheme())?;
        if url.is_secret() {
            let shown = url.to_string();
            let (_, rest) = shown.split_once("://")?;
            return Some(format!("{}://{rest}", scheme.name()));
        }
        let host = match url.host() {
            host if host.contains(':') => format!("[{host}]"),
            host => host.to_owned(),
        };
        let path = if scheme.is_web() && url.path() != "/" { url.path() } else { "" };
        Some(format!("{}://{host}:{}{path}", scheme.name(), url.port()))
    }
}

/// What to do about a method that the server does not have. `called` is a method that the server itself called
/// meanwhile, and that `sabir call` does not have.
pub(crate) fn method_not_found(target: &str, called: Option<&str>) -> String {
    match called {
        Some(called) => {
            let called: String = called.chars().take(LONGEST_NAME).collect();
            format!("the error may be about `{called}`, which the server called: `sabir call` has no methods")
        }
        None => format!("`sabir list {}` lists the methods, if the server supports that", word(target)),
    }
}

/// The command that calls a tool of an MCP server. `None` if its name would be taken for an option.
pub(crate) fn tool_call(target: &str, name: &str, arguments: Option<&RawJson<'_>>) -> Option<String> {
    if name.starts_with('-') {
        return None;
    }
    let mut command = format!("sabir call {} {}", word(target), word(name));
    let mut members = arguments.into_iter().flat_map(RawJson::members);
    // An argument would be taken for an option, too.
    if members.any(|(name, _)| name.starts_with('-')) {
        let whole = arguments.map_or_else(String::new, |arguments| compact(arguments.as_str()).into_owned());
        command.push_str(&format!(" -d {}", word(&whole)));
        return Some(command);
    }
    for (name, value) in arguments.into_iter().flat_map(RawJson::members) {
        let argument = match value.parse::<String>() {
            Ok(text) => format!("{name}={text}"),
            Err(_) => format!("{name}:={}", compact(value.as_str())),
        };
        command.push(' ');
        command.push_str(&word(&argument));
    }
    Some(command)
}

/// Whether a header can be a date of HTTP, such as `Sun, 06 Nov 1994 08:49:37 GMT`, and is not text for a shell.
fn is_date(text: &str) -> bool {
    const LONGEST: usize = 40;
    text.len() <= LONGEST && text.chars().all(|c| c.is_ascii_alphanumeric() || " ,:-".contains(c))
}

/// Why a message cannot be read, to follow its name.
pub(crate) fn unreadable(error: &ParseError) -> String {
    match error.reason {
        Syntax::TooDeep => format!("is {error}"),
        _ => format!("is not JSON: {error}"),
    }
}

/// The WebSocket of the same server.
fn websocket(scheme: Scheme) -> Option<Scheme> {
    match scheme {
        Scheme::Http => Some(Scheme::Ws),
        Scheme::Https => Some(Scheme::Wss),
        _ => None,
    }
}

fn try_this(url: &str) -> String {
    format!("try {}", word(url))
}

/// A time in words.
pub(crate) fn time(time: Duration) -> String {
    match time.as_millis() {
        millis @ 0..1000 => format!("{millis} ms"),
        _ => format!("{} s", time.as_secs_f64()),
    }
}

/// What to try if a program cannot be started.
pub(crate) fn start_hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "check the spelling, or give its whole path",
        io::ErrorKind::PermissionDenied => "check that the file is executable",
        _ => "run it by itself to see what is wrong",
    }
}
