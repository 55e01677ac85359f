//! Peers that are several at once: what ends when one of them does, and how long a call has left.

use std::time::Duration;

use super::event::{CallError, Event, Origin, SubscriptionClosed};
use super::subscriptions::{State, Step};
use super::{Cause, Lost, Session};
use crate::time::Time;

impl Session {
    /// How long the call with this id on the wire has left. `None` if it waits for ever, or is over.
    pub fn time_left(&self, now: Time, id: u64) -> Option<Duration> {
        self.core.calls.deadline_of(id).map(|deadline| deadline.elapsed().saturating_sub(now.elapsed()))
    }

    /// The time of the requests in this message is up: nobody waits for their answers any more. They are cancelled, as if
    /// the peer had said so.
    pub fn handle_expired(&mut self, now: Time, origin: Origin) {
        self.core.advance(now);
        let style = self.core.dialect.cancel;
        for key in self.core.requests.of_origin(origin) {
            let Some(slot) = self.core.requests.get_mut(key) else { continue };
            if !slot.cancellable || slot.cancelled.is_some() {
                continue;
            }
            slot.cancelled = Some(style);
            if !slot.is_running() {
                self.core.answer_nothing(key);
                continue;
            }
            if self.core.subscriptions.is_some() && self.core.cancel_sink(key) {
                continue;
            }
            let reason = Some("its deadline has passed".into());
            self.core.pending_events.push_back(Event::Cancel { key, reason });
        }
    }

    /// Of several peers behind one connection, the one that messages with this origin came from is lost, or all of them
    /// are: the subscriptions that they served have ended. Calls end one by one, by
    /// [`handle_undelivered`](Self::handle_undelivered).
    pub fn handle_origin_lost(&mut self, now: Time, origin: Option<Origin>, reason: impl Into<Lost>) {
        self.core.advance(now);
        let Some(tables) = &mut self.core.subscriptions else { return };
        let cause = Cause::Lost(reason.into());
        for key in tables.ours.keys() {
            let Some(slot) =
                tables.ours.get(key).filter(|slot| origin.is_none_or(|lost| slot.origin == lost))
            else {
                continue;
            };
            let event = match &slot.state {
                State::Open(_) => Event::SubscriptionEnded {
                    subscription: key,
                    end: SubscriptionClosed::Disconnected(cause.clone()),
                },
                State::Leaving { step: Step::Sent, .. } => continue,
                State::Leaving { awaited: true, .. } => {
                    Event::Unsubscribed { subscription: key, outcome: Err(CallError::Closed(cause.clone())) }
                }
                State::Leaving { .. } => {
                    tables.ours.remove(key);
                    continue;
                }
                _ => continue,
            };
            tables.ours.remove(key);
            self.core.pending_events.push_back(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Config, Output, Role};
    use crate::subscription::SubscriptionStyle;
    use crate::{CallOptions, Framing};

    fn session(role: Role, ids_above: u64) -> Session {
        Session::new(Config { framing: Some(Framing::Whole), role, ids_above, ..Config::default() })
    }

    fn events(session: &mut Session, now: Time) -> Vec<Event<'static>> {
        let mut events = Vec::new();
        while let Output::Event(event) = session.poll_output(now) {
            events.push(event.into_owned());
        }
        events
    }

    /// What is sent next. What is empty only says that nothing more goes where a message came from.
    fn sent(session: &mut Session, now: Time) -> Option<(String, Origin)> {
        loop {
            let outgoing = session.outgoing()?;
            let sent = (String::from_utf8_lossy(outgoing.message).into_owned(), outgoing.origin);
            session.handle_sent(now);
            if !sent.0.is_empty() {
                return Some(sent);
            }
        }
    }

    #[test]
    fn ids_begin_where_they_are_told_to() {
        let (now, mut session) = (Time::START, session(Role::Server, 1 << 40));
        let options = CallOptions { timeout: Some(Duration::from_secs(3)), ..CallOptions::default() };
        session.call_raw(now, "a", None, &options).expect("room");
        let (text, _) = sent(&mut session, now).expect("a call");
        assert_eq!(text, format!(r#"{{"jsonrpc":"2.0","id":{},"method":"a"}}"#, (1u64 << 40) + 1));
        let later = Time::since(Duration::from_secs(1));
        assert_eq!(session.time_left(later, (1 << 40) + 1), Some(Duration::from_secs(2)));
        assert_eq!(session.time_left(later, 1), None);
    }

    #[test]
    fn what_has_expired_is_cancelled() {
        let (now, mut session) = (Time::START, session(Role::Server, 0));
        session.handle_message_from(now, br#"{"jsonrpc":"2.0","id":1,"method":"a"}"#, Origin(1));
        session.handle_message_from(now, br#"{"jsonrpc":"2.0","id":2,"method":"b"}"#, Origin(2));
        let started = events(&mut session, now);
        assert_eq!(started.len(), 2, "{started:?}");
        session.handle_expired(now, Origin(2));
        // Once is enough.
        session.handle_expired(now, Origin(2));
        let cancelled = events(&mut session, now);
        let [Event::Cancel { key, reason: Some(reason) }] = &cancelled[..] else { panic!("{cancelled:?}") };
        assert_eq!(reason, "its deadline has passed");
        assert!(session.abandon(now, *key));
        assert!(session.outgoing().is_some_and(|outgoing| outgoing.origin == Origin(2) && outgoing.last));
    }

    #[test]
    fn subscriptions_end_with_whom_they_came_from() {
        let (now, mut session) = (Time::START, session(Role::Client, 0));
        let style = SubscriptionStyle::new("sub", "item", "unsub");
        let mut keys = Vec::new();
        for (id, origin) in [(1, 7), (2, 8), (3, 7)] {
            let key = session.subscribe_raw(now, &style, None, &CallOptions::default()).expect("room");
            keys.push(key);
            sent(&mut session, now).expect("a call");
            let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"s{id}"}}"#);
            session.handle_message_from(now, answer.as_bytes(), Origin(origin));
            events(&mut session, now);
        }
        // One is left where it came from.
        assert!(session.unsubscribe(now, keys[1]));
        events(&mut session, now);
        let (text, origin) = sent(&mut session, now).expect("an unsubscribe");
        assert!(text.contains(r#""params":["s2"]"#) && origin == Origin(8), "{text} {origin:?}");
        session.handle_origin_lost(now, Some(Origin(7)), "gone");
        let ended = events(&mut session, now);
        let [
            Event::SubscriptionEnded { subscription: a, .. },
            Event::SubscriptionEnded { subscription: b, .. },
        ] = &ended[..]
        else {
            panic!("{ended:?}")
        };
        assert_eq!([*a, *b], [keys[0], keys[2]]);
    }
}
