//! Opens the connections of a run: the bare wire where the server speaks plain JSON-RPC, [sessions](super::session_lane)
//! elsewhere.

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
use sabir_load::{Codec, Connect, Duplex, Lane};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::time::timeout;

use super::plan::Plan;
use super::session_lane::SessionLane;
use super::trial::Trial;
use crate::check::wire::streams;
use crate::exit::{Exit, Failure};
use crate::print::Printer;
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
    sessions: Vec<Rc<SessionLane>>,
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
            _ => {
                let session = SessionLane::open(plan, trial, printer).await?;
                opened.keep.sessions.push(Rc::clone(&session));
                session.lane()
            }
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
