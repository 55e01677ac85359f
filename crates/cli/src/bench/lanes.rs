//! Opens the connections of a run: the bare wire where the server speaks plain JSON-RPC, sessions of the library elsewhere.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{HeaderName, HeaderValue};
use sabir::transport::{RawStreams, Url};
use sabir::{CallError, DeliveryFailure, RawJson};
use sabir_load::{Call, Class, Codec, Connect, Duplex, Lane, Outcome};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::time::timeout;

use super::plan::Plan;
use super::trial::{self, Trial};
use crate::check::wire::streams;
use crate::exit::{Exit, Failure};
use crate::print::Printer;
use crate::session::{Caller, Session};
use crate::target::Target;
use crate::web::Web;

/// How long closing in order may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The head of an answer to an upgrade is shorter.
const LONGEST_HEAD: usize = 16 << 10;

/// Open connections, and what has to be closed after the run.
pub(super) struct Opened {
    pub(super) lanes: Vec<Lane>,
    pub(super) keep: Keep,
}

#[derive(Default)]
pub(super) struct Keep {
    streams: Vec<Rc<RefCell<RawStreams>>>,
    sessions: Vec<Session>,
}

impl Keep {
    /// Closes in order, and waits for programs to end.
    pub(super) async fn close(self) {
        let closing = async {
            for streams in self.streams.into_iter().filter_map(Rc::into_inner) {
                streams.into_inner().close().await;
            }
            for session in self.sessions {
                session.close(CLOSE_TIMEOUT).await;
            }
        };
        let _ = timeout(CLOSE_TIMEOUT, closing).await;
    }
}

pub(super) async fn open(plan: &Plan, trial: &Trial, printer: &Printer) -> Result<Opened, Failure> {
    let mut opened = Opened { lanes: Vec::new(), keep: Keep::default() };
    for _ in 0..plan.connections {
        let lane = match &plan.peer.target {
            Target::Url(url) if plan.is_http() && trial.is_plain() => post(url, plan).await?,
            Target::Url(url) if plan.is_websocket() && trial.is_plain() => websocket(url, plan).await?,
            target if plan.is_stream() && trial.is_plain() => {
                let unreachable = |error: sabir::Error| plan.peer.unreachable(&error);
                let transport = target.open(plan.peer.framing, None).map_err(unreachable)?;
                let opening = plan.peer.web.apply(transport).into_streams();
                let streams = in_time(plan, opening).await?.map_err(unreachable)?;
                let streams = Rc::new(RefCell::new(streams));
                opened.keep.streams.push(Rc::clone(&streams));
                Lane::Stream { io: Box::new(Streams(streams)), codec: plan.codec() }
            }
            _ => session(plan, trial, &mut opened.keep, printer).await?,
        };
        opened.lanes.push(lane);
    }
    Ok(opened)
}

async fn in_time<T>(plan: &Plan, opening: impl Future<Output = T>) -> Result<T, Failure> {
    timeout(plan.peer.timeout, opening).await.map_err(|_| {
        let what = format!("cannot connect to {} within --timeout", plan.peer.target);
        Failure::new(Exit::Timeout, what)
    })
}

/// Both directions of a connection. The program behind it lives as long as this does.
struct Streams(Rc<RefCell<RawStreams>>);

impl AsyncRead for Streams {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0.borrow_mut().read).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Streams {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0.borrow_mut().write).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0.borrow_mut().write).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0.borrow_mut().write).poll_shutdown(cx)
    }
}

/// A connection of HTTP, and how to open the next.
async fn post(url: &Url, plan: &Plan) -> Result<Lane, Failure> {
    let headers = [("Content-Type", "application/json"), ("Accept", "application/json")];
    let head = head("POST", url, &headers, &plan.peer.web)?;
    let first = in_time(plan, connect(url.clone(), plan.peer.web.clone())).await?;
    let first = first.map_err(|error| plan.peer.unreachable(&error.into()))?;
    let (url, web, limit) = (url.clone(), plan.peer.web.clone(), plan.peer.timeout);
    let connect: Connect = Box::new(move || {
        let opening = connect(url.clone(), web.clone());
        Box::pin(async move {
            timeout(limit, opening).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
        })
    });
    Ok(Lane::Http { first: Some(first), connect, head })
}

async fn connect(url: Url, web: Web) -> io::Result<Box<dyn Duplex>> {
    let RawStreams { read, write, .. } = streams(&url, &web).await?;
    Ok(Box::new(tokio::io::join(read, write)))
}

