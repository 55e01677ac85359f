//! What a connection shares with the handles to it: commands that wait to be executed, and wake-ups.

use std::any::Any;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::task::{Wake, Waker};
use std::time::Duration;

use sabir_proto::{CallOptions, Cause, Dialect, Id, NotificationStyle, RequestKey, SendError};
use tokio::sync::{Notify, oneshot, watch};

use crate::peer::Peer;
use crate::peer::call_slot::CallSlot;
use crate::peer::extensions::Extensions;
use crate::peer::subscription::{SubscribeCommand, SubscriptionSlot};
use crate::proxy::subscriptions::Relays;
use crate::router::Routes;
use crate::router::subscription::InsteadOfReply;
use crate::sync::flags::{Flag, Queued};
use crate::sync::lock;
use crate::transport::network::Network;
use crate::{CallError, RawJson};

/// Bytes of queued commands from which on senders have to wait.
const ENOUGH: usize = 256 * 1024;

/// Something that a handle wants from its connection.
pub(crate) enum Command {
    Call {
        on_behalf_of: OnBehalfOf,
        /// What it does if there is no room for it.
        room: Room,
        call: CallCommand,
    },
    Batch {
        on_behalf_of: OnBehalfOf,
        entries: Vec<BatchEntry>,
    },
    Notify {
        on_behalf_of: OnBehalfOf,
        method: Cow<'static, str>,
        params: Option<RawJson<'static>>,
    },
    Cancel {
        slot: Arc<CallSlot>,
        words: Option<Box<CancelWords>>,
    },
    Subscribe {
        on_behalf_of: OnBehalfOf,
        subscribe: Box<SubscribeCommand>,
    },
    Unsubscribe(Arc<SubscriptionSlot>),
    /// A consumer for whose sake nothing was read has room again.
    Resume(Arc<SubscriptionSlot>),
    /// A new timeout for a call that was sent already.
    Expire {
        slot: Arc<CallSlot>,
        options: Box<CallOptions<'static>>,
    },
    /// Something was left for the end of a request, by somebody who cannot know whether it is open still.
    Settle(RequestKey),
    Progress {
        key: RequestKey,
        value: RawJson<'static>,
    },
    /// Progress of the call that passes a request on.
    RelayProgress {
        key: RequestKey,
        params: RawJson<'static>,
    },
    /// Which id a request has, which only the session knows.
    Id {
        key: RequestKey,
        tell: oneshot::Sender<Id<'static>>,
    },
    SetDialect(Dialect),
    Shutdown(Duration),
}

/// What becomes of a call for which there is no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// It is refused.
    Refused,
    /// It waits for its turn.
    Waits,
    /// It waits until the peer reads, and is refused if too many calls are open: those may be waiting for this one.
    WaitsToSend,
}

impl Room {
    /// Whether a call waits that was refused so.
    pub(crate) fn waits_after(self, refused: &SendError) -> bool {
        match refused {
            SendError::Congested => self != Room::Refused,
            SendError::TooManyCalls => self == Room::Waits,
            _ => false,
        }
    }
}

/// What somebody who cancels says, to be passed on.
#[derive(Debug, Clone)]
pub(crate) struct CancelWords {
    pub(crate) style: Option<NotificationStyle>,
    pub(crate) reason: Option<String>,
}

/// The request on whose behalf a command is executed.
pub(crate) type OnBehalfOf = Option<RequestKey>;

/// A call to be sent. Wherever it is dropped before that, its caller is told.
pub(crate) struct CallCommand {
    pub(crate) method: Cow<'static, str>,
    pub(crate) params: Option<RawJson<'static>>,
    pub(crate) slot: Arc<CallSlot>,
    /// Its slot knows what became of it.
    pub(crate) is_settled: bool,
}

impl Drop for CallCommand {
    fn drop(&mut self) {
        if self.is_settled {
            return;
        }
        self.slot.end_unsent(&CallError::NotSent(SendError::Unsent));
    }
}

pub(crate) enum BatchEntry {
    Call(CallCommand),
    Notify { method: Cow<'static, str>, params: Option<RawJson<'static>> },
}

/// Runs once its request is answered.
pub(crate) type AfterReply = Box<dyn FnOnce(Peer) + Send>;

