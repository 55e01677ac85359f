//! The words on the wire: subjects, reply subjects, headers and statuses.

use async_nats::{HeaderMap, HeaderValue, Message};

/// The queue group of a service's workers. It is the one that the micro protocol uses.
pub(crate) const QUEUE: &str = "q";

/// What a message is that is not simply a JSON-RPC message.
pub(crate) const STATUS: &str = "Jr-Status";

/// How often a worker says that it is alive, in milliseconds.
pub(crate) const BEAT: &str = "Jr-Beat";

/// How long the caller still waits, in milliseconds.
pub(crate) const DEADLINE: &str = "Jr-Deadline";

/// Which part of a message it is, as in `2/5`.
pub(crate) const PART: &str = "Jr-Part";

/// All that follows goes to the worker that takes this message.
pub(crate) const STICKY: &str = "Jr-Sticky";

/// An error, as tools of the micro protocol expect it.
pub(crate) const SERVICE_ERROR: &str = "Nats-Service-Error";
pub(crate) const SERVICE_ERROR_CODE: &str = "Nats-Service-Error-Code";

/// What headers may take of a message beside its text.
const HEADER_ROOM: usize = 4 * 1024;

/// What one message may have beside its headers, at a server that takes so many bytes. One that takes hardly more than
/// headers need is meant for small messages, which have few.
pub(crate) fn room(max_payload: usize) -> usize {
    max_payload.saturating_sub(HEADER_ROOM.min(max_payload / 2)).max(1)
}

/// Whether a message of so many bytes goes to a server as it is, with these headers.
pub(crate) fn fits(length: usize, headers: Option<&HeaderMap>, max_payload: usize) -> bool {
    // `NATS/1.0`, a line for each, and an empty one.
    let headers = headers.map_or(0, |headers| {
        let lines = headers.iter().flat_map(|(name, values)| values.iter().map(move |value| (name, value)));
        lines.map(|(name, value)| AsRef::<str>::as_ref(name).len() + value.as_str().len() + 4).sum::<usize>()
            + 12
    });
    length + headers <= max_payload
}

/// Bytes of trace context that are passed on.
pub(crate) const LONGEST_TRACE: usize = 1024;

/// What begins the part of a reply subject that names a session.
const SESSION: &str = "jr-";

/// Where any worker of a service is called.
pub(crate) fn calls_subject(service: &str) -> String {
    format!("jr.{service}.rpc")
}

/// Where one worker is reached. The session follows.
pub(crate) fn instance_subject(service: &str, instance: &str) -> String {
    format!("jr.{service}.i.{instance}")
}

/// What the reply subjects of a session begin with.
pub(crate) fn reply_prefix(inbox: &str, session: &str) -> String {
    format!("{inbox}.{SESSION}{session}.")
}

/// The session of a reply subject, and what its subjects begin with. `None` for callers that know of no sessions.
pub(crate) fn session_of(reply: &str) -> Option<(&str, &str)> {
    let (prefix, _) = reply.rsplit_once('.')?;
    let (_, session) = prefix.rsplit_once('.')?;
    Some((session.strip_prefix(SESSION)?, &reply[..prefix.len() + 1]))
}

/// What a reply subject belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token {
    /// The message whose first call has this id.
    Call(u64),
    /// A notification.
    Notification,
    /// Anything else, of which nobody wants to know whether it came through.
    Other,
}

impl Token {
    pub(crate) fn of(subject: &str) -> Token {
        match subject.rsplit('.').next() {
            Some("n") => Token::Notification,
            Some(digits) => digits.parse().map_or(Token::Other, Token::Call),
            None => Token::Other,
        }
    }

    pub(crate) fn subject(self, prefix: &str) -> String {
        match self {
            Token::Call(id) => {
                let mut digits = itoa::Buffer::new();
                [prefix, digits.format(id)].concat()
            }
            Token::Notification => [prefix, "n"].concat(),
            Token::Other => [prefix, "o"].concat(),
        }
    }
}

