//! Plays one side of a recording: sends what that side has sent, when what came before it has come again, and writes down
//! what the other side says now.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use sabir_model::capture::Direction;
use sabir_proto::Id;
use tokio::time::Instant;

use super::link::{Event, Links};
use super::outcome::{End, Outcome};
use super::plan::{Need, Plan, requests};
use super::record::Record;
use crate::exit::Failure;
use crate::recorded::compare::Compare;
use crate::recorded::handles::Handles;
use crate::recorded::ignore::Ignore;
use crate::recorded::rewrite::{rewritten, with_id, with_process};
use crate::recorded::{PartKind, Place, Recording, call_name, split};

/// How long what need not come is waited for.
const GRACE: Duration = Duration::from_millis(500);

/// Recorded requests that an incoming one is compared with, to find the nearest.
const CANDIDATES: usize = 32;

/// How a recording is played.
pub(crate) struct Options {
    /// How many times as fast as recorded; `None` is as fast as answers come.
    pub(crate) speed: Option<f64>,
    /// How long an answer may take.
    pub(crate) timeout: Duration,
    pub(crate) ignore: Ignore,
    /// How long to wait for more in the end.
    pub(crate) linger: Duration,
}

/// A replay at work.
pub(super) struct Engine<'r> {
    recording: &'r Recording,
    own: Direction,
    options: &'r Options,
    plan: Plan,
    handles: Handles,
    outcome: Outcome,
    record: Record,
    /// Own requests without an answer.
    open: HashMap<(u64, Id<'static>), (usize, Instant)>,
    /// The ids of now, of the requests that were recorded.
    ids: HashMap<Place, (u64, Id<'static>)>,
    /// Own answers whose requests have come, and when they are due.
    ready: BTreeMap<usize, Instant>,
    /// Connections in use, by the last message that was recorded on them.
    in_use: BTreeMap<usize, u64>,
    last: HashMap<u64, usize>,
    start: Instant,
    /// When something was last sent or came.
    active_at: Instant,
    /// When something was last sent, or came that was waited for. A peer that talks of other things moves only the other.
    advanced_at: Instant,
    /// Since when a message waits for what need not come.
    waiting: Option<(usize, Instant)>,
    /// A connection was closed too early.
    closed: Option<End>,
    /// Nobody can come any more.
    is_over: bool,
}

impl<'r> Engine<'r> {
    pub(super) fn new(
        recording: &'r Recording,
        own: Direction,
        options: &'r Options,
        record: Record,
    ) -> Self {
        let plan = Plan::new(recording, own);
        let outcome = Outcome::new(&plan.calls, &plan.asked);
        let last = recording.messages.iter().enumerate().map(|(at, sent)| (sent.connection, at)).collect();
        let now = Instant::now();
        Engine {
            recording,
            own,
            options,
            plan,
            handles: Handles::of(recording, own),
            outcome,
            record,
            open: HashMap::new(),
            ids: HashMap::new(),
            ready: BTreeMap::new(),
            in_use: BTreeMap::new(),
            last,
            start: now,
            active_at: now,
            advanced_at: now,
            waiting: None,
            closed: None,
            is_over: false,
        }
    }

    /// Plays to the end.
    pub(super) async fn run(mut self, mut links: Links) -> Result<(Outcome, Handles), Failure> {
        let end = loop {
            let wake = match self.advance(&mut links).await? {
                Next::End(end) => break end,
                Next::Wait(until) => until,
            };
            tokio::select! {
                event = links.next() => match event {
                    Some(event) => self.event(event, &mut links).await?,
                    None => break End::Closed(None),
                },
                () = tokio::time::sleep_until(wake) => {}
            }
        };
        self.outcome.end = end;
        links.close().await;
        self.record.end()?;
        Ok((self.outcome, self.handles))
    }

    /// Sends all that can be sent now.
    async fn advance(&mut self, links: &mut Links) -> Result<Next, Failure> {
        loop {
            let now = Instant::now();
            let first = self.plan.active.front().copied();
            // A client answers at once. What a server sends before an answer must come before it.
            let in_order =
                |message: usize| self.own == Direction::ToServer || first.is_none_or(|first| message < first);
            let is_due = |(message, due): &(&usize, &Instant)| in_order(**message) && **due <= now;
            if let Some(message) = self.ready.iter().find(is_due).map(|(message, _)| *message) {
                self.ready.remove(&message);
                self.send(message, links).await?;
                continue;
            }
            let answer_due =
                self.ready.iter().filter(|(message, _)| in_order(**message)).map(|(_, due)| *due);
            let wait = answer_due.min();
            let wait = |until: Instant| Next::Wait(wait.map_or(until, |due| due.min(until)));
            let before = first.unwrap_or(usize::MAX);
            let blocked = match self.plan.blocked(before) {
                // It could be the answer itself that is waited for.
                Some(Need::Hard) if !self.ready.is_empty() => Some((Need::Soft, Need::Hard)),
                Some(need) => Some((need, need)),
                None => None,
            };
            match (blocked, first) {
                (None, None) if !self.ready.is_empty() => return Ok(wait(now + GRACE)),
                (None, None) => {
                    // A client may still ask for what it did not ask for before.
                    let until = (self.active_at + self.options.linger)
                        .min(self.advanced_at + self.options.timeout.max(self.options.linger));
                    if self.is_over || until <= now {
                        return Ok(Next::End(self.closed.take().unwrap_or(End::Done)));
                    }
                    return Ok(wait(until));
                }
                (None, Some(message)) => {
                    let due = self.due(message);
                    if due > now {
                        return Ok(wait(due));
                    }
                    self.plan.active.pop_front();
                    self.send(message, links).await?;
                }
                (Some((Need::Hard, _)), _) => {
                    let until = self.advanced_at + self.options.timeout;
                    if until <= now {
                        return Ok(Next::End(End::TimedOut));
                    }
                    return Ok(wait(until));
                }
                (Some((Need::Soft, all)), _) => {
                    let since = match self.waiting {
                        Some((message, since)) if message == before => since.max(self.active_at),
                        _ => now,
                    };
                    self.waiting = Some((before, since));
                    let until = (since + GRACE).min(self.advanced_at + self.options.timeout.max(GRACE));
                    if until > now {
                        return Ok(wait(until));
                    }
                    self.plan.give_up(before, all);
                }
            }
        }
    }

    /// When a message is due at the recorded pace.
    fn due(&self, message: usize) -> Instant {
        let Some(speed) = self.options.speed else { return self.start };
        let first = self.recording.messages.iter().find_map(|sent| sent.time).unwrap_or_default();
        let time = self.recording.messages[message].time.unwrap_or_default().saturating_sub(first);
        self.start + scaled(time, speed)
    }

    async fn send(&mut self, message: usize, links: &mut Links) -> Result<(), Failure> {
        let recording = self.recording;
        let sent = &recording.messages[message];
        let now = Instant::now();
        while let Some((last, connection)) = self.in_use.first_key_value().map(|(last, of)| (*last, *of)) {
            if last >= message {
                break;
            }
            self.in_use.remove(&last);
            links.finish(connection);
        }
        if let Some(last) = self.last.get(&sent.connection) {
            self.in_use.insert(*last, sent.connection);
        }
        let text = self.composed(message);
        for (place, id) in requests(recording, message) {
            if let Some(at) = self.plan.call_at.get(&place) {
                self.outcome.calls[*at].sent = true;
                self.open.insert((sent.connection, id), (*at, now));
            }
        }
        (self.active_at, self.advanced_at) = (now, now);
        self.record.message(self.own, sent.connection, &text);
        links.send(sent.connection, text).await
    }

    /// A recorded message as it is sent now.
    fn composed(&self, message: usize) -> String {
        let recording = self.recording;
        let sent = &recording.messages[message];
        let (mut out, mut done) = (String::with_capacity(sent.text.len()), 0);
        for (at, part) in sent.parts.iter().enumerate() {
            let place = Place { message, part: at };
            let text = recording.text(place);
            let text = match part.kind {
                PartKind::Invalid => Cow::Borrowed(text),
                PartKind::Result | PartKind::Error => {
                    let text = rewritten(text, &self.handles);
                    match self.ids.get(&place) {
                        Some((_, id)) => Cow::Owned(with_id(&text, id).into_owned()),
                        None => text,
                    }
                }
                PartKind::Request | PartKind::Notification => rewritten(text, &self.handles),
            };
            let text = match part.method.as_deref() {
                Some("initialize") if self.own == Direction::ToServer => {
                    Cow::Owned(with_process(&text, std::process::id()).into_owned())
                }
                _ => text,
            };
            out.push_str(&sent.text[done..part.range.start]);
            out.push_str(&text);
            done = part.range.end;
        }
        out.push_str(&sent.text[done..]);
        out
    }

    async fn event(&mut self, event: Event, links: &mut Links) -> Result<(), Failure> {
        match event {
            Event::Message { connection, text } => {
                self.active_at = Instant::now();
                self.record.message(self.own.reversed(), connection.unwrap_or(1), &text);
                for part in split(&text) {
                    let one = &text[part.range.clone()];
                    match (part.kind, part.id) {
                        (PartKind::Request, Some(id)) => self.asked(connection, id, one, links).await?,
                        (PartKind::Notification, _) => self.told(one, part.method.as_deref().unwrap_or("")),
                        (PartKind::Result | PartKind::Error, Some(id)) => {
                            self.answered(connection, &id, one);
                        }
                        _ => self.outcome.invalid(one),
                    }
                }
            }
            Event::NoAnswer { connection, text, lost } => {
                self.unanswered(connection, &text, &lost.to_string())
            }
            Event::TooLarge { connection, text, limit } => {
                let why = format!("the answer is larger than {limit} bytes (--max-size)");
                match (connection, text) {
                    (Some(connection), Some(text)) => self.unanswered(connection, &text, &why),
                    _ => self.outcome.invalid(&why),
                }
            }
            Event::Ended { connection, why } => {
                let lost: Vec<_> = self
                    .open
                    .keys()
                    .filter(|(of, _)| connection.is_none_or(|connection| connection == *of))
                    .cloned()
                    .collect();
                let is_early = !lost.is_empty()
                    || self.plan.active.iter().any(|message| {
                        connection.is_none_or(|of| self.recording.messages[*message].connection == of)
                    });
                // A client may end when it likes; the report tells what it has not asked.
                if is_early && self.own == Direction::ToServer {
                    self.closed = Some(End::Closed(why));
                }
                self.is_over |= connection.is_none();
                self.open.retain(|key, _| !lost.contains(key));
                self.plan.ended(self.recording, connection);
            }
        }
        Ok(())
    }

    /// What was waited for has come.
    fn met(&mut self, place: Place) {
        self.advanced_at = Instant::now();
        self.plan.met(place);
    }

    /// The peer answers a request of ours.
    fn answered(&mut self, connection: Option<u64>, id: &Id<'static>, text: &str) {
        let key = match connection {
            Some(connection) => (connection, id.clone()),
            None => match self.open.keys().find(|(_, of)| of == id) {
                Some(key) => key.clone(),
                None => return self.stray(text),
            },
        };
        let Some((at, since)) = self.open.remove(&key) else {
            return self.stray(text);
        };
        let call = self.plan.calls[at].clone();
        if let Some(answer) = call.answer {
            self.met(answer);
            let method = self.recording.part(call.request).method.as_deref().unwrap_or_default();
            self.handles.learn(method, self.recording.text(answer), text);
        }
        let played = &mut self.outcome.calls[at];
        played.took = Some(since.elapsed());
        // Whether a cancelled call is still answered, and how, is chance. Without a recorded answer there is nothing to
        // compare with.
        let compare = Compare { ignore: &self.options.ignore, handles: &self.handles };
        let answer = call.answer.filter(|_| !call.cancelled);
        played.differences =
            Some(answer.map_or_else(Vec::new, |was| compare.messages(self.recording.text(was), text)));
    }

    /// The peer answers what was no call.
    fn stray(&mut self, text: &str) {
        if let Some(place) = self.plan.strays.pop_front() {
            self.met(place);
        }
        self.outcome.stray(text);
    }

    /// There will be no answer to what is in this text.
    fn unanswered(&mut self, connection: u64, text: &str, why: &str) {
        let mut is_known = false;
        for part in split(text).into_iter().filter(|part| part.kind == PartKind::Request) {
            let Some(id) = part.id else { continue };
            let Some((at, _)) = self.open.remove(&(connection, id)) else { continue };
            is_known = true;
            if let Some(answer) = self.plan.calls[at].answer {
                self.met(answer);
            }
            self.outcome.calls[at].why = Some(why.to_owned());
        }
        if !is_known {
            self.outcome.invalid(why);
        }
    }

    /// The peer says something.
    fn told(&mut self, text: &str, method: &str) {
        if let Some(next) = self.plan.notifications.get_mut(method).and_then(VecDeque::pop_front) {
            self.met(next);
        }
        self.outcome.told(text);
    }

    /// The peer asks for something.
    async fn asked(
        &mut self,
        connection: Option<u64>,
        id: Id<'static>,
        text: &str,
        links: &mut Links,
    ) -> Result<(), Failure> {
        let Some(at) = self.nearest(connection, text) else {
            self.outcome.unexpected(call_name(text));
            let refusal = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"this was not asked in the recording"}}}}"#
            );
            let connection = connection.unwrap_or(1);
            self.record.message(self.own, connection, &refusal);
            return links.send(connection, refusal).await;
        };
        let call = self.plan.asked[at].clone();
        self.met(call.request);
        let method = self.recording.part(call.request).method.as_deref().unwrap_or_default();
        self.handles.learn(method, self.recording.text(call.request), text);
        let compare = Compare { ignore: &self.options.ignore, handles: &self.handles };
        self.outcome.asked[at].differences = Some(compare.messages(self.recording.text(call.request), text));
        if let Some(answer) = call.answer {
            let of = self.recording.sent(answer).connection;
            self.ids.insert(answer, (of, id));
            let is_last = self.plan.answers.get_mut(&answer.message).is_none_or(|left| {
                *left = left.saturating_sub(1);
                *left == 0
            });
            if is_last && self.plan.answers.remove(&answer.message).is_some() {
                let took = call.took.unwrap_or_default();
                let wait = self.options.speed.map_or(Duration::ZERO, |speed| scaled(took, speed));
                self.ready.insert(answer.message, Instant::now() + wait);
            }
        }
        Ok(())
    }

    /// The recorded request that one of the peer's is most like, which is then taken.
    fn nearest(&mut self, connection: Option<u64>, text: &str) -> Option<usize> {
        let compare = Compare { ignore: &self.options.ignore, handles: &self.handles };
        let (recording, asked) = (self.recording, &self.plan.asked);
        let candidates = self.plan.unasked.get_mut(&call_name(text))?;
        let fits = |at: &usize| {
            connection.is_none_or(|connection| recording.sent(asked[*at].request).connection == connection)
        };
        let likeness = candidates.iter().enumerate().filter(|(_, at)| fits(at)).take(CANDIDATES);
        let (place, _) = likeness
            .map(|(place, at)| (place, compare.messages(recording.text(asked[*at].request), text).len()))
            .min_by_key(|(_, differences)| *differences)?;
        candidates.remove(place)
    }
}

/// What to do next.
enum Next {
    Wait(Instant),
    End(End),
}

/// Nothing is waited for longer, whatever a recording says: clocks have an end.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// A recorded time at another speed.
fn scaled(time: Duration, speed: f64) -> Duration {
    Duration::try_from_secs_f64(time.as_secs_f64() / speed).map_or(LONGEST, |time| time.min(LONGEST))
}
