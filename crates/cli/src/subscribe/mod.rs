//! `sabir subscribe`: follows a subscription, and ends it.

mod style;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sabir::transport::{Direction, Scheme};
use sabir::{CallError, RawJson, Report, Subscription, SubscriptionEnd, SubscriptionStyle};
use sabir_proto::Cut;
use serde::Serialize;
use serde_json::json;
use style::{FollowStyle, Item, Route};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use crate::args::SubscribeArgs;
use crate::call::explain;
use crate::detect::Watch;
use crate::exit::{Exit, Failure};
use crate::json::compact;
use crate::peer::{Chosen, PeerOptions};
use crate::platform::word;
use crate::print::Printer;
use crate::session::{Answer, Answers, CallFailure, Listener, Opening, Protocol, Session};
use crate::stop;
use crate::target::Target;
use crate::trace::Cutter;
use crate::values::Arguments;

/// Messages that wait to be printed, or for the answer to the subscription, and their bytes. One is taken in any case.
const WAITING: usize = 4096;
const WAITING_BYTES: usize = 32 << 20;

/// How long the server may take to end a subscription.
const END_TIMEOUT: Duration = Duration::from_secs(2);

pub(crate) async fn run(args: SubscribeArgs, printer: &Printer) -> Result<Exit, Failure> {
    let mut words = args.words.iter().cloned();
    let chosen = if !args.command.is_empty() {
        Target::program(args.command.clone())?.into()
    } else if let Some(target) = words.next() {
        Chosen::of(&target, printer)?
    } else {
        return Err(Failure::usage("no target is given")
            .hint("try `sabir subscribe ws://127.0.0.1:8545 eth_subscribe newHeads`"));
    };
    let method = words.next();
    let words: Vec<String> = words.collect();
    let given = Arguments::given(args.data.as_deref(), &words)?;
    let style = FollowStyle::of(method.as_deref(), args.unsubscribe.as_deref());
    let said = args.session.protocol.or(chosen.protocol);
    let explicit = said.or_else(|| {
        (style.route == Route::Listen).then_some(Protocol::Mcp(Some(sabir::McpRevision::NEWEST)))
    });
    let guess = Protocol::guess(&chosen.target, method.as_deref().unwrap_or_default());
    let protocol = explicit.or(guess);
    let has_framing = args.session.wire.framing.is_some() || chosen.framing.is_some();
    let SubscribeArgs { json, count, wait, .. } = args;
    let mut peer = chosen.peer(&args.session.wire, None, Some(args.session.trace))?;
    if !has_framing {
        peer.framing = Protocol::framing(explicit, guess);
    }
    let answers = Answers::new(&args.answer.answers, None)?;
    let following = Following {
        peer,
        protocol,
        explicit: explicit.is_some(),
        answers,
        style,
        method,
        given,
        count,
        wait,
    };
    let show = Show {
        printer: printer.clone(),
        json,
        start: Instant::now(),
        target: following.peer.target.to_string(),
    };
    following.run(&show, printer).await
}

/// What is followed, and for how long.
struct Following {
    peer: PeerOptions,
    protocol: Option<Protocol>,
    explicit: bool,
    answers: Answers,
    style: FollowStyle,
    method: Option<String>,
    given: Arguments,
    count: Option<u64>,
    wait: Option<Duration>,
}

impl Following {
    async fn run(self, show: &Show, printer: &Printer) -> Result<Exit, Failure> {
        let watch = Watch::default();
        let (inlet, outlet, lost) = waiting();
        let opening = Opening {
            peer: &self.peer,
            protocol: self.protocol,
            explicit: self.explicit || self.method.is_none(),
            dialect: None,
            answers: self.answers.clone(),
            listener: Arc::new(Notes { printer: printer.clone(), traces: self.peer.traces() }),
            watch: &watch,
            tap: Some(Box::new(tap(&self.peer, inlet))),
            printer,
        };
        let connecting = Session::connect(opening);
        let mut session = self.in_time(&watch, connecting).await?;
        let started = self.in_time(&watch, async { self.begin(&mut session, &watch).await }).await;
        let done = match started {
            Ok(Started::Refused(exit)) => Ok(exit),
            Ok(Started::Subscribed(id)) => {
                stop::never();
                if self.method.is_some() && self.style.route != Route::Listen {
                    let id = compact(id.as_str());
                    printer.remark(&format!(
                        "the server answered {id:.60}; what it sends is printed, Ctrl-C ends"
                    ));
                }
                let done = match self.pushes(&session).await {
                    Ok(pushes) => self.follow(&mut session, &id, outlet, pushes, show, &watch).await,
                    Err(failure) => Err(failure),
                };
                // Whatever ended it, the server is told.
                let _ = tokio::time::timeout(END_TIMEOUT, self.end(&mut session, &id)).await;
                done
            }
            Err(failure) => Err(failure),
        };
        session.close(END_TIMEOUT).await;
        match lost.load(Ordering::Relaxed) {
            0 => {}
            count => printer.note(&format!("warning: {count} messages came too fast, and were lost")),
        }
        done
    }

