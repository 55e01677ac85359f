//! What handlers touch while they run: the session, the calls that wait, and what handles wish for.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use sabir_proto::{CallKey, CallOptions, Cause, Config, Refused, RequestKey, Session, Time};

use crate::CallError;
use crate::peer::Peer;
use crate::peer::call::CallSlot;
use crate::peer::commands::{BatchEntry, CallWish, Wish};
use crate::router::observe::{Observed, Side};

/// The part of an engine that is given to handlers while they are polled.
pub(crate) struct Desk {
    pub(crate) session: Session,
    pub(crate) peer: Peer,
    #[cfg(feature = "http")]
    pub(crate) callers: crate::server::http::caller::Callers,
    /// By the index of the call.
    pub(crate) calls: Vec<Option<Arc<CallSlot>>>,
    /// Kept for its memory.
    wishes: Vec<Wish>,
    pub(crate) now: Time,
}

impl Desk {
    pub(crate) fn new(config: Config, peer: Peer) -> Self {
        Desk {
            session: Session::new(config),
            peer,
            #[cfg(feature = "http")]
            callers: Default::default(),
            calls: Vec::new(),
            wishes: Vec::new(),
            now: Time::START,
        }
    }

    /// Carries out what handles wish for.
    #[inline]
    pub(crate) fn carry_out_wishes(&mut self) {
        if self.peer.shared.wishing.load(Ordering::Acquire) {
            self.carry_out_all();
        }
    }

    fn carry_out_all(&mut self) {
        let mut wishes = std::mem::take(&mut self.wishes);
        self.peer.shared.take_wishes(&mut wishes);
        for wish in wishes.drain(..) {
            self.carry_out(wish);
        }
        self.wishes = wishes;
    }

    fn carry_out(&mut self, wish: Wish) {
        match wish {
            Wish::Call { about, call: CallWish { method, params, options, slot } } => {
                if slot.is_over() {
                    return;
                }
                self.session.relate(about);
                let sent = self.session.call_raw(&method, params.as_ref(), &options);
                self.keep(sent, slot);
            }
            Wish::Batch { about, entries } => {
                self.session.relate(about);
                self.send_batch(entries);
            }
            Wish::Notify { about, method, params } => {
                self.session.relate(about);
                if self.session.notify_raw(&method, params.as_ref()).is_ok() {
                    self.tell(&Observed::Notification { side: Side::Ours, method: &method });
                }
            }
            Wish::Cancel(slot) => {
                if let Some(call) = slot.key() {
                    self.session.cancel(call);
                    if let Some(kept) = self.calls.get_mut(call.index()) {
                        *kept = None;
                    }
                }
            }
            Wish::Progress { key, value } => drop(self.session.progress(key, &value)),
            Wish::Id { key, tell } => {
                if let Some(id) = self.session.id(key) {
                    let _ = tell.send(id.into_owned());
                }
            }
            Wish::Speak(dialect) => self.session.set_dialect(dialect),
            Wish::Shutdown(grace) => {
                self.session.shutdown(self.now, grace);
                self.peer.shared.ending.tell();
            }
        }
    }

    /// Tells whoever observes the router.
    #[inline]
    pub(crate) fn tell(&self, event: &Observed<'_>) {
        self.peer.shared.routes.tell(event);
    }

    /// The peer sends no more.
    pub(crate) fn handle_eof(&mut self) {
        self.session.handle_eof(self.now);
        self.peer.shared.ending.tell();
    }

    fn keep(&mut self, sent: Result<CallKey, Refused>, slot: Arc<CallSlot>) {
        match sent {
            Ok(call) => {
                slot.sent(call);
                if self.calls.len() <= call.index() {
                    self.calls.resize_with(call.index() + 1, || None);
                }
                self.calls[call.index()] = Some(slot);
            }
            Err(refused) => slot.end(Err(CallError::Refused(refused))),
        }
    }

    fn send_batch(&mut self, entries: Vec<BatchEntry>) {
        // Another thread may cancel a call at any moment: which of them are in the batch is decided once.
        let mut calls = Vec::new();
        let sent = self.session.batch().and_then(|mut batch| {
            for entry in &entries {
                match entry {
                    BatchEntry::Call(CallWish { method, params, slot, .. }) if !slot.is_over() => {
                        let call = batch.call_raw(method, params.as_ref(), &CallOptions::default())?;
                        calls.push((call, Arc::clone(slot)));
                    }
                    BatchEntry::Call(_) => {}
                    BatchEntry::Notify { method, params } => batch.notify_raw(method, params.as_ref())?,
                }
            }
            batch.send()
        });
        match sent {
            Ok(()) => calls.into_iter().for_each(|(call, slot)| self.keep(Ok(call), slot)),
            Err(refused) => end_batch(entries, &CallError::Refused(refused)),
        }
    }

    /// A handler has finished. What it sent before goes out before its answer. A notification has none.
    #[inline]
    pub(crate) fn answer<R>(
        &mut self,
        key: Option<RequestKey>,
        outcome: crate::Result<R>,
        write: impl FnOnce(&mut Session, RequestKey, &R) -> bool,
    ) {
        self.carry_out_wishes();
        if let Some(key) = key {
            match outcome {
                Ok(result) => write(&mut self.session, key, &result),
                Err(error) => self.session.reply_error(key, &error),
            };
            self.finished(key);
        }
    }

    /// A request is answered: its hooks run.
    #[inline]
    pub(crate) fn finished(&mut self, key: RequestKey) {
        if self.peer.shared.hooked.load(Ordering::Acquire) {
            self.run_hooks(key);
        }
    }

    #[cold]
    fn run_hooks(&self, key: RequestKey) {
        for hook in self.peer.shared.finished(key) {
            hook(self.peer.clone());
        }
    }

    /// Nothing more will happen: whoever waits is told why.
    pub(crate) fn close(&mut self, cause: Cause) -> Cause {
        for wish in self.peer.shared.close(&cause) {
            let ended = CallError::Closed(cause.clone());
            match wish {
                Wish::Call { call: CallWish { slot, .. }, .. } => slot.end(Err(ended)),
                Wish::Batch { entries, .. } => end_batch(entries, &ended),
                _ => {}
            }
        }
        for slot in self.calls.drain(..).flatten() {
            slot.end(Err(CallError::Closed(cause.clone())));
        }
        cause
    }
}

/// Nothing of the batch went out, or will.
fn end_batch(entries: Vec<BatchEntry>, error: &CallError) {
    for entry in entries {
        if let BatchEntry::Call(CallWish { slot, .. }) = entry {
            slot.end(Err(error.clone()));
        }
    }
}