#[derive(Default)]
pub(crate) struct Shared {
    /// What this side offers.
    pub(crate) routes: Arc<Routes>,
    state: Mutex<State>,
    /// What handlers keep for the connection, one of each type.
    extensions: Extensions,
    /// Who the caller is, where the transport itself does not tell.
    pub(crate) identity: OnceLock<Arc<dyn Any + Send + Sync>>,
    /// Set while there are commands or hooks, so that the connection need not lock to see that there are none.
    pub(crate) has_commands: Flag,
    pub(crate) has_hooks: Flag,
    waker: Mutex<Option<Waker>>,
    /// A message of the peer waits for another connection: no more is read than there is room for.
    pub(crate) holds_input: Flag,
    /// Handlers that run beside the connection, on a runtime with several threads.
    pub(crate) spawned: AtomicUsize,
    /// Tasks that can go on.
    ready: Mutex<Vec<usize>>,
    has_ready: Flag,
    /// Senders wait here for room.
    pub(crate) room: Notify,
    /// Becomes true once the process that was started for the connection has ended.
    pub(crate) process: OnceLock<watch::Receiver<bool>>,
    /// The way to the server, where it is known.
    pub(crate) network: OnceLock<Arc<Network>>,
    /// Told once the connection is about to end.
    pub(crate) closing: EventFlag,
    /// The headers of each message, where they have any.
    #[cfg(feature = "http")]
    pub(crate) headers: OnceLock<Arc<crate::client::http::Headers>>,
    /// Told once the connection has ended.
    pub(crate) over: Notify,
    /// The peer cannot be told anything but the answers to its requests.
    pub(crate) one_way: bool,
    /// Subscriptions that were made through a proxy, if there were any.
    pub(crate) relays: OnceLock<Box<Relays>>,
}

#[derive(Default)]
struct State {
    commands: Vec<Command>,
    bytes: usize,
    congested: bool,
    cause: Option<Cause>,
    /// Requests whose handlers deal with cancels themselves.
    takeovers: HashMap<RequestKey, Arc<EventFlag>>,
    hooks: HashMap<RequestKey, Vec<AfterReply>>,
    /// Requests that are not answered with the result of their handlers.
    otherwise: HashMap<RequestKey, InsteadOfReply>,
}

/// Something that happens once, for those who wait for it: that a request was cancelled, or that the
/// connection is about to end.
#[derive(Default)]
pub(crate) struct EventFlag {
    flag: AtomicBool,
    told: Notify,
}

impl Shared {
    pub(crate) fn new(routes: Arc<Routes>, one_way: bool) -> Self {
        Shared { routes, one_way, ..Shared::default() }
    }

    pub(crate) fn relays(&self) -> &Relays {
        self.relays.get_or_init(Box::default)
    }

    /// Queues a command for the connection, unless that has ended.
    pub(crate) fn command(&self, command: Command) -> Result<(), CallError> {
        let mut state = lock(&self.state);
        if let Some(cause) = &state.cause {
            let closed = not_sent(cause);
            drop(state);
            command.refuse(&closed);
            return Err(closed);
        }
        state.bytes += command.size();
        state.commands.push(command);
        drop(state);
        if self.has_commands.raise() {
            self.wake();
        }
        Ok(())
    }

    /// The same, once there is room. What a handler sends faster than the peer reads makes it wait.
    pub(crate) async fn send_when_ready(&self, command: Command) -> Result<(), SendError> {
        loop {
            let room = self.room.notified();
            let mut room = std::pin::pin!(room);
            room.as_mut().enable();
            if !self.is_full() {
                break;
            }
            room.await;
        }
        self.notification(command)
    }

    /// Queues what has no answer.
    pub(crate) fn notification(&self, command: Command) -> Result<(), SendError> {
        self.command(command).map_err(|refused| match refused {
            CallError::NotSent(why) => why,
            _ => SendError::Closed(Cause::Ended),
        })
    }

    pub(crate) fn is_full(&self) -> bool {
        let state = lock(&self.state);
        state.cause.is_none() && (state.congested || state.bytes > ENOUGH)
    }

    /// Takes all commands, leaving `into`, which is empty, in their place.
    pub(crate) fn take_commands(&self, into: &mut Vec<Command>) {
        self.has_commands.lower();
        let mut state = lock(&self.state);
        std::mem::swap(&mut state.commands, into);
        state.bytes = 0;
        drop(state);
        self.room.notify_waiters();
    }