    async fn begin(&self, session: &mut Session, watch: &Watch) -> Result<Started, Failure> {
        session.begin().await?;
        let Some(method) = self.method.as_deref().filter(|_| self.style.route != Route::Listen) else {
            return Ok(Started::Subscribed(RawJson::NULL));
        };
        match session.call(method, &self.given, None).await {
            Ok(Answer { result, .. }) => Ok(Started::Subscribed(result)),
            Err(CallFailure::Failed(failure)) => Err(failure),
            Err(CallFailure::Call(CallError::Error(error))) => {
                let target = word(&self.peer.target.to_string());
                let is_http = self.peer.target.scheme().is_some_and(Scheme::is_http);
                let explained = explain::hint(session, &self.peer, method, &self.given, &error).await;
                let hint = match is_http {
                    _ if explained.is_some() => explained,
                    true => Some("over HTTP most servers cannot push: try its ws:// URL".to_owned()),
                    false => {
                        Some(format!("`sabir list {target}` lists the methods, if the server supports that"))
                    }
                };
                session.say_error(&error, hint.as_deref());
                Ok(Started::Refused(Exit::Error))
            }
            Err(CallFailure::Call(error)) => Err(self.peer.call_failed(&error, watch)),
        }
    }

    /// Over HTTP a plain server sends items on a stream that its client has to ask for. The library does so for
    /// subscriptions of its own, so this is one: to a method that nothing has. What comes is read off the wire.
    async fn pushes(&self, session: &Session) -> Result<Option<Subscription<RawJson<'static>>>, Failure> {
        let is_http = self.peer.target.scheme().is_some_and(Scheme::is_http);
        if !is_http || self.method.is_none() || session.protocol() != Protocol::Plain {
            return Ok(None);
        }
        let subscribed = session.peer().subscribe(SubscriptionStyle::method(""), ()).await;
        subscribed.map(Some).map_err(|error| self.peer.call_failed(&error, &Watch::default()))
    }

    async fn follow(
        &self,
        session: &mut Session,
        id: &RawJson<'static>,
        mut messages: Outlet,
        mut pushes: Option<Subscription<RawJson<'static>>>,
        show: &Show,
        watch: &Watch,
    ) -> Result<Exit, Failure> {
        let about = self.about();
        let mut left = self.count;
        let time_is_up = async {
            match self.wait {
                Some(wait) => tokio::time::sleep(wait).await,
                None => std::future::pending().await,
            }
        };
        let mut time_is_up = std::pin::pin!(time_is_up);
        let peer = session.peer().clone();
        let mut closed = std::pin::pin!(peer.closed());
        let mut listening = std::pin::pin!(self.listen(session));
        let mut refused = std::pin::pin!(refused(&mut pushes));
        loop {
            let message = tokio::select! {
                biased;
                _ = stop::interrupted() => return Err(Failure::new(Exit::Interrupted, "")),
                // Before what may never be pending.
                () = &mut time_is_up => return match (self.count, left) {
                    (Some(count), Some(left)) => {
                        let time = crate::problem::time(self.wait.unwrap_or_default());
                        let what = format!("{} of {count} came within {time}", count - left);
                        Err(Failure::new(Exit::Timeout, what))
                    }
                    _ => Ok(Exit::Ok),
                },
                Some(message) = messages.recv() => message,
                ended = &mut listening => return ended,
                reason = &mut refused => return Err(Failure::new(Exit::Connect, reason)),
                cause = &mut closed => return Err(self.peer.closed(&cause.to_string(), watch)),
            };
            match self.style.item(&message, id, about.as_deref()) {
                None => continue,
                Some(Item::Value(value)) => show.value(&message, &value)?,
                Some(Item::Message) => show.message(&message)?,
                Some(Item::End) => {
                    return match (self.count, left) {
                        (Some(count), Some(left)) => {
                            let what =
                                format!("{} of {count} came until the end of the subscription", count - left);
                            Err(Failure::new(Exit::Error, what))
                        }
                        _ => Ok(Exit::Ok),
                    };
                }
                Some(Item::Error(error)) => {
                    let what = format!(
                        "the server ended the subscription: {}",
                        crate::json::compact(error.as_str())
                    );
                    return Err(Failure::new(Exit::Error, what));
                }
            }
            left = left.map(|left| left - 1);
            if left == Some(0) {
                return Ok(Exit::Ok);
            }
        }
    }

    /// Keeps a call open that is the subscription. Dropping it ends it.
    async fn listen(&self, session: &Session) -> Result<Exit, Failure> {
        let (Route::Listen, Some(mcp)) = (self.style.route, session.mcp()) else {
            return std::future::pending().await;
        };
        let all = json!({"notifications": {
            "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
        }});
        let params = match self.given.named()? {
            Some(params) => params,
            None => RawJson::from_value(&all).map_err(Failure::usage)?,
        };
        match mcp.request("subscriptions/listen", Some(params)).await {
            Ok(_) => Ok(Exit::Ok),
            Err(CallError::Error(error)) => {
                session.say_error(&error, None);
                Ok(Exit::Error)
            }
            Err(error) => Err(self.peer.call_failed(&error, &Watch::default())),
        }
    }

    async fn end(&self, session: &mut Session, id: &RawJson<'static>) {
        let Some(method) = &self.style.unsubscribe else { return };
        let args = match self.style.route {
            Route::Id => Arguments::from_data(format!("[{id}]").as_ref()),
            // They are ended by what they were begun with.
            _ => Ok(self.given.clone()),
        };
        if let Ok(args) = args {
            let _ = session.call(method, &args, None).await;
        }
    }

    /// The event or the resource that it is about.
    fn about(&self) -> Option<String> {
        let params = self.given.params().ok()??;
        let first = params.get("uri").or_else(|| params.elements().next())?;
        first.parse().ok()
    }

    async fn in_time<T>(
        &self,
        watch: &Watch,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        stop::at(tokio::time::Instant::now() + self.peer.timeout);
        tokio::select! {
            biased;
            interrupted = stop::interrupted() => Err(interrupted),
            protocol = watch.mismatch() => Err(self.peer.speaks(protocol)),
            done = tokio::time::timeout(self.peer.timeout, work) => {
                done.unwrap_or_else(|_| Err(self.peer.timed_out(watch)))
            }
        }
    }
}