/// The head of a request, without the empty line. Headers that the user gives replace ours.
fn head(method: &str, url: &Url, headers: &[(&str, &str)], web: &Web) -> Result<Vec<u8>, Failure> {
    let mut head = format!("{method} {} HTTP/1.1\r\n", url.path()).into_bytes();
    let host = [("Host", url.authority())];
    let ours = host.iter().chain(headers).copied().filter(|(name, _)| !web.has(name));
    for (name, value) in ours.chain(web.headers()) {
        let name: HeaderName =
            name.parse().map_err(|_| Failure::usage(format_args!("`{name}` is not a valid header name")))?;
        // The value may be a secret, and stays out of the message.
        let value: HeaderValue =
            value.parse().map_err(|_| Failure::usage("the value of a header has control characters"))?;
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    Ok(head)
}

/// A WebSocket. The first call has shown that the server speaks it; here the frames are the generator's.
async fn websocket(url: &Url, plan: &Plan) -> Result<Lane, Failure> {
    let mut key = [0; 16];
    getrandom::fill(&mut key)
        .map_err(|error| Failure::new(Exit::Error, format_args!("no random numbers: {error}")))?;
    let key = STANDARD.encode(key);
    let headers = [
        ("Upgrade", "websocket"),
        ("Connection", "Upgrade"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", key.as_str()),
    ];
    let mut request = head("GET", url, &headers, &plan.peer.web)?;
    request.extend_from_slice(b"\r\n");
    let upgrading = async {
        let mut io = connect(url.clone(), plan.peer.web.clone()).await?;
        io.write_all(&request).await?;
        io.flush().await?;
        // Byte by byte: what follows the head are frames.
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            if answer.len() > LONGEST_HEAD {
                return Err(io::Error::other("the answer to the upgrade is too long"));
            }
            answer.push(io.read_u8().await?);
        }
        match answer.starts_with(b"HTTP/1.1 101") {
            true => Ok(io),
            false => Err(io::Error::other("the server does not upgrade to WebSocket any more")),
        }
    };
    let io = in_time(plan, upgrading).await?.map_err(|error| plan.peer.unreachable(&error.into()))?;
    Ok(Lane::Stream { io, codec: Codec::WebSocket })
}

/// A session of the library: for MCP, language servers, and transports that have no bare wire.
async fn session(plan: &Plan, trial: &Trial, keep: &mut Keep, printer: &Printer) -> Result<Lane, Failure> {
    let (mut session, watch) = trial::open(plan, Some(trial.protocol), true, printer).await?;
    // Documents are opened in each session.
    let calls = trial::in_time(&plan.peer, &watch, trial::resolve(plan, &mut session)).await?;
    let caller = session.caller();
    keep.sessions.push(session);
    let limit = plan.peer.timeout;
    let prepared: Vec<Prepared> = calls.into_iter().map(Prepared::new).collect();
    Ok(Lane::Calls(Box::new(move |numbers: &[u32]| {
        let calls: Vec<Prepared> = numbers.iter().map(|&number| prepared[number as usize].clone()).collect();
        let caller = caller.clone();
        Box::pin(async move {
            match <[Prepared; 1]>::try_from(calls) {
                Ok([call]) => vec![one(&caller, call, limit).await],
                Err(calls) => together(&caller, calls, limit).await,
            }
        })
    })))
}

/// A call of the plan, as the library takes it.
#[derive(Clone)]
struct Prepared {
    method: String,
    params: Option<RawJson<'static>>,
    is_notification: bool,
    expected: Option<String>,
}

impl Prepared {
    fn new(call: Call) -> Prepared {
        Prepared {
            method: serde_json::from_str(&call.method).unwrap_or_default(),
            params: call.params.and_then(|params| RawJson::new(params).ok()),
            is_notification: call.is_notification,
            expected: call.expected,
        }
    }
}

async fn one(caller: &Caller, call: Prepared, limit: Duration) -> Outcome {
    let Prepared { method, params, is_notification, expected } = call;
    if is_notification {
        return match caller.notify(method, params).await {
            Ok(()) => Outcome::Ok,
            Err(what) => Outcome::Failed(Class::Transport, what),
        };
    }
    in_limit(limit, caller.call(method, params), expected.as_deref()).await
}

/// A batch.
async fn together(caller: &Caller, calls: Vec<Prepared>, limit: Duration) -> Vec<Outcome> {
    let mut batch = caller.batch();
    let sent: Vec<_> = calls
        .into_iter()
        .map(|Prepared { method, params, is_notification, expected }| match (is_notification, params) {
            (true, None) => {
                batch.notify(method, ());
                None
            }
            (true, Some(params)) => {
                batch.notify(method, params);
                None
            }
            (false, None) => Some((batch.call::<RawJson<'static>>(method, ()), expected)),
            (false, Some(params)) => Some((batch.call(method, params), expected)),
        })
        .collect();
    if let Err(error) = batch.send() {
        return sent.iter().map(|_| Outcome::Failed(Class::Transport, error.to_string())).collect();
    }
    let answers = sent.into_iter().map(|sent| async move {
        match sent {
            Some((call, expected)) => in_limit(limit, call.into_future(), expected.as_deref()).await,
            None => Outcome::Ok,
        }
    });
    futures_util::future::join_all(answers).await
}

async fn in_limit(
    limit: Duration,
    call: impl Future<Output = Result<RawJson<'static>, CallError>>,
    expected: Option<&str>,
) -> Outcome {
    match timeout(limit, call).await {
        Ok(answered) => outcome(answered, expected),
        Err(_) => Outcome::Failed(Class::Timeout, "no answer within --timeout".to_owned()),
    }
}

fn outcome(answered: Result<RawJson<'static>, CallError>, expected: Option<&str>) -> Outcome {
    match answered {
        Ok(result) if result.get("isError").is_some_and(|flag| flag.as_str() == "true") => {
            Outcome::Failed(Class::Wrong, "the tool says that it failed".to_owned())
        }
        Ok(result) => match expected {
            Some(expected) if crate::json::compact(result.as_str()) != expected => {
                Outcome::Failed(Class::Wrong, format!("expected {expected}, came {result}"))
            }
            _ => Outcome::Ok,
        },
        Err(CallError::Error(error)) => Outcome::Failed(Class::Rpc(error.code.0), error.message.into_owned()),
        Err(CallError::Decode(what)) => Outcome::Failed(Class::Protocol, what.to_string()),
        Err(CallError::Undelivered(lost)) => {
            let class = match lost.failure {
                DeliveryFailure::NoWorker => Class::NoWorker,
                DeliveryFailure::Connect => Class::NotConnected,
                _ => Class::Transport,
            };
            Outcome::Failed(class, lost.to_string())
        }
        Err(error) => Outcome::Failed(Class::Transport, error.to_string()),
    }
}