    pub(crate) fn set_congested(&self, congested: bool) {
        lock(&self.state).congested = congested;
        if !congested {
            self.room.notify_waiters();
        }
    }

    /// The connection's own value of this type.
    pub(crate) fn extension<T: Any + Send + Sync + Default>(&self) -> Arc<T> {
        self.extensions.get()
    }

    pub(crate) fn cause(&self) -> Option<Cause> {
        lock(&self.state).cause.clone()
    }

    /// The connection has ended. Returns the commands that will not be executed.
    pub(crate) fn close(&self, cause: &Cause) -> Vec<Command> {
        let mut state = lock(&self.state);
        state.cause = Some(cause.clone());
        let commands = std::mem::take(&mut state.commands);
        let takeovers = std::mem::take(&mut state.takeovers);
        // Dropped outside of the lock: they may hold anything.
        let hooks = std::mem::take(&mut state.hooks);
        let otherwise = std::mem::take(&mut state.otherwise);
        drop(state);
        drop((hooks, otherwise));
        takeovers.values().for_each(|cancelled| cancelled.tell());
        self.closing.tell();
        self.room.notify_waiters();
        self.over.notify_waiters();
        if let Some(relays) = self.relays.get() {
            relays.close(self, cause);
        }
        commands
    }

    /// From now on the handler of this request deals with cancels itself.
    pub(crate) fn take_over(&self, key: RequestKey) -> Arc<EventFlag> {
        let mut state = lock(&self.state);
        if state.cause.is_some() {
            let over = Arc::<EventFlag>::default();
            over.tell();
            return over;
        }
        let cancelled = Arc::clone(state.takeovers.entry(key).or_default());
        self.left_for(key, state);
        cancelled
    }

    /// Something was left for the end of a request. Whoever leaves it cannot know whether the request is still open:
    /// a context may outlive its call, and be used by the handler of another one. So the connection is asked to look,
    /// in the same step, and there is never something left for a request that is over.
    ///
    /// The flag changes under the lock alone, so that it is never clear while there is something.
    fn left_for(&self, key: RequestKey, mut state: MutexGuard<'_, State>) {
        self.has_hooks.raise();
        let settle = Command::Settle(key);
        state.bytes += settle.size();
        state.commands.push(settle);
        let wakes = self.has_commands.raise();
        drop(state);
        if wakes {
            self.wake();
        }
    }

    /// Tells the handler that its request was cancelled. Whether it deals with that itself.
    pub(crate) fn tell_cancelled(&self, key: RequestKey) -> bool {
        match lock(&self.state).takeovers.get(&key) {
            Some(cancelled) => {
                cancelled.tell();
                true
            }
            None => false,
        }
    }

    /// Runs `hook` behind the answer to this request, unless the connection ends before.
    pub(crate) fn hook(&self, key: RequestKey, hook: AfterReply) {
        let mut state = lock(&self.state);
        if state.cause.is_some() {
            return;
        }
        state.hooks.entry(key).or_default().push(hook);
        self.left_for(key, state);
    }

    /// Does something else with this request than to answer it with the result of its handler.
    pub(crate) fn reply_otherwise(&self, key: RequestKey, instead: InsteadOfReply) {
        let mut state = lock(&self.state);
        let before = match state.cause {
            Some(_) => Some(instead),
            None => {
                let before = state.otherwise.insert(key, instead);
                self.left_for(key, state);
                before
            }
        };
        // Dropped outside of the lock: it may hold anything.
        drop(before);
    }

    /// What is to be done in place of the answer to this request, if anything is.
    pub(crate) fn take_otherwise(&self, key: RequestKey) -> Option<InsteadOfReply> {
        lock(&self.state).otherwise.remove(&key)
    }

    /// A request is over. What is to be run now.
    pub(crate) fn finished(&self, key: RequestKey) -> Vec<AfterReply> {
        let mut state = lock(&self.state);
        state.takeovers.remove(&key);
        let hooks = state.hooks.remove(&key).unwrap_or_default();
        let otherwise = state.otherwise.remove(&key);
        if state.hooks.is_empty() && state.takeovers.is_empty() && state.otherwise.is_empty() {
            self.has_hooks.lower();
        }
        drop(state);
        drop(otherwise);
        hooks
    }

