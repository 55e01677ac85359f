//! `--trace`: the wire as a transcript, message by message, however the bytes are chunked.

use sabir::transport::Wire;
use sabir::{Framing, Limits, RawJson};
use sabir_proto::{Cut, Deframer, Line};

use crate::json::compact;
use crate::print::Printer;

/// A tap that shows both directions.
pub(crate) fn tap(framing: Framing, printer: &Printer) -> impl FnMut(Wire, &[u8]) + Send + 'static {
    let mut sent = View::new(Wire::Sent, framing, printer);
    let mut received = View::new(Wire::Received, framing, printer);
    move |wire, bytes| match wire {
        Wire::Sent => sent.pass(bytes),
        Wire::Received => received.pass(bytes),
    }
}

/// One direction of the wire.
struct View {
    wire: Wire,
    /// `None` where the transport keeps messages apart.
    deframer: Option<Deframer>,
    unread: Vec<u8>,
    printer: Printer,
}

impl View {
    fn new(wire: Wire, framing: Framing, printer: &Printer) -> Self {
        let deframer = match framing {
            Framing::Whole => None,
            framing => Some(Deframer::new(Some(framing), Limits::default().message_bytes)),
        };
        View { wire, deframer, unread: Vec::new(), printer: printer.clone() }
    }

    fn pass(&mut self, bytes: &[u8]) {
        let Some(deframer) = &mut self.deframer else {
            show(Cut::Message { body: bytes, used: bytes.len() }, self.wire, &self.printer);
            return;
        };
        self.unread.extend_from_slice(bytes);
        let mut done = 0;
        loop {
            let cut = deframer.cut(&self.unread[done..]);
            done += show(cut, self.wire, &self.printer);
            if let Cut::More { .. } = cut {
                break;
            }
        }
        self.unread.drain(..done);
    }
}

/// The stream has ended, perhaps in the middle of something.
impl Drop for View {
    fn drop(&mut self) {
        if let Some(deframer) = &mut self.deframer
            && !self.unread.is_empty()
        {
            show(deframer.finish(&self.unread), self.wire, &self.printer);
        }
    }
}

/// How many bytes are done with.
fn show(cut: Cut<'_>, wire: Wire, printer: &Printer) -> usize {
    match cut {
        Cut::Message { body, used } => {
            printer.trace(&match (RawJson::from_bytes(body), wire) {
                (Ok(message), Wire::Sent) => Line::ToServer(compact(message.as_str()).into_owned().into()),
                (Ok(message), Wire::Received) => {
                    Line::ToClient(compact(message.as_str()).into_owned().into())
                }
                (Err(_), Wire::Sent) => Line::BytesToServer(body.to_vec()),
                (Err(_), Wire::Received) => Line::BytesToClient(body.to_vec()),
            });
            used
        }
        Cut::Fault { fault, used } => {
            printer.trace(&Line::Event(fault.to_string().into()));
            used
        }
        Cut::More { used, .. } => used,
    }
}