/// Why the server has no stream for what it sends unasked, once it says so.
async fn refused(pushes: &mut Option<Subscription<RawJson<'static>>>) -> String {
    if let Some(pushes) = pushes {
        while pushes.next().await.is_some() {}
        if let Some(SubscriptionEnd::Undelivered(reason)) = pushes.end() {
            return reason.to_string();
        }
    }
    // The connection has ended, or does without: who waits for items hears of that otherwise.
    std::future::pending().await
}

enum Started {
    /// With what the server answered.
    Subscribed(RawJson<'static>),
    Refused(Exit),
}

/// A queue for messages, bounded by their number and their bytes, and a count of those that had no room.
fn waiting() -> (Inlet, Outlet, Arc<AtomicU64>) {
    let (send, messages) = mpsc::channel(WAITING);
    let (bytes, lost) = (Arc::<AtomicUsize>::default(), Arc::<AtomicU64>::default());
    let inlet = Inlet { send, bytes: Arc::clone(&bytes), lost: Arc::clone(&lost) };
    (inlet, Outlet { messages, bytes }, lost)
}

struct Inlet {
    send: mpsc::Sender<RawJson<'static>>,
    bytes: Arc<AtomicUsize>,
    lost: Arc<AtomicU64>,
}

impl Inlet {
    fn put(&self, message: &RawJson<'_>) {
        let size = message.as_str().len();
        let before = self.bytes.load(Ordering::Relaxed);
        let has_room = before == 0 || before + size <= WAITING_BYTES;
        // Counted before it is there: the other side takes it off.
        self.bytes.fetch_add(size, Ordering::Relaxed);
        let sent = match has_room {
            true => self.send.try_send(message.clone().into_owned()),
            false => Err(TrySendError::Full(RawJson::NULL)),
        };
        if let Err(error) = sent {
            self.bytes.fetch_sub(size, Ordering::Relaxed);
            self.lost.fetch_add(u64::from(matches!(error, TrySendError::Full(_))), Ordering::Relaxed);
        }
    }
}

struct Outlet {
    messages: mpsc::Receiver<RawJson<'static>>,
    bytes: Arc<AtomicUsize>,
}

impl Outlet {
    async fn recv(&mut self) -> Option<RawJson<'static>> {
        let message = self.messages.recv().await?;
        self.bytes.fetch_sub(message.as_str().len(), Ordering::Relaxed);
        Some(message)
    }
}

