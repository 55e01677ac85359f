//! What is refused as a whole: messages of the peer that are too large, batches whose errors would take too much,
//! answers that are too long, and messages of ours that the peer refuses without an id.

use crate::frame::{FrameFault, message_start};
use crate::message::decode::Entry;
use crate::message::error::{ErrorCode, ErrorObject};
use crate::message::id::Id;
use crate::message::{Fault, Invalid};
use crate::session::event::{CallError, CallKey, Event, Undelivered};
use crate::session::inbound::{Next, overloaded};
use crate::session::oversize::Oversize;
use crate::session::report::Report;
use crate::session::{Core, Role};

/// What an error without data takes, about.
pub(crate) const SMALL_ERROR: usize = 96;

/// What is wrong with the entries of one batch is reported so many times.
pub(crate) const REPORTED: usize = 100;

impl Core {
    /// A message was skipped for its size; `start` is how it begins. A request is refused with its id, where that
    /// is known. The call that it answers ends, where that is known, or where no other call could be meant.
    #[cold]
    pub(crate) fn too_large(&mut self, start: &[u8], limit: usize) -> Next<'static> {
        let fault = FrameFault::TooLarge { limit };
        let refusal = ErrorObject::because(ErrorCode::MESSAGE_TOO_LARGE, fault);
        let calls = match Oversize::of(start) {
            // What looks like a response is never answered.
            Oversize::Answer { id, in_array } => self.take_answered(&id, in_array),
            Oversize::Asks(id) => {
                let id = self.answerable(id.as_ref());
                self.reply_unreadable(id, &refusal);
                Vec::new()
            }
            // It may be an answer, or a request whose sender waits for one.
            Oversize::Unknown => {
                self.reply_unreadable("null", &refusal);
                self.calls.take_one_message()
            }
        };
        if calls.is_empty() {
            return Next::Event(Event::Report(Report::Frame(fault)));
        }
        for call in calls {
            self.end_by_guess(call, CallError::Undelivered(Undelivered::too_large(limit)));
        }
        Next::Again
    }

    /// Whether the driver has memory for so many more bytes of answers.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        !self.overloaded && self.outbox.load() + self.gathering.bytes() + bytes <= self.room
    }

    /// Keeps an event of a batch. Nobody reads thousands of reports, and each takes more memory than its entry.
    pub(crate) fn push_batch_event(&mut self, event: Event<'_>, reports: &mut usize) {
        if let Event::Report(_) = event {
            *reports += 1;
            if *reports > REPORTED {
                return;
            }
        }
        self.pending_events.push_back(event.into_owned());
    }

    /// Whether errors to invalid messages would pile up behind what the peer leaves unread. An entry of two bytes
    /// would have one of forty times its size. A peer that has read everything gets an error for each.
    pub(crate) fn is_too_much_junk(&self, entries: &[Entry<'_>]) -> bool {
        let unread = self.outbox.load() + self.gathering.bytes();
        let is_junk = |entry: &&Entry<'_>| matches!(entry, Err(Invalid { response: false, .. }));
        let errors = || entries.iter().filter(is_junk).count() * SMALL_ERROR;
        // A batch without any has nothing to be refused for, however much is unread: it may hold our answers.
        let too_many = |errors: usize| errors > 0 && unread + errors > self.limits.high_water;
        unread > 0 && self.role == Role::Server && too_many(entries.len() * SMALL_ERROR) && too_many(errors())
    }

    /// One error for a whole batch.
    #[cold]
    pub(crate) fn refuse_batch(&mut self) {
        self.send_error("null", &overloaded(), None);
        self.pending_events.push_back(Event::Report(Report::Overloaded(Id::NULL)));
    }

    /// An error that says what is wrong, unless enough of its batch have done so.
    pub(crate) fn error_in(
        &mut self,
        batch: Option<u32>,
        code: ErrorCode,
        explain: impl FnOnce() -> ErrorObject<'static>,
    ) -> ErrorObject<'static> {
        match batch {
            Some(batch) if !self.gathering.explains_next(batch) => ErrorObject::standard(code),
            _ => explain(),
        }
    }

    /// Takes out the call with this id, or its whole batch: the answer to that comes in one piece.
    fn take_answered(&mut self, id: &Id<'_>, whole_batch: bool) -> Vec<CallKey> {
        let Some(id) = self.number_of(id) else { return Vec::new() };
        if let Some(batch) = self.calls.batch_of(id).filter(|_| whole_batch) {
            return self.calls.take_batch(batch);
        }
        let Some((call, _)) = self.calls.find(id) else { return Vec::new() };
        self.calls.remove(call);
        vec![call]
    }

    /// An array of answers with more entries than any batch of ours. The one that it answers ends, where that is
    /// known.
    #[cold]
    pub(crate) fn long_answer<'i>(&mut self, body: &'i [u8], invalid: Invalid<'i>) -> Next<'i> {
        let calls = match Oversize::of(message_start(body, body.len())) {
            Oversize::Answer { id, in_array } => self.take_answered(&id, in_array),
            _ => Vec::new(),
        };
        if calls.is_empty() {
            return self.single(Err(invalid));
        }
        for call in calls {
            let outcome = Err(CallError::Malformed(invalid.fault));
            self.pending_events.push_back(Event::Reply { call, outcome });
        }
        self.outbox.settle(self.incoming);
        Next::Again
    }

    /// An error without an id: the peer could not read the id of something that we sent. If only one message of
    /// ours waits for an answer, it must be this one, and its calls end with the error. If not, the error is
    /// reported.
    ///
    /// By the specification nothing but a request is answered. Some peers answer notifications too, without an id
    /// and mostly with "method not found": once we have sent one, only an error counts that is about a message as
    /// a whole. An error that is about batches means the only open batch, whatever else is open.
    #[cold]
    pub(crate) fn refused(&mut self, error: ErrorObject<'static>) -> Option<Event<'static>> {
        let calls = match error.code {
            code if code.refuses_batch() => self.calls.take_one_batch(),
            code if code.refuses_message() || !self.notified => self.calls.take_one_message(),
            _ => Vec::new(),
        };
        if calls.is_empty() {
            return Some(Event::Report(Report::PeerError(error)));
        }
        for call in calls {
            self.end_by_guess(call, CallError::Error(error.clone()));
        }
        None
    }

    /// Ends a call that an error without its id seems to mean. Its response may come all the same: what it subscribes to
    /// is unsubscribed from then.
    fn end_by_guess(&mut self, call: CallKey, error: CallError) {
        let event = match self.abandon_subscribing(call) {
            Some(subscription) => Event::Subscribed { subscription, outcome: Err(error) },
            None => Event::Reply { call, outcome: Err(error) },
        };
        self.pending_events.push_back(event);
    }
}

/// Whether it is an array of answers with too many entries.
pub(crate) fn is_long_answer(invalid: &Invalid<'_>) -> bool {
    invalid.response && matches!(invalid.fault, Fault::BatchTooLong { .. })
}
