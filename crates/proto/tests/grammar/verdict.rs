//! What became of a text, in terms that the decoder and the oracle share.

use sabir_proto::{Incoming, Message, Notification, ParseError, Request, Response};

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    NotJson,
    One(Entry),
    Batch(Vec<Entry>),
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Request { id: String, method: String, params: Option<String> },
    Notification { method: String, params: Option<String> },
    Result { id: String, result: String },
    Error { id: String, code: i64, message: String, data: Option<String> },
    Invalid { id: Option<String>, response: bool, code: i64, reasons: Vec<String> },
}

impl Verdict {
    /// What the decoder said.
    pub(crate) fn of(decoded: &Result<Incoming<'_>, ParseError>) -> Verdict {
        match decoded {
            Err(_) => Verdict::NotJson,
            Ok(Incoming::One(entry)) => Verdict::One(Entry::of(entry)),
            Ok(Incoming::Batch(entries)) => Verdict::Batch(entries.iter().map(Entry::of).collect()),
        }
    }

    /// Whether this is what was wanted; of the reasons that were wanted, one is enough.
    pub(crate) fn fits(&self, wanted: &Verdict) -> bool {
        match (self, wanted) {
            (Verdict::One(seen), Verdict::One(wanted)) => seen.fits(wanted),
            (Verdict::Batch(seen), Verdict::Batch(wanted)) => {
                seen.len() == wanted.len() && seen.iter().zip(wanted).all(|(seen, wanted)| seen.fits(wanted))
            }
            _ => self == wanted,
        }
    }
}

impl Entry {
    fn of(entry: &sabir_proto::Entry<'_>) -> Entry {
        match entry {
            Ok(Message::Request(Request { id, method, params })) => Entry::Request {
                id: id.text().to_owned(),
                method: method.to_string(),
                params: params.as_ref().map(ToString::to_string),
            },
            Ok(Message::Notification(Notification { method, params })) => Entry::Notification {
                method: method.to_string(),
                params: params.as_ref().map(ToString::to_string),
            },
            Ok(Message::Response(Response { id, outcome: Ok(result) })) => {
                Entry::Result { id: id.text().to_owned(), result: result.to_string() }
            }
            Ok(Message::Response(Response { id, outcome: Err(error) })) => Entry::Error {
                id: id.text().to_owned(),
                code: error.code.0,
                message: error.message.to_string(),
                data: error.data.as_ref().map(ToString::to_string),
            },
            Err(invalid) => Entry::Invalid {
                id: invalid.id.as_ref().map(|id| id.text().to_owned()),
                response: invalid.response,
                code: invalid.error().code.0,
                reasons: vec![invalid.fault.to_string()],
            },
        }
    }

    pub(crate) fn is_response(&self) -> bool {
        match self {
            Entry::Result { .. } | Entry::Error { .. } => true,
            Entry::Invalid { response, .. } => *response,
            Entry::Request { .. } | Entry::Notification { .. } => false,
        }
    }

    fn fits(&self, wanted: &Entry) -> bool {
        match (self, wanted) {
            (
                Entry::Invalid { id, response, code, reasons },
                Entry::Invalid { id: want_id, response: want_response, code: want_code, reasons: any },
            ) => {
                (id, response, code) == (want_id, want_response, want_code)
                    && reasons.iter().all(|reason| any.contains(reason))
            }
            _ => self == wanted,
        }
    }
}