/// Passes on every message that comes, also what is not JSON-RPC.
fn tap(peer: &PeerOptions, inlet: Inlet) -> impl FnMut(Direction, &[u8]) + Send + 'static {
    let mut cutter = Cutter::new(peer.wire_framing(), peer.max_size);
    move |direction, bytes| {
        if direction == Direction::Received {
            cutter.pass(bytes, |cut| {
                if let Cut::Message { body, .. } = cut
                    && let Ok(message) = RawJson::from_bytes(body)
                {
                    inlet.put(&message);
                }
            });
        }
    }
}

/// Prints what comes.
struct Show {
    printer: Printer,
    json: bool,
    start: Instant,
    target: String,
}

#[derive(Serialize)]
struct Event<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'a RawJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a RawJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<&'a str>,
}

impl Show {
    fn value(&self, message: &RawJson<'_>, value: &RawJson<'_>) -> Result<(), Failure> {
        match self.json {
            false => self.printer.json(value.as_str())?,
            true => self.event(message, Some(value))?,
        }
        Ok(())
    }

    fn message(&self, message: &RawJson<'_>) -> Result<(), Failure> {
        Ok(self.event(message, None)?)
    }

    fn event(&self, message: &RawJson<'_>, result: Option<&RawJson<'_>>) -> std::io::Result<()> {
        let (method, params) =
            (message.get("method").or_else(|| message.get("notification")), message.get("params"));
        let event = Event {
            method: method.as_ref(),
            params: params.as_ref().filter(|_| result.is_none()),
            result,
            ms: self.json.then(|| (self.start.elapsed().as_secs_f64() * 1e6).round() / 1e3),
            target: self.json.then_some(self.target.as_str()),
        };
        self.printer.json(&serde_json::to_string(&event)?)
    }
}

/// What goes wrong meanwhile.
struct Notes {
    printer: Printer,
    traces: bool,
}

impl Listener for Notes {
    fn notification(&self, _: &str, _: Option<&RawJson<'static>>) {}

    fn refused(&self, method: &str) {
        if !self.traces {
            self.printer
                .note(&format!("the server called `{method}`, which was refused; answer it with --answer"));
        }
    }

    fn report(&self, report: &Report<'_>) {
        // Events of rpc-websockets are not messages, and are printed.
        if !self.traces && !matches!(report, Report::Invalid(_)) {
            self.printer.note(&format!("warning: {report}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_waits_is_bounded_by_its_bytes() {
        let (inlet, mut outlet, lost) = waiting();
        let large = RawJson::new(format!("\"{}\"", "x".repeat(WAITING_BYTES / 2))).expect("JSON");
        for _ in 0..5 {
            inlet.put(&large);
        }
        assert_eq!(lost.load(Ordering::Relaxed), 4);
        assert!(outlet.recv().await.is_some());
        inlet.put(&large);
        assert_eq!(lost.load(Ordering::Relaxed), 4);
        assert_eq!(inlet.bytes.load(Ordering::Relaxed), large.as_str().len());
    }
}
