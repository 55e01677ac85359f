//! `--trace`: shows messages as a transcript, however their bytes are chunked.

use sabir::transport::{Direction, HttpFailure};
use sabir::{Framing, RawJson};
use sabir_proto::{Cut, Deframer, Line};

use crate::json::compact;
use crate::print::Printer;

/// Lines of a body that are shown.
const BODY_LINES: usize = 20;

/// A tap that shows both directions. Everything else on standard error becomes comments, so that the output is a valid
/// transcript.
pub(crate) fn tap(
    framing: Framing,
    max_size: usize,
    printer: &Printer,
) -> impl FnMut(Direction, &[u8]) + Send + 'static {
    printer.say_in_comments();
    let mut sent = View::new(Direction::Sent, framing, max_size, printer);
    let mut received = View::new(Direction::Received, framing, max_size, printer);
    move |direction, bytes| match direction {
        Direction::Sent => sent.pass(bytes),
        Direction::Received => received.pass(bytes),
    }
}

/// Shows an answer of HTTP that is not a message.
pub(crate) fn failure(failure: &HttpFailure<'_>, printer: &Printer) {
    printer.trace(&Line::Event(format!("HTTP {}", failure.status).into()));
    for (name, value) in failure.headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        printer.trace(&Line::Comment(format!("{name}: {value}").into()));
    }
    let body = String::from_utf8_lossy(failure.body);
    let mut lines = body.lines();
    for line in lines.by_ref().take(BODY_LINES) {
        printer.trace(&Line::Comment(line.to_owned().into()));
    }
    if lines.next().is_some() {
        printer.trace(&Line::Comment("…".into()));
    }
}

/// Shows one message.
pub(crate) fn message(direction: Direction, body: &[u8], printer: &Printer) {
    printer.trace(&match (RawJson::from_bytes(body), direction) {
        (Ok(message), Direction::Sent) => Line::ToServer(compact(message.as_str()).into_owned().into()),
        (Ok(message), Direction::Received) => Line::ToClient(compact(message.as_str()).into_owned().into()),
        (Err(_), Direction::Sent) => Line::BytesToServer(body.to_vec()),
        (Err(_), Direction::Received) => Line::BytesToClient(body.to_vec()),
    });
}

/// Splits one direction into messages.
pub(crate) struct Cutter {
    /// `None` where the transport delimits messages.
    deframer: Option<Deframer>,
    unread: Vec<u8>,
}

impl Cutter {
    pub(crate) fn new(framing: Framing, max_size: usize) -> Self {
        let deframer = match framing {
            Framing::Whole => None,
            framing => Some(Deframer::new(Some(framing), max_size)),
        };
        Cutter { deframer, unread: Vec::new() }
    }

    /// Passes on all messages that are complete.
    pub(crate) fn pass(&mut self, bytes: &[u8], mut take: impl FnMut(Cut<'_>)) {
        let Some(deframer) = &mut self.deframer else {
            return take(Cut::Message { body: bytes, used: bytes.len() });
        };
        self.unread.extend_from_slice(bytes);
        let mut done = 0;
        loop {
            let cut = deframer.cut(&self.unread[done..]);
            let (Cut::Message { used, .. } | Cut::Fault { used, .. } | Cut::More { used, .. }) = cut;
            done += used;
            if let Cut::More { .. } = cut {
                break;
            }
            take(cut);
        }
        self.unread.drain(..done);
    }

    /// The stream has ended, perhaps in the middle of a message.
    fn finish(&mut self, take: impl FnOnce(Cut<'_>)) {
        if let Some(deframer) = &mut self.deframer
            && !self.unread.is_empty()
        {
            take(deframer.finish(&self.unread));
        }
    }
}

/// One direction of the traffic.
struct View {
    direction: Direction,
    cutter: Cutter,
    printer: Printer,
}

impl View {
    fn new(direction: Direction, framing: Framing, max_size: usize, printer: &Printer) -> Self {
        View { direction, cutter: Cutter::new(framing, max_size), printer: printer.clone() }
    }

    fn pass(&mut self, bytes: &[u8]) {
        let View { direction, cutter, printer } = self;
        cutter.pass(bytes, |cut| show(cut, *direction, printer));
    }
}

impl Drop for View {
    fn drop(&mut self) {
        let View { direction, cutter, printer } = self;
        cutter.finish(|cut| show(cut, *direction, printer));
    }
}

fn show(cut: Cut<'_>, direction: Direction, printer: &Printer) {
    match cut {
        Cut::Message { body, .. } => message(direction, body, printer),
        Cut::Fault { fault, .. } => printer.trace(&Line::Event(fault.to_string().into())),
        Cut::More { .. } => {}
    }
}