/// What a message says beside its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// The worker has the message, and is at work.
    Accepted,
    /// The worker is alive.
    Alive,
    /// The worker has nothing open for this session any more.
    Idle,
    /// It is a message, and not the last for its call.
    More,
    /// The worker could not take the message; an error says why.
    Refused,
    /// The worker stops.
    Gone,
    /// The worker has left its server, and takes calls at another one. Its sessions do not go with it.
    Moved,
    /// The caller has left.
    Closed,
}

impl Status {
    const ALL: [Status; 8] = [
        Status::Accepted,
        Status::Alive,
        Status::Idle,
        Status::More,
        Status::Refused,
        Status::Gone,
        Status::Moved,
        Status::Closed,
    ];

    fn name(self) -> &'static str {
        match self {
            Status::Accepted => "accepted",
            Status::Alive => "alive",
            Status::Idle => "idle",
            Status::More => "more",
            Status::Refused => "refused",
            Status::Gone => "gone",
            Status::Moved => "moved",
            Status::Closed => "closed",
        }
    }

    pub(crate) fn of(message: &Message) -> Option<Status> {
        let name = header(message, STATUS)?;
        Status::ALL.into_iter().find(|status| status.name() == name)
    }

    pub(crate) fn headers(self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(STATUS, HeaderValue::from(self.name()));
        headers
    }
}

/// A header's value.
pub(crate) fn header<'m>(message: &'m Message, name: &'static str) -> Option<&'m str> {
    Some(message.headers.as_ref()?.get(name)?.as_str())
}

/// A header's value, if it is a number.
pub(crate) fn number(message: &Message, name: &'static str) -> Option<u64> {
    header(message, name)?.parse().ok()
}

/// A name that nobody else has: letters and digits.
pub(crate) fn unique_name() -> String {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let mut bytes = [0; 16];
    if getrandom::fill(&mut bytes).is_err() {
        // Without the system's source it is as good as the keys of a hash table.
        for half in bytes.chunks_mut(8) {
            half.copy_from_slice(&RandomState::new().build_hasher().finish().to_ne_bytes());
        }
    }
    const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    bytes.iter().map(|byte| char::from(DIGITS[usize::from(byte & 31)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reply_subjects_name_the_session_and_the_call() {
        let prefix = reply_prefix("_INBOX", "abc");
        assert_eq!(prefix, "_INBOX.jr-abc.");
        for token in [Token::Call(1), Token::Call(u64::MAX), Token::Notification, Token::Other] {
            let subject = token.subject(&prefix);
            assert_eq!(Token::of(&subject), token, "{subject}");
            assert_eq!(session_of(&subject), Some(("abc", prefix.as_str())), "{subject}");
        }
        assert_eq!(session_of("_INBOX_c.x.jr-a.7"), Some(("a", "_INBOX_c.x.jr-a.")));
        // Replies of others.
        for foreign in ["_INBOX.YSJGbuKEHZvpmGm8QAVK1k.1", "_INBOX.x", "x", "", "jr-x", "."] {
            assert_eq!(session_of(foreign), None, "{foreign}");
        }
        for (subject, token) in [("a.-1", Token::Other), ("a.", Token::Other), ("a.01x", Token::Other)] {
            assert_eq!(Token::of(subject), token, "{subject}");
        }
    }

    #[test]
    fn statuses_have_names_of_their_own() {
        for status in Status::ALL {
            let message = Message {
                subject: "a".into(),
                reply: None,
                payload: bytes::Bytes::new(),
                headers: Some(status.headers()),
                status: None,
                description: None,
                length: 0,
            };
            assert_eq!(Status::of(&message), Some(status));
        }
    }

    #[test]
    fn a_message_fits_with_its_headers() {
        // `NATS/1.0\r\n`, `Jr-Status: more\r\n`, `\r\n`.
        let headers = Status::More.headers();
        for (length, headers, want) in [
            (100, None, true),
            (101, None, false),
            (71, Some(&headers), true),
            (72, Some(&headers), false),
            (1000, Some(&headers), false),
        ] {
            assert_eq!(fits(length, headers, 100), want, "{length}");
        }
    }

    #[test]
    fn names_are_unique_and_fit_into_a_subject() {
        let (one, other) = (unique_name(), unique_name());
        assert_ne!(one, other);
        assert!(one.len() == 16 && one.chars().all(|c| c.is_ascii_alphanumeric()), "{one}");
    }
}
