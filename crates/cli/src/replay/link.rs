//! Connections of a replay: each recorded one has one of its own, which is opened when it is first used.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use sabir::{Framing, Undelivered};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::served::Served;
use crate::check::wire::{Got, Posted, Posts, Wire, WireTarget};
use crate::exit::{Exit, Failure};
use crate::json::compact;
use crate::target::Target;

/// What may wait to be looked at.
const QUEUE: usize = 1024;

/// Connections that are open at the same time.
const MOST: usize = 256;

/// How long the end of a connection may take, and of the program behind it.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(4);

/// What happened on a connection.
pub(super) enum Event {
    /// Something came. Without a number, the connection could be any that was recorded.
    Message { connection: Option<u64>, text: String },
    /// What was sent is not answered.
    NoAnswer { connection: u64, text: String, lost: Undelivered },
    /// A message was skipped because of its size. With the text, it was the answer to that.
    TooLarge { connection: Option<u64>, text: Option<String>, limit: usize },
    /// No more comes, and this may be why.
    Ended { connection: Option<u64>, why: Option<String> },
}

/// All connections.
pub(super) enum Links {
    Client(ClientLinks),
    Served(Served),
}

impl Links {
    pub(super) async fn send(&mut self, connection: u64, text: String) -> Result<(), Failure> {
        match self {
            Links::Client(links) => links.send(connection, text).await,
            Links::Served(served) => {
                served.send(connection, &text).await;
                Ok(())
            }
        }
    }

    /// Nothing more is sent on this connection.
    pub(super) fn finish(&mut self, connection: u64) {
        if let Links::Client(links) = self {
            links.open.remove(&connection);
        }
    }

    pub(super) async fn next(&mut self) -> Option<Event> {
        match self {
            Links::Client(links) => links.events.recv().await,
            Links::Served(served) => served.next().await,
        }
    }

    /// Ends all connections in order.
    pub(super) async fn close(self) {
        match self {
            Links::Client(ClientLinks { open, tasks, events, .. }) => {
                drop(open);
                // Nobody looks at what still comes, so nobody may wait for that.
                drop(events);
                for task in tasks {
                    let _ = tokio::time::timeout(CLOSE_TIMEOUT, task).await;
                }
            }
            Links::Served(served) => served.close().await,
        }
    }
}

/// Connections to a server.
pub(super) struct ClientLinks {
    target: Arc<WireTarget>,
    /// What is sent is bounded by the recording that it comes from.
    open: HashMap<u64, mpsc::UnboundedSender<String>>,
    tasks: Vec<JoinHandle<()>>,
    tell: mpsc::Sender<Event>,
    events: mpsc::Receiver<Event>,
}

impl ClientLinks {
    pub(super) fn new(target: WireTarget) -> Self {
        let (tell, events) = mpsc::channel(QUEUE);
        let target = Arc::new(target);
        ClientLinks { target, open: HashMap::new(), tasks: Vec::new(), tell, events }
    }

    async fn send(&mut self, connection: u64, text: String) -> Result<(), Failure> {
        let text = self.on_the_wire(text);
        if let Some(link) = self.open.get(&connection) {
            // A connection that has ended says so itself.
            let _ = link.send(text);
            return Ok(());
        }
        if self.open.len() == MOST {
            let what = format!("the recording has more than {MOST} connections at the same time");
            return Err(Failure::new(Exit::Error, what));
        }
        let link = self.open(connection).await?;
        let _ = link.send(text);
        self.open.insert(connection, link);
        Ok(())
    }

    /// Where a message is a line, it has no line breaks.
    fn on_the_wire(&self, text: String) -> String {
        let peer = &self.target.peer;
        let is_line = !peer.target.delimits_messages() && peer.framing == Framing::Lines;
        if !is_line || !text.contains(['\n', '\r']) {
            return text;
        }
        match sabir::RawJson::new(&*text) {
            Ok(json) => compact(json.as_str()).into_owned(),
            Err(_) => text.replace(['\n', '\r'], " "),
        }
    }

    async fn open(&mut self, connection: u64) -> Result<mpsc::UnboundedSender<String>, Failure> {
        let (link, texts) = mpsc::unbounded_channel();
        let (target, tell) = (self.target.clone(), self.tell.clone());
        let task = match &target.peer.target {
            Target::Url(url) if url.scheme().is_http() && !target.has_one_stream() => {
                let posts = Posts::open(url, &target).await;
                let posts = posts.map_err(|error| target.peer.unreachable(&error))?;
                tokio::spawn(post(posts, connection, texts, tell))
            }
            _ => {
                let wire = target.open().await?;
                tokio::spawn(stream(wire, target, connection, texts, tell))
            }
        };
        self.tasks.retain(|task| !task.is_finished());
        self.tasks.push(task);
        Ok(link)
    }
}

/// Runs a connection that carries messages both ways.
async fn stream(
    mut wire: Wire,
    target: Arc<WireTarget>,
    connection: u64,
    mut texts: mpsc::UnboundedReceiver<String>,
    tell: mpsc::Sender<Event>,
) {
    let from = Some(connection);
    let ended = loop {
        tokio::select! {
            text = texts.recv() => match text {
                Some(text) => if let Err(error) = wire.send(&text).await {
                    // How the program ended says more than that it does not read.
                    let exit = wire.exit_reason().await;
                    break exit.or_else(|| Some(format!("cannot send: {error}")));
                },
                None => {
                    wire.close().await;
                    return;
                }
            },
            got = wire.next() => {
                let event = match got {
                    Got::Message(text) => {
                        let text = String::from_utf8_lossy(&text).into_owned();
                        Event::Message { connection: from, text }
                    }
                    Got::TooLarge { limit } => Event::TooLarge { connection: from, text: None, limit },
                    Got::Nothing(lost) => Event::NoAnswer { connection, text: String::new(), lost },
                    Got::End => break wire.failure(&target.peer).map(|failure| failure.what),
                };
                if tell.send(event).await.is_err() {
                    wire.close().await;
                    return;
                }
            }
        }
    };
    let why = match ended {
        Some(why) => Some(why),
        None => wire.exit_reason().await,
    };
    let _ = tell.send(Event::Ended { connection: from, why }).await;
    wire.close().await;
}

/// Runs a connection of HTTP.
async fn post(
    posts: Posts,
    connection: u64,
    texts: mpsc::UnboundedReceiver<String>,
    tell: mpsc::Sender<Event>,
) {
    let (told, mut posted) = mpsc::channel(QUEUE);
    let forward = async {
        while let Some(posted) = posted.recv().await {
            let event = match posted {
                Posted::Message(text) => {
                    let text = String::from_utf8_lossy(&text).into_owned();
                    Event::Message { connection: Some(connection), text }
                }
                Posted::NoAnswer { text, lost } => Event::NoAnswer { connection, text, lost },
                Posted::TooLarge { text, limit } => {
                    Event::TooLarge { connection: Some(connection), text: Some(text), limit }
                }
            };
            if tell.send(event).await.is_err() {
                return;
            }
        }
    };
    tokio::join!(posts.run(texts, told), forward);
}