    /// Whether nothing is left for requests. What the connection has not looked at yet does not count.
    #[cfg(debug_assertions)]
    pub(crate) fn has_no_leftovers(&self) -> bool {
        let state = lock(&self.state);
        !state.commands.is_empty()
            || (state.takeovers.is_empty() && state.hooks.is_empty() && state.otherwise.is_empty())
    }

    pub(crate) fn register(&self, waker: &Waker) {
        let mut current = lock(&self.waker);
        match &mut *current {
            Some(current) => current.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
    }

    fn wake(&self) {
        if let Some(waker) = &*lock(&self.waker) {
            waker.wake_by_ref();
        }
    }

    /// Whether a task can go on while spawned handlers are still at work.
    pub(crate) fn is_gathering(&self) -> bool {
        self.spawned.load(Ordering::Relaxed) > 0 && self.has_ready.is_up()
    }

    /// Whether handles have left something to do. To be asked behind their number: what they did before they were dropped is
    /// seen then.
    pub(crate) fn has_work(&self) -> bool {
        fence(Ordering::Acquire);
        self.has_commands.is_up() || self.has_ready.is_up()
    }

    pub(crate) fn take_ready(&self, into: &mut Vec<usize>) {
        if self.has_ready.is_up() {
            self.has_ready.lower();
            std::mem::swap(&mut *lock(&self.ready), into);
        }
    }
}

impl EventFlag {
    #[cfg(debug_assertions)]
    pub(crate) fn is_told(&self) -> bool {
        self.flag.load(Ordering::Acquire)
    }

    pub(crate) fn tell(&self) {
        self.flag.store(true, Ordering::Release);
        self.told.notify_waiters();
    }

    pub(crate) async fn wait(&self) {
        loop {
            let told = self.told.notified();
            let mut told = std::pin::pin!(told);
            told.as_mut().enable();
            if self.flag.load(Ordering::Acquire) {
                return;
            }
            told.await;
        }
    }
}

impl Command {
    /// It will not be executed: ends what waits for it with the reason.
    pub(crate) fn refuse(&self, why: &CallError) {
        match self {
            Command::Call { call, .. } => call.slot.end_unsent(why),
            Command::Batch { entries, .. } => end_batch(entries, why),
            Command::Subscribe { subscribe, .. } => subscribe.slot.closed(why),
            Command::Unsubscribe(slot) => slot.closed(why),
            _ => {}
        }
    }

    fn size(&self) -> usize {
        let text = |params: &Option<RawJson<'static>>| params.as_ref().map_or(0, |p| p.as_str().len());
        64 + match self {
            Command::Call { call, .. } => text(&call.params),
            Command::Notify { params, .. } => text(params),
            Command::Subscribe { subscribe, .. } => text(&subscribe.params),
            Command::Progress { value: text, .. } | Command::RelayProgress { params: text, .. } => {
                text.as_str().len()
            }
            Command::Batch { entries, .. } => {
                let params = entries.iter().map(|entry| match entry {
                    BatchEntry::Call(CallCommand { params, .. }) | BatchEntry::Notify { params, .. } => {
                        params
                    }
                });
                params.map(|params| 64 + text(params)).sum()
            }
            Command::Cancel { .. }
            | Command::Unsubscribe(_)
            | Command::Resume(_)
            | Command::Expire { .. }
            | Command::Settle(_)
            | Command::Id { .. }
            | Command::SetDialect(_)
            | Command::Shutdown(_) => 0,
        }
    }
}

/// What becomes of a call that came after the end of its connection, or waited in a queue until then.
pub(crate) fn not_sent(cause: &Cause) -> CallError {
    CallError::NotSent(SendError::Closed(cause.clone()))
}

/// Nothing of the batch went out, or will.
pub(crate) fn end_batch(entries: &[BatchEntry], error: &CallError) {
    for entry in entries {
        if let BatchEntry::Call(call) = entry {
            call.slot.end_unsent(error);
        }
    }
}

/// Wakes one task of a connection. One for each slot, used again and again.
pub(crate) struct TaskWaker {
    pub(crate) index: usize,
    pub(crate) shared: Arc<Shared>,
    /// Already among the ready ones.
    pub(crate) queued: Queued,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.queued.enter() {
            lock(&self.shared.ready).push(self.index);
            if self.shared.has_ready.raise() {
                self.shared.wake();
            }
        }
    }
}
